// SPDX-License-Identifier: BSD-2-Clause
// All slow time as a flame graph: the cause first, below it the stack from the outermost frame to the innermost. A frame's width is
// its time. Click: it fills the width; the path at the top leads back.

const FLAME_ROW = 20, FLAME_LEAST = 0.0015; // of the width: narrower frames can't be told apart

const flameNode = (name, kind) => ({ name, kind, ns: 0, times: 0, children: new Map() });

const flameTree = (slow) => {
	const root = flameNode('all slow ticks', 'root');
	for (const s of slow)
		for (const c of s.causes) {
			const path = [CAUSE_NAMES[c.kind] || c.kind, ...c.stack.slice().reverse(), ...(c.what && c.what !== c.stack[0] ? [c.what] : [])];
			let node = root;
			root.ns += c.ns;
			for (const name of path) {
				if (!node.children.has(name))
					node.children.set(name, flameNode(name, CAUSE_COLOURS[c.kind] || 'other'));
				node = node.children.get(name);
				node.ns += c.ns;
				node.times++;
			}
		}
	return root;
};

class FlamePanel {
	constructor(state) {
		this.state = state;
		this.only = el('select', { 'aria-label': 'Flame graph of', on: { change: () => this.build() } }, el('option', { value: '' }, 'all loops'),
			state.rec.lanes.filter((l) => l.slow.length).map((l) => el('option', { value: l.index }, l.label)));
		this.path = el('nav', { class: 'flame-path', 'aria-label': 'Path' });
		this.graph = el('div', { class: 'flame', role: 'group', 'aria-label': 'Flame graph of slow ticks' });
		this.element = el('div', {}, el('div', { class: 'panel-head' }, this.only,
			el('span', { class: 'quiet' }, 'width: time in slow ticks'), this.path), this.graph);
		this.build();
	}

	build() {
		const only = this.only.value;
		this.root = flameTree(only === '' ? this.state.rec.slow : this.state.rec.byIndex[only].slow);
		this.zoom([this.root]);
	}

	// path: from the root to the node that fills the width.
	zoom(path) {
		const node = path[path.length - 1];
		fill(this.path, path.slice(0, -1).map((n, i) => [button(cut(visible(n.name), 40), () => this.zoom(path.slice(0, i + 1)), { class: 'link' }), ' › ']),
			el('b', {}, cut(visible(node.name), 60)), ' ', el('span', { class: 'sub' }, duration(node.ns) + (this.root.ns ? ', ' + share(node.ns / this.root.ns) : '')));
		const boxes = [];
		this.deepest = 0;
		if (node.ns)
			this.layOut(node, path, 0, 1, 0, boxes);
		fill(this.graph, boxes.length ? boxes : el('p', { class: 'quiet' }, 'No slow ticks with causes.'));
		this.graph.style.height = (this.deepest + 1) * FLAME_ROW + 'px';
	}

	layOut(node, path, from, width, depth, boxes) {
		boxes.push(this.box(node, path, from, width, depth));
		this.deepest = Math.max(this.deepest, depth);
		let at = from;
		for (const child of [...node.children.values()].sort((a, b) => b.ns - a.ns)) {
			const part = width * child.ns / node.ns;
			if (part >= FLAME_LEAST)
				this.layOut(child, [...path, child], at, part, depth + 1, boxes);
			at += part;
		}
	}

	box(node, path, from, width, depth) {
		const name = visible(node.name), figures = duration(node.ns) + ', ' + share(node.ns / this.root.ns) + (node.times ? ', ' + plural(node.times, 'time') : '');
		const box = button(width > 0.012 ? name : '', () => this.zoom(path), { class: 'frame c-' + node.kind, title: name + '\n' + figures, 'aria-label': name + ', ' + figures });
		box.style.left = 100 * from + '%';
		box.style.width = 100 * width + '%';
		box.style.top = depth * FLAME_ROW + 'px';
		return box;
	}
}
