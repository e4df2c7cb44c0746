// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * edges.bpf.c - exact edges of the IO waits of observed threads: one body, entered from syscall tracepoints, from fentry and
 * fexit, or from uprobes on the wrappers in libc and on the loops' entry points. User space attaches one kind.
 *
 * What a thread that nobody observes pays: for its IO waits one look-up; with tracepoints the kernel takes its slow path on every
 * system call of every process (figures: make bench).
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf/core_fixes.h"
#include "bpf/edges.h"
#include "bpf/place.h"
#include "bpf/waiters.h"

#define EINTR 4 /* what the calls below -511 are to their callers, if they return at all: include/linux/errno.h */

/* The threads of others leave here: it is asked before anything is read or timed. *t: NULL where it is new. */
static __always_inline bool is_observed(struct task_struct *p, struct ls_thread **t)
{
	*t = bpf_task_storage_get(&ls_threads, p, NULL, 0);
	return *t ? !((*t)->flags & LS_F_DEAD) : may_begin(p);
}

/* p and t as is_observed() had them. A uprobe's program may be preempted anywhere in here. */
static __always_inline int io_enter(struct task_struct *p, struct ls_thread *t, __u64 now, struct acct_place *place, bool entry_only)
{
	struct ls_turn turn; /* set and read only where ls_stream is set */
	struct ls_ticks *k;
	__u64 start, blocked, since;
	int own, was, home;
	bool waits, again;
	__u8 state;

	if (!ls_edges) /* being let go: the returns may be gone already */
		return 0;
	if (!t && any_room())
		t = publish(p, NULL);
	if (!t)
		return 0;
	k = ticks_of(p);
	if (!k)
		k = ticks_make(p);
	if (!k) {
		count(LS_C_NO_STORAGE);
		return 0;
	}
	again = t->edges != ls_edges;
	if (again) { /* a new beginning: what was open when the edges went away is not known */
		k->tick.start_ns = 0;
		k->call = LS_CALL_NONE;
		k->empty = 0;
	}
	start = k->tick.start_ns;
	if (ls_stream)
		stream_turn(&turn, k);
	if (!acct_on_cpu(t)) {
		place->ran_ns = unseen_ran_ns(t, p, now);
		place->delay_ns = core_run_delay(p);
	}
	waits = acct_waiting(t);
	seq_step(&t->seq);
	seq_step(&k->seq);
	if (t->state == LS_NONE) {
		acct_begin_running(t, now, core_run_delay(p));
		t->start_boottime_ns = p->start_boottime;
	}
	blocked = t->sum_ns[LS_TICK_BLOCKED];
	home = t->home;
	state = t->state;
	since = t->last_ns;
	own = acct_io_enter(t, now, place, ls_edges, entry_only);
	/* Sleeps that have changed places (acct_swap_points) are not this tick's. */
	if (t->home != home)
		k->tick.base_blocked_ns += t->sum_ns[LS_TICK_BLOCKED] - blocked;
	else if (ls_slow_ns)
		note_awake(k, state, since, t->sum_ns[LS_TICK_BLOCKED] - blocked);
	was = ticks_enter(k, t, place->fd, own, ls_epoch);
	if (was == TICKS_ENDED)
		tick_took(p, t->last_ns - start);
	seq_step(&k->seq);
	seq_step(&t->seq);
	if (waits) /* its switch-in was missed */
		wait_left(t->wait_cpu);
	if (was == TICKS_ENDED && ls_slow_ns && t->last_ns - start >= ls_slow_ns)
		send_slow(p, t, k);
	if (entry_only)
		ticks_entered(k, t);
	if (ls_stream)
		stream_entered(p, t, k, &turn, was, again);
	return 0;
}

static __always_inline int io_exit(struct task_struct *p, __s64 ret)
{
	struct ls_thread *t;
	struct ls_ticks *k = ticks_of(p);

	if (!k)
		return 0;
	t = bpf_task_storage_get(&ls_threads, p, NULL, 0);
	if (!t || !ls_edges || t->edges != ls_edges)
		return 0;
	if (k->call != LS_CALL_OWN) {
		k->call = LS_CALL_NONE;
		if ((t->flags & (LS_F_IN_IO | LS_F_ENTRY_ONLY)) != LS_F_IN_IO)
			return 0;
		if (ls_stream)
			stream_entry_missed(p, k);
		ticks_entry_missed(k, t);
	}
	warm(t, k);
	end_io(p, t, k, bpf_ktime_get_ns(), ret < -511 ? -EINTR : ret);
	return 0;
}

/* In the system call itself. */
static __always_inline int call_enter(struct task_struct *p)
{
	struct acct_place place = {};
	struct ls_thread *t;
	__u64 now;

	if (!is_observed(p, &t))
		return 0;
	now = bpf_ktime_get_ns();
	place_read(p, &place, true);
	return place.io_wait ? io_enter(p, t, now, &place, false) : 0;
}

/* --- tracepoints: attached to sys_enter_NAME and sys_exit_NAME of each IO wait ------------------------------------------- */

SEC("tp")
int ls_tp_enter(void *ctx)
{
	return call_enter(bpf_get_current_task_btf());
}

struct sys_exit_args {
	__u64 common;
	__s64 nr;
	__s64 ret;
};

SEC("tp")
int ls_tp_exit(struct sys_exit_args *ctx)
{
	return io_exit(bpf_get_current_task_btf(), ctx->ret);
}

/* The loop's own fd is closed: the loop has stopped. */
struct sys_enter_close_args {
	__u64 common;
	__s64 nr;
	__u64 fd;
};

SEC("tp")
int ls_tp_close(struct sys_enter_close_args *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct ls_ticks *k = ticks_of(p);

	if (!k || !k->started || k->home_fd < 0 || (__s32)ctx->fd != k->home_fd)
		return 0;
	stop_loop(p, k, bpf_ktime_get_ns());
	return 0;
}

/* --- fentry and fexit on the system calls' entry functions: no cost to any other call ------------------------------------ */

#if defined(__TARGET_ARCH_x86)
#define SYS_FN(name) "__x64_sys_" #name
#elif defined(__TARGET_ARCH_arm64)
#define SYS_FN(name) "__arm64_sys_" #name
#endif

#define FENTRY_PAIR(name)                                                         \
	SEC("fentry/" SYS_FN(name))                                               \
	int ls_fe_##name(void *ctx)                                               \
	{                                                                         \
		return call_enter(bpf_get_current_task_btf());                    \
	}                                                                         \
                                                                                  \
	SEC("fexit/" SYS_FN(name))                                                \
	int BPF_PROG(ls_fx_##name, const struct pt_regs *regs, long ret)          \
	{                                                                         \
		return io_exit(bpf_get_current_task_btf(), ret);                  \
	}

#if defined(__TARGET_ARCH_x86)
FENTRY_PAIR(epoll_wait)
FENTRY_PAIR(poll)
FENTRY_PAIR(select)
#endif
FENTRY_PAIR(epoll_pwait)
FENTRY_PAIR(epoll_pwait2)
FENTRY_PAIR(ppoll)
FENTRY_PAIR(pselect6)
FENTRY_PAIR(io_uring_enter)
FENTRY_PAIR(io_getevents)

SEC("fentry/" SYS_FN(close))
int ls_fe_close(void *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct acct_place place = {};
	struct place_args args = {};
	struct ls_ticks *k = ticks_of(p);
	struct pt_regs *regs;

	if (!k || !k->started)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
	if (regs && place_syscall(p, regs, &place, &args) && (__s32)args.a[0] == k->home_fd && k->home_fd >= 0)
		stop_loop(p, k, bpf_ktime_get_ns());
	return 0;
}

/* --- uprobes on the wrappers in libc: entry only, the cookie is the system call's number ---------------------------------- */

SEC("uprobe")
int ls_up_enter(struct pt_regs *ctx)
{
	struct acct_place place = { .sp = PT_REGS_SP(ctx), .timeout_ns = LS_NO_TIMEOUT, .fd = -1, .nfds = -1, .io_wait = 1 };
	struct place_args args = { { PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx),
				     PT_REGS_PARM5(ctx), 0 } };
	struct task_struct *p = bpf_get_current_task_btf();
	struct place_io io = {};
	struct ls_thread *t;
	__u64 now;

	place.nr = bpf_get_attach_cookie(ctx);
	if (!is_observed(p, &t) || !place_io_native(place.nr, &io))
		return 0;
	now = bpf_ktime_get_ns();
	place_details(&place, &io, &args, true);
	return io_enter(p, t, now, &place, true);
}

/* --- what a long tick computes ---------------------------------------------------------------------------------------------- */

/* On the threads of observed processes only, by their own CPU time. Young ticks are left alone: most never get slow. */
SEC("perf_event")
int ls_sample(void *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct ls_ticks *k = ticks_of(p);
	__s32 stack;
	__u64 now;

	if (!k || !ls_slow_ns || !k->tick.start_ns || k->call == LS_CALL_OWN)
		return 0;
	now = bpf_ktime_get_ns();
	if (now - k->tick.start_ns < ls_slow_ns / 4)
		return 0;
	stack = take_stack(ctx, k, now);
	if (!ticks_sample(k, stack) && stack != LS_NO_STACK) /* that it could not be taken is counted already */
		count(LS_C_STACK_LOST);
	return 0;
}

/* The address is in no register that is saved when the fault sleeps. */
SEC("tp_btf/page_fault_user")
int BPF_PROG(ls_page_fault, unsigned long address)
{
	struct ls_ticks *k;

	if (!ls_edges) /* every fault of the machine comes here: no look-up while nothing is measured */
		return 0;
	k = ticks_of(bpf_get_current_task_btf());
	if (k)
		k->fault_addr = address;
	return 0;
}
