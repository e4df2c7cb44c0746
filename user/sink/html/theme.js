// SPDX-License-Identifier: BSD-2-Clause
// Light or dark: the system's choice until the reader makes one. Pictures ask here for the colours that style.css defines.

const colours = {};

const COLOUR_NAMES = ['bg', 'panel', 'raised', 'line', 'grid', 'text', 'muted', 'accent', 'cursor', 'slow', 'wire', 'wire-low', 'gap', 'cpu', 'io',
	'blocked', 'contended', 'throttled', 'fault', 'other', 'heat-0', 'heat-1', 'heat-2', 'heat-3', 'band'];

const readColours = () => {
	const style = getComputedStyle(document.documentElement);
	for (const name of COLOUR_NAMES)
		colours[name] = style.getPropertyValue('--' + name).trim();
	colours.font = getComputedStyle(document.body).fontFamily;
};

const startTheme = (state) => {
	const dark = matchMedia('(prefers-color-scheme: dark)');
	const root = document.documentElement;
	const apply = (theme) => {
		root.dataset.theme = theme;
		byId('theme').textContent = theme === 'dark' ? '☀ Light' : '☾ Dark';
		readColours();
		state.tell('theme');
	};
	let chosen = null;
	state.toggleTheme = () => {
		chosen = root.dataset.theme === 'dark' ? 'light' : 'dark';
		apply(chosen);
	};
	byId('theme').addEventListener('click', state.toggleTheme);
	dark.addEventListener('change', () => chosen || apply(dark.matches ? 'dark' : 'light'));
	apply(dark.matches ? 'dark' : 'light');
};
