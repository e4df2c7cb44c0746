/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * maps.h - the maps that several BPF objects share, and what the loader sets before loading. sched.bpf.c defines them
 * (LS_DEFINE_MAPS); the static linker joins the others' declarations to those.
 */
#ifndef LOOPSCOPE_BPF_MAPS_H
#define LOOPSCOPE_BPF_MAPS_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "bpf/wire.h"

#ifdef LS_DEFINE_MAPS
#define LS_MAP
#else
#define LS_MAP extern
#endif

/* A value for each thread that has been given one. */
#define LS_TASK_STORAGE(name, value_type)                \
	struct name##_map {                              \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE); \
		__uint(map_flags, BPF_F_NO_PREALLOC);    \
		__type(key, int);                        \
		__type(value, value_type);               \
	};                                               \
	LS_MAP struct name##_map name SEC(".maps")

/* The state of every observed thread; freed by the kernel with the thread. */
LS_TASK_STORAGE(ls_threads, struct ls_thread);

/* Who runs and ran on each CPU. Resized to the number of possible CPUs. */
struct ls_map_cpus {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ls_cpu);
};
LS_MAP struct ls_map_cpus ls_cpus SEC(".maps");

/* The processes to observe; used when ls_only_targets is set. Value: follow its children. */
struct ls_map_targets {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u8);
};
LS_MAP struct ls_map_targets ls_targets SEC(".maps");

/* Sums of threads that ended: struct ls_snap. */
struct ls_map_ended {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
};
LS_MAP struct ls_map_ended ls_ended SEC(".maps");

/* Single ticks, only of threads whose edges are measured; ls_stacks: user stacks by id, shared, never freed while we run. */
LS_TASK_STORAGE(ls_ticks_of, struct ls_ticks);

LS_TASK_STORAGE(ls_tick_hist_of, struct ls_tick_hist);

/* Only where phases are asked for. */
LS_TASK_STORAGE(ls_phases_of, struct ls_phases);

struct ls_map_stacks {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, LS_STACK_FRAMES * sizeof(__u64));
};
LS_MAP struct ls_map_stacks ls_stacks SEC(".maps");

/* struct ls_turn and ls_slow. Resized: to a page where ticks are not measured, to more where each of them is told. */
struct ls_map_events {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
};
LS_MAP struct ls_map_events ls_events SEC(".maps");

struct ls_map_counters {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LS_NR_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
};
LS_MAP struct ls_map_counters ls_counters SEC(".maps");

/* Room to build a thread's state in: it is larger than the BPF stack. One for the switch (runs with interrupts off), one for
 * the iterators (interrupts on, but there is one of them at a time), one for the look (an interrupt). */
enum { LS_SCRATCH_EVENT = 0, LS_SCRATCH_ITER = 1, LS_SCRATCH_LOOK = 2 };
struct ls_map_scratch {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, struct ls_snap);
};
LS_MAP struct ls_map_scratch ls_scratch SEC(".maps");

struct ls_map_tick_scratch {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ls_tick_snap);
};
LS_MAP struct ls_map_tick_scratch ls_tick_scratch SEC(".maps");

/* Orders memory between the writer of a thread's state and the snapshot on another CPU. x86 keeps stores and loads in order, the
 * compiler has to be told; elsewhere an atomic that returns a value is a full barrier. */
#define ls_compiler_barrier() asm volatile("" ::: "memory")

static __always_inline void seq_step(__u32 *seq)
{
#if defined(__TARGET_ARCH_x86)
	ls_compiler_barrier();
	*(volatile __u32 *)seq = *seq + 1;
	ls_compiler_barrier();
#else
	if (__sync_fetch_and_add(seq, 1) == ~0U) /* used, so that the fetching form is chosen: the plain one orders nothing */
		ls_compiler_barrier();
#endif
}

static __always_inline __u32 seq_read(__u32 *seq)
{
#if defined(__TARGET_ARCH_x86)
	__u32 v;

	ls_compiler_barrier();
	v = *(volatile __u32 *)seq;
	ls_compiler_barrier();
	return v;
#else
	return __sync_fetch_and_add(seq, 0);
#endif
}

static __always_inline void count_more(__u32 which, __u32 more)
{
	__u64 *n = bpf_map_lookup_elem(&ls_counters, &which);

	if (n)
		*n += more;
}

static __always_inline void count(__u32 which)
{
	count_more(which, 1);
}

#endif
