// SPDX-License-Identifier: BSD-2-Clause
// The bar above the time line: zoom, what is in view, and what lies between the cursors. And what the pointer is over.

const readout = (label, id, title) => el('span', { class: 'readout', title }, el('span', { class: 'readout-name' + (label ? '' : ' unseen') }, label || title),
	el('output', { id, class: 'num' }, NONE));

// Where cursors and view stand, to as many digits as the screen tells.
const digitsFor = (state, timeline) => Math.max(state.rec.facts.unit, 10 ** Math.floor(Math.log10(Math.max(1, state.width / timeline.stageWidth))));

const between = (state) => {
	const { a, b } = state.cursors, lane = state.lane;
	if (a === null || b === null || !lane || !lane.wire || !lane.wire.n)
		return NONE;
	const from = Math.min(a, b), to = Math.max(a, b);
	const n = lane.wire.countIn(from, to), high = to > from ? (lane.wire.highBefore(to) - lane.wire.highBefore(from)) / (to - from) : 0;
	const what = lane.kind === 'loop' ? 'tick' : lane.kind === 'task' ? 'run' : 'time';
	return plural(n, what) + ', high ' + share(high);
};

const showMeasures = (state, timeline) => {
	const step = digitsFor(state, timeline), { a, b } = state.cursors;
	const put = (id, text) => { byId(id).textContent = text; };
	put('m-view', duration(state.width) + ' from ' + point(Math.max(0, state.from), step));
	put('m-a', a === null ? NONE : point(a, state.rec.facts.unit));
	put('m-b', b === null ? NONE : point(b, state.rec.facts.unit));
	const apart = a === null || b === null ? null : Math.abs(b - a);
	put('m-apart', apart === null ? NONE : duration(apart, 6));
	put('m-rate', apart ? frequency(1e9 / apart) : NONE);
	put('m-between', between(state));
	byId('m-clear').disabled = a === null && b === null;
	byId('m-zoom').disabled = !apart;
};

const tipLines = (state, at) => {
	const { lane, t } = at;
	const lines = [];
	if (!lane || t < 0 || t > state.rec.span)
		return lines;
	const gap = (lane.gaps.length ? lane.gaps : lane.loop.gaps).find((g) => t >= g.start && t <= Math.max(g.end, g.start + 2 * at.perPixel));
	if (gap)
		lines.push(['Gap of ' + duration(gap.end - gap.start) + ': nothing is known here' + (known(gap.lost) ? '; ' + plural(gap.lost, 'record') + ' lost' : '')]);
	const i = lane.wire ? lane.wire.at(t, 4 * at.perPixel) : -1;
	if (i >= 0) {
		const { starts, ends, flags, values } = lane.wire;
		const what = lane.kind === 'loop' ? 'Tick' : lane.kind === 'mark' ? 'Mark' : flags[i] & READY ? 'Ready' : flags[i] & ALIVE ? 'Alive' : lane.kind === 'idle' ? 'Idle' : 'Run';
		lines.push([(flags[i] & SLOW ? 'Slow ' + what.toLowerCase() : what) + (lane.kind === 'mark' ? (values ? ' ' + values[i] : '') : ' of ' + duration(ends[i] - starts[i], 4)) +
			(flags[i] & OPEN ? ', not ended yet' : '') + (flags[i] & UNSURE ? ', unsure: something was lost' : '')]);
		lines.push(['from ' + point(starts[i], state.rec.facts.unit)]);
	}
	const slow = slowAt(lane, t, 4 * at.perPixel);
	if (slow) {
		if (i < 0)
			lines.push(['Slow tick of ' + duration(slow.length, 4)]);
		slow.causes.slice(0, 3).forEach((c) => lines.push([causeText(c), duration(c.ns), c.kind]));
		lines.push(['Click: causes and stacks']);
	}
	return lines;
};

const showTip = (state, timeline) => {
	const tip = byId('tip'), at = state.pointer;
	const lines = at && !timeline.dragging ? tipLines(state, { ...at, perPixel: state.width / timeline.stageWidth }) : [];
	tip.hidden = !lines.length;
	if (!lines.length)
		return;
	fill(tip, el('div', { class: 'tip-head' }, at.lane.label),
		lines.map(([text, figure, kind]) => el('div', { class: 'tip-line' }, kind ? swatch(CAUSE_COLOURS[kind]) : null, el('span', {}, text),
			figure ? el('span', { class: 'num' }, figure) : null)));
	const box = tip.getBoundingClientRect();
	tip.style.left = Math.max(4, Math.min(at.clientX + 14, innerWidth - box.width - 6)) + 'px';
	tip.style.top = (at.clientY + 20 + box.height > innerHeight ? at.clientY - box.height - 12 : at.clientY + 20) + 'px';
};

const startMeasures = (state, timeline) => {
	fill(byId('tl-bar'),
		el('h2', {}, 'Time line'),
		el('span', { class: 'group' },
			button('−', () => state.zoom(1 / 0.6), { 'aria-label': 'Zoom out', title: 'Zoom out (−)' }),
			button('+', () => state.zoom(0.6), { 'aria-label': 'Zoom in', title: 'Zoom in (+)' }),
			button('Fit', () => state.fit(), { title: 'The whole recording (Home)', id: 'm-fit' })),
		readout('', 'm-view', 'What is in view'),
		readout('at', 'm-pointer', 'Time under the pointer'),
		el('span', { class: 'spring' }),
		readout('A', 'm-a', 'Cursor A (key a)'),
		readout('B', 'm-b', 'Cursor B (key b)'),
		readout('Δ', 'm-apart', 'Between the cursors'),
		readout('1/Δ', 'm-rate', 'As a frequency'),
		readout('', 'm-between', 'On the chosen lane, between the cursors'),
		el('span', { class: 'group' },
			button('⤢', () => zoomToCursors(state), { id: 'm-zoom', title: 'Zoom to what is between the cursors (z)', 'aria-label': 'Zoom to the cursors' }),
			button('✕', () => state.clearCursors(), { id: 'm-clear', title: 'No cursors (c)', 'aria-label': 'Clear the cursors' })));
	const update = oncePerFrame(() => showMeasures(state, timeline));
	state.on('view cursors lane wires', update);
	state.on('pointer', oncePerFrame(() => {
		byId('m-pointer').textContent = state.pointer ? point(state.pointer.t, digitsFor(state, timeline)) : NONE;
		showTip(state, timeline);
	}));
	update();
};
