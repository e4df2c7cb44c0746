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
#define LS_CPU_RING 64 /* last switches remembered per CPU; power of two */
#define LS_PHASES 8     /* kinds of phases of one runtime; as in user/registry/registry.h and user/model/record.h */
#define LS_NO_TIMEOUT (~0ULL)
#define LS_STORAGE_MAX 8000 /* a value in task storage: 7.2 gives 8 KiB at most, with its own header (6.18 gave 32 and more) */
#define LS_TGID_QUOTA 0xffffffffU /* a culprit that is no process: the cgroup's quota */
#define LS_TGID_SEVERAL 0xfffffffeU /* one that is several: processes of one name, put together */

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
	LS_NR_STOPPED = 0xffff0002, /* SIGSTOP, ptrace, the freezer */
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
	LS_F_IN_IO = 4,    /* edges are measured, and it is inside its own IO wait */
	LS_F_ENTRY_ONLY = 8, /* of the edges only the waits' entries are seen: a return to the CPU after a sleep ends one */
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
	__u64 asleep_ns; /* in it, ever */
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
	__u64 recent_ns; /* halves each second: what it has had lately */
	__u64 last_ns;
	__u32 tgid; /* 0: the CPU was idle: wake-up latency */
	__u32 used;
	char comm[LS_COMM_LEN];
};

/* One observed thread. Lives in task storage; written by one CPU at a time (the scheduler's events of one thread are
 * serialised by its run-queue lock), read by the snapshot, which retries while seq is odd or changed. A program that runs in the
 * thread itself may be preempted while it writes: the scheduler's events find seq odd then, and leave all but held_* alone. */
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
	/* When it was last seen to leave a CPU, while delay_known: the scheduler's record of its waits, ours, and TICK_CPU. */
	__u64 delay_ns, delay_waits_ns, delay_cpu_ns;

	__u64 io_start_ns;   /* while IDLE or WAIT_IO: up to where naive_idle_ns has been counted */
	__u64 io_timeout_ns; /* what is left of the timeout from there on */
	__u64 wait_start_ns;   /* while WAIT_*: up to where culprits have been charged */
	__u64 throttle_ref;    /* while WAIT_*: the run queue whose throttling matters, 0 none */
	__u64 throttle_base;   /* its throttle clock, up to where throttled_ns has been counted */
	__u32 wait_cpu;
	__u8 blocked_outer; /* while TICK_BLOCKED: counts as outer */
	__u8 blocked_point; /* while TICK_BLOCKED in a nested IO wait: its row in points[] + 1; else 0 */
	__u8 last_point;    /* row of the IO wait entered last */
	__u8 delay_known;
	__u32 edges; /* the value of ls_edges under which its edges are measured; 0: by the scheduler alone */
	__u32 pad1;
	__s64 ahead_ns; /* of our clock before that of the scheduler's record; 0: not known */
	/* It was preempted while a program of its own was writing this, which cannot be interrupted by another write: since when (0: it
	 * runs), and for how long, to be told of the time since last_ns. */
	__u64 held_from_ns, held_ns;
	__u64 start_boottime_ns; /* the thread's: an exec may give it another one */

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

/* The phases of one thread's loop: see bpf/phases.h. In task storage, written by its own thread alone. */
struct ls_phases {
	__u32 seq;
	__u32 attached; /* the value of ls_phases_attached with which `current` was entered */
	__u32 current;  /* the phase in progress + 1; 0: none known */
	__u32 generation; /* of the thread, when it was entered: another program knows no such phase */
	__u64 base_ns;  /* the thread's time in ticks up to which sum_ns has been counted */
	__u64 sum_ns[LS_PHASES];
	__u64 entries[LS_PHASES];
};

/* --- single ticks: only threads whose edges are measured ----------------------------------------------------------------- */

#define LS_HIST_SUB_BITS 5 /* buckets as in user/model/hist.h; source/kernel_ticks.c asserts that they agree */
#define LS_HIST_LIMIT_BITS 42
#define LS_HIST_BUCKETS 1217
#define LS_CAUSES 12  /* sleeps and waits remembered per tick */
#define LS_SAMPLES 16 /* different stacks sampled per tick */
#define LS_STACK_FRAMES 64
#define LS_NO_STACK (-1)
#define LS_POLLED_KNOWN (1ULL << 32) /* args[3] of poll and ppoll: this and the first fd that they ask for */

/* Kinds as in user/model/slow_tick.h. Append only. */
enum ls_cause_kind {
	LS_CAUSE_SYSCALL = 1,
	LS_CAUSE_FAULT = 2,
	LS_CAUSE_WAIT = 3,
};

struct ls_cause {
	__u64 ns;
	__u64 args[4]; /* of the system call, args[3] of polls alone; args[0]: the page fault's address */
	__s32 stack;   /* id in ls_stacks, negative: none */
	__u32 nr;      /* system call, or the tgid that had the CPU */
	__u32 count;
	__u8 kind; /* enum ls_cause_kind; 0: slot free */
	__u8 abi;
	__u8 pad[2];
	char comm[LS_COMM_LEN];
};

struct ls_sample {
	__s32 stack;
	__u32 count;
};

/* The tick in progress, or the last one while in the IO wait. */
struct ls_tick {
	__u64 start_ns; /* 0: not known yet */
	__u64 base_cpu_ns, base_blocked_ns, base_wait_ns, base_throttled_ns; /* the thread's sums when it began */
	__s64 events; /* that the wait before it returned */
	struct ls_cause causes[LS_CAUSES];
	__u64 cause_other_ns; /* did not fit, or too short to be remembered */
	struct ls_cause blocked; /* while TICK_BLOCKED: where; ns is when it began */
	struct ls_sample samples[LS_SAMPLES];
	__u32 n_samples; /* all, those without room included */
	__u32 pad;
};

struct ls_ticks {
	__u32 seq; /* as in struct ls_thread */
	__u8 call; /* enum ls_call: the IO wait it is in */
	__u8 empty; /* the last wait was an empty poll: timeout 0, nothing returned */
	__u8 started; /* loop_start was sent */
	__u8 pad0;
	__s32 ret; /* of the last call: as in struct ls_turn */
	__u32 pad1;
	__u32 epoch; /* of the maxima */
	__u32 event_seq; /* of the event stream: how many events there have been, the lost ones too */
	__u64 io_ns;     /* the wait began: the first of a row of empty polls */
	__u64 call_ns;   /* this call began */
	__u64 exit_ns;   /* the last call ended */
	__u64 timeout_ns; /* of this call; LS_NO_TIMEOUT: none */
	__u64 call_wait_ns; /* WAIT_IO when the call began */
	__u64 io_waits, ticks, empty_polls, io_events;
	__u64 spin_ns; /* in empty polls and the bare steps between them */
	__u64 late_n, late_ns, late_wait_ns; /* timeouts that overran; by how much; of that, waiting for the CPU */
	__u64 tick_sum_ns, io_sum_ns;
	__u64 tick_max_ns, tick_max_before_ns; /* in this epoch, in the one before */
	__u64 io_max_ns, io_max_before_ns;
	__u64 slow_window_ns; /* rate limit */
	__u32 slow_in_window;
	__u32 slow_held;
	__u64 slow_ticks; /* all, the held back included */
	__u64 stack_window_ns;
	__u32 stacks_in_window;
	__s32 home_fd;
	__u64 block_sp; /* the last block of which a stack could be taken: where, and which */
	__u32 block_nr;
	__s32 block_stack;
	__u64 fault_addr;
	struct ls_tick tick;
	__u32 io_hist[LS_HIST_BUCKETS];
};

/* How long its ticks were, counted in buckets. Apart from struct ls_ticks, as both together exceed LS_STORAGE_MAX. */
struct ls_tick_hist {
	__u32 bucket[LS_HIST_BUCKETS];
};

#define LS_RET_UNKNOWN (-4096LL) /* where the call's return is not seen: no errno */

enum ls_call {
	LS_CALL_NONE = 0,
	LS_CALL_OWN = 1,    /* at the own wait point */
	LS_CALL_NESTED = 2, /* inside a callback */
	LS_CALL_ENTERED = 3, /* own, of which only the entry is seen: may be over already */
};

/* Through the ring buffer ls_events. Append only. */
enum ls_event_type {
	LS_EV_SLOW = 1,       /* struct ls_slow */
	LS_EV_LOOP_START = 2, /* struct ls_turn for these */
	LS_EV_TURN = 3,
	LS_EV_AGAIN = 4,
	LS_EV_LOOP_STOP = 5,
};

/*
 * What the event stream is made of: one record for an IO wait and the tick that it led to, sent when the tick ends and the next
 * wait begins. So a loop that sleeps has told everything.
 *
 * type       | stands for                                                             | events
 * -----------+------------------------------------------------------------------------+-------
 * LOOP_START | loop_start, io_start: end_ns                                           | 2
 * TURN       | io_end, tick_start: io_end_ns; tick_end, io_start: end_ns              | 4
 * AGAIN      | edges were let go, and are back: io_start: end_ns                      | 1
 * LOOP_STOP  | in a tick: io_end, tick_start: io_end_ns; loop_stop: end_ns            | 3, else 1
 *
 * A time of 0: that edge was not seen.
 */
struct ls_turn {
	__u32 type; /* enum ls_event_type */
	__u32 seq;  /* per thread: how many events came before it, the lost ones too */
	__u32 tid, tgid;
	__u64 io_start_ns, io_end_ns, end_ns;
	__u64 timeout_ns;      /* of the wait; of a row of polls that counts as one, the last one's */
	__u64 next_timeout_ns; /* of the wait that begins at end_ns */
	__s32 count;           /* what the wait returned: events, or a negative errno, or LS_RET_UNKNOWN */
	__u32 pad;
};

struct ls_slow {
	__u32 type;
	__u32 held; /* slow ticks of this loop held back since the last one sent */
	__u32 tid, tgid;
	__u64 start_boottime_ns;
	__u64 now_ns; /* its end; or now, in progress */
	__u64 cpu_ns, blocked_ns, wait_ns, throttled_ns;
	__u32 generation;
	__u8 in_progress;
	__u8 state; /* enum ls_state, in progress */
	__u8 wait_abi;
	__u8 pad;
	__u32 wait_nr; /* where the loop waits for IO; LS_NR_UNKNOWN */
	__u32 pad1;
	__u64 state_ns; /* in progress: how long it has been in that state */
	char comm[LS_COMM_LEN];
	struct ls_tick tick;
};

/* From the frequent walk over measured threads: how fast each goes, for the budget; followed by a struct ls_slow where its
 * tick has been running for too long. */
struct ls_pulse {
	__u64 now_ns;
	__u64 start_boottime_ns;
	__u32 tid, tgid;
	__u32 generation;
	__u32 stalled;
	__u64 waits; /* IO waits and empty polls, ever; from the walk over phases: their entries */
	struct ls_turn turn; /* the one in progress, as far as it is known: seq, and in a tick io_end_ns */
};

/* From the walk over measured threads: what struct ls_snap is for struct ls_thread. */
struct ls_tick_snap {
	__u64 now_ns;
	__u64 start_boottime_ns;
	__u32 tid, tgid;
	__u32 generation;
	__u32 pad;
	struct ls_ticks k;
	struct ls_tick_hist tick_hist;
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
	__u32 phases; /* 1: a struct ls_phases follows, of the same moment */
	char comm[LS_COMM_LEN];
	struct ls_thread t;
};

/* Program-wide counters, per CPU: losses. */
enum ls_counter {
	LS_C_RING_FULL = 0,    /* final sums that found no room in the ring buffer */
	LS_C_NO_STORAGE = 1,   /* a thread that could not be given storage (memory, or the limit) */
	LS_C_TORN = 2,         /* snapshots given up after retries: the thread's sums come with the next one */
	LS_C_EVENTS_LOST = 3,  /* events that found no room in ls_events: their sequence numbers show where */
	LS_C_SLOW_LOST = 4,    /* slow ticks likewise */
	LS_C_STACK_LOST = 5,   /* stacks that could not be taken or kept */
	LS_NR_COUNTERS = 6,
};

_Static_assert(sizeof(struct ls_point) == 56, "wire: ls_point");
_Static_assert(sizeof(struct ls_blocked) == 16, "wire: ls_blocked");
_Static_assert(sizeof(struct ls_culprit) == 48, "wire: ls_culprit");
_Static_assert(sizeof(struct ls_thread) == 1008, "wire: ls_thread");
_Static_assert(sizeof(struct ls_ticks) <= LS_STORAGE_MAX, "wire: ls_ticks");
_Static_assert(sizeof(struct ls_tick_hist) <= LS_STORAGE_MAX, "wire: ls_tick_hist");
_Static_assert(sizeof(struct ls_cpu_slot) == 32, "wire: ls_cpu_slot");
_Static_assert(sizeof(struct ls_cause) == 72, "wire: ls_cause");
_Static_assert(sizeof(struct ls_slow) <= sizeof(struct ls_ticks), "wire: ls_slow is built in ls_ticks' room");
_Static_assert(sizeof(struct ls_phases) == 152, "wire: ls_phases");
_Static_assert(sizeof(struct ls_turn) == 64, "wire: ls_turn");
_Static_assert(sizeof(struct ls_snap) == 48 + sizeof(struct ls_thread), "wire: ls_snap");

#endif
