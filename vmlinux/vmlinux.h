/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * vmlinux.h - the kernel types that bpf/ reads, and no others.
 *
 * Written by hand rather than dumped: with preserve_access_index only names matter, the loader moves every offset to the
 * running kernel's (CO-RE). A field that some kernels lack is read only behind bpf_core_field_exists() in
 * bpf/core_fixes.h. Registers differ by architecture: see regs_x86.h and regs_arm64.h.
 */
#ifndef LOOPSCOPE_VMLINUX_H
#define LOOPSCOPE_VMLINUX_H
#define __VMLINUX_H__ /* tells libbpf's headers which names the registers have */

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false = 0, true = 1 };

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_STACK_TRACE = 7,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1U << 0,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1U << 0,
	BPF_F_USER_STACK = 1U << 8,
	BPF_RB_NO_WAKEUP = 1U << 0,
	BPF_RB_FORCE_WAKEUP = 1U << 1,
	BPF_RB_AVAIL_DATA = 0,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	unsigned long flags;
	__u32 status; /* x86: TS_COMPAT */
};

struct task_struct;

struct rq {
	struct task_struct *curr;
	__u64 clock;
};

struct task_group {
	struct task_group *parent;
};

struct cfs_rq {
	struct rq *rq;
	struct task_group *tg;
	int throttle_count;
	__u64 throttled_clock_self;
	__u64 throttled_clock_self_time;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
	unsigned char sched_delayed;
};

struct sched_info {
	__u64 run_delay;
	__u64 last_arrival;
	__u64 last_queued;
};

struct restart_block {
	struct {
		void *ufds;
		int nfds;
		int has_timeout;
	} poll;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct bpf_local_storage;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	/* int before 7.2, u8 since: libbpf narrows a direct load only between unsigned types, so they are unsigned here. */
	unsigned int on_cpu;
	unsigned int on_rq;
	struct sched_entity se;
	struct sched_info sched_info;
	int pid;
	int tgid;
	__u64 start_time;
	__u64 start_boottime;
	char comm[16];
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct bpf_local_storage *bpf_storage;
	struct restart_block restart_block;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#if defined(__TARGET_ARCH_x86)
#include "regs_x86.h"
#elif defined(__TARGET_ARCH_arm64)
#include "regs_arm64.h"
#else
#error "loopscope knows the registers of x86_64 and arm64"
#endif

#endif
