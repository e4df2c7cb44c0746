// SPDX-License-Identifier: BSD-2-Clause
// What all charts share: Chart.js set up for dense, quiet pictures, and the link to the time line: the part in view is shaded, a drag
// brings that stretch into view there, a double click the whole.

// Seconds on the axis, from nanoseconds in the data.
const timeAxis = (rec) => ({
	type: 'linear', min: 0, max: rec.span,
	grid: { color: colours.grid, drawBorder: false, tickLength: 4 },
	ticks: { color: colours.muted, maxRotation: 0, autoSkipPadding: 24, callback: (v) => (v / 1e9).toLocaleString('en', { maximumFractionDigits: 3, useGrouping: false }) + ' s' },
	afterBuildTicks: (axis) => {
		const step = axisStep((axis.max - axis.min) / Math.max(axis.width, 1) * 0.8);
		axis.ticks = [];
		for (let t = Math.ceil(axis.min / step) * step; t <= axis.max; t += step)
			axis.ticks.push({ value: t });
	},
});

// Shades what is out of the time line's view, and marks its cursors.
const viewBand = (state) => ({
	id: 'viewBand',
	afterDatasetsDraw(chart) {
		const { ctx: g, chartArea: area, scales } = chart;
		const { from, to, rec, cursors } = state;
		g.save();
		g.beginPath();
		g.rect(area.left, area.top, area.width, area.height);
		g.clip();
		if (from > 0.005 * rec.span || to < 0.995 * rec.span) {
			const x0 = scales.x.getPixelForValue(from), x1 = Math.max(scales.x.getPixelForValue(to), x0 + 2);
			g.fillStyle = colours.bg;
			g.globalAlpha = 0.55;
			g.fillRect(area.left, area.top, x0 - area.left, area.height);
			g.fillRect(x1, area.top, area.right - x1, area.height);
			g.globalAlpha = 1;
			g.strokeStyle = colours.accent;
			g.strokeRect(x0, area.top - 2, x1 - x0, area.height + 4);
		}
		g.fillStyle = colours.cursor;
		for (const t of [cursors.a, cursors.b])
			if (t !== null)
				g.fillRect(scales.x.getPixelForValue(t), area.top, 1, area.height);
		const drag = chart.$drag;
		if (drag) {
			g.globalAlpha = 0.2;
			g.fillRect(Math.min(drag.x0, drag.x1), area.top, Math.abs(drag.x1 - drag.x0), area.height);
		}
		g.restore();
	},
});

const dragToView = (state, canvas, chart) => {
	const xOf = (e) => e.clientX - canvas.getBoundingClientRect().left;
	canvas.addEventListener('pointerdown', (e) => {
		const x0 = xOf(e), move = (m) => {
			chart().$drag = { x0, x1: xOf(m) };
			chart().draw();
		};
		canvas.setPointerCapture(e.pointerId);
		canvas.addEventListener('pointermove', move);
		canvas.addEventListener('pointerup', (u) => {
			const t = [x0, xOf(u)].map((x) => chart().scales.x.getValueForPixel(x)).sort((a, b) => a - b);
			chart().$drag = null;
			canvas.removeEventListener('pointermove', move);
			if (Math.abs(xOf(u) - x0) > 4)
				state.show(t[0], t[1]);
		}, { once: true });
	});
	canvas.addEventListener('dblclick', () => state.fit());
};

const chartOptions = (state, scales, tooltip) => ({
	animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: true,
	interaction: { mode: 'index', axis: 'x', intersect: false },
	layout: { padding: { right: 6 } },
	elements: { point: { radius: 0, hoverRadius: 0, hitRadius: 6 }, line: { borderWidth: 1 } },
	plugins: {
		legend: { display: false }, title: { display: false },
		tooltip: {
			backgroundColor: colours.raised, titleColor: colours.text, bodyColor: colours.text, borderColor: colours.line, borderWidth: 1,
			cornerRadius: 3, padding: 8, boxPadding: 4, boxWidth: 9, boxHeight: 9, ...tooltip,
		},
	},
	scales,
});

// A chart in a frame of its own, redrawn when what it shows changes. make() gives Chart.js's configuration.
class Picture {
	constructor(state, height, label, make) {
		Object.assign(this, { state, make, chart: null });
		this.canvas = el('canvas', { role: 'img', 'aria-label': label });
		this.frame = el('div', { class: 'chart' }, this.canvas);
		this.frame.style.height = height + 'px';
		dragToView(state, this.canvas, () => this.chart);
		this.redraw = oncePerFrame(() => this.chart && this.visible() && this.chart.draw());
		state.on('view cursors', this.redraw);
	}

	visible() {
		return this.frame.offsetParent !== null;
	}

	show() {
		if (this.chart)
			this.chart.destroy();
		Chart.defaults.font.family = colours.font;
		Chart.defaults.font.size = 11;
		this.chart = new Chart(this.canvas, this.make());
	}
}

const legend = (items) => el('ul', { class: 'legend' }, items.map(([kind, text]) => el('li', {}, swatch(kind), text)));
