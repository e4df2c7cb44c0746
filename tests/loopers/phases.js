// SPDX-License-Identifier: BSD-2-Clause
// phases.js - a Node loop that computes in three of libuv's phases, for times that it logs itself.
//
// usage: node phases.js ROUNDS TIMERS_MS POLL_MS CHECK_MS
// Waits for a line on stdin, so that it can be watched from its first round on. A round: a timer fires and computes (timers); it has asked
// for a file's state, whose callback computes (poll) and sets an immediate, which computes (check). Prints "ready PID", then "done" after
// the last round, and at SIGTERM its truth: what it computed in each, nanoseconds of the monotonic clock.
'use strict';
const fs = require('node:fs');

const [rounds, timersMs, pollMs, checkMs] = process.argv.slice(2).map(Number);
if (!(rounds > 0 && timersMs >= 0 && pollMs >= 0 && checkMs >= 0)) {
	console.error('usage: node phases.js ROUNDS TIMERS_MS POLL_MS CHECK_MS');
	process.exit(2);
}

const spent = { timers: 0, poll: 0, check: 0 };
let left = rounds;

function compute(phase, ms) {
	const begin = process.hrtime.bigint(), until = begin + BigInt(Math.round(ms * 1e6));
	let now = begin;

	while (now < until)
		now = process.hrtime.bigint();
	spent[phase] += Number(now - begin);
}

function onTimer() {
	compute('timers', timersMs);
	fs.stat('/', () => {
		compute('poll', pollMs);
		setImmediate(() => {
			compute('check', checkMs);
			if (--left > 0)
				setTimeout(onTimer, 2);
			else
				console.log('done');
		});
	});
}

process.on('SIGTERM', () => process.stdout.write(JSON.stringify({ looper: 'phases', pid: process.pid, rounds, spent }) + '\n', () => process.exit(0)));
process.stdin.once('data', () => setTimeout(onTimer, 2));
console.log(`ready ${process.pid}`);
