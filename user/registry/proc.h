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

/* From /proc/TGID/status, stat and comm: of the process, also when the PID asked for is one of its threads. */
struct proc_info {
	char comm[16];       /* leader's, raw bytes */
	pid_t tgid;          /* differs from the PID asked for when that was a thread's id */
	pid_t nspid;         /* innermost namespace's PID, or tgid */
	bool kernel_thread;
	uint64_t start_ticks; /* field 22 of stat: identity together with the PID */
};

/* -ESRCH: no such process; -EPROTO: /proc said something unexpected. */
int proc_info_read(pid_t pid, struct proc_info *ret);
/* Unified (v2) path where there is one (and, on a hybrid host, it is not the root), else the v1 cpu controller's; ""
 * when it can't be read though the process is there. Heap, the caller frees. */
int proc_cgroup_read(pid_t pid, char **ret);
/* comm of one thread, raw bytes, NUL-terminated. */
int proc_thread_comm_read(pid_t pid, pid_t tid, char ret[16]);
/* PIDs whose comm, or basename of argv[0] or of the executable, matches the fnmatch pattern, ascending; kernel threads,
 * zombies and ourselves left out. Heap, the caller frees; none matching: 0, *ret NULL, *ret_n 0. */
int proc_find_by_name(const char *pattern, pid_t **ret, size_t *ret_n);
/* False also where it can't be read. The terminal itself is never opened. */
bool proc_fd_is_tty(pid_t pid, int fd);
/* Clock ticks summed over all CPUs, as of the last call. Starts as zeros. */
struct steal_meter {
	uint64_t steal, total;
};
/* Share (0 to 1) of all CPUs' time that the hypervisor took since the last call, from /proc/stat; NAN on the first
 * call, when no tick has passed, and where it can't be read. */
double steal_meter_step(struct steal_meter *m);

#endif
