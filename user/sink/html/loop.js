// SPDX-License-Identifier: BSD-2-Clause
// One loop: load and tick durations over time, where its time went, who had the CPU, what blocked it. Tables are of the whole
// recording, or of what the time line shows.

const ROWS_SHOWN = 10;

const shareTable = (caption, head, list, kind, none) => {
	if (!list.length)
		return el('p', { class: 'quiet' }, none);
	const largest = Math.max(...list.map((o) => o.share));
	return el('table', { class: 'shares' }, el('caption', { class: 'unseen' }, caption),
		el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, head), el('th', { scope: 'col', class: 'num' }, 'Of the time'), el('th', { scope: 'col' }, el('span', { class: 'unseen' }, 'As a bar')))),
		el('tbody', {}, list.slice(0, ROWS_SHOWN).map((o) => el('tr', {}, el('th', { scope: 'row' }, o.kind ? [swatch(o.kind), ' '] : null, o.what),
			el('td', { class: 'num' }, share(o.share, 2)),
			el('td', { class: 'bar-cell' }, partsBar([{ kind: o.kind || kind, share: o.share / largest, text: share(o.share, 2) }], share(o.share)))))));
};

const timeTable = (sums) => {
	const parts = loadParts(sums).map((p) => ({ ...p, what: PART_NAMES[p.kind] }));
	const list = [...parts, { kind: 'idle', what: PART_NAMES.idle, share: sums.idle }].filter((p) => known(p.share) && (p.share > 0 || p.kind === 'cpu' || p.kind === 'idle'));
	return shareTable('Where the time went', 'Where the time went', list, 'cpu', 'Not known.');
};

const figures = (pairs) => el('dl', { class: 'figures' }, pairs.filter(([, v]) => v !== NONE).flatMap(([name, v, title]) => [el('dt', { title }, name), el('dd', { class: 'num' }, v)]));

const loopFigures = (state, lane, sums, whole) => {
	const perSecond = (n) => known(n) ? shortCount(n / (sums.ns / 1e9)) : NONE;
	const q = (key) => whole ? duration(quantile(lane, key)) : NONE;
	return figures([
		['Load', share(sums.load)], ['Busy', share(sums.busy)], ['Wait', share(sums.wait)], ['Idle', share(sums.idle)],
		['Naive load', share(sums.naive), 'What a clock inside the program would show'],
		['Spin', share(sums.spin), 'Part of busy: polls that found nothing'],
		['Ticks/s', perSecond(sums.ticks)], ['IO waits/s', perSecond(sums.io_waits)],
		['Tick p50', q('p50')], ['p90', q('p90')], ['p99', q('p99')], ['p99.9', whole && lane.hasAll && known(lane.sums.p999) ? duration(lane.sums.p999) : NONE],
		['Longest tick', whole ? q('max') : duration(sums.max)],
		['Slow ticks', count(whole ? lane.slow.length || lane.sums.slow : lane.slow.filter((s) => s.end > state.from && s.start < state.to).length)],
		['Observer cost', share(sums.cost, 2), 'What observing took from this loop'],
	]);
};

class LoopPanel {
	constructor(state) {
		this.state = state;
		this.whole = true;
		this.choice = el('select', { 'aria-label': 'Loop', on: { change: () => state.chooseLane(state.rec.byIndex[this.choice.value]) } },
			state.rec.loops.map((l) => el('option', { value: l.index }, l.label + (l.sub ? ' (' + l.sub + ')' : ''))));
		this.scope = ['Whole recording', 'Time line’s view'].map((text, i) => button(text, () => this.setScope(i === 0), { 'aria-pressed': String(i === 0) }));
		this.charts = el('div', { class: 'charts' });
		this.tables = el('div', { class: 'columns' });
		this.element = el('div', {}, el('div', { class: 'panel-head' }, this.choice, el('span', { class: 'group' }, this.scope)), this.charts, this.tables);
		state.on('lane', () => this.show());
		state.on('view', oncePerFrame(() => this.whole || this.showTables()));
		state.on('theme', () => this.pictures && this.drawn && this.pictures.forEach((p) => p.show()));
		this.show();
	}

	get lane() {
		return this.state.lane ? this.state.lane.loop : this.state.rec.loops[0];
	}

	setScope(whole) {
		this.whole = whole;
		this.scope.forEach((b, i) => b.setAttribute('aria-pressed', String((i === 0) === whole)));
		this.showTables();
	}

	// The panel comes into sight: charts can be drawn only then.
	shown() {
		if (!this.drawn && this.pictures)
			this.pictures.forEach((p) => p.show());
		this.drawn = true;
	}

	show() {
		const { state, lane } = this;
		if (!lane || lane.kind !== 'loop')
			return;
		this.choice.value = lane.index;
		if (lane === this.shownLane)
			return;
		this.shownLane = lane;
		const load = loadPicture(state, lane), ticks = hasDurations(state.rec, lane) ? ticksPicture(state, lane) : null;
		(this.pictures || []).forEach((p) => p.chart && p.chart.destroy());
		this.pictures = [load, ticks].filter(Boolean);
		fill(this.charts,
			el('figure', {}, el('figcaption', {}, 'Load over time', legend(LOAD_KINDS.map((k) => [k, PART_SHORT[k]]))), load.frame),
			el('figure', {}, el('figcaption', {}, 'How long ticks took', ticks ? this.ticksLegend() : null), ticks ? ticks.frame : el('p', { class: 'quiet' }, 'This source does not tell.')));
		this.showTables();
		if (this.drawn)
			this.pictures.forEach((p) => p.show());
	}

	ticksLegend() {
		return el('ul', { class: 'legend' },
			this.lane.hasAll ? el('li', {}, el('span', { class: 'ramp', 'aria-hidden': 'true' }), 'few to many ticks') : null,
			LINES.map(([key]) => el('li', {}, el('span', { class: 'stroke stroke-' + key, 'aria-hidden': 'true' }), key === 'max' ? 'longest' : key)),
			!this.lane.hasAll && this.lane.rows.some((r) => r.merged > 1) ? el('li', {}, 'worst of the intervals that are merged into one') : null);
	}

	showTables() {
		const { state, lane, whole } = this;
		if (!lane || lane.kind !== 'loop')
			return;
		const sums = whole ? wholeSums(lane, state.rec.span) : laneSums(lane, state.from, state.to);
		if (!sums.ns) {
			fill(this.tables, el('p', { class: 'quiet' }, 'No interval record lies in view.'));
			return;
		}
		fill(this.tables,
			el('div', {}, loopFigures(state, lane, sums, whole)),
			el('div', {}, timeTable(sums)),
			el('div', {}, shareTable('Who had the CPU while it waited', 'Who had the CPU while it waited', sums.waited, 'contended', 'It never waited for the CPU, or this source can’t tell.')),
			el('div', {}, shareTable('What blocked its callbacks', 'What blocked its callbacks', sums.blocked, 'blocked', 'Nothing blocked its callbacks, or this source can’t tell.')));
	}
}
