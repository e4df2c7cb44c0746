/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_outfile.c - rotation under an open stream; a full disk leaves whole lines. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "sink/outfile.h"
#include "tests/unit/small_disk.h"

TestSuite(sink_outfile, .timeout = 30);

static void slurp(const char *path, char *buf, size_t size)
{
	_cleanup_fclose_ FILE *in = fopen(path, "re");
	size_t n = in ? fread(buf, 1, size - 1, in) : 0;

	buf[n] = '\0';
}

static int put(struct outfile *o, const char *line)
{
	FILE *out = outfile_stream(o);

	if (fputs(line, out) < 0 || fflush(out))
		return -errno;
	outfile_commit(o);
	return 0;
}

Test(sink_outfile, appends_and_goes_on_in_a_new_file_after_a_rotation)
{
	char dir[] = "/tmp/loopscope-outfile-XXXXXX", path[64], rotated[64], text[64];
	struct outfile *o = NULL;
	struct fault f = {0};

	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out", dir);
	snprintf(rotated, sizeof(rotated), "%s/out.1", dir);
	for (int i = 0; i < 2; i++) { /* a second run appends */
		cr_assert_eq(outfile_open(path, &o, &f), 0, "%s", f.text);
		cr_assert_eq(put(o, "line\n"), 0);
		outfile_close(o);
	}
	cr_assert_eq(outfile_open(path, &o, &f), 0, "%s", f.text);
	cr_assert_eq(rename(path, rotated), 0);
	cr_assert_eq(put(o, "until it is told\n"), 0);
	cr_assert_eq(outfile_reopen(o, &f), 0, "%s", f.text);
	cr_assert_eq(put(o, "new\n"), 0);
	slurp(rotated, text, sizeof(text));
	cr_assert_str_eq(text, "line\nline\nuntil it is told\n");
	slurp(path, text, sizeof(text));
	cr_assert_str_eq(text, "new\n");
	outfile_close(o);
	unlink(path);
	unlink(rotated);
	rmdir(dir);
}

Test(sink_outfile, where_it_cannot_be_opened_anew_all_stays)
{
	char dir[] = "/tmp/loopscope-outfile-XXXXXX", path[96], moved[64], text[64];
	struct outfile *o = NULL;
	struct fault f = {0};

	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out", dir);
	cr_assert_eq(outfile_open(path, &o, &f), 0, "%s", f.text);
	snprintf(moved, sizeof(moved), "%s-moved", dir);
	cr_assert_eq(rename(dir, moved), 0);
	cr_assert_eq(outfile_reopen(o, &f), -ENOENT);
	cr_assert(strstr(f.text, "/out can't be opened: No such file or directory"), "%s", f.text);
	cr_assert_eq(put(o, "still\n"), 0);
	snprintf(path, sizeof(path), "%s/out", moved);
	slurp(path, text, sizeof(text));
	cr_assert_str_eq(text, "still\n");
	outfile_close(o);
	unlink(path);
	rmdir(moved);
}

Test(sink_outfile, full_disk_leaves_whole_lines)
{
	char dir[64], path[80], text[512], big[8192];
	struct outfile *o = NULL;
	struct fault f = {0};

	small_disk_make(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/out", dir);
	cr_assert_eq(outfile_open(path, &o, &f), 0, "%s", f.text);
	cr_assert_eq(put(o, "first\n"), 0);
	small_disk_fill(dir);
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	cr_assert_eq(put(o, big), -ENOSPC);
	outfile_rollback(o);
	slurp(path, text, sizeof(text));
	cr_assert_str_eq(text, "first\n");
	small_disk_free(dir);
	cr_assert_eq(put(o, "second\n"), 0);
	slurp(path, text, sizeof(text));
	cr_assert_str_eq(text, "first\nsecond\n");
	outfile_close(o);
	small_disk_remove(dir);
}

Test(sink_outfile, a_device_takes_nothing_back)
{
	struct outfile *o = NULL;
	struct fault f = {0};

	cr_assert_eq(outfile_open("/dev/full", &o, &f), 0, "%s", f.text);
	cr_assert_eq(put(o, "line\n"), -ENOSPC);
	outfile_rollback(o);
	cr_assert_eq(put(o, "line\n"), -ENOSPC);
	outfile_close(o);
}
