/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_systemview.c - SEGGER SystemView's recorder stream (target 3.32; ids and layout are the same from 2.40 on).
 *
 * A packet: id, (for ids from 24 on: length of the payload), payload, delta. All numbers are base-128 varints of 32
 * bits, a string's length is one raw byte (FF hi lo in builds for long strings). The delta is the counter's ticks since
 * the packet before; times are their sum, so they only stand still or grow. Ten zero bytes are a sync, without delta.
 *
 * - Overflow packets carry a count that never falls and leaves out the first event of each episode: an episode lost
 *   the count's growth and one more.
 * - There is no checksum and no frame: after damage the thread is found by plausibility (serial_systemview_packet.c),
 *   and what lay between is a gap of unknown size.
 * - A silence longer than the counter's 2^32 ticks shows in arrival times, or afterwards in SYSTIME_US.
 * - Commands are answered inside the next recorded event, so that a stream may begin with an orphan ISR_EXIT.
 */
#include "source/serial_systemview.h"

#include <stdio.h>
#include <string.h>

#include "source/serial_rtos.h"

#define TURN (1ull << 32)
#define HELD 4096 /* bytes: several packets of the greatest size */

struct systemview {
	struct serial_rtos r;  /* its time: the sum of all deltas */
	uint64_t last_event_ns;
	uint64_t hz;
	bool hz_told;          /* by INIT, not measured */
	uint32_t ram_base, shift;
	bool init;
	bool synced;           /* in step with the packets */
	bool systime_known;
	uint64_t systime_us, systime_t;
	size_t n;
	uint8_t held[HELD];
};

static void set_hz(struct systemview *s, uint64_t hz)
{
	if (hz == 0 || hz == s->hz)
		return;
	s->hz = hz;
	serial_rtos_counter(&s->r, hz, 32);
}

static void name(struct systemview *s, enum board_class class, uint32_t id, const char *text)
{
	struct board_event ev = { .kind = BOARD_NAME, .id = id };

	if (!text[0])
		return;
	ev.u.name.class = class;
	ev.u.name.kind = class == BOARD_ISR ? TASK_ISR : TASK_RUNS;
	ev.u.name.text = text;
	if (class == BOARD_TASK && s->init)
		ev.u.name.address = (uint32_t)((id << (s->shift & 31)) + s->ram_base);
	serial_rtos_emit(&s->r, &ev);
}

/* "N=name,D=device,O=system" and "I#15=SysTick,I#44=DMA": names in a comma-separated list. */
static void description(struct systemview *s, const char *text)
{
	char part[SYSTEMVIEW_STRING_MAX + 1];
	unsigned id;
	int at;

	while (*text) {
		size_t len = strcspn(text, ",");

		memcpy(part, text, len);
		part[len] = 0;
		at = 0;
		if (part[0] == 'N' && part[1] == '=')
			name(s, BOARD_SELF, 0, part + 2);
		else if (sscanf(part, "I#%u=%n", &id, &at) == 1 && at > 0)
			name(s, BOARD_ISR, id, part + at);
		text += len + (text[len] == ',');
	}
}

/*
 * The system's own time. Two of them tell the rate where INIT was missed, and whole turns of the counter that no
 * event was there to show: those are put in now, and what was open over them is not known.
 */
static void systime_us(struct systemview *s, uint64_t us)
{
	uint64_t d_us = us - s->systime_us, ticks = s->r.t - s->systime_t;

	if (s->systime_known && us > s->systime_us && d_us > 10000 && d_us < UINT64_MAX / TURN) {
		if (!s->hz_told)
			set_hz(s, (uint64_t)(((unsigned __int128)ticks * 1000000 + d_us / 2) / d_us));
		else if ((unsigned __int128)d_us * s->hz / 1000000 > ticks + (unsigned __int128)(TURN / 4 * 3)) {
			uint64_t missing = (uint64_t)((unsigned __int128)d_us * s->hz / 1000000) - ticks;

			s->r.t += (missing + TURN / 4) / TURN * TURN;
			serial_rtos_gap(&s->r, 0, LOSS_EVENTS);
		}
	}
	s->systime_known = true;
	s->systime_us = us;
	s->systime_t = s->r.t;
}

static void stopped(struct systemview *s, uint32_t id)
{
	if (s->r.has_current && id == s->r.current)
		serial_rtos_simple(&s->r, BOARD_SCHED, id);
}

static void init(struct systemview *s, const struct systemview_packet *p)
{
	s->init = true;
	s->hz_told = true;
	s->ram_base = p->arg[2];
	s->shift = p->arg[3];
	set_hz(s, p->arg[0]);
}

static void extended(struct systemview *s, const struct systemview_packet *p)
{
	if (p->arg[0] == SYSTEMVIEW_EX_MARK)
		serial_rtos_mark(&s->r, p->arg[1], 0);
	else if (p->arg[0] == SYSTEMVIEW_EX_NAME_MARKER)
		name(s, BOARD_MARKER, p->arg[1], p->text);
}

static void packet(struct systemview *s, const struct systemview_packet *p)
{
	switch (p->id) {
	case SYSTEMVIEW_OVERFLOW:
		serial_rtos_gap(&s->r, (int64_t)serial_rtos_lost(&s->r, p->arg[0]) + 1, LOSS_EVENTS);
		break;
	case SYSTEMVIEW_ISR_ENTER:
		serial_rtos_simple(&s->r, BOARD_ISR_IN, p->arg[0]);
		break;
	case SYSTEMVIEW_ISR_EXIT:
		serial_rtos_simple(&s->r, BOARD_ISR_OUT, 0);
		break;
	case SYSTEMVIEW_ISR_TO_SCHEDULER:
		serial_rtos_simple(&s->r, BOARD_ISR_SCHED, 0);
		break;
	case SYSTEMVIEW_TASK_START_EXEC:
		serial_rtos_switch(&s->r, p->arg[0]);
		break;
	case SYSTEMVIEW_TASK_STOP_EXEC:
		serial_rtos_current_blocks(&s->r);
		serial_rtos_simple(&s->r, BOARD_SCHED, 0);
		break;
	case SYSTEMVIEW_TASK_START_READY:
		serial_rtos_simple(&s->r, BOARD_READY, p->arg[0]);
		break;
	case SYSTEMVIEW_TASK_STOP_READY:
		serial_rtos_simple(&s->r, BOARD_BLOCKED, p->arg[0]);
		stopped(s, p->arg[0]);
		break;
	case SYSTEMVIEW_TASK_TERMINATE:
		serial_rtos_simple(&s->r, BOARD_END, p->arg[0]);
		break;
	case SYSTEMVIEW_TASK_INFO:
		name(s, BOARD_TASK, p->arg[0], p->text);
		break;
	case SYSTEMVIEW_IDLE:
		s->r.has_current = false;
		serial_rtos_simple(&s->r, BOARD_IDLE, 0);
		break;
	case SYSTEMVIEW_TRACE_STOP:
		s->r.has_current = false;
		serial_rtos_simple(&s->r, BOARD_STOP, 0);
		break;
	case SYSTEMVIEW_SYSTIME_US:
		systime_us(s, (uint64_t)p->arg[1] << 32 | p->arg[0]);
		break;
	case SYSTEMVIEW_SYSDESC:
		description(s, p->text);
		break;
	case SYSTEMVIEW_INIT:
		init(s, p);
		break;
	case SYSTEMVIEW_MARK_START:
	case SYSTEMVIEW_MARK_STOP:
		serial_rtos_mark(&s->r, p->arg[0], p->id == SYSTEMVIEW_MARK_START);
		break;
	case SYSTEMVIEW_EX:
		extended(s, p);
		break;
	default: /* resources, timers, modules, prints, samples and the user's own: nothing of the loop's time */
		break;
	}
}

static void take(struct systemview *s, const struct systemview_packet *p)
{
	s->r.d.events++;
	if (p->id == SYSTEMVIEW_NOP) {
		s->r.from_start |= !s->r.any; /* a sync amid the stream (START sent again) goes on with the same deltas */
		serial_rtos_begin(&s->r, s->r.from_start);
		return;
	}
	s->r.t += p->delta;
	s->r.t += TURN * counter_turns(p->delta, 32, s->hz, s->last_event_ns, s->r.arrival_ns);
	s->last_event_ns = s->r.arrival_ns;
	serial_rtos_begin(&s->r, s->r.from_start);
	packet(s, p);
}

static void drop(struct systemview *s, size_t n)
{
	s->n -= n;
	memmove(s->held, s->held + n, s->n);
}

/* Takes what is whole of held[]; `more`: what is cut at the end may be completed later. */
static void decode(struct systemview *s, bool final)
{
	struct systemview_packet p;
	size_t at = 0;

	while (at < s->n) {
		int len;

		if (!s->synced) {
			size_t skip;

			if (s->n - at < SYSTEMVIEW_LOOK && !final) /* not worth a look before */
				break;
			if (!systemview_find(s->held + at, s->n - at, false, final, &skip)) {
				s->r.d.garbage += skip;
				at += skip;
				break;
			}
			s->r.d.garbage += skip;
			at += skip;
			s->synced = true;
		}
		len = systemview_packet(s->held + at, s->n - at, &p);
		if (len == 0)
			break;
		if (len < 0) {
			s->synced = false;
			s->r.d.resyncs++;
			s->r.d.garbage++;
			at++; /* so that the same place is not found again */
			serial_rtos_begin(&s->r, s->r.from_start);
			serial_rtos_gap(&s->r, -1, LOSS_BYTES);
			continue;
		}
		take(s, &p);
		at += (size_t)len;
	}
	drop(s, at);
}

static void systemview_feed(struct serial_decoder *d, const uint8_t *p, size_t n, uint64_t arrival_ns)
{
	struct systemview *s = (struct systemview *)d;

	s->r.arrival_ns = arrival_ns;
	while (n) {
		size_t room = HELD - s->n < n ? HELD - s->n : n;

		memcpy(s->held + s->n, p, room);
		s->n += room;
		p += room;
		n -= room;
		decode(s, false);
		if (s->n == HELD) { /* cannot be: a packet is smaller; hostile bytes must not stop us all the same */
			s->r.d.garbage += HELD / 2;
			s->synced = false;
			drop(s, HELD / 2);
		}
	}
	serial_rtos_stamp(&s->r);
}

static void systemview_end(struct serial_decoder *d)
{
	struct systemview *s = (struct systemview *)d;

	decode(s, true);
	s->r.d.garbage += s->n;
	s->n = 0;
	s->synced = false;
}

static int systemview_check(const uint8_t *p, size_t n, bool final, size_t *ret_start)
{
	static const uint8_t sync[11] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, SYSTEMVIEW_TRACE_START };
	const uint8_t *at = memmem(p, n, sync, sizeof(sync));

	if (at) {
		*ret_start = (size_t)(at - p);
		return 1;
	}
	if (n >= 4 && p[0] == 'S' && p[1] == 'V' && p[2] < 0x20 && p[3] < 0x40) {
		*ret_start = 4; /* the board's hello */
		return 1;
	}
	return systemview_find(p, n, true, final, ret_start) ? 1 : 0;
}

const struct serial_decoder_ops serial_systemview = {
	.name = "systemview",
	.size = sizeof(struct systemview),
	.feed = systemview_feed,
	.end = systemview_end,
	.check = systemview_check,
};
