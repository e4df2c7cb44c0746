/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_registry_functions.c - places of functions in this test's own files, held against where the loader has put them; and in
 * damaged files, where no offset may lie outside.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "registry/functions.h"

TestSuite(registry_functions, .timeout = 120);

int registry_functions_test_target(int n);
__attribute__((noinline)) int registry_functions_test_target(int n)
{
	return n + 1;
}

struct found {
	uint64_t offset[FUNCTIONS_MAX];
	size_t which[FUNCTIONS_MAX];
	size_t n;
	int answer;
};

static int note(void *arg, int path_fd, const uint64_t *offset, const size_t *which, size_t n)
{
	struct found *f = arg;

	cr_assert_geq(path_fd, 0);
	cr_assert(n > 0 && n <= FUNCTIONS_MAX);
	memcpy(f->offset, offset, n * sizeof(*offset));
	memcpy(f->which, which, n * sizeof(*which));
	f->n += n;
	return f->answer;
}

/* An address here, and where its code is in the file that it was loaded from. */
struct loaded {
	uintptr_t addr;
	uint64_t offset;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct loaded *l = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || l->addr < start || l->addr - start >= p->p_filesz)
			continue;
		l->offset = p->p_offset + (l->addr - start);
		return 1;
	}
	return 0;
}

static uint64_t offset_of(const void *function)
{
	struct loaded l = { .addr = (uintptr_t)function };

	cr_assert(dl_iterate_phdr(find_segment, &l));
	return l.offset;
}

Test(registry_functions, in_the_executable)
{
	static const char *const names[] = { "no_such_function_here", "registry_functions_test_target" };
	struct found f = {};

	cr_assert_eq(registry_functions_test_target(1), 2);
	cr_assert_eq(functions_in_exe(getpid(), names, 2, note, &f), 1);
	cr_assert_eq(f.n, 1u);
	cr_expect_eq(f.which[0], 1u);
	cr_expect_eq(f.offset[0], offset_of((void *)registry_functions_test_target));
}

Test(registry_functions, in_a_library)
{
	static const char *const files[] = { "libc.so.*", NULL };
	static const char *const names[] = { "", "poll", "pol" };
	struct found f = {};
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *poll_there = libc ? dlsym(libc, "poll") : NULL;

	if (!poll_there)
		cr_skip_test("no libc.so.6 is loaded here");
	cr_assert_eq(functions_in_mapped(getpid(), files, names, 3, note, &f), 1);
	cr_expect_eq(f.which[0], 1u);
	cr_expect_eq(f.offset[0], offset_of(poll_there));
}

Test(registry_functions, nothing_found_and_nobody_there)
{
	static const char *const files[] = { "*", NULL };
	static const char *const names[] = { "no_such_function_here" };
	struct found f = {};

	cr_expect_eq(functions_in_exe(getpid(), names, 1, note, &f), 0);
	cr_expect_eq(functions_in_mapped(getpid(), files, names, 1, note, &f), 0);
	cr_expect_lt(functions_in_exe(0x7ffffff0, names, 1, note, &f), 0);
	cr_expect_lt(functions_in_mapped(0x7ffffff0, files, names, 1, note, &f), 0);
	cr_expect_eq(f.n, 0u);
}

Test(registry_functions, the_callers_error_comes_back)
{
	static const char *const names[] = { "registry_functions_test_target" };
	struct found f = { .answer = -EXDEV };

	cr_expect_eq(functions_in_exe(getpid(), names, 1, note, &f), -EXDEV);
}

/* --- damage ------------------------------------------------------------------------------------------------------------- */

static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	return strstr(info->dlpi_name, "libinih") ? snprintf(arg, 512, "%s", info->dlpi_name) : 0;
}

struct image {
	unsigned char bytes[1 << 16];
	size_t size;
	int fd; /* a copy that may be damaged, mapped so that the process has it */
	size_t round;
};

static void image_load(struct image *im)
{
	_cleanup_fclose_ FILE *in = NULL;
	char path[512];

	if (!dl_iterate_phdr(find_library, path))
		cr_skip_test("libinih is not a shared library here");
	in = fopen(path, "re");
	cr_assert_not_null(in);
	im->size = fread(im->bytes, 1, sizeof(im->bytes), in);
	im->fd = memfd_create("functions", MFD_CLOEXEC);
	cr_assert_eq(pwrite(im->fd, im->bytes, im->size, 0), (ssize_t)im->size);
	cr_assert_neq(mmap(NULL, im->size, PROT_READ, MAP_SHARED, im->fd, 0), MAP_FAILED);
}

static int inside(void *arg, int path_fd, const uint64_t *offset, const size_t *which, size_t n)
{
	struct image *im = arg;

	for (size_t i = 0; i < n; i++)
		cr_assert(offset[i] < im->size && which[i] < 2);
	im->round++;
	return 0;
}

static int look(struct image *im)
{
	static const char *const files[] = { "memfd:functions*", NULL };
	static const char *const names[] = { "ini_parse", "ini_parse_string" };

	return functions_in_mapped(getpid(), files, names, 2, inside, im);
}

Test(registry_functions, survives_damage)
{
	struct image *im = calloc(1, sizeof(*im));
	unsigned random = 1;

	cr_assert_not_null(im);
	image_load(im);
	if (look(im) == 0)
		cr_skip_test("what this process has mapped can't be opened without privileges");
	cr_assert_eq(look(im), 2, "the undamaged image");
	for (int i = 0; i < 2000; i++) {
		size_t tail = im->size < 2048 ? im->size : 2048;
		size_t at = i % 3 ? im->size - 1 - (size_t)rand_r(&random) % tail : (size_t)rand_r(&random) % im->size;
		unsigned char byte = (unsigned char)rand_r(&random);
		int n;

		cr_assert_eq(pwrite(im->fd, &byte, 1, (off_t)at), 1);
		n = look(im);
		cr_assert(n >= 0 && n <= FUNCTIONS_MAX, "%d", n);
		cr_assert_eq(pwrite(im->fd, &im->bytes[at], 1, (off_t)at), 1);
	}
	cr_expect_gt(im->round, 100u, "most damage is elsewhere");
	free(im);
}
