// SPDX-License-Identifier: BSD-2-Clause
// Elements made from data. Text becomes text and nothing else: no markup is ever parsed, so no name can be any.

// attributes: class, type, title, ...; on: {event: function}. Children are nodes, strings, numbers; null is left out.
const el = (tag, attributes = {}, ...children) => {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (name === 'on')
			Object.entries(value).forEach(([event, f]) => e.addEventListener(event, f));
		else if (value === true)
			e.setAttribute(name, '');
		else if (value !== false && value !== null && value !== undefined)
			e.setAttribute(name, value);
	}
	e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
	return e;
};

const byId = (id) => document.getElementById(id);

const fill = (parent, ...children) => parent.replaceChildren(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));

const button = (text, f, attributes = {}) => el('button', { type: 'button', ...attributes, on: { click: f } }, text);

// A bar of parts: [{share, kind, text}], shares of the bar's width. Said as a whole to those who can't see it.
const partsBar = (parts, label) => {
	const bar = el('span', { class: 'parts', role: 'img', 'aria-label': label });
	for (const { share, kind, text } of parts) {
		if (!(share > 0))
			continue;
		const part = el('span', { class: 'part c-' + kind, title: text });
		part.style.width = (100 * share).toFixed(3) + '%';
		bar.append(part);
	}
	return bar;
};

const swatch = (kind) => el('span', { class: 'swatch c-' + kind, 'aria-hidden': 'true' });

// A live word for those who hear the page.
const say = (text) => {
	byId('say').textContent = text;
};

// Calls f once, in the next frame, however often it is asked to.
const oncePerFrame = (f) => {
	let asked = false;
	return () => {
		if (asked)
			return;
		asked = true;
		requestAnimationFrame(() => {
			asked = false;
			f();
		});
	};
};

// A canvas as large as its place, sharp on any screen. Returns its context, scaled to CSS pixels, and its size.
const fitCanvas = (canvas, width, height) => {
	const scale = window.devicePixelRatio || 1;
	const w = Math.max(1, Math.round(width * scale)), h = Math.max(1, Math.round(height * scale));
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = width + 'px';
		canvas.style.height = height + 'px';
	}
	const g = canvas.getContext('2d');
	g.setTransform(scale, 0, 0, scale, 0, 0);
	g.clearRect(0, 0, width, height);
	return g;
};
