/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_marks.c - finds marks in an ELF file.
 *
 * libelf reads the tables. It allocates by what the header claims, so that the header is checked here first, and each
 * table's size before it is asked for. Bounds are far above what real programs have (node: 74,000 dynamic symbols, 7
 * MiB of names) and keep one hostile file to tens of MiB and a fraction of a second.
 */
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "registry/marks.h"

#define SECTIONS_MAX     4096
#define SYMTAB_BYTES_MAX (32u << 20)
#define STRTAB_BYTES_MAX (32u << 20)
#define RODATA_BYTES_MAX (32u << 20)
#define TEXT_CHUNK       (64u << 10)

static inline void elf_end_ptr(Elf **elf)
{
	elf_end(*elf);
}

static uint64_t swapped(uint64_t v, size_t size, bool swap)
{
	if (!swap)
		return v;
	return size == 2   ? __builtin_bswap16((uint16_t)v)
	       : size == 4 ? __builtin_bswap32((uint32_t)v)
			   : __builtin_bswap64(v);
}

/* The section table lies within the file and is of a sane size. Extended numbering (e_shnum 0) is refused: it is for
 * object files with more than 65,279 sections. */
static bool header_sane(int fd, uint64_t file_size)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} h;
	ssize_t n = pread(fd, &h, sizeof(h), 0);
	uint64_t shoff, shnum, shentsize;
	bool swap;

	if (n < (ssize_t)sizeof(h.e32) || memcmp(h.ident, ELFMAG, SELFMAG))
		return false;
	swap = h.ident[EI_DATA] != (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
	if (h.ident[EI_CLASS] == ELFCLASS64 && n == (ssize_t)sizeof(h)) {
		shoff = swapped(h.e64.e_shoff, 8, swap);
		shnum = swapped(h.e64.e_shnum, 2, swap);
		shentsize = sizeof(Elf64_Shdr);
	} else if (h.ident[EI_CLASS] == ELFCLASS32) {
		shoff = swapped(h.e32.e_shoff, 4, swap);
		shnum = swapped(h.e32.e_shnum, 2, swap);
		shentsize = sizeof(Elf32_Shdr);
	} else {
		return false;
	}
	return shnum > 0 && shnum <= SECTIONS_MAX && shoff <= file_size && shnum * shentsize <= file_size - shoff;
}

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

static void match_symbols(const struct mark_table *marks, Elf_Data *syms, const Elf_Data *names, size_t n,
			  struct mark_set *set)
{
	struct first_byte_index first;

	index_first_bytes(marks, &first);
	for (size_t i = 0; i < n; i++) {
		enum mark_kind kind;
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(syms, (int)i, &sym) || sym.st_name >= names->d_size)
			continue;
		name = (const char *)names->d_buf + sym.st_name;
		if (!first.any[(unsigned char)*name])
			continue;
		kind = sym.st_shndx == SHN_UNDEF ? MARK_IMPORT : MARK_SYMBOL;
		for (size_t m = 0; m < marks->n; m++)
			if (marks->v[m].kind == kind && name_meets(&marks->v[m], name, names->d_size - sym.st_name))
				mark_set_add(set, m);
	}
}

/* A section's whole content, or NULL where it is not what it should be. SHT_NOBITS has a size but no content. */
static Elf_Data *section_data(Elf_Scn *scn, const GElf_Shdr *sh, uint64_t max, uint64_t file_size)
{
	Elf_Data *data;

	if (sh->sh_size == 0 || sh->sh_size > max || sh->sh_offset > file_size ||
	    sh->sh_size > file_size - sh->sh_offset)
		return NULL;
	data = elf_getdata(scn, NULL);
	return data && data->d_buf && data->d_size ? data : NULL;
}

static void read_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t file_size,
			 const struct mark_table *marks, struct mark_set *set)
{
	size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	Elf_Scn *names_scn = elf_getscn(elf, sh->sh_link);
	Elf_Data *syms, *names;
	GElf_Shdr names_sh;

	if (!entry || sh->sh_entsize != entry || !names_scn || names_scn == scn ||
	    !gelf_getshdr(names_scn, &names_sh) || names_sh.sh_type != SHT_STRTAB)
		return;
	syms = section_data(scn, sh, SYMTAB_BYTES_MAX, file_size);
	names = section_data(names_scn, &names_sh, STRTAB_BYTES_MAX, file_size);
	if (syms && names && syms->d_type == ELF_T_SYM)
		match_symbols(marks, syms, names, sh->sh_size / entry, set);
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
	struct stat st;
	size_t names;

	if (fstat(fd, &st) < 0)
		return -errno;
	file_size = (uint64_t)st.st_size;
	if (!S_ISREG(st.st_mode) || !header_sane(fd, file_size) || elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names) < 0)
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
