// SPDX-License-Identifier: BSD-2-Clause
// A real recording's page, looked at: what must hold of any, and pictures of it for people. usage: node look.js PAGE.html FOLDER CHROMIUM
//
// Prints a line a fact; the first thing that is wrong ends it, with status 1. Pictures go into FOLDER: look-THEME-WHAT.png.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { launch, openPage, settle, text, nanoseconds, stage, coloursIn, lanes } = require('./browser.js');

const [, , file, folder, executable] = process.argv;
const TABS = ['loops', 'loop', 'slow', 'flame', 'tasks', 'losses'];

const picture = (page, theme, what, fullPage = false) => page.screenshot({ path: path.join(folder, 'look-' + theme + '-' + what + '.png'), fullPage });

// Those in view, then what scrolls into it, to the last.
const everyLaneIsDrawn = async (page) => {
	const box = await stage(page), drawn = new Set(), all = await lanes(page);
	for (const { index } of all) {
		await page.evaluate((i) => document.querySelector('.lane[data-lane="' + i + '"]').scrollIntoView({ block: 'nearest' }), index);
		await settle(page);
		const lane = (await lanes(page)).find((l) => l.index === index);
		const found = await coloursIn(page, 0, lane.top + 3, box.width, Math.min(lane.height, box.height - lane.top) - 5);
		assert.ok(Object.keys(found).length > 1, lane.name + ' is drawn');
		drawn.add(index);
	}
	await page.evaluate(() => { document.getElementById('tl-scroll').scrollTop = 0; });
	await settle(page);
	return drawn.size;
};

const zoomAndMeasure = async (page) => {
	const box = await stage(page), before = nanoseconds(await text(page, '#m-view'));
	await page.locator('#tl-canvas').focus();
	await page.mouse.move(box.x + box.width / 2, box.y + 20);
	for (let i = 0; i < 12; i++)
		await page.mouse.wheel(0, -200);
	await settle(page);
	const width = nanoseconds(await text(page, '#m-view'));
	assert.ok(width < before / 5, 'the wheel zooms: ' + before + ' to ' + width);
	for (const [x, key] of [[0.25, 'a'], [0.75, 'b']]) {
		await page.mouse.move(box.x + x * box.width, box.y + box.height - 3);
		await page.keyboard.press(key);
	}
	await settle(page);
	const apart = nanoseconds(await text(page, '#m-apart'));
	assert.ok(Math.abs(apart - width / 2) < 0.2 * width, 'cursors a half of the view apart: ' + apart + ' of ' + width);
	return width / before;
};

const aSlowTickOpensItsStack = async (page) => {
	await page.locator('#tab-slow').click();
	await settle(page);
	const stacked = await page.evaluate(() => {
		const { columns, rows } = JSON.parse(document.getElementById('data-slow').textContent), causes = columns.indexOf('causes');
		return rows.filter((row) => row[causes].some((c) => c[5].length)).length;
	});
	assert.ok(stacked, 'there are slow ticks with stacks');
	await page.locator('#tl-canvas').focus();
	for (let i = 0; i < 200 && !await page.locator('.slow-detail details[open] .stack li').count(); i++) {
		await page.keyboard.press('n');
		await settle(page);
	}
	assert.ok(await page.locator('.slow-detail details[open] .stack li').first().isVisible(), 'a stack stands open');
	return stacked;
};

const look = async (browser, theme) => {
	const page = await openPage(browser, path.dirname(file), path.basename(file, '.html'), { theme, height: 1000 });
	await picture(page, theme, 'first');
	await picture(page, theme, 'whole', true);
	console.log(theme + ': ' + await everyLaneIsDrawn(page) + ' lanes are drawn');
	for (const tab of TABS) {
		await page.locator('#tab-' + tab).click();
		await settle(page);
		assert.ok((await page.locator('#panel-' + tab).innerText()).length > 10, tab + ' shows something');
		await picture(page, theme, tab);
	}
	console.log(theme + ': zoomed to ' + ((await zoomAndMeasure(page)) * 100).toFixed(3) + ' %, and measured');
	await picture(page, theme, 'zoomed');
	console.log(theme + ': ' + await aSlowTickOpensItsStack(page) + ' slow ticks have stacks, and one was opened');
	await picture(page, theme, 'slow-tick');
	// What the browser says of our own looking at pixels is not the page's fault.
	assert.deepStrictEqual(page.wrong.filter((w) => !w.includes('willReadFrequently')), [], 'no error in the console, and no request');
	await page.close();
};

const main = async () => {
	const truth = file.replace(/\.html$/, '.json');
	if (!fs.existsSync(truth))
		fs.writeFileSync(truth, '{}');
	const browser = await launch(executable);
	try {
		for (const theme of ['light', 'dark'])
			await look(browser, theme);
	} finally {
		await browser.close();
	}
};

main().catch((e) => {
	console.log(String(e.stack || e));
	process.exitCode = 1;
});
