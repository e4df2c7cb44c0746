/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target.h - a process's files, as they are for that process: what it runs and what it has mapped.
 *
 * Files are reached through the links that the kernel keeps in /proc/PID (exe, map_files): they lead to the very file,
 * whatever mount namespace it is in, and also after it was deleted or replaced. Other users' need CAP_SYS_PTRACE, and map_files
 * CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE: without those, what the mapping's path leads to now in the process's own root is taken.
 * Nothing is opened for reading before it is known to be a regular file: opening a FIFO may block, opening a device may do things. (A file system that needs an answer from a server can still be slow; a FUSE
 * one of another user refuses us, says fuse(4).)
 */
#ifndef LOOPSCOPE_REGISTRY_TARGET_H
#define LOOPSCOPE_REGISTRY_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Tells one content of one file from any other. */
struct file_key {
	uint64_t dev, ino, size;
	int64_t mtime_s;
	uint32_t mtime_ns;
};

bool file_key_equal(const struct file_key *a, const struct file_key *b);

/* One mapping of a file; path is as the kernel shows it, without " (deleted)". */
struct mapping {
	uint64_t start, end;
	const char *path;
};

/* *ret_fd: an O_PATH descriptor of a regular file. -ENOENT where the link leads nowhere, -EINVAL if to something else.
 */
int target_open_exe(pid_t pid, int *ret_fd, struct file_key *ret_key);
int target_open_mapping(pid_t pid, const struct mapping *m, int *ret_fd, struct file_key *ret_key);
/* Opens for reading what an O_PATH descriptor stands for. Returns a descriptor or -errno. */
int target_reopen(int path_fd);

/* The executable's basename without " (deleted)"; cut at size. */
int target_exe_name(pid_t pid, char *ret, size_t size);

/* Calls fn for each file-backed mapping, once for each run of lines of one file. fn returns 0 to go on. At most
 * TARGET_MAPS_LINES_MAX lines are read: what comes after is as if not there. */
#define TARGET_MAPS_LINES_MAX 65536
int target_each_mapping(pid_t pid, int (*fn)(void *arg, const struct mapping *m), void *arg);

#endif
