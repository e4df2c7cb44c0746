// SPDX-License-Identifier: BSD-2-Clause
// Numbers and names as people read them. Times are nanoseconds. What is not known is a dash, never 0.

const NONE = '–';
const known = (v) => v !== null && v !== undefined && !Number.isNaN(v);

const UNITS = [[3600e9, 'h'], [60e9, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

// Three or more significant digits and the unit that suits: "83.0 ms".
const duration = (ns, digits = 3) => {
	if (!known(ns))
		return NONE;
	if (ns === 0)
		return '0 s';
	const [size, unit] = UNITS.find(([s]) => Math.abs(ns) >= s * 0.9995) || UNITS[UNITS.length - 1];
	const v = ns / size;
	const decimals = unit === 'ns' ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(v) * 1.0000001)));
	return v.toFixed(Math.min(decimals, 9)) + ' ' + unit;
};

const share = (v, decimals = 1) => known(v) ? (100 * v).toFixed(decimals) + ' %' : NONE;

const count = (v) => {
	if (!known(v))
		return NONE;
	return Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
};

const shortCount = (v) => {
	if (!known(v))
		return NONE;
	for (const [size, unit] of [[1e9, ' G'], [1e6, ' M'], [1e4, ' k']])
		if (v >= size)
			return (unit === ' k' ? v / 1e3 : v / size).toPrecision(3) + unit;
	return count(v);
};

const frequency = (hz) => {
	if (!known(hz) || !Number.isFinite(hz))
		return NONE;
	for (const [size, unit] of [[1e9, 'GHz'], [1e6, 'MHz'], [1e3, 'kHz'], [1, 'Hz'], [1e-3, 'mHz']])
		if (hz >= size)
			return (hz / size).toPrecision(4) + ' ' + unit;
	return hz.toPrecision(3) + ' Hz';
};

// A point of the time line as seconds from its beginning, to the given step.
const point = (ns, step = 1) => {
	const decimals = Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(Math.max(step, 1)) - 1e-9)));
	const text = (ns / 1e9).toFixed(decimals);
	const [whole, fraction] = text.split('.');
	return (fraction ? whole + '.' + fraction.replace(/(\d{3})(?=\d)/g, '$1\u202f') : whole) + ' s';
};

const two = (n) => String(n).padStart(2, '0');

// A moment by the clock on the reader's wall.
const clockTime = (seconds, decimals = 0) => {
	const d = new Date(seconds * 1000);
	const fraction = decimals ? (seconds % 1).toFixed(decimals).slice(1) : '';
	return two(d.getHours()) + ':' + two(d.getMinutes()) + ':' + two(d.getSeconds()) + fraction;
};

const dateOf = (seconds) => {
	const d = new Date(seconds * 1000);
	return d.getFullYear() + '-' + two(d.getMonth() + 1) + '-' + two(d.getDate());
};

// Characters that would not show, or turn the direction of what stands around them, made visible.
const visible = (text) => (text || '').replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
	(c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));

const cut = (text, n) => text.length > n ? text.slice(0, n - 1) + '…' : text;

const plural = (n, one, many = one + 's') => count(n) + ' ' + (n === 1 ? one : many);
