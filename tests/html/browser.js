// SPDX-License-Identifier: BSD-2-Clause
// What the tests of the page share: Chromium, a page that notes whatever it must not do, and questions to ask it.
'use strict';
const { chromium } = require('playwright-core');
const fs = require('node:fs');
const path = require('node:path');

// No sandbox: tests run as root in a container. Nothing may go out, not even the browser's own errands.
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking',
	'--disable-component-update', '--disable-sync'];
const READY_MS = 40000;

const launch = (executablePath) => chromium.launch({ executablePath, headless: true, args: ARGUMENTS });

// A page of the folder, open and unpacked. page.wrong: errors, and requests for anything but the file itself.
const openPage = async (browser, folder, name, { theme = 'light', width = 1280, height = 800 } = {}) => {
	const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
	page.wrong = [];
	page.truth = JSON.parse(fs.readFileSync(path.join(folder, name + '.json'), 'utf8'));
	page.on('console', (m) => ['error', 'warning'].includes(m.type()) && page.wrong.push('console: ' + m.text()));
	page.on('pageerror', (e) => page.wrong.push('error: ' + e.message));
	page.on('request', (r) => r.isNavigationRequest() || r.url().startsWith('data:') || page.wrong.push('request: ' + r.url()));
	await page.goto('file://' + path.join(folder, name + '.html'));
	await page.waitForFunction(() => document.documentElement.dataset.ready === 'yes', null, { timeout: READY_MS });
	await settle(page);
	return page;
};

// Everything that was asked for has been drawn.
const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));

const text = (page, selector) => page.locator(selector).first().textContent();

// "2.165 113 307 s" and the like, in nanoseconds.
const nanoseconds = (shown) => {
	const [, number, unit] = /([\d.]+)\s*(ns|µs|ms|s|min|h)/.exec(shown.replace(/[\u202f\u00a0]/g, '')) || [];
	return number * { ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9 }[unit];
};

const stage = (page) => page.locator('#tl-canvas').boundingBox();

// The colours that stand in a rectangle of the time line, in its own pixels, as 'r,g,b' -> how many.
const coloursIn = (page, x, y, width, height) => page.evaluate(([x0, y0, w, h]) => {
	const canvas = document.getElementById('tl-canvas'), scale = canvas.width / canvas.clientWidth;
	const { data } = canvas.getContext('2d').getImageData(x0 * scale, y0 * scale, Math.max(1, w * scale), Math.max(1, h * scale));
	const counts = {};
	for (let i = 0; i < data.length; i += 4) {
		const key = data[i + 3] ? [data[i], data[i + 1], data[i + 2]].join() : 'none';
		counts[key] = (counts[key] || 0) + 1;
	}
	return counts;
}, [x, y, width, height]);

// A colour of the page's, 'r,g,b'.
const colour = (page, name) => page.evaluate((n) => {
	const hex = getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim();
	return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join();
}, name);

// Lanes as they stand: number, name, top and height, in the time line's pixels.
const lanes = (page) => page.evaluate(() => [...document.querySelectorAll('#tl-lanes .lane')].map((row) => ({
	index: Number(row.dataset.lane), name: row.querySelector('.lane-label').textContent, top: row.offsetTop - document.getElementById('tl-scroll').scrollTop, height: row.offsetHeight,
})));

const laneOf = async (page, index) => (await lanes(page)).find((l) => l.index === index);
const chooseLane = (page, index) => page.locator('.lane[data-lane="' + index + '"] .lane-name').click();

module.exports = { launch, openPage, settle, text, nanoseconds, stage, coloursIn, colour, lanes, laneOf, chooseLane };
