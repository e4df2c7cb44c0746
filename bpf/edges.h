/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * edges.h - what single ticks need from the scheduler's events and the edges alike: stacks, causes, events to user space.
 */
#ifndef LOOPSCOPE_BPF_EDGES_H
#define LOOPSCOPE_BPF_EDGES_H

#include "bpf/begin.h"
#include "bpf/maps.h"
#include "bpf/place.h"
#include "bpf/stream.h"
#include "bpf/ticks.h"
#include "bpf/unseen.h"
#include "bpf/waiters.h"

#define EDGES_STACKS_A_SECOND 2000 /* per thread: about 1 us each */
#define EDGES_SLOW_A_SECOND 10     /* per thread */

static __always_inline struct ls_ticks *ticks_of(struct task_struct *p)
{
	return bpf_task_storage_get(&ls_ticks_of, p, NULL, 0);
}

static __always_inline struct ls_ticks *ticks_make(struct task_struct *p)
{
	if (!bpf_task_storage_get(&ls_tick_hist_of, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE))
		return NULL;
	return bpf_task_storage_get(&ls_ticks_of, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline void tick_took(struct task_struct *p, __u64 ns)
{
	struct ls_tick_hist *h = bpf_task_storage_get(&ls_tick_hist_of, p, NULL, 0);

	if (h)
		ticks_count(h->bucket, ns);
}

/* The user stack of the running thread; LS_NO_STACK where there were too many, or the kernel's room for one is in use. */
static __always_inline __s32 try_stack(void *ctx, struct ls_ticks *k, __u64 now)
{
	long id;

	if (!ticks_within_rate(&k->stack_window_ns, &k->stacks_in_window, now, EDGES_STACKS_A_SECOND))
		return LS_NO_STACK;
	id = bpf_get_stackid(ctx, &ls_stacks, BPF_F_USER_STACK);
	return id < 0 ? LS_NO_STACK : id;
}

static __always_inline __s32 take_stack(void *ctx, struct ls_ticks *k, __u64 now)
{
	__s32 id = try_stack(ctx, k, now);

	if (id == LS_NO_STACK)
		count(LS_C_STACK_LOST);
	return id;
}

/* The stack that entered a call. The same call from the same depth as the last one is from the same place, if need be. */
static __always_inline __s32 take_block_stack(void *ctx, struct ls_ticks *k, __u64 now, const struct acct_place *place)
{
	__s32 id = try_stack(ctx, k, now);

	if (id != LS_NO_STACK) {
		k->block_sp = place->sp;
		k->block_nr = place->nr;
		k->block_stack = id;
		return id;
	}
	if (k->block_sp == place->sp && k->block_nr == place->nr)
		return k->block_stack;
	count(LS_C_STACK_LOST);
	return LS_NO_STACK;
}

/* Loads what an edge is about to write. A loop that has slept finds the caches cold, and what its tick pays for the edge should be
 * over before the tick's time begins. */
static __always_inline void warm(const struct ls_thread *t, const struct ls_ticks *k)
{
	(void)*(const volatile __u64 *)&t->sum_ns[LS_IO_CPU];
	(void)*(const volatile __u64 *)&t->io_start_ns;
	(void)*(const volatile __u64 *)&k->call_ns;
	(void)*(const volatile __u64 *)&k->io_sum_ns;
	(void)*(const volatile __u64 *)&k->tick.start_ns;
	(void)*(const volatile __u32 *)&k->tick.samples[0].count;
}

/* The loop's own IO wait has ended. */
static __always_inline void end_io(struct task_struct *p, struct ls_thread *t, struct ls_ticks *k, __u64 now, __s64 ret)
{
	__u64 ran_ns = 0, delay_ns = 0;
	bool waits = acct_waiting(t);

	if (!acct_on_cpu(t)) {
		ran_ns = unseen_ran_ns(t, p, now);
		delay_ns = core_run_delay(p);
	}
	seq_step(&t->seq);
	seq_step(&k->seq);
	acct_io_exit(t, now, ran_ns, delay_ns);
	ticks_exit(k, t, ret, ls_epoch);
	seq_step(&k->seq);
	seq_step(&t->seq);
	if (waits) /* its switch-in was missed */
		wait_left(t->wait_cpu);
}

static __always_inline void stop_loop(struct task_struct *p, struct ls_ticks *k, __u64 now)
{
	if (!k->started)
		return;
	if (ls_stream)
		stream_stopped(p, k, now);
	k->started = 0;
	k->tick.start_ns = 0;
}

static __always_inline bool asks_poll(const struct acct_place *place)
{
#if defined(__TARGET_ARCH_x86)
	return place->abi == LS_ABI_NATIVE && (place->nr == 7 || place->nr == 271);
#elif defined(__TARGET_ARCH_arm64)
	return place->abi == LS_ABI_NATIVE && place->nr == 73;
#else
	return false;
#endif
}

/* The fds of a poll are mostly on the stack: when the tick is told, something else is there. So the first is read now. */
static __always_inline void note_polled(struct ls_cause *c)
{
	__u32 fd;

	if (c->args[1] && !bpf_probe_read_user(&fd, sizeof(fd), (const void *)c->args[0]))
		c->args[3] = LS_POLLED_KNOWN | fd;
}

/* A measured thread falls asleep in a tick: where, in case the tick gets slow. */
static __always_inline void note_block(void *ctx, struct ls_ticks *k, __u64 now, const struct acct_place *place,
				       const struct place_args *args)
{
	struct ls_cause *c = &k->tick.blocked;

	c->kind = place->nr == LS_NR_PAGE_FAULT ? LS_CAUSE_FAULT : LS_CAUSE_SYSCALL;
	c->nr = place->nr;
	c->abi = place->abi;
	c->ns = now;
	c->args[0] = c->kind == LS_CAUSE_FAULT ? k->fault_addr : args->a[0];
	c->args[1] = args->a[1];
	c->args[2] = args->a[2];
	c->args[3] = 0; /* of poll: what it asks for, by which one is told from another; of others nobody asks for it */
	if (asks_poll(place))
		note_polled(c);
	c->stack = take_block_stack(ctx, k, now, place);
}

/* It is on a CPU again. A page fault is one cause per file, not per page: the address is kept to the first of a stack. */
static __always_inline void note_unblock(struct ls_ticks *k, __u64 slept_ns)
{
	struct ls_cause *c = &k->tick.blocked;

	if (!c->kind)
		return;
	ticks_cause(k, c, slept_ns);
	c->kind = 0;
}

/* It was woken (was: LS_WAIT_TICK, since then), or it has run, and nobody said so; grown_ns: what this event has found to be slept. */
static __always_inline void note_awake(struct ls_ticks *k, __u8 was, __u64 since, __u64 grown_ns)
{
	if (was == LS_TICK_BLOCKED)
		note_unblock(k, grown_ns);
	else if (was == LS_WAIT_TICK)
		note_unblock(k, since - k->tick.blocked.ns);
}

/* The slot of who had the CPU longest in [from, now). */
ACCT_FN int longest_there(const struct ls_cpu *ring, __u64 from, __u64 now)
{
	__u64 end = now, most = 0;
	__u32 pos, best = 0;

	if (!ring)
		return 0;
	pos = ring->pos;
	for (int i = 0; i < LS_CPU_RING; i++) {
		__u32 at = (pos - i) & (LS_CPU_RING - 1);
		__u64 start = ring->ring[at].start_ns;

		if (start < from)
			start = from;
		if (start < end && end - start > most) {
			most = end - start;
			best = at;
		}
		if (start == from)
			break;
		end = start;
	}
	return best;
}

/* It waited for a CPU in a tick: who had it longest. */
static __always_inline void note_wait(struct ls_ticks *k, const struct ls_cpu *ring, __u64 from, __u64 now)
{
	struct ls_cause c = { .kind = LS_CAUSE_WAIT, .stack = LS_NO_STACK };
	const struct ls_cpu_slot *s;

	if (!ring || now <= from)
		return;
	s = &ring->ring[longest_there(ring, from, now) & (LS_CPU_RING - 1)];
	c.nr = s->tgid;
	__builtin_memcpy(c.comm, s->comm, LS_COMM_LEN);
	ticks_cause(k, &c, now - from);
}

/* What the tick has had of a sum. It may have shrunk: what was believed before the tick began can prove wrong within. */
static __always_inline __u64 of_tick(__u64 sum, __u64 base)
{
	return sum > base ? sum - base : 0;
}

static __always_inline void fill_slow(struct ls_slow *s, struct task_struct *p, const struct ls_thread *t,
				      const struct ls_ticks *k)
{
	s->type = LS_EV_SLOW;
	s->tid = p->pid;
	s->tgid = p->tgid;
	s->start_boottime_ns = p->start_boottime;
	s->now_ns = t->last_ns;
	s->cpu_ns = of_tick(t->sum_ns[LS_TICK_CPU], k->tick.base_cpu_ns);
	s->blocked_ns = of_tick(t->sum_ns[LS_TICK_BLOCKED], k->tick.base_blocked_ns);
	s->wait_ns = of_tick(t->sum_ns[LS_WAIT_TICK], k->tick.base_wait_ns);
	s->throttled_ns = t->throttled_ns - k->tick.base_throttled_ns;
	s->generation = t->generation;
	s->state = t->state;
	s->wait_nr = LS_NR_UNKNOWN;
	s->wait_abi = 0;
	s->pad = 0;
	s->pad1 = 0;
	if (t->home >= 0 && t->home < LS_POINTS) {
		s->wait_nr = t->points[t->home & (LS_POINTS - 1)].nr;
		s->wait_abi = t->points[t->home & (LS_POINTS - 1)].abi;
	}
	s->state_ns = 0;
	__builtin_memcpy(s->comm, p->comm, LS_COMM_LEN);
}

/* The tick that just ended was long: its story goes to user space, unless this loop has sent too many already. */
static __always_inline void send_slow(struct task_struct *p, const struct ls_thread *t, struct ls_ticks *k)
{
	struct ls_slow *s;

	k->slow_ticks++;
	if (!ticks_within_rate(&k->slow_window_ns, &k->slow_in_window, t->last_ns, EDGES_SLOW_A_SECOND)) {
		k->slow_held++;
		return;
	}
	s = bpf_ringbuf_reserve(&ls_events, sizeof(*s), 0);
	if (!s) {
		k->slow_held++;
		count(LS_C_SLOW_LOST);
		return;
	}
	fill_slow(s, p, t, k);
	s->held = k->slow_held;
	s->in_progress = 0;
	k->slow_held = 0;
	if (bpf_probe_read_kernel(&s->tick, sizeof(s->tick), &k->tick)) {
		bpf_ringbuf_discard(s, 0);
		count(LS_C_SLOW_LOST);
		return;
	}
	/* Behind turns that wait to be fetched, the kernel would wake nobody by itself. */
	bpf_ringbuf_submit(s, ls_stream ? BPF_RB_FORCE_WAKEUP : 0);
}

#endif
