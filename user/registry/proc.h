/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.h - what /proc says of a process. Every reader copes with a process that ends meanwhile (-ESRCH).
 */
#ifndef LOOPSCOPE_REGISTRY_PROC_H
#define LOOPSCOPE_REGISTRY_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* From /proc/PID/status and stat. */
struct proc_info {
	char comm[16];       /* leader's, raw bytes */
	pid_t tgid;          /* differs from the PID asked for when that was a thread's id */
	pid_t nspid;         /* innermost namespace's PID, or tgid */
	bool kernel_thread;
	uint64_t start_ticks; /* field 22 of stat: identity together with the PID */
};

int proc_info_read(pid_t pid, struct proc_info *ret);
/* Unified (v2) path where there is one, else the v1 cpu controller's; "" when it can't be read. Heap, the caller frees. */
int proc_cgroup_read(pid_t pid, char **ret);
/* comm of one thread, raw bytes, NUL-terminated. */
int proc_thread_comm_read(pid_t pid, pid_t tid, char ret[16]);
/* PIDs whose comm, or basename of argv[0] or of the executable, matches the fnmatch pattern; kernel threads and ourselves left out. Heap. */
int proc_find_by_name(const char *pattern, pid_t **ret, size_t *ret_n);
/* -1 where the fd isn't a terminal or can't be read; else 1. */
bool proc_fd_is_tty(pid_t pid, int fd);
/* Share of all CPUs' time stolen by the hypervisor between two calls, from /proc/stat; NAN on the first call. */
struct steal_meter {
	uint64_t steal, total;
};
double steal_meter_step(struct steal_meter *m);

#endif
