// SPDX-License-Identifier: BSD-2-Clause
// What was lost, left out or rounded: on the way to the recording, in the recording, and in this page. Nothing is lost in silence.

const lostOf = (state) => {
	if (!state || !state.lost)
		return 0;
	return (state.lost.frames || 0) + (state.lost.events || 0) + (state.lost.bytes || 0);
};

// A process's events that contradict each other; what a board lost is in its source's row.
const contradicting = (rec) => rec.loops.filter((l) => l.pid !== null);

// What was lost between the loops and the recording.
const countLosses = (rec) => {
	const contradictions = contradicting(rec).reduce((n, l) => n + l.rows.reduce((m, r) => m + (r.lost || 0), 0), 0);
	const sources = rec.states.reduce((n, s) => n + lostOf(s.state), 0);
	const gaps = rec.lanes.reduce((n, l) => n + l.gaps.reduce((m, g) => m + g.times, 0), 0);
	const suppressed = rec.slow.reduce((n, s) => n + (s.suppressed || 0), 0);
	return { contradictions, sources, gaps, suppressed, any: contradictions + sources + gaps + suppressed > 0 };
};

const limits = (rec) => {
	const { facts } = rec, merged = rec.lanes.reduce((m, l) => l.rows.reduce((n, r) => Math.max(n, r.merged), m), 1);
	return [
		facts.complete ? null : 'The recording did not end in order: its last moments may be missing.',
		facts.dropped_until !== null ? 'The oldest part was dropped to keep to a size: nothing is left before ' + point(Math.max(0, facts.dropped_until), 1e6) + '.' : null,
		facts.has_ticks ? null : 'Single ticks were not recorded: lanes of the time line show slow ones only (record --ticks keeps all).',
		facts.spans_left_out ? count(facts.spans_left_out) + ' spans shorter than ' + duration(facts.spans_shortest) + ' are not on the time line, so that it can be moved at ease; sums, percentiles and the heat map are of all. A report of a shorter range shows them.' : null,
		facts.unit > 1 ? 'Times on the time line are rounded down to ' + duration(facts.unit) + ', so that the page is not too large.' : null,
		merged > 1 ? 'Up to ' + count(merged) + ' intervals are merged into one: shares are their mean, percentiles the worst of them.' : null,
		facts.slow_left_out ? count(facts.slow_left_out) + ' slow ticks, the shortest, had no room.' : null,
		facts.names_left_out ? count(facts.names_left_out) + ' names had no room.' : null,
	].filter(Boolean);
};

const sourcesTable = (rec) => el('table', {}, el('caption', { class: 'unseen' }, 'Sources'),
	el('thead', {}, el('tr', {}, ['Source', 'Where', 'Protocol', 'Frames lost', 'Events lost', 'Bytes that made no sense', 'Gaps', 'Resets', 'Clock drift', 'Clock error'].map((h, i) =>
		el('th', { scope: 'col', class: i > 2 ? 'num' : null }, h)))),
	el('tbody', {}, rec.facts.sources.map((source, i) => {
		const found = rec.states.find((s) => s.source === i), s = found ? found.state : {}, lost = s.lost || {}, clock = s.clock || {};
		const n = (v) => el('td', { class: 'num' + (v ? ' warn' : '') }, count(v));
		return el('tr', {}, el('th', { scope: 'row' }, visible(source.name || source.kind), s.name ? [' ', el('span', { class: 'sub' }, visible(s.name))] : null),
			el('td', {}, visible(source.where) || NONE), el('td', {}, visible(source.protocol) || NONE), n(lost.frames), n(lost.events), n(lost.bytes), n(s.gaps),
			el('td', { class: 'num' }, count(s.resets)), el('td', { class: 'num' }, known(clock.drift_ppm) ? clock.drift_ppm + ' ppm' : NONE),
			el('td', { class: 'num' }, known(clock.error_us) ? duration(clock.error_us * 1e3) : NONE));
	})));

const GAPS_SHOWN = 200;

const gapsTable = (state) => {
	const gaps = state.rec.lanes.flatMap((lane) => lane.gaps.map((g) => ({ ...g, of: lane }))).sort((a, b) => (b.end - b.start) - (a.end - a.start));
	if (!gaps.length)
		return el('p', { class: 'quiet' }, 'No gaps.');
	return [el('table', { class: 'narrow' }, el('caption', { class: 'unseen' }, 'Gaps'),
		el('thead', {}, el('tr', {}, ['At', 'Lane', 'Length', 'Records lost'].map((h, i) => el('th', { scope: 'col', class: i === 1 ? null : 'num' }, h)))),
		el('tbody', {}, gaps.slice(0, GAPS_SHOWN).map((g) => el('tr', {},
			el('td', { class: 'num' }, el('button', { type: 'button', class: 'link', on: { click: () => { state.chooseLane(g.of); state.showAround(g.start, g.end); } } }, point(g.start, 1e6))),
			el('td', {}, g.of.label), el('td', { class: 'num' }, duration(g.end - g.start) + (g.times > 1 ? ', ' + count(g.times) + ' gaps' : '')),
			el('td', { class: 'num' }, known(g.lost) ? count(g.lost) : 'number unknown'))))),
		gaps.length > GAPS_SHOWN ? el('p', { class: 'quiet' }, 'The longest ' + GAPS_SHOWN + ' of ' + count(gaps.length) + '.') : null];
};

const lossesPanel = (state) => {
	const { rec } = state, losses = countLosses(rec), notes = limits(rec);
	const loops = contradicting(rec).filter((l) => wholeSums(l, rec.span).lost > 0);
	return el('div', {},
		el('h3', {}, 'Losses'),
		el('p', {}, losses.any ? 'Shares and times near a loss may be misplaced; what was lost is counted below.' : 'Nothing was lost.'),
		el('ul', {},
			loops.map((l) => el('li', {}, l.label + ': ' + plural(Math.round(wholeSums(l, rec.span).lost), 'contradiction') + ' in its events, each of which may have misplaced a stretch of time')),
			losses.suppressed ? el('li', {}, plural(losses.suppressed, 'slow tick') + ' held back by the rate limit while recording') : null),
		el('h3', {}, 'Sources'), el('div', { class: 'wide' }, sourcesTable(rec)),
		el('h3', {}, 'Gaps'), gapsTable(state),
		el('h3', {}, 'About this page'),
		notes.length ? el('ul', {}, notes.map((n) => el('li', {}, n))) : null,
		el('p', { class: 'quiet' }, 'Percentiles are within 1.6 %. The page is one file and connects to nothing. Charts: Chart.js, © its contributors, MIT licence (text in the page’s source).'));
};
