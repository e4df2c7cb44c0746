// SPDX-License-Identifier: BSD-2-Clause
// The time line: axis above, lanes below, like a logic analyser's. Only lanes in sight are drawn. Who moves it is input.js; what the
// cursors measure is measure.js.

const GUTTER = 248; // of lanes' names; as in timeline.css
const LOOP_HEIGHT = 46, TASK_HEIGHT = 24, AXIS_HEIGHT = 30;
const LEAST_TICK_PX = 110;

// 1, 2, 5, 10, ...: the first step that leaves room for its labels.
const axisStep = (perPixel) => {
	const least = Math.max(1, perPixel * LEAST_TICK_PX);
	const ten = 10 ** Math.floor(Math.log10(least));
	return [1, 2, 5, 10].map((m) => m * ten).find((s) => s >= least * 0.999);
};

class Timeline {
	constructor(state) {
		this.state = state;
		this.folded = new Set();
		this.canvas = byId('tl-canvas');
		this.axis = byId('tl-axis');
		this.scroll = byId('tl-scroll');
		this.redraw = oncePerFrame(() => this.draw());
		this.place();
		state.on('view cursors lane slow wires theme', this.redraw);
		this.scroll.addEventListener('scroll', this.redraw);
		new ResizeObserver(this.redraw).observe(byId('timeline'));
	}

	// Where each lane stands.
	place() {
		let y = 0;
		this.boxes = [];
		for (const lane of this.state.rec.lanes) {
			const empty = !lane.sums.spans && !lane.slow.length && !lane.gaps.length;
			if (lane.loop !== lane && (empty || this.folded.has(lane.loop.index)))
				continue;
			const loop = lane.loop === lane;
			const height = loop ? LOOP_HEIGHT : TASK_HEIGHT;
			this.boxes.push({
				lane, y, height,
				wave: loop ? { y: 10, height: 18 } : { y: 6, height: 13 },
				load: loop && lane.rows.length ? { y: 32, height: 11 } : null,
			});
			y += height;
		}
		this.height = y;
		byId('tl-stage').style.height = y + 'px';
		byId('tl-lanes').style.height = y + 'px';
	}

	fold(loop) {
		if (!this.folded.delete(loop.index))
			this.folded.add(loop.index);
		this.place();
		this.redraw();
	}

	get stageWidth() {
		return Math.max(50, this.scroll.clientWidth - GUTTER);
	}

	timeAt(x) {
		return this.state.from + x / this.stageWidth * this.state.width;
	}

	xAt(t) {
		return (t - this.state.from) / this.state.width * this.stageWidth;
	}

	// y from the canvas's top.
	laneAt(y) {
		const at = y + this.scroll.scrollTop;
		const box = this.boxes.find((b) => at >= b.y && at < b.y + b.height);
		return box ? box.lane : null;
	}

	reveal(lane) {
		const box = this.boxes.find((b) => b.lane === lane);
		if (!box)
			return;
		const top = this.scroll.scrollTop, height = this.scroll.clientHeight;
		if (box.y < top || box.y + box.height > top + height)
			this.scroll.scrollTop = Math.max(0, box.y - height / 3);
	}

	draw() {
		const width = this.stageWidth, height = this.scroll.clientHeight;
		if (!height)
			return;
		const g = fitCanvas(this.canvas, width, height), top = this.scroll.scrollTop;
		const step = axisStep(this.state.width / width);
		this.drawAxis(width, step);
		g.font = '11px ' + colours.font;
		for (const box of this.boxes)
			if (box.y + box.height > top && box.y < top + height)
				this.drawLane(g, box, top, width);
		this.drawGrid(g, width, Math.min(height, this.height - top), step);
		this.drawCursors(g, width, height);
	}

	drawLane(g, box, top, width) {
		const y = box.y - top, { lane } = box;
		if (lane === this.state.lane) {
			g.fillStyle = colours.band;
			g.fillRect(0, y, width, box.height);
		}
		g.fillStyle = colours.line;
		g.fillRect(0, y + box.height - 1, width, 1);
		const at = (part) => part && ({ y: part.y + y, height: part.height });
		new LanePainter(g, this.state, lane, { y, height: box.height, wave: at(box.wave), load: at(box.load) }, width).draw();
	}

	eachTick(width, step, f) {
		const { from, to } = this.state;
		for (let t = Math.ceil(from / step) * step; t <= to; t += step)
			f(Math.round(this.xAt(t)) + 0.5, t);
	}

	drawGrid(g, width, height, step) {
		g.strokeStyle = colours.grid;
		g.lineWidth = 1;
		g.beginPath();
		this.eachTick(width, step, (x) => {
			g.moveTo(x, 0);
			g.lineTo(x, height);
		});
		g.stroke();
	}

	// Deep in, labels count from a base that the corner names: digits that are all the same say nothing.
	drawAxis(width, step) {
		const g = fitCanvas(this.axis, width, AXIS_HEIGHT);
		const deep = step < 1e6 && this.state.from > 1000 * step;
		const base = deep ? Math.floor(this.state.from / (1000 * step)) * 1000 * step : 0;
		byId('tl-base').textContent = deep ? point(base, step * 1000) + ' +' : clockTime(this.state.rec.facts.from_s + Math.max(0, this.state.from) / 1e9, 3);
		g.font = '11px ' + colours.font;
		g.textBaseline = 'middle';
		g.textAlign = 'left';
		for (let i = 1; i < 10; i++)
			this.eachTick(width, step, (x) => {
				g.fillStyle = colours.line;
				g.fillRect(x - 0.5 + i * step / this.state.width * width, AXIS_HEIGHT - (i === 5 ? 6 : 4), 1, 6);
			});
		this.eachTick(width, step, (x, t) => {
			g.fillStyle = colours.muted;
			g.fillRect(x - 0.5, AXIS_HEIGHT - 12, 1, 12);
			g.fillText(deep ? '+' + this.fromBase(t - base, step) : point(t, step), x + 4, 9);
		});
		this.drawFlags(g, width);
	}

	fromBase(ns, step) {
		const [size, unit] = step >= 1e5 ? [1e6, ' ms'] : step >= 100 ? [1e3, ' µs'] : [1, ' ns'];
		return (ns / size).toFixed(Math.max(0, Math.ceil(Math.log10(size / step)))) + unit;
	}

	drawFlags(g, width) {
		for (const which of ['a', 'b']) {
			const t = this.state.cursors[which];
			const x = t === null ? -99 : Math.round(this.xAt(t));
			if (x < -8 || x > width + 8)
				continue;
			g.fillStyle = colours.cursor;
			g.beginPath();
			g.roundRect(x - 8, AXIS_HEIGHT - 14, 16, 13, 3);
			g.fill();
			g.fillStyle = colours.bg;
			g.textAlign = 'center';
			g.font = 'bold 11px ' + colours.font;
			g.fillText(which.toUpperCase(), x, AXIS_HEIGHT - 7);
		}
	}

	drawCursors(g, width, height) {
		const { a, b } = this.state.cursors;
		if (a !== null && b !== null) {
			g.fillStyle = colours.cursor;
			g.globalAlpha = 0.1;
			const x0 = Math.max(0, this.xAt(Math.min(a, b))), x1 = Math.min(width, this.xAt(Math.max(a, b)));
			if (x1 > x0)
				g.fillRect(x0, 0, x1 - x0, height);
			g.globalAlpha = 1;
		}
		for (const t of [a, b]) {
			if (t === null)
				continue;
			const x = Math.round(this.xAt(t));
			g.fillStyle = colours.cursor;
			g.fillRect(x, 0, 1, height);
		}
	}
}
