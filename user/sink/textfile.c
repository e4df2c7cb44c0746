/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * textfile.c - see textfile.h. fsync() before the rename, as a file system may find only then that there is no room, and as
 * after a crash the new name must not stand for an empty file (rename(2), fsync(2)).
 */
#include "sink/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"

#define NAME_SIZE 128

struct temporary {
	int dir;
	char name[NAME_SIZE]; /* "" once it is no more */
};

static void temporary_remove(struct temporary *t)
{
	if (t->name[0])
		unlinkat(t->dir, t->name, 0);
}

static int failed(const char *dir, const char *name, struct fault *f)
{
	int err = errno ? errno : EIO;
	const char *remedy = "the file before it stays; see that the folder is there and can be written";

	if (err == ENOSPC || err == EDQUOT)
		remedy = "the file before it stays; free some space";
	else if (err == EACCES || err == EPERM)
		remedy = "let the user write there under whose id this runs; root's power to write everywhere is given up";
	return fault(f, -err, EXIT_FAILED, "%s/%s can't be written: %s; %s", dir, name, strerror(err), remedy);
}

static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t written = write(fd, bytes, n);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return -1;
		bytes += written;
		n -= (size_t)written;
	}
	return 0;
}

/* What a killed predecessor left is removed first; O_EXCL follows no link that somebody else has put there. */
static int temporary_open(struct temporary *t, const char *name)
{
	char made[NAME_SIZE];
	int fd;

	if (snprintf(made, sizeof(made), ".%s.tmp", name) >= (int)sizeof(made)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (unlinkat(t->dir, made, 0) && errno != ENOENT)
		return -1;
	fd = openat(t->dir, made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd >= 0)
		strcpy(t->name, made);
	return fd;
}

int textfile_write(const char *dir, const char *name, const char *bytes, size_t n, struct fault *f)
{
	_cleanup_close_ int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	CLEANUP(temporary_remove) struct temporary t = {.dir = dir_fd};

	if (dir_fd < 0)
		return failed(dir, name, f);
	fd = temporary_open(&t, name);
	if (fd < 0 || write_all(fd, bytes, n) || fchmod(fd, 0644) || fsync(fd) || renameat(dir_fd, t.name, dir_fd, name))
		return failed(dir, name, f);
	t.name[0] = '\0';
	return 0;
}

int textfile_check(const char *dir, const char *name, struct fault *f)
{
	_cleanup_close_ int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	CLEANUP(temporary_remove) struct temporary t = {.dir = dir_fd};

	if (dir_fd >= 0)
		fd = temporary_open(&t, name);
	return fd < 0 ? failed(dir, name, f) : 0;
}
