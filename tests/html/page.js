// SPDX-License-Identifier: BSD-2-Clause
// The page's tests. usage: node page.js FOLDER CHROMIUM; a line a test: PASS or FAIL, its name, and why.
//
// What is true of the recordings is what invent printed beside each page; times are held against it to the nanosecond.
'use strict';
const assert = require('node:assert');
const { launch, openPage, settle, text, nanoseconds, stage, coloursIn, colour, lanes, laneOf, chooseLane } = require('./browser.js');

const SPAN = 30e9;
const [, , folder, executable] = process.argv;

const facts = (page) => page.evaluate(() => JSON.parse(document.getElementById('data-facts').textContent));

// A slow tick in view with as much again on either side, the pointer's keys going to the time line.
const goToSlow = async (page, nth) => {
	await page.locator('#tl-canvas').focus();
	for (let i = 0; i <= nth; i++)
		await page.keyboard.press('n');
	await settle(page);
};

const tests = {
	async 'opens-quietly'(browser) {
		for (const [name, theme] of [['hostile', 'light'], ['sums', 'dark']]) {
			const page = await openPage(browser, folder, name, { theme });
			for (const tab of ['loop', 'slow', 'flame', 'tasks', 'losses', 'loops']) {
				await page.locator('#tab-' + tab).click();
				await settle(page);
				assert.ok((await page.locator('#panel-' + tab).innerText()).length > 40, tab + ' shows something');
			}
			assert.deepStrictEqual(page.wrong, []);
			await page.close();
		}
	},

	async 'hostile-names-are-text'(browser) {
		const page = await openPage(browser, folder, 'hostile');
		for (const tab of ['slow', 'flame', 'tasks', 'losses', 'loop'])
			await page.locator('#tab-' + tab).click();
		await goToSlow(page, 0);
		const seen = await page.evaluate(() => ({
			hacked: window.hacked, images: document.images.length, bold: document.querySelectorAll('i, u, b b').length,
			scripts: [...document.scripts].filter((s) => !s.type).length, title: document.title,
		}));
		assert.deepStrictEqual(seen, { hacked: undefined, images: 0, bold: 0, scripts: 2, title: 'loopscope: workbench' });
		const names = (await lanes(page)).map((l) => l.name);
		assert.ok(names.includes('<img src=x onerror=window.hacked=1>'), names.join('|'));
		assert.ok(names.some((n) => n.startsWith('</script>\\u000a\\u001b[2Jsensor\ufffd')), 'controls are shown, broken bytes are marked: ' + names.join('|'));
		assert.match(await text(page, '#what code'), /<script>window\.hacked=2<\/script>/);
		assert.deepStrictEqual(page.wrong, []);
		await page.close();
	},

	// If ever markup got in, the page's own policy must still stop it.
	async 'policy-forbids-scripts-and-connections'(browser) {
		const page = await openPage(browser, folder, 'plain');
		const ran = await page.evaluate(async () => {
			const script = document.createElement('script');
			script.textContent = 'window.hacked = 4';
			document.body.append(script);
			const image = document.createElement('div');
			image.innerHTML = '<img src="data:," onerror="window.hacked = 5">';
			document.body.append(image);
			const asked = await fetch('data:text/plain,x').then(() => 'fetched', () => 'refused');
			await new Promise((done) => setTimeout(done, 50));
			return [window.hacked, asked];
		});
		assert.deepStrictEqual(ran, [undefined, 'refused']);
		await page.close();
	},

	async 'lanes-are-drawn'(browser) {
		for (const theme of ['light', 'dark']) {
			const page = await openPage(browser, folder, 'plain', { theme, height: 1100 });
			const box = await stage(page), all = await lanes(page), slow = await colour(page, 'slow');
			for (const lane of all.filter((l) => l.top + l.height < box.height)) {
				const found = await coloursIn(page, 0, lane.top + 4, box.width, lane.height - 6);
				assert.ok(Object.keys(found).length > 2, lane.name + ' is drawn');
			}
			for (const [index, start, end] of page.truth.slow) {
				const lane = all.find((l) => l.index === index), x = (start + end) / 2 / SPAN * box.width;
				const found = await coloursIn(page, x - 1, lane.top + 12, 2, 12);
				assert.ok(found[slow] > 4, 'a slow tick of ' + lane.name + ' at ' + start + ' is seen: ' + JSON.stringify(found));
			}
			const gap = all.find((l) => l.name === 'board0'), hatched = await coloursIn(page, 0.2584 * box.width - 3, gap.top + 10, 6, 20);
			assert.ok(Object.keys(hatched).length > 3, 'a gap is hatched');
			await page.close();
		}
	},

	async 'wheel-zooms-at-the-pointer'(browser) {
		const page = await openPage(browser, folder, 'plain'), box = await stage(page);
		const x = Math.round(box.width / 3), at = x / box.width * SPAN;
		await page.mouse.move(box.x + x, box.y + 20);
		for (let i = 0; i < 30; i++)
			await page.mouse.wheel(0, -200);
		await settle(page);
		const width = nanoseconds(await text(page, '#m-view'));
		assert.ok(width < SPAN / 1e5, 'zoomed in to ' + width);
		assert.ok(Math.abs(nanoseconds(await text(page, '#m-pointer')) - at) < SPAN / box.width, 'the time under the pointer has stayed');
		for (let i = 0; i < 60; i++)
			await page.mouse.wheel(0, 200);
		await settle(page);
		assert.ok(nanoseconds(await text(page, '#m-view')) >= SPAN, 'and out again');
		await page.close();
	},

	async 'keys-move-and-zoom'(browser) {
		const page = await openPage(browser, folder, 'plain');
		const view = async () => {
			await settle(page);
			const [width, from] = (await text(page, '#m-view')).split(' from ').map(nanoseconds);
			return { width, from };
		};
		await page.locator('#tl-canvas').focus();
		await page.keyboard.press('+');
		await page.keyboard.press('+');
		const near = await view();
		assert.ok(Math.abs(near.width - SPAN * 0.36) < 0.01 * SPAN, 'plus zooms: ' + near.width);
		await page.keyboard.press('ArrowRight');
		const right = await view();
		assert.ok(Math.abs(right.from - near.from - 0.1 * near.width) < 0.01 * SPAN, 'right goes on: ' + right.from);
		await page.keyboard.press('-');
		assert.ok((await view()).width > near.width, 'minus zooms out');
		await page.keyboard.press('Home');
		assert.deepStrictEqual(await view(), { width: SPAN, from: 0 });
		await page.keyboard.press('?');
		assert.ok(await page.locator('dialog[open] kbd').count() > 10, 'the keys are told');
		await page.keyboard.press('Escape');
		assert.strictEqual(await page.locator('dialog[open]').count(), 0);
		await page.close();
	},

	async 'cursors-snap-and-measure'(browser) {
		const page = await openPage(browser, folder, 'plain'), [index, start, end] = page.truth.slow.filter((s) => s[0] === 0)[1];
		await goToSlow(page, 1);
		const box = await stage(page), third = box.width / 3;
		await chooseLane(page, index);
		const y = box.y + (await laneOf(page, index)).top + 20;
		await page.mouse.move(box.x + third + 4, y);
		await page.keyboard.press('a');
		await page.mouse.move(box.x + 2 * third - 4, y);
		await page.keyboard.press('b');
		await settle(page);
		assert.strictEqual(nanoseconds(await text(page, '#m-a')), start, 'A is on the edge where the tick begins');
		assert.strictEqual(nanoseconds(await text(page, '#m-b')), end, 'B is on the edge where it ends');
		const apart = end - start;
		assert.ok(Math.abs(nanoseconds(await text(page, '#m-apart')) - apart) <= apart * 1e-5, 'the time between them');
		assert.ok(Math.abs(parseFloat(await text(page, '#m-rate')) - 1e9 / apart) < 0.01, 'and 1/dt: ' + await text(page, '#m-rate'));
		assert.match(await text(page, '#m-between'), /^1 tick, high 100\.0 %$/);
		await page.keyboard.press(']');
		await settle(page);
		assert.ok(nanoseconds(await text(page, '#m-b')) > end, 'the next edge');
		await page.keyboard.press('[');
		await settle(page);
		assert.strictEqual(nanoseconds(await text(page, '#m-b')), end, 'and back');
		await page.keyboard.press('c');
		await settle(page);
		assert.strictEqual(await text(page, '#m-a'), '–');
		await page.close();
	},

	async 'a-click-opens-the-stack'(browser) {
		const page = await openPage(browser, folder, 'plain'), box = await stage(page);
		const [index, start, end] = page.truth.slow.filter((s) => s[0] === 0).sort((a, b) => (b[2] - b[1]) - (a[2] - a[1]))[0];
		await page.mouse.click(box.x + (start + end) / 2 / SPAN * box.width, box.y + (await laneOf(page, index)).top + 18);
		await settle(page);
		assert.strictEqual(await page.locator('#tab-slow').getAttribute('aria-selected'), 'true');
		assert.ok(await page.locator('.slow-detail details[open] .stack li').first().isVisible(), 'a stack stands open');
		assert.match(await text(page, '.slow-detail details[open] .stack'), /^json_scanJSON\.parsehandle \/app\/server\.js:88.*main$/);
		const took = nanoseconds(await text(page, '.slow-detail .figures dd'));
		assert.ok(Math.abs(took - (end - start)) < 0.001 * (end - start), 'of the tick that was clicked');
		await page.locator('.slow-detail details:not([open]) summary').first().click();
		assert.strictEqual(await page.locator('.slow-detail details[open]').count(), 2, 'others open at a click');
		await page.close();
	},

	// Every span has arrived, and how long the wire was high is what the program summed up.
	async 'a-million-ticks'(browser) {
		const page = await openPage(browser, folder, 'million'), { lanes: told, unit } = await facts(page);
		const box = await stage(page), redis = told.findIndex((l) => l && l.name === 'redis-server');
		await chooseLane(page, redis);
		await page.locator('#tl-canvas').focus();
		for (const [key, x, cursor] of [['ArrowLeft', 1, 'a'], ['ArrowRight', box.width - 2, 'b']]) {
			for (let i = 0; i < 2; i++)
				await page.keyboard.press(key);
			await page.mouse.move(box.x + x, box.y + box.height - 2);
			await page.keyboard.press(cursor);
		}
		await settle(page);
		const [, n, high] = /^(\d+) ticks, high ([\d.]+) %$/.exec((await text(page, '#m-between')).replace(/\u202f/g, ''));
		assert.ok(told[redis].sums.spans > 5e5, 'as many as this test is about: ' + told[redis].sums.spans);
		assert.strictEqual(Number(n), told[redis].sums.spans);
		assert.ok(Math.abs(high / 100 - told[redis].sums.high / SPAN) < 0.0006 + unit / 1000 * 0.01, 'high for ' + high + ' %, told: ' + told[redis].sums.high);
		assert.deepStrictEqual(page.wrong, []);
		await page.close();
	},

	async 'themes'(browser) {
		const page = await openPage(browser, folder, 'plain', { theme: 'dark' });
		const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		const dark = await background();
		await page.keyboard.press('t');
		const light = await background();
		assert.strictEqual(light, 'rgb(255, 255, 255)');
		assert.notStrictEqual(dark, light);
		await page.locator('#theme').click();
		assert.strictEqual(await background(), dark);
		await page.close();
	},

	async 'fits-and-can-be-used-without-a-mouse'(browser) {
		for (const width of [1280, 1920]) {
			const page = await openPage(browser, folder, 'hostile', { width });
			for (const tab of ['loop', 'slow', 'flame', 'tasks', 'losses', 'loops']) {
				await page.locator('#tab-' + tab).click();
				await settle(page);
				assert.ok(await page.evaluate(() => document.scrollingElement.scrollWidth <= innerWidth), tab + ' is not wider than ' + width);
				const sideways = await page.evaluate((id) => { const p = document.getElementById('panels'); return p.scrollWidth - p.clientWidth; }, tab);
				assert.ok(sideways <= 0, tab + ' runs over by ' + sideways + ' at ' + width);
			}
			const nameless = await page.evaluate(() => [...document.querySelectorAll('button, select, [role=tab]')].filter((b) =>
				!(b.textContent.trim() || b.getAttribute('aria-label') || b.title)).length);
			assert.strictEqual(nameless, 0, 'every control has a name');
			await page.locator('#tab-loops').focus();
			await page.keyboard.press('ArrowRight');
			assert.strictEqual(await page.evaluate(() => document.activeElement.id), 'tab-loop');
			await page.close();
		}
	},
};

const main = async () => {
	const browser = await launch(executable);
	let failed = 0;
	for (const [name, test] of Object.entries(tests)) {
		const begun = Date.now();
		try {
			await test(browser);
			console.log('PASS ' + name + ' ' + ((Date.now() - begun) / 1000).toFixed(1) + ' s');
		} catch (e) {
			failed++;
			console.log('FAIL ' + name + ' ' + String(e.stack || e).replace(/\s*\n\s*/g, ' / '));
		}
	}
	await browser.close();
	return failed ? 1 : 0;
};

main().then((status) => { process.exitCode = status; }, (e) => {
	console.log('FAIL browser ' + String(e).replace(/\s*\n\s*/g, ' / '));
	process.exitCode = 1;
});
