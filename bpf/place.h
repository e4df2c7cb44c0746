/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * place.h - from a thread's saved user registers to the place where it left the CPU: which syscall, from how deep in its
 * stack, and if it is an IO wait, with what timeout.
 *
 * Registers are the target's: nothing here is trusted further than being compared and reported.
 */
#ifndef LOOPSCOPE_BPF_PLACE_H
#define LOOPSCOPE_BPF_PLACE_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "bpf/account.h"
#include "bpf/core_fixes.h"

/* How the call says its timeout. */
enum place_timeout {
	PLACE_MS,       /* int milliseconds, negative: none */
	PLACE_TIMESPEC, /* pointer to two longs: s, ns; NULL: none */
	PLACE_TIMEVAL,  /* pointer to two longs: s, us */
	PLACE_URING,    /* io_uring_enter: in the extended argument, if there is one */
	PLACE_OLD32,    /* pointers to 32-bit structs: not read, taken as none */
};

struct place_io {
	__u8 fd_arg;      /* 1: the first argument is the fd to wait on */
	__u8 nfds_arg;    /* 1-based argument that counts fds, 0 none */
	__u8 timeout_arg; /* 1-based */
	__u8 timeout;     /* enum place_timeout */
};

/* The IO waits, by what their arguments are. Native 64-bit calls and those with 64-bit times share them. */
#define PLACE_SHAPE_poll         { .nfds_arg = 2, .timeout_arg = 3, .timeout = PLACE_MS }
#define PLACE_SHAPE_ppoll        { .nfds_arg = 2, .timeout_arg = 3, .timeout = PLACE_TIMESPEC }
#define PLACE_SHAPE_select       { .nfds_arg = 1, .timeout_arg = 5, .timeout = PLACE_TIMEVAL }
#define PLACE_SHAPE_pselect6     { .nfds_arg = 1, .timeout_arg = 5, .timeout = PLACE_TIMESPEC }
#define PLACE_SHAPE_epoll_wait   { .fd_arg = 1, .timeout_arg = 4, .timeout = PLACE_MS }
#define PLACE_SHAPE_epoll_pwait2 { .fd_arg = 1, .timeout_arg = 4, .timeout = PLACE_TIMESPEC }
#define PLACE_SHAPE_getevents    { .timeout_arg = 5, .timeout = PLACE_TIMESPEC }
#define PLACE_SHAPE_uring        { .fd_arg = 1, .timeout = PLACE_URING }
#define PLACE_SHAPE_old32        { .timeout = PLACE_OLD32 }

/* An architecture's numbers are a list of is(number, shape). */
#define PLACE_CASE(number, shape)                              \
	case number:                                           \
		*io = (struct place_io)PLACE_SHAPE_##shape;    \
		return true;

struct place_args {
	__u64 a[6];
};

static __always_inline bool place_io_native(__u32 nr, struct place_io *io);
static __always_inline bool place_io_ia32(__u32 nr, struct place_io *io);

#if defined(__TARGET_ARCH_x86)

#define PLACE_TS_COMPAT 0x2 /* thread_info.status: in a 32-bit system call */

/* arch/x86/entry/syscalls/syscall_64.tbl */
#define PLACE_NATIVE(is)                                                                                      \
	is(7, poll) is(23, select) is(208 /* io_getevents */, getevents) is(232, epoll_wait) is(270, pselect6) \
	is(271, ppoll) is(281 /* epoll_pwait */, epoll_wait) is(333 /* io_pgetevents */, getevents)            \
	is(426 /* io_uring_enter */, uring) is(441, epoll_pwait2)

/* syscall_32.tbl. 64-bit time variants point to 64-bit timespecs, the old ones to 32-bit ones. */
#define PLACE_IA32(is)                                                                                        \
	is(82 /* select: one pointer to a struct of arguments */, old32) is(142 /* _newselect */, old32)       \
	is(168, poll) is(247 /* io_getevents */, old32) is(256, epoll_wait) is(308 /* pselect6 */, old32)      \
	is(309 /* ppoll */, old32) is(319 /* epoll_pwait */, epoll_wait) is(413 /* _time64 */, pselect6)       \
	is(414 /* _time64 */, ppoll) is(426 /* io_uring_enter */, uring) is(441, epoll_pwait2)

/* Returns false where the thread is not in a system call. After SYSCALL the hardware leaves the return address in cx, so
 * cx == ip; a page fault leaves its error code in orig_ax, and 7 is both "write fault in user mode" and poll. */
static __always_inline bool place_syscall(struct task_struct *task, struct pt_regs *regs, struct acct_place *p,
					  struct place_args *args)
{
	long nr = regs->orig_ax;

	p->sp = regs->sp;
	p->abi = LS_ABI_NATIVE;
	if (task->thread_info.status & PLACE_TS_COMPAT) {
		p->abi = LS_ABI_IA32;
		p->nr = nr;
		*args = (struct place_args){ { (__u32)regs->bx, (__u32)regs->cx, (__u32)regs->dx, (__u32)regs->si, (__u32)regs->di,
					       (__u32)regs->bp } };
		return nr >= 0;
	}
	if (nr < 0 || regs->cx != regs->ip)
		return false;
	if (nr & 0x40000000) {
		p->abi = LS_ABI_X32;
		nr &= ~0x40000000;
	}
	p->nr = nr;
	*args = (struct place_args){ { regs->di, regs->si, regs->dx, regs->r10, regs->r8, regs->r9 } };
	return true;
}

/* Asleep on the way out of a system call whose result is there already: stopped, traced, frozen. From the call's entry on, ax has
 * held -ENOSYS. */
static __always_inline bool place_is_over(struct pt_regs *regs)
{
	return (int)regs->ax != -38;
}

/* restart_syscall, of poll: what a poll that was stopped goes on as, with the arguments that it had. Other IO waits are entered anew. */
static __always_inline void place_restarted(struct task_struct *task, struct acct_place *p, const struct place_args *args)
{
	bool ia32 = p->abi == LS_ABI_IA32;
	__u64 end_ns, now;

	if (p->nr != (ia32 ? 0 : 219) || !core_was_poll(task, args->a[0], args->a[1], &end_ns))
		return;
	p->nr = ia32 ? 168 : 7;
	p->nfds = args->a[1];
	p->io_wait = 1;
	now = bpf_ktime_get_ns();
	if (end_ns != ~0ULL)
		p->timeout_ns = end_ns > now ? end_ns - now : 0;
}

/* Can the thread be in an IO wait, going by the number alone? For those that nobody observes: one load, and nearly always no. */
static __always_inline bool place_may_wait(struct task_struct *task, struct pt_regs *regs)
{
	struct place_io io;
	__u64 nr = regs->orig_ax;

	if (task->thread_info.status & PLACE_TS_COMPAT)
		return place_io_ia32(nr, &io);
	return place_io_native(nr & ~0x40000000, &io);
}

/* Asleep, but in no system call: a page fault. orig_ax does not tell it: the entry code (idtentry,
 * since 5.8) moves the error code away and leaves -1 there, as for interrupts, which do not sleep but for work on the way out
 * to user space. */
static __always_inline bool place_fault(struct pt_regs *regs)
{
	return (long)regs->orig_ax < 0 || regs->cx != regs->ip;
}

#elif defined(__TARGET_ARCH_arm64)

/* include/uapi/asm-generic/unistd.h. 32-bit tasks number differently and are not covered: their numbers are all larger
 * than any in this table's reach or mean other calls, so they are told by pstate's mode bit and left out. */
#define PLACE_NATIVE(is)                                                                                      \
	is(4 /* io_getevents */, getevents) is(22 /* epoll_pwait */, epoll_wait) is(72, pselect6) is(73, ppoll) \
	is(292 /* io_pgetevents */, getevents) is(426 /* io_uring_enter */, uring) is(441, epoll_pwait2)
#define PLACE_IA32(is)

#define PLACE_PSTATE_32 0x10

static __always_inline bool place_may_wait(struct task_struct *task, struct pt_regs *regs)
{
	struct place_io io;

	return place_io_native(regs->syscallno, &io);
}

static __always_inline bool place_syscall(struct task_struct *task, struct pt_regs *regs, struct acct_place *p,
					  struct place_args *args)
{
	p->sp = regs->sp;
	p->abi = LS_ABI_NATIVE;
	if (regs->syscallno < 0 || (regs->pstate & PLACE_PSTATE_32))
		return false;
	p->nr = regs->syscallno;
	*args = (struct place_args){ { regs->orig_x0, regs->regs[1], regs->regs[2], regs->regs[3], regs->regs[4],
				       regs->regs[5] } };
	return true;
}

static __always_inline bool place_fault(struct pt_regs *regs)
{
	return !(regs->pstate & PLACE_PSTATE_32);
}

/* No register tells. */
static __always_inline bool place_is_over(struct pt_regs *regs)
{
	return false;
}

/* There is no poll, and ppoll is entered anew. */
static __always_inline void place_restarted(struct task_struct *task, struct acct_place *p, const struct place_args *args)
{
}

#endif

static __always_inline bool place_io_native(__u32 nr, struct place_io *io)
{
	switch (nr) {
		PLACE_NATIVE(PLACE_CASE)
	}
	return false;
}

static __always_inline bool place_io_ia32(__u32 nr, struct place_io *io)
{
	switch (nr) {
		PLACE_IA32(PLACE_CASE)
	}
	return false;
}

static __always_inline __u64 place_arg(const struct place_args *args, __u8 n)
{
	switch (n) {
	case 1:
		return args->a[0];
	case 2:
		return args->a[1];
	case 3:
		return args->a[2];
	case 4:
		return args->a[3];
	case 5:
		return args->a[4];
	}
	return 0;
}

static __always_inline __u64 place_read_time(__u64 ptr, __u64 unit_ns)
{
	__s64 t[2];

	if (!ptr || bpf_probe_read_user(t, sizeof(t), (void *)ptr))
		return LS_NO_TIMEOUT;
	if (t[0] < 0 || t[0] > 1000000000 || t[1] < 0 || t[1] >= 1000000000)
		return LS_NO_TIMEOUT;
	return (__u64)t[0] * 1000000000ULL + (__u64)t[1] * unit_ns;
}

#define PLACE_URING_GETEVENTS 1
#define PLACE_URING_EXT_ARG 8

static __always_inline __u64 place_uring_timeout(const struct place_args *args)
{
	__u64 ts;

	if (!(args->a[3] & PLACE_URING_EXT_ARG) || !args->a[4])
		return LS_NO_TIMEOUT;
	/* struct io_uring_getevents_arg: u64 sigmask, u32 size, u32 min_wait, u64 ts */
	if (bpf_probe_read_user(&ts, sizeof(ts), (void *)(args->a[4] + 16)))
		return LS_NO_TIMEOUT;
	return place_read_time(ts, 1);
}

/* What an IO wait's arguments say. own_memory: the task's user memory is the one mapped now, so timeouts that are passed by
 * pointer can be read. */
static __always_inline void place_details(struct acct_place *p, const struct place_io *io, const struct place_args *args,
					  bool own_memory)
{
	if (io->fd_arg)
		p->fd = (__s32)args->a[0];
	if (io->nfds_arg)
		p->nfds = (__s32)place_arg(args, io->nfds_arg);
	if (io->timeout == PLACE_MS) {
		__s32 ms = (__s32)place_arg(args, io->timeout_arg);

		p->timeout_ns = ms < 0 ? LS_NO_TIMEOUT : (__u64)ms * 1000000;
	} else if (own_memory && io->timeout == PLACE_TIMESPEC) {
		p->timeout_ns = place_read_time(place_arg(args, io->timeout_arg), 1);
	} else if (own_memory && io->timeout == PLACE_TIMEVAL) {
		p->timeout_ns = place_read_time(place_arg(args, io->timeout_arg), 1000);
	} else if (own_memory && io->timeout == PLACE_URING) {
		p->timeout_ns = place_uring_timeout(args);
	}
}

/* Reads where `task` is, which is off the CPU, about to leave it, or in a system call. args: left as they are where it is in
 * none. own_memory: as above. */
static __always_inline void place_read_args(struct task_struct *task, struct acct_place *p, struct place_args *args,
					    bool own_memory)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct place_io io = {};

	p->io_wait = 0;
	p->fd = -1;
	p->nfds = -1;
	p->timeout_ns = LS_NO_TIMEOUT;
	p->nr = LS_NR_UNKNOWN;
	if (!regs)
		return;
	if (!place_syscall(task, regs, p, args)) {
		p->nr = place_fault(regs) ? LS_NR_PAGE_FAULT : LS_NR_UNKNOWN;
		return;
	}
	if (p->abi == LS_ABI_IA32 ? !place_io_ia32(p->nr, &io) : !place_io_native(p->nr, &io)) {
		place_restarted(task, p, args);
		return;
	}
	if (io.timeout == PLACE_URING && (!(args->a[3] & PLACE_URING_GETEVENTS) || !(__u32)args->a[2]))
		return; /* submits, waits for nothing */
	p->io_wait = 1;
	place_details(p, &io, args, own_memory);
}

static __always_inline void place_read(struct task_struct *task, struct acct_place *p, bool own_memory)
{
	struct place_args args = {};

	place_read_args(task, p, &args, own_memory);
}

#endif
