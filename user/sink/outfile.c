/* SPDX-License-Identifier: BSD-2-Clause */
/* outfile.c - see outfile.h. */
#include "sink/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"

struct outfile {
	FILE *stream;
	char *path;
	bool is_stdout;
	off_t committed; /* the file's size; -1: nothing is taken back: not a regular file, or stdout, which others may share */
};

DEFINE_CLEANUP(struct outfile *, outfile_close);

static void note_size(struct outfile *o)
{
	struct stat st;

	o->committed = !o->is_stdout && !fstat(fileno(o->stream), &st) && S_ISREG(st.st_mode) ? st.st_size : -1;
}

static int open_path(const char *path, struct fault *f)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644);

	if (fd < 0)
		return fault(f, -errno, EXIT_FAILED, "%s can't be opened: %m; see that its folder is there and that it can be written", path);
	return fd;
}

int outfile_open(const char *path, struct outfile **ret, struct fault *f)
{
	CLEANUP(outfile_close_ptr) struct outfile *o = calloc(1, sizeof(*o));
	_cleanup_close_ int fd = -1;

	if (o)
		o->path = strdup(path);
	if (!o || !o->path)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	o->is_stdout = !strcmp(path, "-");
	if (o->is_stdout) {
		o->stream = stdout;
	} else {
		fd = open_path(path, f);
		if (fd < 0)
			return fd;
		o->stream = fdopen(fd, "a");
		if (!o->stream)
			return fault(f, -errno, EXIT_FAILED, "%s can't be opened: %m", path);
		TAKE_FD(fd);
	}
	note_size(o);
	*ret = TAKE_PTR(o);
	return 0;
}

void outfile_close(struct outfile *o)
{
	if (!o)
		return;
	if (o->stream && !o->is_stdout)
		fclose(o->stream);
	free(o->path);
	free(o);
}

FILE *outfile_stream(const struct outfile *o)
{
	return o->stream;
}

void outfile_commit(struct outfile *o)
{
	note_size(o);
}

void outfile_rollback(struct outfile *o)
{
	__fpurge(o->stream);
	clearerr(o->stream);
	/* Should it not work, the next line begins in the middle of one, which readers of NDJSON take for one bad line. */
	if (o->committed >= 0 && ftruncate(fileno(o->stream), o->committed))
		note_size(o);
}

int outfile_reopen(struct outfile *o, struct fault *f)
{
	_cleanup_close_ int fd = -1;

	if (o->is_stdout)
		return 0;
	fd = open_path(o->path, f);
	if (fd < 0)
		return fd;
	if (dup3(fd, fileno(o->stream), O_CLOEXEC) < 0)
		return fault(f, -errno, EXIT_FAILED, "%s can't be opened anew: %m", o->path);
	note_size(o);
	return 0;
}
