// SPDX-License-Identifier: BSD-2-Clause
// What to look at first: for each loop what kept it from responding, as sentences, the worst first. Worst is what took most of its time.

const FINDINGS_MAX = 6;

const sumBy = (items, keyOf, valueOf) => {
	const sums = new Map();
	items.forEach((i) => sums.set(keyOf(i), (sums.get(keyOf(i)) || 0) + valueOf(i)));
	return [...sums].sort((a, b) => b[1] - a[1]);
};

const slowFinding = (state, lane) => {
	const total = lane.slow.reduce((sum, s) => sum + s.length, 0);
	if (!total)
		return null;
	const longest = lane.slow.reduce((a, b) => b.length > a.length ? b : a);
	const [cause, ns] = sumBy(lane.slow.flatMap((s) => s.causes), causeText, (c) => c.ns)[0] || [null, 0];
	return {
		weight: total / state.rec.span, lane, kind: 'slow',
		text: plural(lane.slow.length, 'slow tick') + ', ' + duration(total) + ' in all, the longest ' + duration(longest.length) +
			(cause ? '. Most of it: ' + cause + ' (' + duration(ns) + ')' : ''),
		act: () => {
			state.chooseSlow(longest);
			state.showAround(longest.start, longest.end);
			state.tell('open-slow');
		},
	};
};

const waitFinding = (state, lane, sums) => {
	if (!(sums.wait > 0.02))
		return null;
	const who = sums.waited.find((w) => w.what !== 'others') || sums.waited[0];
	return {
		weight: sums.wait, lane, kind: sums.throttled > sums.wait / 2 ? 'throttled' : 'contended',
		text: 'ready to run, but without a CPU for ' + share(sums.wait) + ' of the time' +
			(who ? (who.what === 'waking up' ? ', most of it being woken up' : ', of which ' + who.what + ' had it for ' + share(who.share)) : ''),
		act: () => {
			state.chooseLane(lane);
			state.tell('open-loop');
		},
	};
};

const busyFinding = (state, lane, sums) => {
	if (!(sums.busy > 0.5))
		return null;
	const blocked = sums.tick_blocked > sums.busy / 2;
	return {
		weight: sums.busy - 0.4, lane, kind: blocked ? 'blocked' : 'cpu',
		text: 'busy ' + share(sums.busy) + ' of the time' + (blocked && sums.blocked[0] ? ', most of it blocked in ' + sums.blocked[0].what : '') +
			(sums.spin > 0.1 ? '; ' + share(sums.spin) + ' of it only polls' : ''),
		act: () => {
			state.chooseLane(lane);
			state.tell('open-loop');
		},
	};
};

const hogFinding = (state, lane) => {
	const hogs = lane.children.map((c) => [c, c.rows.reduce((n, r) => n + (r.hogs || 0), 0)]).filter(([, n]) => n).sort((a, b) => b[1] - a[1]);
	if (!hogs.length || lane.slow.length)
		return null;
	return {
		weight: 0.02, lane, kind: 'slow', text: 'task ' + hogs[0][0].label + ' held the CPU too long ' + plural(hogs[0][1], 'time'),
		act: () => {
			state.chooseLane(hogs[0][0]);
			state.tell('open-tasks');
		},
	};
};

const findings = (state) => state.rec.loops.flatMap((lane) => {
	const sums = wholeSums(lane, state.rec.span);
	return [slowFinding(state, lane), waitFinding(state, lane, sums), busyFinding(state, lane, sums), hogFinding(state, lane)];
}).filter(Boolean).sort((a, b) => b.weight - a.weight).slice(0, FINDINGS_MAX);

const findingsList = (state) => {
	const found = findings(state);
	if (!found.length)
		return el('p', { class: 'quiet' }, 'Nothing stands out: no slow ticks, and no loop waited for the CPU.');
	return el('ol', { class: 'findings' }, found.map((f) => el('li', {}, el('button', { type: 'button', on: { click: f.act } },
		swatch(f.kind), el('b', {}, f.lane.label), f.lane.sub ? el('span', { class: 'sub' }, f.lane.sub) : null, el('span', {}, f.text)))));
};
