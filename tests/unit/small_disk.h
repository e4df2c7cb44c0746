/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * small_disk.h - a file system that fills up, for tests of full disks: a tmpfs in a mount namespace of the test's own process.
 */
#ifndef LOOPSCOPE_TESTS_SMALL_DISK_H
#define LOOPSCOPE_TESTS_SMALL_DISK_H

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define SMALL_DISK_BYTES (64 * 1024)

/* Fills path, of at least 32 bytes, with a new folder on it. Skips the test where none can be made. */
static inline void small_disk_make(char *path, size_t size)
{
	snprintf(path, size, "/tmp/loopscope-disk-XXXXXX");
	cr_assert(mkdtemp(path));
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) ||
	    mount("tmpfs", path, "tmpfs", 0, "size=64k")) {
		rmdir(path);
		cr_skip_test("no file system can be mounted here: %s", strerror(errno));
	}
}

/* Mounts end with the process: only the folder is left. */
static inline void small_disk_remove(const char *path)
{
	umount2(path, MNT_DETACH);
	rmdir(path);
}

/* Writes a file until nothing goes any more. */
static inline void small_disk_fill(const char *path)
{
	char name[96], block[512] = "";
	int fd;

	snprintf(name, sizeof(name), "%s/filler", path);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	cr_assert_eq(errno, ENOSPC);
	close(fd);
}

static inline void small_disk_free(const char *path)
{
	char name[96];

	snprintf(name, sizeof(name), "%s/filler", path);
	cr_assert_eq(unlink(name), 0);
}

#endif
