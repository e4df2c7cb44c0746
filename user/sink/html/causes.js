// SPDX-License-Identifier: BSD-2-Clause
// Why a tick was slow: names and colours of causes.

const CAUSE_COLOURS = { cpu: 'cpu', syscall: 'blocked', page_fault: 'fault', wait: 'contended', throttle: 'throttled', other: 'other' };
const CAUSE_NAMES = {
	cpu: 'computing', syscall: 'blocked in a system call', page_fault: 'page fault', wait: 'waiting: another had the CPU',
	throttle: 'waiting: quota used up', other: 'off the CPU, reason unknown',
};

const causeText = (c) => {
	const what = visible(c.what);
	if (c.kind === 'cpu')
		return 'computing' + (c.stack.length ? ' in ' + visible(c.stack[0]) : what ? ' ' + what : '');
	if (c.kind === 'wait')
		return 'waiting' + (what ? ' for ' + what : '');
	return (c.kind === 'syscall' ? '' : CAUSE_NAMES[c.kind] + (what ? ': ' : '')) + (what || (c.kind === 'syscall' ? CAUSE_NAMES.syscall : ''));
};

const causeParts = (slow) => {
	const parts = slow.causes.map((c) => ({ kind: CAUSE_COLOURS[c.kind] || 'other', share: c.ns / slow.length, text: causeText(c) + ': ' + duration(c.ns) }));
	const known = parts.reduce((sum, p) => sum + p.share, 0);
	return known > 1 ? parts.map((p) => ({ ...p, share: p.share / known })) : parts;
};

const causeBar = (slow) => partsBar(causeParts(slow), 'Causes: ' + slow.causes.slice(0, 4).map((c) => causeText(c) + ' ' + duration(c.ns)).join(', '));

const topCause = (slow) => slow.causes.length ? causeText(slow.causes[0]) : slow.in_progress ? 'still running' : NONE;
