/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_marks.c - finds marks in an ELF file. */
#include <errno.h>
#include <string.h>

#include "lib/cleanup.h"
#include "registry/elf_file.h"
#include "registry/marks.h"

#define RODATA_BYTES_MAX (32u << 20)
#define TEXT_CHUNK       (64u << 10)

/* --- symbols --------------------------------------------------------------------------------------------------------
 */

/* The marks that a name may meet, by the name's first byte: most names meet none. */
struct first_byte_index {
	bool any[256];
};

static bool wanted(const struct mark *m)
{
	return m->kind == MARK_SYMBOL || m->kind == MARK_IMPORT;
}

static void index_first_bytes(const struct mark_table *marks, struct first_byte_index *ret)
{
	*ret = (struct first_byte_index){};
	for (size_t i = 0; i < marks->n; i++)
		if (wanted(&marks->v[i]))
			ret->any[(unsigned char)marks->v[i].what[0]] = true;
}

/* name is not terminated: avail bytes are left in the table. A version (name@@VER) is no part of the name. */
static bool name_meets(const struct mark *m, const char *name, size_t avail)
{
	if (avail <= m->len || memcmp(name, m->what, m->len))
		return false;
	return m->prefix || name[m->len] == '\0' || name[m->len] == '@';
}

static void match_symbols(const struct mark_table *marks, const struct elf_symbols *in, struct mark_set *set)
{
	struct first_byte_index first;

	index_first_bytes(marks, &first);
	for (size_t i = 0; i < in->n; i++) {
		enum mark_kind kind;
		const char *name;
		GElf_Sym sym;
		size_t avail;

		if (!elf_symbols_at(in, i, &sym, &name, &avail) || !first.any[(unsigned char)*name])
			continue;
		kind = sym.st_shndx == SHN_UNDEF ? MARK_IMPORT : MARK_SYMBOL;
		for (size_t m = 0; m < marks->n; m++)
			if (marks->v[m].kind == kind && name_meets(&marks->v[m], name, avail))
				mark_set_add(set, m);
	}
}

static void read_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t file_size,
			 const struct mark_table *marks, struct mark_set *set)
{
	struct elf_symbols found;

	if (elf_file_symbols(elf, scn, sh, file_size, &found))
		match_symbols(marks, &found, set);
}

/* --- text -----------------------------------------------------------------------------------------------------------
 */

static size_t longest_text(const struct mark_table *marks)
{
	size_t len = 0;

	for (size_t i = 0; i < marks->n; i++)
		if (marks->v[i].kind == MARK_TEXT && marks->v[i].len > len)
			len = marks->v[i].len;
	return len;
}

/* In chunks that overlap by the longest text less one byte, so that none is cut by a border. */
static void read_text(int fd, const GElf_Shdr *sh, const struct mark_table *marks, struct mark_set *set)
{
	size_t keep_max = longest_text(marks), kept = 0;
	uint64_t size = sh->sh_size < RODATA_BYTES_MAX ? sh->sh_size : RODATA_BYTES_MAX;
	_cleanup_free_ char *buf = NULL;

	if (!keep_max || sh->sh_type != SHT_PROGBITS || sh->sh_offset > INT64_MAX - size)
		return;
	buf = malloc(--keep_max + TEXT_CHUNK);
	if (!buf)
		return;
	for (uint64_t at = 0; at < size;) {
		size_t want = size - at < TEXT_CHUNK ? (size_t)(size - at) : TEXT_CHUNK;
		ssize_t n = pread(fd, buf + kept, want, (off_t)(sh->sh_offset + at));
		size_t have;

		if (n <= 0)
			return;
		at += (uint64_t)n;
		have = kept + (size_t)n;
		for (size_t i = 0; i < marks->n; i++)
			if (marks->v[i].kind == MARK_TEXT && memmem(buf, have, marks->v[i].what, marks->v[i].len))
				mark_set_add(set, i);
		kept = have < keep_max ? have : keep_max;
		memmove(buf, buf + have - kept, kept);
	}
}

/* --- the file -------------------------------------------------------------------------------------------------------
 */

static void match_section_name(const char *name, const struct mark_table *marks, struct mark_set *set)
{
	for (size_t i = 0; i < marks->n; i++)
		if (marks->v[i].kind == MARK_SECTION && !strcmp(name, marks->v[i].what))
			mark_set_add(set, i);
}

int elf_marks_read(int fd, const struct mark_table *marks, enum mark_depth depth, struct mark_set *set)
{
	CLEANUP(elf_end_ptr) Elf *elf = NULL;
	bool had_dynsym = false, had_symtab = false;
	uint64_t file_size;
	Elf_Scn *scn = NULL;
	size_t names;
	int err = elf_file_open(fd, &elf, &file_size);

	if (err)
		return err;
	if (elf_getshdrstrndx(elf, &names) < 0)
		return -ENOEXEC;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh))
			return -ENOEXEC;
		if (sh.sh_type == SHT_DYNSYM && depth == DEPTH_DYNAMIC && !had_dynsym) {
			had_dynsym = true;
			read_symbols(elf, scn, &sh, file_size, marks, set);
		}
		if (sh.sh_type == SHT_SYMTAB && depth == DEPTH_SYMTAB && !had_symtab) {
			had_symtab = true;
			read_symbols(elf, scn, &sh, file_size, marks, set);
		}
		if (depth == DEPTH_SYMTAB)
			continue; /* needs no names */
		name = elf_strptr(elf, names, sh.sh_name);
		if (!name)
			continue;
		if (depth == DEPTH_DYNAMIC)
			match_section_name(name, marks, set);
		else if (!strcmp(name, ".rodata"))
			read_text(fd, &sh, marks, set);
	}
	return 0;
}
