/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire.h - all that the kernel side and user/source/kernel* share: the state of one observed thread and the records in
 * which it travels. Both sides are built together, so this is no stable format; sizes are asserted so that a change is
 * seen. Times are nanoseconds of CLOCK_MONOTONIC unless a name says otherwise. Values from here are our own program's,
 * but comm and the user stack pointer come from the target: hostile.
 */
#ifndef LOOPSCOPE_BPF_WIRE_H
#define LOOPSCOPE_BPF_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define LS_COMM_LEN 16
#define LS_POINTS 4    /* wait points remembered per thread */
#define LS_BLOCKED 8   /* syscalls a thread was blocked in */
#define LS_CULPRITS 8  /* processes that had the CPU while it waited */
#define LS_CPU_RING 16 /* last switches remembered per CPU; power of two */
#define LS_NO_TIMEOUT (~0ULL)

/* The six states of a loop's thread (DESIGN.md, section 2), and "not known yet". Append only. */
enum ls_state {
	LS_NONE = 0,
	LS_IDLE = 1,         /* off CPU, asleep at its own wait point */
	LS_IO_CPU = 2,       /* on CPU inside the IO wait; only where the edges are measured */
	LS_TICK_CPU = 3,     /* on CPU in a tick; where edges are not measured, IO_CPU too */
	LS_TICK_BLOCKED = 4, /* off CPU, asleep, in a tick */
	LS_WAIT_IO = 5,      /* woken at the wait point, not yet running */
	LS_WAIT_TICK = 6,    /* runnable in a tick, not running */
	LS_NR_STATES = 7,
};

/* Where a thread is blocked when it is not in a syscall: kept in the place of a syscall number. Append only. */
enum ls_pseudo_nr {
	LS_NR_PAGE_FAULT = 0xffff0001,
	LS_NR_STOPPED = 0xffff0002, /* SIGSTOP, ptrace */
	LS_NR_UNKNOWN = 0xffff0003,
};

/* The table that a syscall number belongs to. Append only. */
enum ls_abi {
	LS_ABI_NATIVE = 0,
	LS_ABI_IA32 = 1, /* 32-bit entry on x86_64: other numbers */
	LS_ABI_X32 = 2,  /* native numbers with bit 30 set, cleared here */
};

enum ls_flags {
	LS_F_SEEDED = 1,   /* found asleep when observation began; no event seen since */
	LS_F_DEAD = 2,     /* exited: its last sums have been sent */
};

/* A place where the thread waited for IO. The outermost one that repeats is the loop's. */
struct ls_point {
	__u64 sp; /* user stack pointer */
	__u64 first_ns, last_ns;
	__u32 nr;
	__u32 count; /* saturating; 0: slot free */
	__s32 fd;    /* -1: none or many */
	__s32 nfds;  /* first argument of select, second of poll; -1 elsewhere */
	__u8 abi;
	__u8 pad[7];
};

struct ls_blocked {
	__u64 ns;
	__u32 nr; /* 0 with ns == 0: slot free (nr 0 is read: a used slot has ns > 0 or used set) */
	__u8 abi;
	__u8 used;
	__u8 pad[2];
};

struct ls_culprit {
	__u64 ns;
	__u64 last_ns;
	__u32 tgid; /* 0: the CPU was idle: wake-up latency */
	__u32 used;
	char comm[LS_COMM_LEN];
};

/* One observed thread. Lives in task storage; written by one CPU at a time (the scheduler's events of one thread are
 * serialised by its run-queue lock), read by the snapshot, which retries while seq is odd or changed. */
struct ls_thread {
	__u32 seq;
	__u8 state; /* enum ls_state */
	__u8 flags; /* enum ls_flags */
	__s8 home;  /* index of the loop's own wait point, -1 none yet */
	__u8 blocked_abi;
	__u32 blocked_nr; /* while TICK_BLOCKED */
	__u32 generation; /* execs seen */

	__u64 birth_ns; /* accounting begins */
	__u64 last_ns;  /* of the last transition */
	__u64 sum_ns[LS_NR_STATES];
	__u64 throttled_ns;  /* part of WAIT_* in which the quota was used up */
	__u64 naive_idle_ns; /* what a loop timing its own call would take for sleep: min(call, timeout) */
	__u64 io_sleeps;     /* IO waits at the own wait point that slept */
	__u64 outer_ns;      /* part of TICK_BLOCKED spent further out on the stack than the wait point: see acct_outer() */
	__u64 events;        /* program runs that found this thread */
	__u64 lost;          /* contradictions: a switch or wake-up that must have been missed */
	__u64 repaired;      /* missed switches whose time the scheduler's own record told */

	__u64 io_start_ns;   /* while IDLE or WAIT_IO: up to where naive_idle_ns has been counted */
	__u64 io_timeout_ns; /* what is left of the timeout from there on */
	__u64 wait_start_ns;   /* while WAIT_*: up to where culprits have been charged */
	__u64 throttle_ref;    /* while WAIT_*: the run queue whose throttling matters, 0 none */
	__u64 throttle_base;   /* its throttle clock, up to where throttled_ns has been counted */
	__u32 wait_cpu;
	__u8 blocked_outer; /* while TICK_BLOCKED: counts as outer */
	__u8 pad0[3];

	struct ls_point points[LS_POINTS];
	struct ls_blocked blocked[LS_BLOCKED];
	__u64 blocked_other_ns; /* did not fit */
	struct ls_culprit culprits[LS_CULPRITS];
	__u64 culprit_other_ns;
};

/* Who ran on a CPU, newest at pos. */
struct ls_cpu_slot {
	__u64 start_ns;
	__u32 tid;
	__u32 tgid;
	char comm[LS_COMM_LEN];
};

struct ls_cpu {
	__u32 pos;
	__s32 waiters; /* observed threads that wait for this CPU: only then do its switches need a time */
	struct ls_cpu_slot ring[LS_CPU_RING];
	__u8 pad[120]; /* the next CPU's starts on a cache line of its own */
};

enum ls_snap_reason {
	LS_SNAP_LIVE = 0,
	LS_SNAP_EXIT = 1,
	LS_SNAP_EXEC = 2,
};

/* A thread's sums with the state in progress folded in up to now_ns: from the iterator, or through the ring buffer when
 * a thread ends. */
struct ls_snap {
	__u64 now_ns;
	__u64 start_boottime_ns;
	__u32 tid;
	__u32 tgid;
	__u32 reason; /* enum ls_snap_reason */
	__u32 pad;
	char comm[LS_COMM_LEN];
	struct ls_thread t;
};

/* Program-wide counters, per CPU. Append only. */
enum ls_counter {
	LS_C_RING_FULL = 0,    /* final sums that found no room in the ring buffer */
	LS_C_NO_STORAGE = 1,   /* a thread that could not be given storage (memory, or the limit) */
	LS_C_TORN = 2,         /* snapshots given up after retries: the thread's sums come with the next one */
	LS_C_THREADS = 3,      /* threads given storage */
	LS_NR_COUNTERS = 8,
};

_Static_assert(sizeof(struct ls_point) == 48, "wire: ls_point");
_Static_assert(sizeof(struct ls_blocked) == 16, "wire: ls_blocked");
_Static_assert(sizeof(struct ls_culprit) == 40, "wire: ls_culprit");
_Static_assert(sizeof(struct ls_thread) == 848, "wire: ls_thread");
_Static_assert(sizeof(struct ls_cpu_slot) == 32, "wire: ls_cpu_slot");
_Static_assert(sizeof(struct ls_snap) == 48 + sizeof(struct ls_thread), "wire: ls_snap");

#endif
