// SPDX-License-Identifier: BSD-2-Clause
// What the reader is looking at: the part of time in view, the cursors, the chosen lane and slow tick. Whoever shows any of it
// listens; whoever changes it says so here.

const LEAST_VIEW = 20; // ns across the screen

class State {
	constructor(rec) {
		this.rec = rec;
		this.from = 0;
		this.to = rec.span;
		this.cursors = { a: null, b: null };
		this.active = 'a'; // the cursor that was set or moved last
		this.lane = null;
		this.slow = null;
		this.pointer = null; // time under the pointer
		this.listeners = {};
	}

	// what: view, cursors, lane, slow, pointer, wires, theme
	on(what, f) {
		what.split(' ').forEach((w) => (this.listeners[w] = this.listeners[w] || []).push(f));
	}

	tell(what) {
		(this.listeners[what] || []).forEach((f) => f(this));
	}

	get width() {
		return this.to - this.from;
	}

	// Some room beside the recording's ends, no more.
	show(from, to) {
		const span = this.rec.span, room = 0.02 * span;
		const width = Math.min(Math.max(to - from, LEAST_VIEW), span + 2 * room);
		from = Math.min(Math.max(from, -room), span + room - width);
		if (from === this.from && from + width === this.to)
			return;
		this.from = from;
		this.to = from + width;
		this.tell('view');
	}

	fit() {
		this.show(0, this.rec.span);
	}

	zoom(factor, at = (this.from + this.to) / 2) {
		const width = Math.min(Math.max(this.width * factor, LEAST_VIEW), 1.04 * this.rec.span);
		const part = (at - this.from) / this.width;
		this.show(at - part * width, at + (1 - part) * width);
	}

	pan(part) {
		this.show(this.from + part * this.width, this.to + part * this.width);
	}

	// A stretch in view, with some room around it.
	showAround(from, to, room = 1) {
		const width = Math.max(to - from, LEAST_VIEW);
		this.show(from - room * width, to + room * width);
	}

	setCursor(which, t) {
		this.cursors[which] = t === null ? null : Math.min(Math.max(t, 0), this.rec.span);
		this.active = which;
		this.tell('cursors');
	}

	clearCursors() {
		this.cursors = { a: null, b: null };
		this.tell('cursors');
	}

	chooseLane(lane) {
		if (lane === this.lane)
			return;
		this.lane = lane;
		this.tell('lane');
	}

	chooseSlow(slow) {
		this.slow = slow;
		if (slow && this.rec.byIndex[slow.lane])
			this.chooseLane(this.rec.byIndex[slow.lane]);
		this.tell('slow');
	}
}
