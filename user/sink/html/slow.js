// SPDX-License-Identifier: BSD-2-Clause
// Slow ticks: a list with what made each slow, and beside it the chosen one with its causes and their stacks.

const SLOW_ROWS = 300;

const SLOW_COLUMNS = [
	{ name: 'At', key: (s) => s.start },
	{ name: 'Loop', key: (s) => s.lane, text: true },
	{ name: 'Took', key: (s) => s.length },
	{ name: 'Causes' },
	{ name: 'Most of it', text: true, key: (s) => topCause(s) },
];

const slowRow = (state, s) => {
	const lane = state.rec.byIndex[s.lane];
	const open = () => state.chooseSlow(s);
	return el('tr', { class: s === state.slow ? 'chosen' : null, on: { click: open } },
		el('td', { class: 'num' }, el('button', { type: 'button', class: 'link', on: { click: open }, 'aria-pressed': String(s === state.slow) }, point(s.start, 1e6))),
		el('td', {}, lane.label), el('td', { class: 'num strong' }, duration(s.length), s.in_progress ? ' +' : ''),
		el('td', { class: 'cause-cell' }, causeBar(s)), el('td', { class: 'cut', title: topCause(s) }, topCause(s)));
};

const stackList = (cause) => el('ol', { class: 'stack' }, cause.stack.map((frame) => el('li', {}, visible(frame))),
	cause.incomplete ? el('li', { class: 'quiet' }, 'further out the stack could not be read') : null);

const causeItem = (cause, slow, open) => {
	const line = [swatch(CAUSE_COLOURS[cause.kind] || 'other'), el('span', { class: 'cause-what' }, causeText(cause)),
		el('span', { class: 'num' }, duration(cause.ns)), el('span', { class: 'num sub' }, share(cause.ns / slow.length)),
		known(cause.samples) ? el('span', { class: 'sub' }, plural(cause.samples, 'sample')) : null];
	if (!cause.stack.length)
		return el('div', { class: 'cause no-stack' }, line);
	return el('details', { class: 'cause', open }, el('summary', {}, line), stackList(cause));
};

const slowDetail = (state) => {
	const s = state.slow;
	if (!s)
		return el('p', { class: 'quiet' }, 'Choose a slow tick, here or on the time line (key n: the next one).');
	const lane = state.rec.byIndex[s.lane];
	const show = () => {
		state.showAround(s.start, s.end);
		byId('tl-canvas').focus();
	};
	return [
		el('h3', {}, lane.label + ' ', el('span', { class: 'sub' }, lane.sub)),
		figures([
			['Took', duration(s.length, 4) + (s.in_progress ? ', and goes on' : '')], ['From', point(s.start, state.rec.facts.unit)],
			['By the clock', clockTime(state.rec.facts.from_s + s.start / 1e9, 3)],
			['On CPU', duration(s.cpu_ns)], ['Blocked', duration(s.blocked_ns)], ['Waiting', duration(s.wait_ns)], ['of it quota', s.throttled_ns ? duration(s.throttled_ns) : NONE],
			['Events', known(s.events) ? count(s.events) : NONE, 'That the IO wait before it had returned'],
			['Not shown', s.suppressed ? plural(s.suppressed, 'slow tick') + ' before it' : NONE, 'Held back by the rate limit'],
		]),
		causeBar(s),
		el('div', { class: 'causes' }, s.causes.length ? s.causes.map((c) => causeItem(c, s, c === s.causes.find((other) => other.stack.length))) : el('p', { class: 'quiet' }, 'What made it slow is not known.')),
		button('Show on the time line', show),
	];
};

class SlowPanel {
	constructor(state) {
		this.state = state;
		this.all = SLOW_ROWS;
		this.only = el('select', { 'aria-label': 'Slow ticks of', on: { change: () => this.filter() } }, el('option', { value: '' }, 'all loops'),
			state.rec.lanes.filter((l) => l.slow.length).map((l) => el('option', { value: l.index }, l.label + ' (' + count(l.slow.length) + ')')));
		this.table = new SortedTable('Slow ticks', SLOW_COLUMNS, this.items(), (s) => slowRow(state, s), 2);
		this.note = el('div', { class: 'quiet' });
		this.detail = el('div', { class: 'slow-detail', 'aria-live': 'polite' });
		this.element = el('div', { class: 'slow-panel' },
			el('div', { class: 'slow-list' }, el('div', { class: 'panel-head' }, this.only, el('span', { class: 'quiet' }, this.threshold()), legend(
				[['cpu', 'computing'], ['blocked', 'blocked'], ['fault', 'page fault'], ['contended', 'waiting'], ['throttled', 'quota']])), this.table.table, this.note),
			this.detail);
		state.on('slow', () => this.chosen());
		this.filter();
		this.chosen();
	}

	threshold() {
		const { facts, slow } = this.state.rec;
		return known(facts.threshold) ? 'over ' + duration(facts.threshold) : slow.length ? '' : 'none were looked for';
	}

	items() {
		const only = this.only.value;
		return only === '' ? this.state.rec.slow : this.state.rec.byIndex[only].slow;
	}

	// The longest, as many as a page takes at ease; more on demand.
	filter() {
		const items = this.items().slice().sort((a, b) => b.length - a.length);
		this.table.items = items.slice(0, this.all);
		this.table.show();
		const left = items.length - this.table.items.length, out = this.state.rec.facts.slow_left_out;
		fill(this.note,
			left > 0 ? ['The longest ' + count(this.all) + ' of ' + count(items.length) + '. ', button('Show more', () => { this.all *= 4; this.filter(); })] : null,
			out ? ' ' + plural(out, 'shorter one') + ' had no room in this report: choose a shorter range.' : null,
			items.length ? null : 'No slow ticks.');
	}

	chosen() {
		this.table.show();
		fill(this.detail, slowDetail(this.state));
	}
}
