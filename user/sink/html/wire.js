// SPDX-License-Identifier: BSD-2-Clause
// All spans of one lane: when its wire is high. Millions of them are looked at through blocks of 64: how long the wire was high
// before each, and the longest span in it. So any picture costs a few steps for each of its columns, however much lies under it.

const SLOW = 1, OPEN = 2, UNSURE = 4, READY = 8, ALIVE = 16;
const BLOCK_BITS = 6, BLOCK = 1 << BLOCK_BITS;

class Wire {
	// mixed: the pieces of several lanes come as they are, and are put in order at the end.
	constructor(capacity, mixed = false) {
		this.mixed = mixed;
		this.n = 0;
		this.starts = new Float64Array(capacity);
		this.ends = new Float64Array(capacity);
		this.flags = new Uint8Array(capacity);
		this.values = null;
		this.slow = [];
		this.blocks = 0;
		this.highBeforeBlock = new Float64Array((capacity >> BLOCK_BITS) + 2);
		this.longestInBlock = new Float64Array((capacity >> BLOCK_BITS) + 2);
	}

	// What was said of the number of spans was too low: nothing is dropped for it.
	grow(n) {
		if (n <= this.starts.length)
			return;
		const larger = (old, size) => {
			const a = new old.constructor(size);
			a.set(old);
			return a;
		};
		const capacity = Math.max(n, 2 * this.starts.length);
		for (const key of ['starts', 'ends', 'flags'])
			this[key] = larger(this[key], capacity);
		for (const key of ['highBeforeBlock', 'longestInBlock'])
			this[key] = larger(this[key], (capacity >> BLOCK_BITS) + 2);
		if (this.values)
			this.values = larger(this.values, capacity);
	}

	// Pieces come in the order of time.
	append(piece) {
		const from = this.n;
		this.grow(from + piece.n);
		this.starts.set(piece.starts, from);
		this.ends.set(piece.ends, from);
		piece.flagged.forEach((index, i) => {
			this.flags[from + index] = piece.flags[i];
			if (piece.flags[i] & SLOW)
				this.slow.push(from + index);
		});
		if (piece.values) {
			this.values = this.values || new Float64Array(this.starts.length);
			this.values.set(piece.values, from);
		}
		this.n += piece.n;
		if (!this.mixed)
			this.sumUp();
	}

	sort() {
		if (!this.mixed)
			return;
		const order = Array.from({ length: this.n }, (_, i) => i).sort((a, b) => this.starts[a] - this.starts[b]);
		for (const key of ['starts', 'ends', 'flags'])
			this[key] = this[key].constructor.from(order, (i) => this[key][i]);
		this.slow = order.map((_, i) => i).filter((i) => this.flags[i] & SLOW);
		this.mixed = false;
		this.blocks = 0;
		this.sumUp();
	}

	sumUp() {
		for (; (this.blocks + 1) << BLOCK_BITS <= this.n; this.blocks++) {
			let high = this.highBeforeBlock[this.blocks], longest = 0;
			for (let i = this.blocks << BLOCK_BITS; i < (this.blocks + 1) << BLOCK_BITS; i++) {
				const length = this.ends[i] - this.starts[i];
				high += length;
				longest = Math.max(longest, length);
			}
			this.highBeforeBlock[this.blocks + 1] = high;
			this.longestInBlock[this.blocks] = longest;
		}
	}

	// The first span whose end lies after t, or n.
	firstAfter(t) {
		let low = 0, high = this.n;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (this.ends[middle] > t)
				high = middle;
			else
				low = middle + 1;
		}
		return low;
	}

	// The first span that starts at t or later, or n.
	firstFrom(t) {
		let low = 0, high = this.n;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (this.starts[middle] >= t)
				high = middle;
			else
				low = middle + 1;
		}
		return low;
	}

	// How long the wire was high before t.
	highBefore(t) {
		const end = this.firstAfter(t), block = Math.min(end >> BLOCK_BITS, this.blocks);
		let high = this.highBeforeBlock[block];
		for (let i = block << BLOCK_BITS; i < end; i++)
			high += this.ends[i] - this.starts[i];
		return end < this.n && this.starts[end] < t ? high + t - this.starts[end] : high;
	}

	// The longest of spans from..to-1.
	longest(from, to) {
		let longest = 0, i = from;
		while (i < to)
			if (!(i & (BLOCK - 1)) && i + BLOCK <= to && i >> BLOCK_BITS < this.blocks) {
				longest = Math.max(longest, this.longestInBlock[i >> BLOCK_BITS]);
				i += BLOCK;
			} else {
				longest = Math.max(longest, this.ends[i] - this.starts[i]);
				i++;
			}
		return longest;
	}

	// The span at t, or the nearest within the given distance; -1.
	at(t, distance) {
		const i = this.firstAfter(t);
		if (i < this.n && this.starts[i] <= t)
			return i;
		const after = i < this.n ? this.starts[i] - t : Infinity, before = i > 0 ? t - this.ends[i - 1] : Infinity;
		if (Math.min(after, before) > distance)
			return -1;
		return after < before ? i : i - 1;
	}

	// The edge nearest to t within the given distance, or null.
	edgeNear(t, distance) {
		const i = this.firstAfter(t);
		let best = null;
		for (let k = Math.max(0, i - 1); k <= i && k < this.n; k++)
			for (const edge of [this.starts[k], this.ends[k]])
				if (Math.abs(edge - t) <= distance && (best === null || Math.abs(edge - t) < Math.abs(best - t)))
					best = edge;
		return best;
	}

	// The next edge after t, or the last before it; null where there is none.
	edgeFrom(t, forward) {
		let i = this.firstAfter(t);
		if (forward) {
			if (i >= this.n)
				return null;
			return this.starts[i] > t ? this.starts[i] : this.ends[i];
		}
		if (i < this.n && this.starts[i] < t)
			return this.starts[i];
		for (i--; i >= 0; i--)
			for (const edge of [this.ends[i], this.starts[i]])
				if (edge < t)
					return edge;
		return null;
	}

	// How many start in [from, to).
	countIn(from, to) {
		return this.firstFrom(to) - this.firstFrom(from);
	}
}
