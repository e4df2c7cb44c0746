/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target.c - see target.h. Format of /proc/PID/maps and names in map_files: proc(5).
 */
#include "registry/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/cleanup.h"

#define DELETED         " (deleted)"
#define TARGET_PATH_MAX 4096

bool file_key_equal(const struct file_key *a, const struct file_key *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime_s == b->mtime_s &&
	       a->mtime_ns == b->mtime_ns;
}

static void cut_deleted(char *path)
{
	size_t len = strlen(path), cut = strlen(DELETED);

	if (len > cut && !strcmp(path + len - cut, DELETED))
		path[len - cut] = '\0';
}

static int open_link(const char *link, int *ret_fd, struct file_key *ret_key)
{
	_cleanup_close_ int fd = open(link, O_PATH | O_CLOEXEC);
	struct statx sx;

	if (fd < 0)
		return -errno;
	/* DONT_SYNC: what is known locally will do, no network or FUSE server is asked. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &sx) < 0)
		return -errno;
	if (!S_ISREG(sx.stx_mode))
		return -EINVAL;
	*ret_key = (struct file_key){
		.dev = makedev(sx.stx_dev_major, sx.stx_dev_minor),
		.ino = sx.stx_ino,
		.size = sx.stx_size,
		.mtime_s = sx.stx_mtime.tv_sec,
		.mtime_ns = sx.stx_mtime.tv_nsec,
	};
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int target_open_exe(pid_t pid, int *ret_fd, struct file_key *ret_key)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	return open_link(link, ret_fd, ret_key);
}

int target_open_mapping(pid_t pid, const struct mapping *m, int *ret_fd, struct file_key *ret_key)
{
	char link[64 + TARGET_PATH_MAX];
	int err;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m->start, m->end);
	err = open_link(link, ret_fd, ret_key);
	if (err != -EPERM || strlen(m->path) > TARGET_PATH_MAX)
		return err;
	snprintf(link, sizeof(link), "/proc/%d/root%s", pid, m->path);
	return open_link(link, ret_fd, ret_key);
}

int target_reopen(int path_fd)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int target_exe_name(pid_t pid, char *ret, size_t size)
{
	char link[64], path[4096];
	const char *slash;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	cut_deleted(path);
	slash = strrchr(path, '/');
	snprintf(ret, size, "%s", slash ? slash + 1 : path);
	return 0;
}

/* "start-end perms offset major:minor inode   path\n". False for what is not a mapped file. */
static bool parse_line(char *line, struct mapping *ret)
{
	char *newline = strchr(line, '\n');
	int at = 0;

	if (!newline)
		return false;
	*newline = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %*x %*x:%*x %*u %n", &ret->start, &ret->end, &at) != 2 || !at ||
	    line[at] != '/')
		return false;
	cut_deleted(line + at);
	ret->path = line + at;
	return true;
}

int target_each_mapping(pid_t pid, int (*fn)(void *arg, const struct mapping *m), void *arg)
{
	_cleanup_fclose_ FILE *maps = NULL;
	/* A path has at most PATH_MAX bytes, but newlines in it are shown as four. Longer lines come in parts, of which
	 * none has both a newline and a start address, and are left out. */
	char line[8192], last[sizeof(line)] = "", name[64];

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	if (!maps)
		return -errno;
	for (unsigned n = 0; n < TARGET_MAPS_LINES_MAX && fgets(line, sizeof(line), maps); n++) {
		struct mapping m;
		int err;

		if (!parse_line(line, &m) || !strcmp(m.path, last))
			continue;
		strcpy(last, m.path);
		err = fn(arg, &m);
		if (err)
			return err;
	}
	return 0;
}
