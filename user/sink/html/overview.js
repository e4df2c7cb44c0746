// SPDX-License-Identifier: BSD-2-Clause
// The strip above the time line: the whole recording at a glance, the part in view as a window that can be dragged and stretched.

const STRIP_HEIGHT = 34, GRIP = 6;

class Strip {
	constructor(state, timeline) {
		Object.assign(this, { state, timeline });
		this.canvas = byId('tl-overview');
		this.redraw = oncePerFrame(() => this.draw());
		state.on('view cursors lane theme', this.redraw);
		new ResizeObserver(this.redraw).observe(this.canvas.parentElement);
		this.canvas.addEventListener('pointerdown', (e) => this.grab(e));
	}

	timeAt(x) {
		return x / this.timeline.stageWidth * this.state.rec.span;
	}

	xAt(t) {
		return t / this.state.rec.span * this.timeline.stageWidth;
	}

	// The chosen loop's load, or of all loops the highest.
	rows() {
		const { lane, rec } = this.state;
		const loop = lane ? lane.loop : rec.loops[0];
		byId('tl-overview-name').textContent = loop ? 'Load of ' + loop.label : '';
		return loop ? loop.rows : [];
	}

	draw() {
		const width = this.timeline.stageWidth, g = fitCanvas(this.canvas, width, STRIP_HEIGHT);
		for (const r of this.rows()) {
			let y = STRIP_HEIGHT - 2;
			for (const { kind, share: part } of loadParts(r)) {
				const height = Math.min(part, 1) * (STRIP_HEIGHT - 6);
				g.fillStyle = colours[kind];
				g.fillRect(this.xAt(r.start), y - height, Math.max(this.xAt(r.end) - this.xAt(r.start), 0.5), height);
				y -= height;
			}
		}
		g.fillStyle = colours.slow;
		const loop = this.state.lane ? this.state.lane.loop : this.state.rec.loops[0];
		for (const s of loop ? loop.slow : [])
			g.fillRect(this.xAt(s.start), 0, Math.max(2, this.xAt(s.end) - this.xAt(s.start)), 4);
		const x0 = Math.max(0, this.xAt(this.state.from)), x1 = Math.max(x0 + 3, Math.min(width, this.xAt(this.state.to)));
		g.fillStyle = colours.bg;
		g.globalAlpha = 0.72;
		g.fillRect(0, 0, x0, STRIP_HEIGHT);
		g.fillRect(x1, 0, width - x1, STRIP_HEIGHT);
		g.globalAlpha = 1;
		g.strokeStyle = colours.accent;
		g.lineWidth = 1.5;
		g.strokeRect(x0 + 0.75, 0.75, x1 - x0 - 1.5, STRIP_HEIGHT - 1.5);
	}

	grab(e) {
		const rect = this.canvas.getBoundingClientRect(), x = e.clientX - rect.left;
		const x0 = this.xAt(this.state.from), x1 = this.xAt(this.state.to);
		const { from, to, width } = this.state;
		const part = Math.abs(x - x0) < GRIP ? 'from' : Math.abs(x - x1) < GRIP ? 'to' : x > x0 && x < x1 && width < this.state.rec.span * 0.98 ? 'all' : 'new';
		const at = this.timeAt(x);
		const move = (m) => {
			const t = this.timeAt(m.clientX - rect.left);
			if (part === 'from')
				this.state.show(Math.min(t, to - LEAST_VIEW), to);
			else if (part === 'to')
				this.state.show(from, Math.max(t, from + LEAST_VIEW));
			else if (part === 'all')
				this.state.show(from + t - at, to + t - at);
			else if (Math.abs(m.clientX - e.clientX) > 4)
				this.state.show(Math.min(at, t), Math.max(at, t));
		};
		const up = (u) => {
			if (part === 'new' && Math.abs(u.clientX - e.clientX) <= 4)
				this.state.show(at - width / 2, at + width / 2);
			this.canvas.removeEventListener('pointermove', move);
		};
		this.canvas.setPointerCapture(e.pointerId);
		this.canvas.addEventListener('pointermove', move);
		this.canvas.addEventListener('pointerup', up, { once: true });
	}
}
