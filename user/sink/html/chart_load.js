// SPDX-License-Identifier: BSD-2-Clause
// Load over time: what was busy, in its parts, and above it what waited, in its parts. What is left to 100 % was idle.

const LOAD_KINDS = ['cpu', 'io', 'blocked', 'contended', 'throttled'];

// One point at each interval's begin, drawn as a step; between intervals that do not meet there is nothing. (Chart.js stacks by the
// points' x: it has to be unique.)
const loadPoints = (rows) => {
	const series = LOAD_KINDS.map(() => []);
	const put = (t, values) => series.forEach((s, i) => s.push({ x: t, y: values ? values[i] : null }));
	rows.forEach((r, i) => {
		const parts = loadParts(r).map((p) => 100 * p.share), next = rows[i + 1];
		put(r.start, parts);
		if (!next || next.start - r.end > 0.5 * (r.end - r.start)) {
			put(r.end - 1, parts);
			put(r.end, null);
		}
	});
	return series;
};

const loadConfig = (state, lane) => ({
	type: 'line',
	plugins: [viewBand(state)],
	data: {
		datasets: loadPoints(lane.rows).map((data, i) => ({
			data, label: PART_NAMES[LOAD_KINDS[i]], fill: i ? '-1' : 'origin', borderWidth: 0, backgroundColor: colours[LOAD_KINDS[i]],
			stack: 'load', spanGaps: false, stepped: true,
		})),
	},
	options: chartOptions(state, {
		x: timeAxis(state.rec),
		y: {
			stacked: true, min: 0, max: 100, grid: { color: colours.grid, drawBorder: false },
			ticks: { color: colours.muted, stepSize: 25, callback: (v) => v + ' %' },
		},
	}, {
		callbacks: {
			title: (items) => items.length ? point(items[0].parsed.x, 1e6) : '',
			label: (item) => ' ' + item.dataset.label + ': ' + item.parsed.y.toFixed(1) + ' %',
			footer: (items) => 'load ' + items.reduce((sum, i) => sum + (i.parsed.y || 0), 0).toFixed(1) + ' %',
		},
		filter: (item) => item.parsed.y >= 0.05,
		footerColor: colours.text,
	}),
});

const loadPicture = (state, lane) => new Picture(state, 190, 'Load of ' + lane.label + ' over time; its mean is ' +
	share(wholeSums(lane, state.rec.span).load), () => loadConfig(state, lane));

// The same without words, for a row of a table: small, and drawn when it comes into sight.
const sparkConfig = (state, lane) => ({
	type: 'line',
	data: {
		datasets: loadPoints(lane.rows).map((data, i) => ({
			data, fill: i ? '-1' : 'origin', borderWidth: 0, backgroundColor: colours[LOAD_KINDS[i]], stack: 'load', spanGaps: false,
			stepped: true,
		})),
	},
	options: {
		...chartOptions(state, {
			x: { type: 'linear', min: 0, max: state.rec.span, display: false }, y: { stacked: true, min: 0, max: 100, display: false },
		}, { enabled: false }),
		events: [], layout: { padding: 0 },
	},
});

const loadSpark = (state, lane) => {
	const canvas = el('canvas', { role: 'img', 'aria-label': 'Load over time' });
	const frame = el('div', { class: 'spark' }, canvas);
	let chart = null;
	const draw = () => {
		if (chart)
			chart.destroy();
		chart = new Chart(canvas, sparkConfig(state, lane));
	};
	new IntersectionObserver((entries, observer) => {
		if (!entries.some((e) => e.isIntersecting))
			return;
		observer.disconnect();
		draw();
		state.on('theme', () => canvas.isConnected && draw());
	}).observe(frame);
	return frame;
};
