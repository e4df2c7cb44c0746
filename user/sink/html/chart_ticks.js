// SPDX-License-Identifier: BSD-2-Clause
// How long ticks took, over time: a heat map of how many (where every tick was recorded), with the percentiles as lines.

// The histogram's buckets: below 64 one a value, then 32 to the octave; a row of the heat map is 8 of them. (model/hist.h)
const bucketLow = (b) => b < 64 ? b : (64 + 2 * ((b - 64) & 31)) * 2 ** ((b - 64) >> 5);
const rowLow = (row) => bucketLow(8 * row);

const LINES = [['max', 'slow', []], ['p99', 'text', []], ['p90', 'text', [4, 3]], ['p50', 'text', [1.5, 2.5]]];

const mixed = (a, b, part) => a.map((v, i) => Math.round(v + (b[i] - v) * part));
const rgb = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

// 256 steps from the quiet colour to the loud one.
const heatRamp = () => {
	const stops = [0, 1, 2, 3].map((i) => rgb(colours['heat-' + i]));
	return Array.from({ length: 256 }, (_, i) => {
		const at = i / 255 * 3, k = Math.min(2, Math.floor(at));
		return 'rgb(' + mixed(stops[k], stops[k + 1], at - k).join(',') + ')';
	});
};

// Logarithmic: one long tick has to be seen beside a million short ones.
const heatPlugin = (rec, lane) => ({
	id: 'heat',
	beforeDatasetsDraw(chart) {
		const { ctx: g, chartArea: area, scales: { x, y } } = chart;
		const ramp = heatRamp();
		const most = lane.heat.reduce((m, c) => Math.max(m, ...c.counts), 1);
		g.save();
		g.beginPath();
		g.rect(area.left, area.top, area.width, area.height);
		g.clip();
		for (const c of lane.heat) {
			const x0 = x.getPixelForValue(c.column * rec.facts.heat_width), x1 = x.getPixelForValue((c.column + 1) * rec.facts.heat_width);
			c.counts.forEach((n, i) => {
				if (!n)
					return;
				const y1 = y.getPixelForValue(Math.max(1, rowLow(c.first + i))), y0 = y.getPixelForValue(rowLow(c.first + i + 1));
				g.fillStyle = ramp[most > 1 ? Math.round(255 * Math.log(n) / Math.log(most)) : 255];
				g.fillRect(x0, y0, Math.max(x1 - x0 + 0.3, 1), Math.max(y1 - y0 + 0.3, 1));
			});
		}
		g.restore();
	},
});

// Percentiles: of each column of the heat map, or what the interval records say.
const quantilePoints = (rec, lane, key) => lane.heat.length && lane.hasAll
	? lane.heat.map((c) => ({ x: (c.column + 0.5) * rec.facts.heat_width, y: Math.max(1, c[key]) }))
	: lane.rows.filter((r) => known(r[key])).map((r) => ({ x: (r.start + r.end) / 2, y: Math.max(1, r[key]) }));

const hasDurations = (rec, lane) => (lane.hasAll && lane.heat.length > 0) || lane.rows.some((r) => known(r.max));

const durationRange = (rec, lane) => {
	const lows = [], highs = [];
	for (const c of lane.hasAll ? lane.heat : []) {
		lows.push(rowLow(c.first));
		highs.push(rowLow(c.first + c.counts.length));
	}
	if (!lows.length)
		for (const key of ['p50', 'max'])
			for (const p of quantilePoints(rec, lane, key)) {
				lows.push(p.y);
				highs.push(p.y);
			}
	const low = lows.reduce((a, b) => Math.min(a, b), Infinity), high = highs.reduce((a, b) => Math.max(a, b), 1);
	return [Math.max(1, low * 0.8), Math.max(high * 1.3, low * 10)];
};

const ticksConfig = (state, lane) => {
	const { rec } = state, [min, max] = durationRange(rec, lane);
	return {
		type: 'line',
		plugins: [...(lane.hasAll ? [heatPlugin(rec, lane)] : []), viewBand(state)],
		data: {
			datasets: LINES.map(([key, colour, dash]) => ({
				data: quantilePoints(rec, lane, key), label: key, borderColor: colours[colour], borderWidth: 1.4, borderDash: dash, fill: false,
				...(key === 'max' ? { showLine: false, pointRadius: 1.6, pointBackgroundColor: colours.slow, borderWidth: 0 } : {}),
			})),
		},
		options: chartOptions(state, {
			x: timeAxis(rec),
			y: {
				type: 'logarithmic', min, max, grid: { color: colours.grid, drawBorder: false },
				ticks: { color: colours.muted, callback: (v) => Number.isInteger(Math.log10(v) + 1e-9) || Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-6 ? duration(v, 1) : '' },
			},
		}, {
			callbacks: {
				title: (items) => items.length ? point(items[0].parsed.x, 1e6) : '',
				label: (item) => ' ' + item.dataset.label + ': ' + duration(item.parsed.y),
			},
		}),
	};
};

const ticksPicture = (state, lane) => new Picture(state, 190, 'How long ticks of ' + lane.label + ' took, over time', () => ticksConfig(state, lane));
