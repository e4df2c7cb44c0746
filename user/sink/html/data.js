// SPDX-License-Identifier: BSD-2-Clause
// The recording as the page uses it, from the JSON elements that the program wrote (README.md says what is in them).
// Times are nanoseconds from the page's begin, shares are fractions, unknown is null.

const SHARE_UNIT = 1e-5;
const SHARES = ['busy', 'wait', 'idle', 'io_cpu', 'tick_cpu', 'tick_blocked', 'wait_io', 'wait_tick', 'throttled', 'spin', 'naive', 'cost',
	'alive'];

const readJson = (id) => JSON.parse(byId('data-' + id).textContent);

// Rows as objects, shares as fractions.
const readRows = (id) => {
	const { columns, rows } = readJson(id);
	const shares = columns.map((name) => SHARES.includes(name));
	return rows.map((row) => {
		const r = {};
		for (let i = 0; i < columns.length; i++)
			r[columns[i]] = shares[i] && row[i] !== null ? row[i] * SHARE_UNIT : row[i];
		return r;
	});
};

// Who had the CPU: a program, an idle CPU while the loop woke up, the cgroup's quota, or those who did not fit.
const waitedName = (name, pid) => {
	if (pid === 0)
		return 'waking up';
	if (pid === -2)
		return 'CPU quota';
	return name === null ? 'others' : pid > 0 ? name + ' (' + pid + ')' : name;
};

const blockedName = (name) => name === null ? 'others' : name.replace('page_fault', 'page fault');

const laneLabel = (lane) => {
	const own = visible(lane.name), process = visible(lane.process);
	if (lane.kind !== 'loop')
		return (own || (lane.kind === 'idle' ? 'idle' : lane.kind + ' ' + lane.number)) + (lane.members ? ' ×' + lane.members : lane.instance ? ' #' + lane.instance : '');
	return !own || own === process ? process || own || 'loop' : process + '/' + own;
};

const laneSub = (lane) => {
	if (lane.kind !== 'loop')
		return lane.kind === 'task' ? '' : lane.kind;
	const runtime = lane.runtime && lane.runtime !== 'unknown' ? visible(lane.runtime) : '';
	const pid = lane.pid === null ? '' : lane.tid !== null && lane.tid !== lane.pid ? lane.pid + ':' + lane.tid : String(lane.pid);
	return [pid, runtime].filter(Boolean).join(' · ');
};

// One that was told while it lasted comes again, and once more when it has ended: the last word counts. A board's clock is fitted
// better and better meanwhile, so its begin may have moved: it is the same where the two overlap on their lane and are of one cause.
const isSame = (a, b) => a.lane === b.lane && (a.in_progress || b.in_progress) && a.start < b.end && b.start < a.end &&
	(a.start === b.start || (a.causes.length && b.causes.length && a.causes[0].what === b.causes[0].what));

const lastWords = (slow) => {
	const kept = [], open = new Map(); // by lane: the one that a later word may be about
	for (const s of slow) {
		const before = open.get(s.lane);
		if (before !== undefined && isSame(kept[before], s)) {
			if (kept[before].in_progress && (!s.in_progress || s.length > kept[before].length))
				kept[before] = s;
			continue;
		}
		open.set(s.lane, kept.length);
		kept.push(s);
	}
	return kept;
};

const readSlow = (names) => lastWords(readRows('slow').map((s) => ({
	...s,
	length: s.end - s.start,
	causes: s.causes.map(([kind, ns, what, samples, incomplete, frames]) => ({
		kind, ns, samples, incomplete,
		what: what === null ? '' : names[what],
		stack: frames.map((n) => n === null ? '(name left out)' : names[n]),
	})).sort((a, b) => b.ns - a.ns),
})));

const readLoops = (names) => readRows('loops').map((r) => {
	const waited = [], blocked = [];
	for (let i = 0; i < r.waited.length; i += 3) {
		const [name, pid, part] = r.waited.slice(i, i + 3);
		waited.push({ what: waitedName(name === null ? null : visible(names[name]), pid), share: part * SHARE_UNIT });
	}
	for (let i = 0; i < r.blocked.length; i += 2)
		blocked.push({ what: blockedName(r.blocked[i] === null ? null : visible(names[r.blocked[i]])), share: r.blocked[i + 1] * SHARE_UNIT });
	return { ...r, waited, blocked };
});

// A program may start the same short task hundreds of times, each with a lane of its own: from a number on they share one.
const GROUP_FROM = 8;

const groupTasks = (all) => {
	const groups = new Map();
	for (const lane of all)
		if (lane && lane.kind === 'task' && lane.name) {
			const key = lane.parent + ' ' + lane.name;
			groups.set(key, [...(groups.get(key) || []), lane]);
		}
	for (const members of groups.values()) {
		if (members.length < GROUP_FROM)
			continue;
		const total = (key) => members.reduce((n, l) => n + l.sums[key], 0), all_of = (key) => members.map((l) => l.sums[key]).filter(known);
		const [first] = members;
		first.members = members.length;
		first.sums = { spans: total('spans'), slow: total('slow'), high: total('high'), min: Math.min(...all_of('min')), max: Math.max(...all_of('max')) };
		members.forEach((l) => { all[l.index] = first; });
	}
};

// All ticks of a loop stand on the time line: quantiles of its spans are those of its ticks.
const hasAll = (lane, facts) => {
	const ticks = lane.rows.reduce((n, r) => n + (r.ticks || 0), 0);
	return facts.has_ticks && (lane.kind !== 'loop' || (lane.sums.spans > 0 && lane.sums.spans >= 0.9 * ticks));
};

// The machine's own loops, then boards with their tasks; the most loaded first.
const inOrder = (lanes, span) => {
	const load = (l) => wholeSums(l, span).load || 0;
	const loops = lanes.filter((l) => l.loop === l).sort((a, b) => (a.children.length > 0) - (b.children.length > 0) || load(b) - load(a));
	return loops.flatMap((l) => [l, ...l.children]);
};

const readRecording = () => {
	const facts = readJson('facts');
	const names = readRows('names').map((r) => r.name || '');
	const all = facts.lanes.map((l, index) => l && ({ ...l, index, children: [], rows: [], slow: [], gaps: [], heat: [], wire: null }));
	groupTasks(all);
	const lanes = [...new Set(all.filter(Boolean))];
	for (const lane of lanes) {
		lane.label = laneLabel(lane);
		lane.sub = laneSub(lane);
		lane.loop = lane.parent !== null && all[lane.parent] ? all[lane.parent] : lane;
		if (lane.loop !== lane)
			lane.loop.children.push(lane);
	}
	const to = (rows, key) => rows.forEach((r) => all[r.lane] && all[r.lane][key].push(r));
	const slow = readSlow(names);
	to(readLoops(names), 'rows');
	to(readRows('tasks'), 'rows');
	to(slow, 'slow');
	to(readRows('gaps'), 'gaps');
	readJson('heat').rows.forEach(([lane, column, n, p50, p90, p99, max, first, ...counts]) =>
		all[lane] && all[lane].heat.push({ column, n, p50, p90, p99, max, first, counts }));
	lanes.forEach((l) => { l.hasAll = hasAll(l, facts); });
	const ordered = inOrder(lanes, facts.span);
	return {
		facts, slow, lanes: ordered, byIndex: all, span: facts.span,
		loops: ordered.filter((l) => l.kind === 'loop'),
		states: readRows('states'),
	};
};
