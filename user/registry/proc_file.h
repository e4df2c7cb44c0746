/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_file.h - reading small files of /proc. Internal to registry/.
 */
#ifndef LOOPSCOPE_REGISTRY_PROC_FILE_H
#define LOOPSCOPE_REGISTRY_PROC_FILE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_PF_KTHREAD 0x00200000 /* include/linux/sched.h; the value has not changed since 2.6.27 */

/* Of /proc/PID/stat: fields 3, 9 and 22. */
struct proc_stat {
	char state;
	unsigned flags;
	uint64_t start_ticks;
};

/* Reads up to size - 1 bytes and terminates them; the content may hold NULs. Returns the length or -errno; -ESRCH where
 * there is no such process. */
int proc_file_read(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* -EPROTO where it is not what proc_pid_stat(5) says. */
int proc_stat_parse(const char *stat, struct proc_stat *ret);

#endif
