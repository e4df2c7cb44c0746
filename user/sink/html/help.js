// SPDX-License-Identifier: BSD-2-Clause
// Keys, mouse and words, for who asks with '?'.

const HELP_KEYS = [
	['← →', 'along the time line; with Shift by half a screen'], ['↑ ↓', 'the lane above, below'], ['+ −', 'zoom in, out'],
	['Home or 0', 'the whole recording'], ['End', 'its end'], ['a b', 'set cursor A, B at the pointer; it snaps to edges'],
	['[ ]', 'move that cursor to the edge before, after, on the chosen lane'], ['z', 'what is between the cursors'], ['c', 'no cursors'],
	['n p', 'the next slow tick, the one before'], ['t', 'light or dark'], ['?', 'this page'],
];

const HELP_MOUSE = [
	['Wheel, pinch', 'zoom at the pointer; sideways or with Shift: along'], ['Drag', 'along, and through the lanes'], ['Shift and drag', 'bring that stretch into view'],
	['Click', 'choose lane and slow tick: its causes and stacks open below'], ['Double click', 'a span between the cursors, in view'],
	['Axis', 'click or drag sets a cursor; drag a cursor’s line to move it, Alt: without snapping'], ['Chart', 'drag: that stretch on the time line; double click: all'],
];

const HELP_WORDS = [
	['Load', 'busy and wait: the loop was not free to take new work'], ['Busy', 'its own use: on a CPU, or blocked in a callback'],
	['Wait', 'ready to run, but another task had the CPU, or the cgroup’s quota was used up'], ['Idle', 'asleep where it waits for work: headroom'],
	['Tick', 'everything between two IO waits: the time in which it can’t respond. On the time line the wire is high'],
	['Slow tick', 'one over the threshold: marked ▼'], ['Gap', 'hatched: records were lost, nothing is known of that time'],
];

const helpList = (title, pairs, keys) => el('section', {}, el('h3', {}, title), el('dl', {}, pairs.flatMap(([k, v]) =>
	[el('dt', {}, keys ? k.split(' ').map((word) => word === 'or' || word === 'and' ? ' ' + word + ' ' : el('kbd', {}, word)) : k), el('dd', {}, v)])));

const openHelp = () => {
	const dialog = byId('help');
	if (!dialog.firstChild)
		fill(dialog, el('div', { class: 'help-head' }, el('h2', { id: 'help-title' }, 'Keys and words'), button('Close', () => dialog.close(), { title: 'Escape' })),
			el('div', { class: 'help-columns' }, helpList('Keys', HELP_KEYS, true), helpList('Mouse and touchpad', HELP_MOUSE), helpList('Words', HELP_WORDS)));
	if (!dialog.open)
		dialog.showModal();
};
