/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stream.h - the event stream: one record a turn, through ls_events. Only where ls_stream is set.
 *
 * A record wakes nobody: user space comes by every few tens of milliseconds, and is called only when the buffer fills up faster
 * than that. Waking it for each would cost more than all the rest of an edge.
 */
#ifndef LOOPSCOPE_BPF_STREAM_H
#define LOOPSCOPE_BPF_STREAM_H

#include "bpf/begin.h"
#include "bpf/maps.h"
#include "bpf/ticks.h"

#define STREAM_LOOK_EACH 256 /* events of a thread between two looks at how full the buffer is; power of two, above 4 */

static __always_inline __u64 stream_flags(__u32 seq)
{
	if ((seq & (STREAM_LOOK_EACH - 1)) >= 4) /* a turn is four: one in so many falls below */
		return BPF_RB_NO_WAKEUP;
	return bpf_ringbuf_query(&ls_events, BPF_RB_AVAIL_DATA) < ls_stream_mark ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP;
}

/* events: that the record stands for. */
static __always_inline void stream_send(struct task_struct *p, struct ls_ticks *k, const struct ls_turn *from, __u32 type,
					__u32 events)
{
	struct ls_turn *e;

	if (p->tgid == (int)ls_self_tgid) /* observed for a moment, to measure what an edge costs */
		return;
	e = bpf_ringbuf_reserve(&ls_events, sizeof(*e), 0);
	if (e) {
		*e = *from;
		e->type = type;
		e->seq = k->event_seq;
		e->tid = p->pid;
		e->tgid = p->tgid;
		bpf_ringbuf_submit(e, stream_flags(k->event_seq));
	} else {
		count_more(LS_C_EVENTS_LOST, events);
	}
	/* Afterwards: who reads it finds what it counts in the buffer, or lost. */
	k->event_seq += events;
}

/* The turn in progress, as far as it is known: of a tick, when it began. */
static __always_inline void stream_turn(struct ls_turn *turn, const struct ls_ticks *k)
{
	turn->io_start_ns = k->io_ns;
	turn->io_end_ns = k->call == LS_CALL_OWN ? 0 : k->tick.start_ns;
	turn->timeout_ns = k->timeout_ns;
	turn->count = k->ret;
}

/* The thread has entered an IO wait; turn: as it was before. again: its edges had been let go. */
static __always_inline void stream_entered(struct task_struct *p, const struct ls_thread *t, struct ls_ticks *k,
					   struct ls_turn *turn, int was, bool again)
{
	if (was == TICKS_NESTED || was == TICKS_MERGED)
		return;
	turn->end_ns = t->last_ns;
	turn->next_timeout_ns = k->timeout_ns;
	if (!k->started)
		stream_send(p, k, turn, LS_EV_LOOP_START, 2);
	else if (again)
		stream_send(p, k, turn, LS_EV_AGAIN, 1);
	else
		stream_send(p, k, turn, LS_EV_TURN, 4);
	k->started = 1;
}

/* It is in its IO wait, and was not seen to enter it: when the tick before ended is not known. */
static __always_inline void stream_entry_missed(struct task_struct *p, struct ls_ticks *k)
{
	struct ls_turn turn = {};

	if (!k->started)
		return;
	stream_turn(&turn, k);
	stream_send(p, k, &turn, LS_EV_TURN, 4);
}

static __always_inline void stream_stopped(struct task_struct *p, struct ls_ticks *k, __u64 now)
{
	struct ls_turn turn = {};

	stream_turn(&turn, k);
	turn.end_ns = now;
	stream_send(p, k, &turn, LS_EV_LOOP_STOP, turn.io_end_ns ? 3 : 1);
}

#endif
