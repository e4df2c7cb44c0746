// SPDX-License-Identifier: BSD-2-Clause
// How one lane of the time line is drawn: its wire, load, gaps, slow ticks. All in CSS pixels; x counts from the stage's left edge.

const DENSE = 0.8; // spans for each pixel from which on they are drawn as density
const LEAST_DENSITY = 0.25; // of the wire's height: the rarest events are still seen
const LABEL_MIN = 64; // width from which on a span says how long it is
const SLOW_MIN = 3; // a slow tick is never narrower

// Hatching for what is not known; made once for a colour.
const hatches = new Map();
const hatch = (g, colour) => {
	if (!hatches.has(colour)) {
		const tile = document.createElement('canvas');
		tile.width = tile.height = 8;
		const t = tile.getContext('2d');
		t.strokeStyle = colour;
		t.lineWidth = 1.2;
		t.beginPath();
		for (const d of [-8, 0, 8]) {
			t.moveTo(d, 8);
			t.lineTo(d + 8, 0);
		}
		t.stroke();
		hatches.set(colour, g.createPattern(tile, 'repeat'));
	}
	return hatches.get(colour);
};

class LanePainter {
	// box: {y, height, wave: {y, height}, load: {y, height} or null}; scale: time to x
	constructor(g, state, lane, box, width) {
		Object.assign(this, { g, state, lane, box, width });
		this.from = state.from;
		this.perPixel = state.width / width;
	}

	x(t) {
		return (t - this.from) / this.perPixel;
	}

	draw() {
		const { g, box, lane, width } = this;
		g.strokeStyle = colours['wire-low'];
		g.lineWidth = 1;
		const low = Math.round(box.wave.y + box.wave.height) - 0.5;
		const [x0, x1] = [this.x(0), this.x(this.state.rec.span)].map((x) => Math.min(Math.max(x, 0), width));
		g.beginPath();
		g.moveTo(x0, low);
		g.lineTo(x1, low);
		g.stroke();
		if (box.load)
			this.load();
		if (lane.wire && lane.wire.n)
			this.wire(lane.wire);
		this.gaps();
		this.slowMarks();
	}

	// Load as the interval records tell it, stacked: what was busy below, what waited above.
	load() {
		const { g, box } = this;
		for (const r of this.lane.rows) {
			const x0 = this.x(r.start), x1 = this.x(r.end);
			if (x1 < 0 || x0 > this.width)
				continue;
			let y = box.load.y + box.load.height;
			for (const { kind, share: part } of loadParts(r)) {
				const height = Math.min(part, 1) * box.load.height;
				if (height <= 0)
					continue;
				g.fillStyle = colours[kind];
				g.fillRect(Math.max(x0, -1), y - height, Math.min(x1, this.width + 1) - Math.max(x0, -1), height);
				y -= height;
			}
		}
	}

	wire(wire) {
		const first = wire.firstAfter(this.from), last = wire.firstFrom(this.state.to);
		this.dense = last - first > DENSE * this.width;
		if (this.dense)
			this.density(wire);
		else
			this.spans(wire, first, last);
	}

	// So many that each column of pixels says how much of it the wire was high.
	density(wire) {
		const { g, box, perPixel, from } = this;
		const columns = Math.ceil(this.width), { y, height } = box.wave;
		let before = wire.highBefore(from);
		g.fillStyle = colours.wire;
		for (let x = 0; x < columns; x++) {
			const now = wire.highBefore(from + (x + 1) * perPixel);
			const part = (now - before) / perPixel;
			before = now;
			if (part <= 0)
				continue;
			g.globalAlpha = 0.25 + 0.6 * Math.min(part, 1);
			const h = height * (LEAST_DENSITY + (1 - LEAST_DENSITY) * Math.sqrt(Math.min(part, 1)));
			g.fillRect(x, y + height - h, 1, h);
		}
		g.globalAlpha = 1;
	}

	// Each one as a level. Those narrower than a pixel add up in theirs.
	spans(wire, first, last) {
		const { g } = this;
		const thin = new Map();
		for (let i = first; i < last; i++) {
			const x0 = this.x(wire.starts[i]), x1 = this.x(wire.ends[i]);
			if (x1 - x0 >= 1 || wire.flags[i])
				this.span(wire, i, x0, x1);
			else
				thin.set(Math.floor(x0), (thin.get(Math.floor(x0)) || 0) + x1 - x0);
		}
		g.fillStyle = colours.wire;
		for (const [x, part] of thin) {
			g.globalAlpha = Math.min(1, 0.55 + 0.45 * part);
			g.fillRect(x, this.box.wave.y, 1, this.box.wave.height);
		}
		g.globalAlpha = 1;
	}

	span(wire, i, x0, x1) {
		const { g, box, width } = this;
		const flags = wire.flags[i], { y, height } = box.wave;
		if (this.lane.kind === 'mark') {
			this.mark(wire, i, x0);
			return;
		}
		const top = flags & (READY | ALIVE) ? y + height * 0.55 : y;
		const left = Math.max(x0, -2), right = Math.min(Math.max(x1, x0 + 1), width + 2), w = right - left, h = y + height - top;
		const colour = flags & SLOW ? colours.slow : flags & READY ? colours.contended : colours.wire;
		g.fillStyle = colour;
		g.globalAlpha = flags & SLOW ? 0.75 : 0.32;
		g.fillRect(left, top, w, h);
		g.globalAlpha = 1;
		if (w >= 3) {
			g.strokeStyle = colour;
			g.lineWidth = 1.25;
			g.beginPath();
			g.moveTo(left, y + height);
			g.lineTo(left, top + 0.5);
			g.lineTo(right, top + 0.5);
			if (!(flags & OPEN))
				g.lineTo(right, y + height);
			g.stroke();
		} else {
			g.fillRect(left, top, Math.max(w, 1), h);
		}
		if (flags & UNSURE) {
			g.fillStyle = hatch(g, colours.muted);
			g.fillRect(left, top, w, h);
		}
		if (w > LABEL_MIN)
			this.label(duration(wire.ends[i] - wire.starts[i]), left, right, y + height / 2, flags & SLOW);
	}

	// A moment of the user's own, with its value where there is room for it.
	mark(wire, i, x) {
		const { g, box } = this;
		const { y, height } = box.wave;
		g.fillStyle = colours.wire;
		g.fillRect(x - 0.5, y, 1, height);
		g.beginPath();
		g.moveTo(x, y - 1);
		g.lineTo(x + 3, y + 3);
		g.lineTo(x, y + 7);
		g.lineTo(x - 3, y + 3);
		g.fill();
		const next = i + 1 < wire.n ? this.x(wire.starts[i + 1]) : Infinity;
		if (wire.values && next - x > 40) {
			g.fillStyle = colours.text;
			g.textAlign = 'left';
			g.fillText(String(wire.values[i]), x + 5, y + height / 2 + 1);
		}
	}

	label(text, left, right, y, strong) {
		const { g, width } = this;
		g.font = '11px ' + colours.font;
		g.textBaseline = 'middle';
		g.textAlign = 'center';
		const middle = (Math.max(left, 0) + Math.min(right, width)) / 2;
		if (Math.min(right, width) - Math.max(left, 0) < g.measureText(text).width + 10)
			return;
		g.fillStyle = strong ? colours.bg : colours.text;
		g.fillText(text, middle, y + 0.5);
	}

	gaps() {
		const { g, box } = this;
		for (const gap of this.lane.gaps.length ? this.lane.gaps : this.lane.loop.gaps) {
			const x0 = this.x(gap.start), x1 = Math.max(this.x(gap.end), x0 + 2);
			if (x1 < 0 || x0 > this.width)
				continue;
			const left = Math.max(x0, -8), w = Math.min(x1, this.width + 8) - left;
			g.fillStyle = colours.bg;
			g.globalAlpha = 0.75;
			g.fillRect(left, box.y + 1, w, box.height - 2);
			g.globalAlpha = 1;
			g.fillStyle = hatch(g, colours.gap);
			g.fillRect(left, box.y + 1, w, box.height - 2);
			g.fillStyle = colours.gap;
			if (w < 6)
				continue;
			g.fillRect(left, box.y + 1, 1, box.height - 2);
			g.fillRect(left + w - 1, box.y + 1, 1, box.height - 2);
		}
	}

	// Slow ticks stay in sight at any zoom: a flag above the wire. Where they are closer than they can be told apart, one stands for
	// all, the longest.
	slowMarks() {
		const { g, box, state } = this;
		const slow = this.lane.kind === 'loop' && this.lane.slow.length ? this.lane.slow.map((s) => [s.start, s.end]) : this.slowSpans();
		let free = -Infinity;
		for (const [start, end] of slow) {
			const x0 = this.x(start), x1 = Math.max(this.x(end), x0 + SLOW_MIN);
			if (x1 < 0 || x0 > this.width)
				continue;
			g.fillStyle = colours.slow;
			if (this.dense || x1 - x0 <= 8 || !this.lane.wire || !this.lane.wire.n)
				g.fillRect(x0, box.wave.y, x1 - x0, box.wave.height);
			if (x0 < free)
				continue;
			free = x0 + 5;
			const middle = Math.min(Math.max((x0 + x1) / 2, 5), this.width - 5);
			g.beginPath();
			g.moveTo(middle - 4, box.wave.y - 7);
			g.lineTo(middle + 4, box.wave.y - 7);
			g.lineTo(middle, box.wave.y - 1);
			g.fill();
		}
		const chosen = state.slow;
		if (chosen && chosen.lane === this.lane.index) {
			g.strokeStyle = colours.text;
			g.lineWidth = 1.5;
			const x0 = Math.max(this.x(chosen.start), -4), x1 = Math.min(Math.max(this.x(chosen.end), x0 + SLOW_MIN), this.width + 4);
			g.strokeRect(x0 - 2, box.wave.y - 2, x1 - x0 + 4, box.wave.height + 4);
		}
	}

	slowSpans() {
		const { lane, state } = this;
		const wire = lane.wire;
		if (!wire || !wire.slow.length)
			return [];
		const inView = [];
		for (const i of wire.slow)
			if (wire.ends[i] > state.from && wire.starts[i] < state.to)
				inView.push([wire.starts[i], wire.ends[i]]);
		return inView;
	}
}
