// SPDX-License-Identifier: BSD-2-Clause
// The lanes' names at the left of the time line: real buttons, in the lanes' places.

const laneFigure = (lane, rec) => {
	if (lane.loop === lane) {
		const sums = wholeSums(lane, rec.span);
		return known(sums.load) ? [share(sums.load), 'load: not free to take new work'] : ['', ''];
	}
	if (lane.kind === 'mark')
		return [shortCount(lane.sums.spans) + '×', 'times'];
	return [share(lane.sums.high / rec.span), lane.kind === 'idle' ? 'of the time idle' : 'of the time'];
};

const laneRow = (state, timeline, box) => {
	const { lane } = box;
	const [figure, means] = laneFigure(lane, state.rec);
	const own = lane.loop === lane;
	const choose = button('', () => state.chooseLane(lane), {
		class: 'lane-name', title: own ? 'Show this loop below' : '', 'aria-pressed': String(state.lane === lane),
	});
	choose.append(el('span', { class: 'lane-label' }, lane.label), el('span', { class: 'lane-sub' }, lane.sub));
	const folded = timeline.folded.has(lane.index);
	const row = el('div', { class: 'lane ' + (own ? 'of-loop' : 'of-task') + (lane === state.lane ? ' chosen' : ''), role: 'listitem', 'data-lane': lane.index },
		own && lane.children.length ? button(folded ? '▸' : '▾', () => timeline.fold(lane), {
			class: 'fold', 'aria-expanded': String(!folded), 'aria-label': (folded ? 'Show' : 'Hide') + ' the tasks of ' + lane.label,
		}) : el('span', { class: 'fold' }),
		choose, el('span', { class: 'lane-figure', title: means }, figure));
	row.style.top = box.y + 'px';
	row.style.height = box.height + 'px';
	return row;
};

const startLanes = (state, timeline) => {
	const draw = () => {
		const focused = document.activeElement && document.activeElement.classList.contains('fold');
		fill(byId('tl-lanes'), timeline.boxes.map((box) => laneRow(state, timeline, box)));
		if (focused)
			byId('tl-canvas').focus();
	};
	const fold = timeline.fold.bind(timeline);
	timeline.fold = (loop) => {
		fold(loop);
		draw();
	};
	state.on('lane', draw);
	draw();
};
