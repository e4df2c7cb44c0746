/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_registry_elf.c - marks in real ELF files, and in damaged ones: whatever the bytes, the reader neither crashes
 * nor reads past a table (run it with SAN=address,undefined to be sure).
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "registry/marks.h"

TestSuite(registry_elf, .timeout = 120);

/* One symbol and one text that are in no other file than this test's program. */
int registry_elf_test_symbol(void);
int registry_elf_test_symbol(void)
{
	return 1;
}

static const char registry_elf_test_text[] = "registry elf test text 7f3a";

static struct mark_table table_of(enum mark_kind kind, const char *what)
{
	size_t len = strlen(what);
	bool prefix = what[len - 1] == '*';

	return (struct mark_table){.v = {{kind, what, len - prefix, prefix}}, .n = 1};
}

static bool self_has(enum mark_kind kind, const char *what, enum mark_depth depth)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct mark_table t = table_of(kind, what);
	struct mark_set set = {};

	cr_assert_eq(elf_marks_read(fd, &t, depth, &set), 0);
	return mark_set_has(&set, 0);
}

Test(registry_elf, finds_each_kind_of_mark)
{
	cr_assert_eq(registry_elf_test_symbol(), 1);
	cr_expect(self_has(MARK_SYMBOL, "registry_elf_test_symbol", DEPTH_SYMTAB));
	cr_expect(self_has(MARK_SYMBOL, "registry_elf_test_sym*", DEPTH_SYMTAB));
	cr_expect(!self_has(MARK_SYMBOL, "registry_elf_test_sym", DEPTH_SYMTAB));
	cr_expect(!self_has(MARK_SYMBOL, "registry_elf_test_symbol2", DEPTH_SYMTAB));
	cr_expect(!self_has(MARK_IMPORT, "registry_elf_test_symbol", DEPTH_SYMTAB));
	cr_expect(self_has(MARK_IMPORT, "fnmatch", DEPTH_DYNAMIC) || self_has(MARK_SYMBOL, "fnmatch", DEPTH_SYMTAB));
	cr_expect(self_has(MARK_SECTION, ".rodata", DEPTH_DYNAMIC));
	cr_expect(!self_has(MARK_SECTION, ".go.buildinfo", DEPTH_DYNAMIC));
	cr_expect(self_has(MARK_TEXT, registry_elf_test_text, DEPTH_TEXT));
	cr_expect(!self_has(MARK_TEXT, registry_elf_test_text, DEPTH_SYMTAB));
}

/* --- damage ---------------------------------------------------------------------------------------------------------
 */

struct image {
	char path[512];
	unsigned char *bytes;
	size_t size;
};

/* A small real library that this program is linked with. */
static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct image *im = arg;

	if (!strstr(info->dlpi_name, "libinih"))
		return 0;
	snprintf(im->path, sizeof(im->path), "%s", info->dlpi_name);
	return 1;
}

static void image_load(struct image *im)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!dl_iterate_phdr(find_library, im))
		cr_skip_test("libinih is not a shared library here");
	fd = open(im->path, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	im->size = (size_t)st.st_size;
	im->bytes = malloc(im->size);
	cr_assert_eq(read(fd, im->bytes, im->size), (ssize_t)im->size);
}

static const struct mark_table all_kinds = {
	.v =
		{
			{MARK_SYMBOL, "ini_parse", 9, false},
			{MARK_IMPORT, "fope*", 4, true},
			{MARK_SECTION, ".dynsym", 7, false},
			{MARK_TEXT, "not in there", 12, false},
			{MARK_SYMBOL, "_Z", 2, true},
		},
	.n = 5,
};

static void read_at_every_depth(int fd, struct mark_set *set)
{
	for (unsigned d = 0; d < DEPTH_COUNT; d++) {
		int err = elf_marks_read(fd, &all_kinds, (enum mark_depth)d, set);

		cr_assert(err == 0 || err == -ENOEXEC, "%d", err);
	}
}

static int memfd_of(const struct image *im, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(pwrite(fd, im->bytes, size, 0), (ssize_t)size);
	return fd;
}

Test(registry_elf, the_undamaged_image_is_read)
{
	struct image im = {};
	struct mark_set set = {};
	_cleanup_close_ int fd = -1;

	image_load(&im);
	fd = memfd_of(&im, im.size);
	read_at_every_depth(fd, &set);
	cr_expect(mark_set_has(&set, 0));
	cr_expect(mark_set_has(&set, 1));
	cr_expect(mark_set_has(&set, 2));
	cr_expect(!mark_set_has(&set, 3));
	free(im.bytes);
}

Test(registry_elf, survives_truncation)
{
	struct image im = {};
	_cleanup_close_ int fd = -1;

	image_load(&im);
	fd = memfd_of(&im, im.size);
	for (size_t size = im.size; size > 0; size -= size > 256 ? 61 : 1) {
		struct mark_set set = {};

		cr_assert_eq(ftruncate(fd, (off_t)size), 0);
		read_at_every_depth(fd, &set);
	}
	free(im.bytes);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Where damage hurts: the ELF header, the section headers (at the file's end), anywhere else. */
static size_t somewhere(const struct image *im, uint64_t random)
{
	size_t tail = im->size < 2048 ? im->size : 2048;

	switch (random % 4) {
	case 0:
		return random / 4 % sizeof(Elf64_Ehdr);
	case 1:
	case 2:
		return im->size - 1 - random / 4 % tail;
	default:
		return random / 4 % im->size;
	}
}

Test(registry_elf, survives_changed_bytes)
{
	uint64_t random = UINT64_C(0x6c6f6f7073636f70);
	struct image im = {};
	_cleanup_close_ int fd = -1;

	image_load(&im);
	fd = memfd_of(&im, im.size);
	for (int round = 0; round < 4000; round++) {
		size_t at[4];
		struct mark_set set = {};

		for (int i = 0; i < 4; i++) {
			unsigned char byte = (unsigned char)(next_random(&random) >> 8);

			at[i] = somewhere(&im, next_random(&random) >> 16);
			if (round % 2)
				byte = im.bytes[at[i]] ^ (unsigned char)(1 << byte % 8);
			cr_assert_eq(pwrite(fd, &byte, 1, (off_t)at[i]), 1);
		}
		read_at_every_depth(fd, &set);
		for (int i = 0; i < 4; i++)
			cr_assert_eq(pwrite(fd, &im.bytes[at[i]], 1, (off_t)at[i]), 1);
	}
	free(im.bytes);
}

Test(registry_elf, claims_beyond_the_file_are_refused)
{
	struct mark_set set = {};
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
	Elf64_Ehdr h = {.e_ident = ELFMAG "\2\1\1",
			.e_type = ET_DYN,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(h),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shoff = sizeof(h),
			.e_shnum = 0,
			.e_machine = EM_X86_64};

	/* A sparse file of 4 GiB whose section 0 may claim millions of sections. */
	cr_assert_eq(pwrite(fd, &h, sizeof(h), 0), (ssize_t)sizeof(h));
	cr_assert_eq(ftruncate(fd, INT64_C(4) << 30), 0);
	cr_expect_eq(elf_marks_read(fd, &all_kinds, DEPTH_DYNAMIC, &set), -ENOEXEC);
	h.e_shnum = 0xfeff;
	cr_assert_eq(pwrite(fd, &h, sizeof(h), 0), (ssize_t)sizeof(h));
	cr_expect_eq(elf_marks_read(fd, &all_kinds, DEPTH_DYNAMIC, &set), -ENOEXEC);
	cr_expect(mark_set_empty(&set));
}
