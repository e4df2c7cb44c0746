// SPDX-License-Identifier: BSD-2-Clause
// What a lane's interval records add up to, between two points of time. An interval that lies in there in part counts in part.

const MEANS = ['busy', 'wait', 'idle', 'io_cpu', 'tick_cpu', 'tick_blocked', 'wait_io', 'wait_tick', 'throttled', 'spin', 'naive', 'cost', 'alive'];
const TOTALS = ['io_waits', 'ticks', 'slow', 'lost', 'runs', 'hogs', 'left_out'];

const overlap = (row, from, to) => Math.max(0, Math.min(row.end, to) - Math.max(row.start, from));

// [{what, share}], largest first, of all time that is known.
const others = (rows, key, from, to, seconds) => {
	const sums = new Map();
	for (const r of rows) {
		const weight = overlap(r, from, to);
		for (const o of weight ? r[key] || [] : [])
			sums.set(o.what, (sums.get(o.what) || 0) + o.share * weight);
	}
	return [...sums].map(([what, ns]) => ({ what, share: ns / seconds, ns })).sort((a, b) => b.share - a.share);
};

const laneSums = (lane, from, to) => {
	const sums = { ns: 0, waited: [], blocked: [], max: null };
	const weights = {};
	for (const r of lane.rows) {
		const weight = overlap(r, from, to);
		if (!weight)
			continue;
		sums.ns += weight;
		for (const key of MEANS)
			if (known(r[key])) {
				sums[key] = (sums[key] || 0) + r[key] * weight;
				weights[key] = (weights[key] || 0) + weight;
			}
		for (const key of TOTALS)
			if (known(r[key]))
				sums[key] = (sums[key] || 0) + r[key] * (weight / (r.end - r.start));
		if (known(r.max))
			sums.max = Math.max(sums.max || 0, r.max);
	}
	for (const key of MEANS)
		sums[key] = key in weights ? sums[key] / weights[key] : null;
	for (const key of TOTALS)
		if (!(key in sums))
			sums[key] = null;
	sums.load = known(sums.busy) || known(sums.wait) ? (sums.busy || 0) + (sums.wait || 0) : known(sums.idle) ? 1 - sums.idle : null;
	sums.contended = known(sums.wait) ? Math.max(0, sums.wait - (sums.throttled || 0)) : null;
	sums.waited = others(lane.rows, 'waited', from, to, sums.ns);
	sums.blocked = others(lane.rows, 'blocked', from, to, sums.ns);
	return sums;
};

// What a record's time was, as parts for a picture: [{kind, share}], which add up to its load.
const loadParts = (r) => {
	const parts = [];
	const put = (kind, v) => parts.push({ kind, share: known(v) ? v : 0 });
	const split = known(r.tick_cpu) || known(r.io_cpu) || known(r.tick_blocked);
	put('cpu', split ? r.tick_cpu : r.busy);
	put('io', split ? r.io_cpu : 0);
	put('blocked', split ? r.tick_blocked : 0);
	put('contended', known(r.wait) ? Math.max(0, r.wait - (r.throttled || 0)) : 0);
	put('throttled', r.throttled);
	return parts;
};

const PART_NAMES = {
	cpu: 'on CPU in ticks', io: 'on CPU in IO waits', blocked: 'blocked in ticks', contended: 'waiting: another had the CPU',
	throttled: 'waiting: quota used up', idle: 'idle',
};
const PART_SHORT = { cpu: 'computing', io: 'in IO calls', blocked: 'blocked', contended: 'waiting for a CPU', throttled: 'over quota' };

// A loop as a whole, once: the tables and findings want it again and again.
const wholeSums = (lane, span) => {
	if (!lane.whole)
		lane.whole = laneSums(lane, 0, span);
	return lane.whole;
};
