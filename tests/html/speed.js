// SPDX-License-Identifier: BSD-2-Clause
// How fast a page is in a browser, for the bench. usage: node speed.js FOLDER NAME CHROMIUM; prints one object of JSON:
// milliseconds to the first paint, to the loops' tables and to the last span, and of a frame while the time line is zoomed and moved.
'use strict';
const { launch, openPage } = require('./browser.js');

const FRAMES = 40;

// From the frame's begin until what it had to draw is drawn.
const frames = (page) => page.evaluate(async (n) => {
	const canvas = document.getElementById('tl-canvas'), took = [];
	for (let i = 0; i < n; i++) {
		canvas.dispatchEvent(new KeyboardEvent('keydown', { key: i < n / 2 ? '+' : 'ArrowRight', bubbles: true }));
		took.push(await new Promise((done) => requestAnimationFrame((begun) => done(performance.now() - begun))));
	}
	return took;
}, FRAMES);

const main = async () => {
	const [, , folder, name, executable] = process.argv;
	const browser = await launch(executable), page = await openPage(browser, folder, name);
	const at = (entry) => page.evaluate((n) => performance.getEntriesByName(n)[0].startTime, entry);
	console.log(JSON.stringify({
		paint: await at('first-contentful-paint'), drawn: await at('drawn'), ready: await at('ready'), frames: await frames(page), wrong: page.wrong,
	}));
	await browser.close();
};

main().catch((e) => {
	console.error(String(e));
	process.exitCode = 1;
});
