/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_textfile.c - never seen half-written, nothing lost where the disk is full, nothing left behind. */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "sink/textfile.h"
#include "tests/unit/small_disk.h"

#define NAME "loopscope.prom"

TestSuite(sink_textfile, .timeout = 60);

static void make_folder(char *path, size_t size)
{
	snprintf(path, size, "/tmp/loopscope-textfile-XXXXXX");
	cr_assert(mkdtemp(path));
}

static void remove_folder(const char *path)
{
	char name[96];

	snprintf(name, sizeof(name), "%s/" NAME, path);
	unlink(name);
	cr_assert_eq(rmdir(path), 0, "%s holds more than " NAME ": %s", path, strerror(errno));
}

/* What DIR/loopscope.prom holds; "" if it is not there. */
static void slurp(const char *dir, char *buf, size_t size)
{
	char name[96];
	_cleanup_close_ int fd = -1;
	size_t len = 0;
	ssize_t n;

	snprintf(name, sizeof(name), "%s/" NAME, dir);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
}

static size_t entries(const char *dir)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	size_t n = 0;

	cr_assert(d);
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	return n;
}

Test(sink_textfile, replaces_readable_for_all)
{
	char dir[64], text[64];
	struct fault f = {0};
	struct stat st;

	umask(077);
	make_folder(dir, sizeof(dir));
	cr_assert_eq(textfile_check(dir, NAME, &f), 0, "%s", f.text);
	cr_assert_eq(entries(dir), 0);
	cr_assert_eq(textfile_write(dir, NAME, "first\n", 6, &f), 0, "%s", f.text);
	cr_assert_eq(textfile_write(dir, NAME, "second, and longer\n", 19, &f), 0, "%s", f.text);
	slurp(dir, text, sizeof(text));
	cr_assert_str_eq(text, "second, and longer\n");
	cr_assert_eq(entries(dir), 1);
	snprintf(text, sizeof(text), "%.40s/" NAME, dir);
	cr_assert_eq(stat(text, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0644);
	remove_folder(dir);
}

#define ROUNDS 10000
#define LINES  200

/* A version's number, on each of its lines. */
static size_t version_text(char *buf, size_t size, unsigned version)
{
	size_t len = 0;

	for (unsigned i = 0; i < LINES; i++)
		len += (size_t)snprintf(buf + len, size - len, "loopscope_version %06u\n", version);
	return len;
}

struct writer {
	const char *dir;
	atomic_bool over;
	unsigned versions;
	int err;
};

static void *write_versions(void *arg)
{
	struct writer *w = arg;
	char text[LINES * 32];

	while (!atomic_load(&w->over) && !w->err) {
		size_t n = version_text(text, sizeof(text), ++w->versions);

		w->err = textfile_write(w->dir, NAME, text, n, NULL);
	}
	return NULL;
}

Test(sink_textfile, never_seen_half_written)
{
	char dir[64], seen[LINES * 32 + 1], whole[LINES * 32 + 1];
	struct writer w;
	pthread_t thread;
	unsigned before = 0, version, changes = 0;

	make_folder(dir, sizeof(dir));
	w = (struct writer){.dir = dir};
	version_text(whole, sizeof(whole), 0);
	cr_assert_eq(textfile_write(dir, NAME, whole, strlen(whole), NULL), 0);
	cr_assert_eq(pthread_create(&thread, NULL, write_versions, &w), 0);
	for (int i = 0; i < ROUNDS; i++) {
		slurp(dir, seen, sizeof(seen));
		cr_assert_eq(sscanf(seen, "loopscope_version %u", &version), 1, "nothing seen in round %d", i);
		version_text(whole, sizeof(whole), version);
		cr_assert_str_eq(seen, whole);
		cr_assert_geq(version, before);
		changes += version != before;
		before = version;
	}
	atomic_store(&w.over, true);
	pthread_join(thread, NULL);
	cr_assert_eq(w.err, 0);
	cr_assert_gt(changes, 0, "the writer never came to write: nothing was tried");
	remove_folder(dir);
}

Test(sink_textfile, full_disk_keeps_the_file_before_and_recovers)
{
	char dir[64], seen[512], big[4096];
	struct fault f = {0};

	small_disk_make(dir, sizeof(dir));
	memset(big, 'x', sizeof(big));
	cr_assert_eq(textfile_write(dir, NAME, "before\n", 7, &f), 0, "%s", f.text);
	small_disk_fill(dir);
	cr_assert_eq(textfile_write(dir, NAME, big, sizeof(big), &f), -ENOSPC);
	cr_assert(strstr(f.text, "/" NAME " can't be written: No space left on device; the file before it stays; free some space"), "%s",
		  f.text);
	slurp(dir, seen, sizeof(seen));
	cr_assert_str_eq(seen, "before\n");
	cr_assert_eq(entries(dir), 2, "the file and the filler");
	small_disk_free(dir);
	f.text[0] = '\0';
	cr_assert_eq(textfile_write(dir, NAME, "after\n", 6, &f), 0, "%s", f.text);
	slurp(dir, seen, sizeof(seen));
	cr_assert_str_eq(seen, "after\n");
	small_disk_remove(dir);
}

Test(sink_textfile, what_a_killed_one_has_left_is_no_obstacle)
{
	char dir[64], name[96], text[64];
	struct fault f = {0};

	make_folder(dir, sizeof(dir));
	snprintf(name, sizeof(name), "%s/.loopscope.prom.tmp", dir);
	cr_assert_eq(symlink("/nonexistent/elsewhere", name), 0);
	cr_assert_eq(textfile_write(dir, NAME, "text\n", 5, &f), 0, "%s", f.text);
	slurp(dir, text, sizeof(text));
	cr_assert_str_eq(text, "text\n");
	cr_assert_eq(entries(dir), 1);
	remove_folder(dir);
}

Test(sink_textfile, a_folder_that_is_not_there)
{
	struct fault f = {0};

	cr_assert_eq(textfile_check("/nonexistent/folder", NAME, &f), -ENOENT);
	cr_assert(strstr(f.text, "/nonexistent/folder/loopscope.prom can't be written: No such file or directory"), "%s", f.text);
	f.text[0] = '\0';
	cr_assert_eq(textfile_write("/dev/null", NAME, "x", 1, &f), -ENOTDIR);
	cr_assert(strstr(f.text, "see that the folder is there"), "%s", f.text);
}

Test(sink_textfile, a_folder_of_somebody_else)
{
	struct fault f = {0};
	char dir[64];

	make_folder(dir, sizeof(dir));
	if (geteuid() == 0)
		cr_assert_eq(seteuid(65533), 0);
	else
		cr_assert_eq(chmod(dir, 0500), 0);
	cr_assert_eq(textfile_check(dir, NAME, &f), -EACCES);
	cr_assert(strstr(f.text, "let the user write there under whose id this runs"), "%s", f.text);
	cr_assert_eq(seteuid(getuid()), 0);
	rmdir(dir);
}
