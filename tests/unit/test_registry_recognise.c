/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_registry_recognise.c - rules held against real processes: this program, and children that run a copied
 * executable.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "registry/registry_internal.h"

/* Recognised by nothing but this. */
int registry_recognise_test_symbol(void);
int registry_recognise_test_symbol(void)
{
	return 1;
}

static char dir[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void make_dir(void)
{
	strcpy(dir, "/tmp/registry-test-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
}

static void remove_dir(void)
{
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(registry_recognise, .init = make_dir, .fini = remove_dir, .timeout = 60);

static void put_file(const char *name, const char *text)
{
	char path[128];
	_cleanup_fclose_ FILE *out = NULL;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = fopen(path, "w");
	cr_assert_not_null(out);
	fputs(text, out);
}

static void put_probe(const char *name, int priority, const char *rest)
{
	char text[1024], file[64];

	snprintf(text, sizeof(text), "[runtime]\nname = %s\ndescription = d\npriority = %d\n%s\n", name, priority,
		 rest);
	snprintf(file, sizeof(file), "%s.probe", name);
	put_file(file, text);
}

static struct registry *load(void)
{
	struct registry *r = NULL;
	struct fault f = {};

	cr_assert_eq(registry_load(dir, &r, &f), 0, "%s", f.text);
	return r;
}

/* What this very process is, by the probe files put so far. */
static void expect_self(const char *name, const char *syscall, const char *thread)
{
	struct registry *r = load();
	const struct runtime *found = registry_recognise(r, getpid(), syscall, thread);

	cr_expect_str_eq(found->name, name);
	registry_free(r);
}

static void expect_rule(const char *rule, bool holds)
{
	put_probe("x", 50, rule);
	expect_self(holds ? "x" : "unknown", "poll", "thr");
}

Test(registry_recognise, each_key_alone)
{
	cr_assert_eq(registry_recognise_test_symbol(), 1);
	expect_rule("[match]\nexe = *unit*", true);
	expect_rule("[match]\nexe = no-such", false);
	expect_rule("[match]\nmapped = libc.so.*, libc-2*.so", true);
	expect_rule("[match]\nmapped = no-such.so", false);
	expect_rule("[match]\nmapped = no-such-folder/libc.so.*", false);
	expect_rule("[match]\nsymbol = registry_recognise_test_symbol", true);
	expect_rule("[match]\nsymbol = registry_recognise_test_*", true);
	expect_rule("[match]\nsymbol = registry_recognise_test_", false);
	expect_rule("[match]\nsection = .dynsym", true);
	expect_rule("[match]\nsection = .go.buildinfo", false);
	expect_rule("[match]\ntext = recognised by this text only", true);
	expect_rule("[match]\nthread = t?r", true);
	expect_rule("[match]\nthread = other", false);
}

Test(registry_recognise, different_keys_must_all_hold)
{
	expect_rule("[match]\nmapped = libc.so.*\nthread = thr", true);
	expect_rule("[match]\nmapped = libc.so.*\nthread = other", false);
	expect_rule("[match]\nmapped = libc.so.*\nsyscall = *poll", true);
	expect_rule("[match]\nmapped = libc.so.*\nsyscall = epoll_*", false);
	expect_rule("[match]\nmapped = libc.so.*\nthread = other\n[match.2]\nexe = *unit*", true);
	/* symbol= with mapped= also looks into the mapped file. */
	expect_rule("[match]\nmapped = libc.so.*\nsymbol = gnu_get_libc_version", true);
	expect_rule("[match]\nsymbol = gnu_get_libc_version", false);
}

Test(registry_recognise, what_is_unknown)
{
	put_probe("x", 50, "[match]\nmapped = libc.so.*\nsyscall = poll");
	expect_self("x", "", "");
	expect_self("x", NULL, NULL);
	expect_self("unknown", "futex", "");
	put_probe("x", 50, "[match]\nthread = *");
	expect_self("unknown", "poll", "");
}

Test(registry_recognise, the_more_specific_wins)
{
	put_probe("broad", 10, "[match]\nmapped = libc.so.*");
	put_probe("narrow", 20, "[match]\nexe = *unit*");
	expect_self("narrow", "poll", "");
	put_probe("broad", 30, "[match]\nmapped = libc.so.*");
	expect_self("broad", "poll", "");
	put_probe("narrow", 30, "[match]\nexe = *unit*");
	expect_self("broad", "poll", ""); /* a tie: by name */
}

Test(registry_recognise, nobody)
{
	struct registry *r;

	put_probe("x", 50, "[match]\nmapped = *");
	r = load();
	cr_expect_str_eq(registry_recognise(r, 2, "poll", "x")->name, "unknown"); /* kthreadd, or nothing */
	cr_expect_str_eq(registry_recognise(r, 0x3fffff, "poll", "x")->name, "unknown");
	cr_expect_str_eq(registry_recognise(r, -1, "poll", "x")->name, "unknown");
	for (size_t i = 0; i < RUNTIME_ENTRY_COUNT; i++)
		cr_expect_null(registry_recognise(r, -1, "poll", "x")->entry[i][0]);
	registry_free(r);
}

/* --- other executables ----------------------------------------------------------------------------------------------
 */

static void copy_program(const char *from, const char *name)
{
	char to[128], buf[65536];
	_cleanup_close_ int in = open(from, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int out = -1;
	ssize_t n;

	snprintf(to, sizeof(to), "%s/%s", dir, name);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	cr_assert(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		cr_assert_eq(write(out, buf, (size_t)n), n);
}

/* Returns when the child has become the program: the pipe closes on exec. */
static pid_t start(const char *name)
{
	char path[128], byte;
	int ends[2];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		execl(path, name, "60", NULL);
		_exit(127);
	}
	close(ends[1]);
	cr_assert_eq(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

Test(registry_recognise, a_deleted_executable)
{
	struct registry *r;
	char path[128];
	pid_t pid;

	copy_program("/bin/sleep", "looper");
	pid = start("looper");
	snprintf(path, sizeof(path), "%s/looper", dir);
	cr_assert_eq(unlink(path), 0);
	put_probe("named", 20, "[match]\nexe = looper\nsection = .dynsym");
	r = load();
	cr_expect_str_eq(registry_recognise(r, pid, "", "")->name, "named");
	registry_free(r);
	stop(pid);
}

Test(registry_recognise, one_program_is_read_once)
{
	unsigned long reads;
	struct registry *r;
	pid_t a, b, c;

	copy_program("/bin/sleep", "one");
	copy_program("/bin/sleep", "two");
	a = start("one");
	b = start("one");
	c = start("two");
	put_probe("x", 20, "[match]\nsymbol = no_such_symbol");
	r = load();
	registry_recognise(r, a, "", "");
	reads = file_cache_reads(r->files);
	cr_expect_gt(reads, 0u);
	registry_recognise(r, b, "", "");
	registry_recognise(r, a, "poll", "t");
	cr_expect_eq(file_cache_reads(r->files), reads);
	registry_recognise(r, c, "", "");
	cr_expect_eq(file_cache_reads(r->files), 2 * reads);
	registry_free(r);
	stop(a);
	stop(b);
	stop(c);
}

Test(registry_recognise, the_cache_forgets_rather_than_grows)
{
	CLEANUP(file_cache_free_ptr) struct file_cache *c = NULL;
	struct mark_table t = {.v = {{MARK_SECTION, ".dynsym", 7, false}}, .n = 1};
	_cleanup_close_ int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct file_key key = {.dev = 1, .ino = 1};

	cr_assert_eq(file_cache_new(&c), 0);
	for (; key.ino <= FILE_CACHE_MAX + 1; key.ino++) {
		struct mark_set set = {};

		file_cache_marks(c, fd, &key, &t, DEPTH_DYNAMIC, &set);
		cr_assert(mark_set_has(&set, 0));
	}
	cr_expect_eq(file_cache_reads(c), FILE_CACHE_MAX + 1ul);
	for (key.ino = FILE_CACHE_MAX + 1; key.ino >= FILE_CACHE_MAX; key.ino--) {
		struct mark_set set = {};

		file_cache_marks(c, fd, &key, &t, DEPTH_DYNAMIC, &set);
	}
	cr_expect_eq(file_cache_reads(c), FILE_CACHE_MAX + 2ul); /* the newest was kept, the one before forgotten */
}

/* --- folders --------------------------------------------------------------------------------------------------------
 */

static void expect_refused(const char *from, const char *says)
{
	struct registry *r = NULL;
	struct fault f = {};

	cr_expect_lt(registry_load(from, &r, &f), 0);
	cr_expect_null(r);
	cr_expect_eq(f.status, EXIT_FAILED);
	cr_expect(strstr(f.text, says), "said '%s', not '%s'", f.text, says);
}

Test(registry_recognise, folders_that_are_refused)
{
	char path[128];

	expect_refused("/no/such/folder", "/no/such/folder: No such file or directory: give a folder");
	expect_refused(dir, "no file ends in .probe");

	put_probe("x", 50, "[match]\nexe = a");
	put_file("y.probe", "\n[runtime]\nname = x\ndescription = d\n[match]\nexe = b\n");
	expect_refused(dir, "y.probe:2: the runtime 'x' is already described by");

	put_file("y.probe", "[runtime]\nname = y\nwrong = 1\n");
	expect_refused(dir, "y.probe:3: unknown key 'wrong'");

	snprintf(path, sizeof(path), "%s/y.probe", dir);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	expect_refused(dir, "y.probe: not a regular file");
}

Test(registry_recognise, the_environment_names_the_folder)
{
	struct registry *r = NULL;
	struct fault f = {};

	put_probe("from-env", 50, "[match]\nexe = a");
	cr_assert_eq(setenv("LOOPSCOPE_PROBES", dir, 1), 0);
	cr_assert_eq(registry_load(NULL, &r, &f), 0, "%s", f.text);
	cr_assert_eq(registry_count(r), 1u);
	cr_expect_str_eq(registry_at(r, 0)->name, "from-env");
	cr_expect_null(registry_at(r, 1));
	registry_free(r);
}

#ifdef LOOPSCOPE_SRCDIR
Test(registry_recognise, our_own_probe_files)
{
	static const char *const names[] = {
		"asyncio", "dotnet",        "glib",  "go", "haproxy", "jvm",     "libev", "libevent",
		"libuv",   "libwebsockets", "nginx", "qt", "redis",   "systemd", "tokio", "uvloop"};
	struct registry *r = NULL;
	struct fault f = {};

	cr_assert_eq(registry_load(LOOPSCOPE_SRCDIR "/probes", &r, &f), 0, "%s", f.text);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		bool found = false;

		for (size_t k = 0; k < registry_count(r); k++)
			found |= !strcmp(registry_at(r, k)->name, names[i]);
		cr_expect(found, "%s is missing", names[i]);
	}
	registry_free(r);
}
#endif
