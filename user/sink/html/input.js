// SPDX-License-Identifier: BSD-2-Clause
// Mouse, touchpad, touch and keys on the time line.
//
// Wheel: zoom at the pointer; with Shift, or sideways: along. Drag: along, and up and down through the lanes. Shift and drag: that
// stretch comes into view. A cursor's line or flag can be dragged. Click: the span under the pointer is chosen.

const CLICK_PX = 4, GRAB_PX = 5, SNAP_PX = 9;

class Input {
	constructor(state, timeline) {
		Object.assign(this, { state, timeline });
		this.canvas = byId('tl-canvas');
		this.touches = new Map();
		const on = (name, f, options) => this.canvas.addEventListener(name, f.bind(this), options);
		on('wheel', this.wheel, { passive: false });
		on('pointerdown', this.down);
		on('pointermove', this.move);
		on('pointerup', this.up);
		on('pointercancel', this.up);
		on('pointerleave', () => this.hover(null));
		on('dblclick', this.double);
		byId('tl-axis').addEventListener('pointerdown', (e) => this.axisDown(e));
		document.addEventListener('keydown', (e) => this.key(e));
	}

	place(e) {
		const rect = this.canvas.getBoundingClientRect();
		return { x: e.clientX - rect.left, y: e.clientY - rect.top };
	}

	hover(at) {
		this.state.pointer = at;
		this.state.tell('pointer');
	}

	wheel(e) {
		e.preventDefault();
		const pixels = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
		const dx = (e.shiftKey && !e.deltaX ? e.deltaY : e.deltaX) * pixels, dy = e.shiftKey ? 0 : e.deltaY * pixels;
		const { x } = this.place(e);
		if (Math.abs(dx) > Math.abs(dy))
			this.state.pan(dx / this.timeline.stageWidth);
		else if (dy)
			this.state.zoom(Math.exp(Math.max(-240, Math.min(240, dy)) * (e.ctrlKey ? 0.012 : 0.0028)), this.timeline.timeAt(x));
	}

	// The cursor whose line is under the pointer, or null.
	cursorAt(x) {
		return ['b', 'a'].find((which) => this.state.cursors[which] !== null &&
			Math.abs(this.timeline.xAt(this.state.cursors[which]) - x) <= GRAB_PX) || null;
	}

	// The time at x; at an edge of the lane's wire where one is near. Alt: as it is.
	snapped(x, y, e) {
		const t = this.timeline.timeAt(x), lane = this.timeline.laneAt(y);
		if (e.altKey || !lane || !lane.wire)
			return t;
		const edge = lane.wire.edgeNear(t, SNAP_PX / this.timeline.stageWidth * this.state.width);
		return edge === null ? t : edge;
	}

	down(e) {
		if (e.button > 1)
			return;
		const { x, y } = this.place(e);
		this.canvas.setPointerCapture(e.pointerId);
		this.touches.set(e.pointerId, x);
		this.drag = {
			x, y, from: this.state.from, to: this.state.to, top: this.timeline.scroll.scrollTop, moved: false,
			cursor: this.cursorAt(x), stretch: e.shiftKey,
		};
		if (this.touches.size === 2)
			this.pinch = { xs: [...this.touches.values()], from: this.state.from, width: this.state.width };
	}

	move(e) {
		const { x, y } = this.place(e);
		if (this.touches.has(e.pointerId))
			this.touches.set(e.pointerId, x);
		if (this.pinch && this.touches.size === 2) {
			this.pinched();
			return;
		}
		this.hover({ t: this.timeline.timeAt(x), x, y, lane: this.timeline.laneAt(y), clientX: e.clientX, clientY: e.clientY });
		if (!this.drag) {
			this.canvas.style.cursor = this.cursorAt(x) ? 'ew-resize' : '';
			return;
		}
		const d = this.drag;
		d.moved = d.moved || Math.abs(x - d.x) > CLICK_PX || Math.abs(y - d.y) > CLICK_PX;
		if (!d.moved)
			return;
		if (d.cursor) {
			this.state.setCursor(d.cursor, this.snapped(x, y, e));
		} else if (d.stretch) {
			this.state.setCursor('a', this.timeline.timeAt(d.x));
			this.state.setCursor('b', this.timeline.timeAt(x));
		} else {
			this.canvas.style.cursor = 'grabbing';
			const by = (d.x - x) / this.timeline.stageWidth * (d.to - d.from);
			this.state.show(d.from + by, d.to + by);
			this.timeline.scroll.scrollTop = d.top + d.y - y;
		}
	}

	pinched() {
		const [a0, b0] = this.pinch.xs, [a1, b1] = [...this.touches.values()];
		const factor = Math.max(Math.abs(a0 - b0), 10) / Math.max(Math.abs(a1 - b1), 10);
		const width = this.pinch.width * factor;
		const held = this.pinch.from + (a0 + b0) / 2 / this.timeline.stageWidth * this.pinch.width;
		const from = held - (a1 + b1) / 2 / this.timeline.stageWidth * width;
		this.state.show(from, from + width);
	}

	up(e) {
		const d = this.drag;
		this.touches.delete(e.pointerId);
		this.pinch = this.touches.size === 2 ? this.pinch : null;
		this.drag = null;
		this.canvas.style.cursor = '';
		if (!d)
			return;
		if (d.stretch && d.moved) {
			const { a, b } = this.state.cursors;
			this.state.clearCursors();
			this.state.show(Math.min(a, b), Math.max(a, b));
		} else if (!d.moved && e.type === 'pointerup') {
			this.click(this.place(e));
		}
	}

	// What is under the pointer is chosen: its lane, and a slow tick with its causes.
	click({ x, y }) {
		const lane = this.timeline.laneAt(y), t = this.timeline.timeAt(x);
		if (!lane)
			return;
		this.state.chooseLane(lane);
		const slow = slowAt(lane, t, SNAP_PX / this.timeline.stageWidth * this.state.width);
		if (slow) {
			this.state.chooseSlow(slow);
			this.state.tell('open-slow');
		}
	}

	// Twice: the span comes into view, with both cursors on its edges.
	double(e) {
		const { x, y } = this.place(e);
		const lane = this.timeline.laneAt(y);
		if (!lane || !lane.wire)
			return;
		const i = lane.wire.at(this.timeline.timeAt(x), SNAP_PX / this.timeline.stageWidth * this.state.width);
		if (i < 0)
			return;
		const { starts, ends } = lane.wire;
		this.state.setCursor('a', starts[i]);
		this.state.setCursor('b', ends[i]);
		this.state.showAround(starts[i], ends[i]);
	}

	axisDown(e) {
		const axis = byId('tl-axis'), rect = axis.getBoundingClientRect();
		const cursor = this.cursorAt(e.clientX - rect.left) || (this.state.cursors.a === null ? 'a' : this.state.cursors.b === null ? 'b' : this.state.active);
		const move = (m) => this.state.setCursor(cursor, this.timeline.timeAt(m.clientX - rect.left));
		axis.setPointerCapture(e.pointerId);
		move(e);
		axis.addEventListener('pointermove', move);
		axis.addEventListener('pointerup', () => axis.removeEventListener('pointermove', move), { once: true });
	}

	key(e) {
		if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input, select, textarea, dialog, [role=tablist], [role=separator]'))
			return;
		const act = KEYS[e.key];
		const scrolls = e.target.closest('#panels') && (e.key.startsWith('Arrow') || e.key === 'Home' || e.key === 'End');
		if (!act || scrolls || (e.key === 'Enter' && e.target.closest('button, a, summary')))
			return;
		e.preventDefault();
		act(this.state, this.timeline, this, e);
	}
}

// A slow tick with its causes at t, or near it.
const slowAt = (lane, t, distance) => {
	let best = null, far = distance;
	for (const s of lane.slow) {
		const d = t < s.start ? s.start - t : t > s.end ? t - s.end : 0;
		if (d <= far) {
			best = s;
			far = d;
		}
	}
	return best;
};

const setCursorAt = (which) => (state, timeline, input) => {
	const at = state.pointer;
	state.setCursor(which, at ? input.snapped(at.x, at.y, {}) : (state.from + state.to) / 2);
};

const stepEdge = (forward) => (state, timeline) => {
	const lane = state.lane, t = state.cursors[state.active];
	if (!lane || !lane.wire || !lane.wire.n)
		return;
	const edge = lane.wire.edgeFrom(t === null ? (state.from + state.to) / 2 : t, forward);
	if (edge === null)
		return;
	state.setCursor(state.active, edge);
	if (edge < state.from || edge > state.to)
		state.show(edge - state.width / 2, edge + state.width / 2);
	say('Cursor ' + state.active.toUpperCase() + ' at ' + point(edge));
};

const stepLane = (by) => (state, timeline) => {
	const lanes = timeline.boxes.map((b) => b.lane), at = lanes.indexOf(state.lane);
	const lane = lanes[Math.min(Math.max(at + by, 0), lanes.length - 1)];
	state.chooseLane(lane);
	timeline.reveal(lane);
	say(lane.label);
};

// The next slow tick of the chosen loop, or of all.
const stepSlow = (by) => (state, timeline) => {
	const lane = state.lane && state.lane.slow.length ? state.lane : null;
	const all = (lane ? lane.slow : state.rec.slow).slice().sort((a, b) => a.start - b.start);
	if (!all.length)
		return;
	const at = state.slow ? all.indexOf(state.slow) : by > 0 ? -1 : all.length;
	const slow = all[Math.min(Math.max(at + by, 0), all.length - 1)];
	state.chooseSlow(slow);
	state.showAround(slow.start, slow.end);
	timeline.reveal(state.rec.byIndex[slow.lane]);
	state.tell('open-slow');
	say('Slow tick of ' + state.rec.byIndex[slow.lane].label + ', ' + duration(slow.length));
};

const zoomToCursors = (state) => {
	const { a, b } = state.cursors;
	if (a !== null && b !== null && a !== b)
		state.showAround(Math.min(a, b), Math.max(a, b), 0.1);
};

const KEYS = {
	'ArrowLeft': (s, t, i, e) => s.pan(e.shiftKey ? -0.5 : -0.1),
	'ArrowRight': (s, t, i, e) => s.pan(e.shiftKey ? 0.5 : 0.1),
	'ArrowUp': stepLane(-1),
	'ArrowDown': stepLane(1),
	'+': (s) => s.zoom(0.6),
	'=': (s) => s.zoom(0.6),
	'-': (s) => s.zoom(1 / 0.6),
	'_': (s) => s.zoom(1 / 0.6),
	'Home': (s) => s.fit(),
	'0': (s) => s.fit(),
	'End': (s) => s.show(s.rec.span - s.width, s.rec.span),
	'a': setCursorAt('a'),
	'b': setCursorAt('b'),
	'c': (s) => s.clearCursors(),
	'z': zoomToCursors,
	'[': stepEdge(false),
	']': stepEdge(true),
	'n': stepSlow(1),
	'p': stepSlow(-1),
	'N': stepSlow(-1),
	'Enter': (s) => s.slow && s.tell('open-slow'),
	't': (s) => s.toggleTheme(),
	'?': () => openHelp(),
};
