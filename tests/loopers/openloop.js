// SPDX-License-Identifier: BSD-2-Clause
// openloop.js - an open-loop program on Node: arrivals at fixed points in time, each costing a given CPU time.
//
// usage: node openloop.js PERIOD_MS WORK_MS
// Arrival n is due at start + n * period whatever became of the earlier ones. Prints "ready PID" once it loops and, at
// SIGTERM, its truth as one line of JSON: arrivals due and served, CPU time, and "elu": [monotonic seconds, idle ms, active
// ms] sampled at every timer, from performance.eventLoopUtilization(), both cumulative.
//
// CPU time is the process's (Node 20 tells no thread's): the other threads sleep, but for a rare collection of garbage.
'use strict';
const { performance } = require('node:perf_hooks');

const period = Number(process.argv[2] || 10);
const work = Number(process.argv[3] || 2);
if (!(period > 0 && work >= 0)) {
	console.error('usage: node openloop.js PERIOD_MS WORK_MS');
	process.exit(2);
}

const start = performance.now();
const startMonotonic = Number(process.hrtime.bigint()) / 1e9;
const cpuStart = cpuMs();
const samples = [];
let served = 0;
let worstLate = 0;

function cpuMs() {
	const u = process.cpuUsage();
	return (u.user + u.system) / 1000;
}

function due() {
	return Math.floor((performance.now() - start) / period);
}

function serveOne() {
	served++;
	worstLate = Math.max(worstLate, performance.now() - start - served * period);
	const until = cpuMs() + work;
	while (cpuMs() < until)
		;
	if (served === 2)
		console.log(`ready ${process.pid}`);
}

function onTimer() {
	const elu = performance.eventLoopUtilization();
	samples.push([Number(process.hrtime.bigint()) / 1e9, elu.idle, elu.active]);
	if (served < due())
		serveOne();
	if (served < due()) // late: one arrival a tick, after a look at the fds, as servers do
		setImmediate(onTimer);
	else
		setTimeout(onTimer, Math.max(0, start + (served + 1) * period - performance.now()));
}

function stop() {
	const truth = JSON.stringify({
		looper: 'node', pid: process.pid, tid: process.pid, start: startMonotonic,
		wall_s: (performance.now() - start) / 1000, cpu_s: (cpuMs() - cpuStart) / 1000,
		due: due(), served, worst_late_s: worstLate / 1000, elu: samples,
	});
	process.stdout.write(truth + '\n', () => process.exit(0)); // not before a pipe has taken all of it
}

process.on('SIGTERM', stop);
process.on('SIGINT', stop);
onTimer();
