// SPDX-License-Identifier: BSD-2-Clause
// Puts the page together: what the recording is, then time line and reports, then the spans as they are unpacked.

const showHead = (rec) => {
	const { facts } = rec, seconds = facts.span / 1e9;
	const machine = [facts.kernel ? 'Linux ' + facts.kernel : null, facts.machine, known(facts.cpus) ? plural(facts.cpus, 'CPU') : null].filter(Boolean).join(', ');
	document.title = 'loopscope: ' + visible(facts.hostname || 'report');
	fill(byId('what'),
		el('span', { class: 'host' }, visible(facts.hostname) || NONE), el('span', { class: 'sub' }, machine),
		el('span', {}, dateOf(facts.from_s) + ' ' + clockTime(facts.from_s) + ' – ' + clockTime(facts.from_s + seconds)),
		el('code', { title: 'How it was recorded' }, cut(visible(facts.command) || '', 120)));
};

const showFacts = (rec) => {
	const { facts } = rec, losses = countLosses(rec);
	const ticks = rec.loops.reduce((n, l) => n + (l.hasAll ? l.sums.spans : l.rows.reduce((m, r) => m + (r.ticks || 0), 0)), 0);
	const boards = rec.loops.filter((l) => l.pid === null).length;
	const worst = rec.loops.reduce((w, l) => !w || wholeSums(l, rec.span).load > wholeSums(w, rec.span).load ? l : w, null);
	const items = [
		['Recorded', duration(facts.span)], ['Loops', count(rec.loops.length) + (boards ? ' (' + plural(boards, 'board') + ')' : '')],
		['Most loaded', worst ? worst.label + ' ' + share(wholeSums(worst, rec.span).load) : NONE],
		['Ticks', shortCount(ticks) + (facts.has_ticks ? '' : ' counted')],
		['Slow ticks', count(rec.slow.length + facts.slow_left_out), rec.slow.length ? 'warn' : ''],
		['Losses', losses.any ? 'yes, see notes' : 'none', losses.any ? 'warn' : ''],
		facts.complete ? null : ['Incomplete', 'it did not end in order', 'warn'],
		facts.version ? ['loopscope', facts.version] : null,
	].filter(Boolean);
	fill(byId('facts'), items.map(([name, value, more]) => el('li', {}, el('span', { class: 'readout-name' }, name), el('span', { class: 'num ' + (more || '') }, value))));
};

const start = async () => {
	const rec = readRecording();
	const state = new State(rec);
	startTheme(state);
	showHead(rec);
	showFacts(rec);
	state.lane = rec.loops.slice().sort((a, b) => wholeSums(b, rec.span).load - wholeSums(a, rec.span).load)[0] || rec.lanes[0] || null;
	state.slow = null;
	const timeline = new Timeline(state);
	state.timeline = timeline;
	startLanes(state, timeline);
	new Strip(state, timeline).redraw();
	new Input(state, timeline);
	startMeasures(state, timeline);
	startTabs(state);
	startSplit();
	byId('help-open').addEventListener('click', openHelp);
	timeline.redraw();
	performance.mark('drawn');
	if (document.readyState === 'loading')
		await new Promise((done) => document.addEventListener('DOMContentLoaded', done, { once: true }));
	await unpackAll(rec, (part) => {
		byId('tl-busy').textContent = part < 1 ? 'Unpacking the time line: ' + Math.floor(100 * part) + ' %' : '';
		state.tell('wires');
	});
	document.documentElement.dataset.ready = 'yes';
	performance.mark('ready');
};

start().catch((e) => {
	console.error(e);
	byId('tl-busy').textContent = 'This report could not be shown: ' + e.message;
});
