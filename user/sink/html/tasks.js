// SPDX-License-Identifier: BSD-2-Clause
// The tasks of each board: who takes the CPU, how long its steps are.

const TASK_COLUMNS = [
	{ name: 'Task', key: (t) => t.label.toLowerCase(), text: true },
	{ name: 'Kind', key: (t) => taskKind(t), text: true },
	{ name: 'CPU', title: 'Share of the time on the CPU', key: (t, s) => taskBusy(t, s, s.span) },
	{ name: 'Ready', title: 'Share of the time ready to run while another had the CPU', key: (t, s) => s.wait },
	{ name: 'Runs', key: (t, s) => s.runs },
	{ name: 'Shortest', key: (t) => taskSpan(t, 'min') },
	{ name: 'p50', key: (t) => taskSpan(t, 'p50') },
	{ name: 'p99', key: (t) => taskSpan(t, 'p99') },
	{ name: 'Longest', key: (t) => taskSpan(t, 'max') },
	{ name: 'Hogs', title: 'Runs over the threshold', key: (t, s) => s.hogs },
];

const taskKind = (t) => t.rows.length ? t.rows[t.rows.length - 1].kind : t.kind;

// As its records tell; of what has none, its spans.
const taskBusy = (t, s, span) => known(s.busy) && !t.members ? s.busy : known(s.alive) && !t.members ? s.alive : t.sums.spans && span ? t.sums.high / span : null;

const taskSpan = (t, key) => {
	if (t.hasAll && known(t.sums[key]))
		return t.sums[key];
	if (t.members && key !== 'min' && key !== 'max')
		return null; // of all of them together it can't be known
	const values = t.rows.map((r) => r[key]).filter(known);
	return values.length ? values.reduce((a, b) => key === 'min' ? Math.min(a, b) : Math.max(a, b)) : null;
};

const taskRow = (state, task) => {
	const s = wholeSums(task, state.rec.span);
	const number = (text, more = '') => el('td', { class: 'num' + more }, text);
	const show = () => {
		state.chooseLane(task);
		state.timeline.reveal(task);
	};
	const busy = taskBusy(task, s, state.rec.span);
	return el('tr', { class: task === state.lane ? 'chosen' : null, on: { click: show } },
		el('th', { scope: 'row' }, el('button', { type: 'button', class: 'link', on: { click: show } }, task.label)),
		el('td', {}, taskKind(task)),
		el('td', { class: 'with-bar' }, el('span', { class: 'num strong' }, share(busy)), partsBar([{ kind: known(s.busy) || task.kind === 'task' ? 'cpu' : task.kind === 'idle' ? 'idle-time' : 'other', share: busy }], share(busy))),
		number(task.members ? NONE : share(s.wait)), number(count(known(s.runs) ? s.runs : task.sums.spans || null)), number(duration(taskSpan(task, 'min'))), number(duration(taskSpan(task, 'p50'))),
		number(duration(taskSpan(task, 'p99'))), number(duration(taskSpan(task, 'max'))), number(count(s.hogs), s.hogs ? ' warn' : ''));
};

const boardState = (rec, loop) => {
	const found = rec.states.find((s) => s.source === loop.source);
	return found ? found.state : null;
};

const marginText = (state) => {
	const m = state && state.margin;
	if (!m || !known(m.mean))
		return null;
	return 'Free: ' + share(m.mean) + ' on average' + (known(m.worst) ? ', ' + share(m.worst) + ' in the worst of ' + plural(m.windows, 'window') + ' of ' + duration(m.window_s * 1e9) +
		(known(m.beyond) ? ' (at most ' + share(m.beyond, 2) + ' of windows are worse, with 95 % confidence)' : '') : '');
};

const tasksPanel = (state) => {
	const boards = state.rec.loops.filter((l) => l.children.length);
	const panel = el('div');
	const tables = [];
	for (const loop of boards) {
		const table = new SortedTable('Tasks of ' + loop.label, TASK_COLUMNS, loop.children.filter((c) => c.kind !== 'mark' && c.rows.length + c.sums.spans > 0),
			(t) => taskRow(state, t), 2, (t) => ({ ...wholeSums(t, state.rec.span), span: state.rec.span }));
		tables.push(table);
		panel.append(el('h3', {}, loop.label), el('p', { class: 'quiet' }, marginText(boardState(state.rec, loop)) || ''), el('div', { class: 'wide' }, table.table));
	}
	state.on('lane', () => tables.forEach((t) => t.show()));
	return panel;
};
