// SPDX-License-Identifier: BSD-2-Clause
// All loops in one table, the worst first; any column sorts.

const quantile = (lane, key) => {
	if (known(lane.sums[key]) && lane.sums.spans && lane.hasAll)
		return lane.sums[key];
	const values = lane.rows.map((r) => r[key]).filter(known);
	return values.length ? values.reduce((a, b) => Math.max(a, b)) : null;
};

const LOOP_COLUMNS = [
	{ name: 'Loop', key: (l) => l.label.toLowerCase(), text: true },
	{ name: 'Load over time' },
	{ name: 'Load', title: 'Busy and waiting: not free to take new work', key: (l, s) => s.load },
	{ name: 'Busy', title: 'Its own use: on a CPU, or blocked in a callback', key: (l, s) => s.busy },
	{ name: 'Wait', title: 'Ready to run, but somebody else had the CPU', key: (l, s) => s.wait },
	{ name: 'Ticks/s', title: 'Rounds of callbacks', key: (l, s) => s.ticks },
	{ name: 'p50', title: 'Half of its ticks were shorter', key: (l) => quantile(l, 'p50') },
	{ name: 'p99', title: 'One of a hundred was longer', key: (l) => quantile(l, 'p99') },
	{ name: 'Longest', key: (l) => quantile(l, 'max') },
	{ name: 'Slow', title: 'Ticks over the threshold', key: (l) => l.slow.length || l.sums.slow },
	{ name: 'Blocked by', text: true, key: (l, s) => s.blocked.length ? s.blocked[0].share : 0 },
	{ name: 'Waited for', text: true, key: (l, s) => s.waited.length ? s.waited[0].share : 0 },
];

// A name may be longer than there is room: then the whole of it is in the title.
const mostCell = (list) => {
	const [first] = list, shown = first && first.share >= 0.0005;
	return el('td', { class: 'tail', title: shown ? first.what : null }, shown ? [el('span', { class: 'num' }, share(first.share)), ' ', first.what] : NONE);
};

const loadBar = (sums) => partsBar(loadParts(sums).map((p) => ({ ...p, text: PART_NAMES[p.kind] + ': ' + share(p.share) })),
	'Load ' + share(sums.load) + ', busy ' + share(sums.busy) + ', waiting ' + share(sums.wait));

const loopRow = (state, lane) => {
	const s = wholeSums(lane, state.rec.span);
	const number = (text) => el('td', { class: 'num' }, text);
	const row = el('tr', { class: lane === state.lane ? 'chosen' : null },
		el('th', { scope: 'row' }, el('button', { type: 'button', class: 'link', on: { click: () => { state.chooseLane(lane); state.tell('open-loop'); } } }, lane.label),
			' ', el('span', { class: 'sub' }, lane.sub)),
		el('td', {}, lane.spark = lane.spark || loadSpark(state, lane)),
		el('td', { class: 'with-bar' }, el('span', { class: 'num strong' }, share(s.load)), loadBar(s)),
		number(share(s.busy)), number(share(s.wait)),
		number(known(s.ticks) ? shortCount(s.ticks / (s.ns / 1e9)) : NONE),
		number(duration(quantile(lane, 'p50'))), number(duration(quantile(lane, 'p99'))), number(duration(quantile(lane, 'max'))),
		el('td', { class: 'num' + (lane.slow.length ? ' warn' : '') }, count(lane.slow.length || lane.sums.slow)),
		mostCell(s.blocked), mostCell(s.waited));
	row.addEventListener('click', () => state.chooseLane(lane));
	return row;
};

// A table whose heads sort it. columns: {name, title, key(item, sums), text}; without a key a column does not sort.
class SortedTable {
	constructor(caption, columns, items, rowOf, by, context = () => null) {
		Object.assign(this, { columns, items, rowOf, context, by, down: true });
		this.body = el('tbody');
		this.head = el('tr');
		this.table = el('table', {}, el('caption', { class: 'unseen' }, caption), el('thead', {}, this.head), this.body);
		this.show();
	}

	sortBy(i) {
		this.down = i === this.by ? !this.down : !this.columns[i].text;
		this.by = i;
		this.show();
	}

	show() {
		const { key } = this.columns[this.by], sign = this.down ? -1 : 1;
		const value = (item) => key(item, this.context(item));
		const sorted = this.items.slice().sort((a, b) => {
			const x = value(a), y = value(b);
			return !known(x) ? 1 : !known(y) ? -1 : x < y ? -sign : x > y ? sign : 0;
		});
		fill(this.head, this.columns.map((c, i) => el('th', {
			scope: 'col', class: c.text || !c.key ? null : 'num', title: c.title, 'aria-sort': i === this.by ? (this.down ? 'descending' : 'ascending') : null,
		}, c.key ? button(c.name, () => this.sortBy(i)) : c.name)));
		fill(this.body, sorted.map((item) => this.rowOf(item)));
	}
}

const loopsPanel = (state) => {
	const table = new SortedTable('Loops', LOOP_COLUMNS, state.rec.loops, (lane) => loopRow(state, lane), 2, (lane) => wholeSums(lane, state.rec.span));
	const panel = el('div', {},
		el('h3', {}, 'Look here first'), findingsList(state),
		el('h3', {}, 'All loops'), legend(LOAD_KINDS.map((k) => [k, PART_SHORT[k]])), el('div', { class: 'wide' }, table.table));
	state.on('lane', () => table.show());
	return panel;
};
