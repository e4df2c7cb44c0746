// SPDX-License-Identifier: BSD-2-Clause
// The reports below the time line, one at a time. Each is made when it is first looked at.

const startTabs = (state) => {
	const { rec } = state;
	const wanted = [
		['loops', 'Loops', () => loopsPanel(state)],
		['loop', 'Loop', () => new LoopPanel(state)],
		['slow', 'Slow ticks', () => new SlowPanel(state), count(rec.slow.length)],
		['flame', 'Flame graph', () => new FlamePanel(state)],
		rec.loops.some((l) => l.children.length) ? ['tasks', 'Tasks', () => tasksPanel(state)] : null,
		['losses', 'Losses and notes', () => lossesPanel(state), countLosses(rec).any ? '!' : null],
	].filter(Boolean);
	const tabs = wanted.map(([id, name, make, badge]) => ({
		id, make,
		tab: el('button', { type: 'button', role: 'tab', id: 'tab-' + id, 'aria-controls': 'panel-' + id, 'aria-selected': 'false', tabindex: '-1', on: { click: () => open(id) } },
			name, badge ? el('span', { class: 'badge' + (badge === '!' ? ' alarm' : '') }, badge) : null),
		panel: el('div', { role: 'tabpanel', id: 'panel-' + id, 'aria-labelledby': 'tab-' + id, tabindex: '0', hidden: true }),
	}));
	const open = (id, focus) => {
		for (const t of tabs) {
			const on = t.id === id;
			t.tab.setAttribute('aria-selected', String(on));
			t.tab.tabIndex = on ? 0 : -1;
			t.panel.hidden = !on;
			if (on && !t.made) {
				t.made = t.make();
				t.panel.append(t.made.element || t.made);
			}
			if (on && t.made.shown)
				t.made.shown();
			if (on && focus)
				t.tab.focus();
		}
	};
	byId('tabs').addEventListener('keydown', (e) => {
		const at = tabs.findIndex((t) => t.tab === document.activeElement);
		const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[e.key];
		if (at < 0 || to === undefined)
			return;
		e.preventDefault();
		open(tabs[(to + tabs.length) % tabs.length].id, true);
	});
	fill(byId('tabs'), tabs.map((t) => t.tab));
	fill(byId('panels'), tabs.map((t) => t.panel));
	state.on('open-slow', () => open('slow'));
	state.on('open-loop', () => open('loop'));
	state.on('open-tasks', () => open('tasks'));
	open('loops');
};

// The line between time line and reports: dragged, or moved with the arrow keys.
const startSplit = () => {
	const split = byId('split'), timeline = byId('timeline');
	const set = (height) => {
		timeline.style.height = Math.min(Math.max(height, 150), innerHeight - 160) + 'px';
	};
	split.addEventListener('pointerdown', (e) => {
		const from = timeline.offsetHeight - e.clientY, move = (m) => set(from + m.clientY);
		split.setPointerCapture(e.pointerId);
		split.addEventListener('pointermove', move);
		split.addEventListener('pointerup', () => split.removeEventListener('pointermove', move), { once: true });
	});
	split.addEventListener('keydown', (e) => {
		const by = { ArrowUp: -24, ArrowDown: 24 }[e.key];
		if (by) {
			e.preventDefault();
			set(timeline.offsetHeight + by);
		}
	});
};
