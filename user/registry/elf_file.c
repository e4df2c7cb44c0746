/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_file.c - see elf_file.h. */
#include "registry/elf_file.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTIONS_MAX     4096
#define SYMTAB_BYTES_MAX (32u << 20)
#define STRTAB_BYTES_MAX (32u << 20)

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

int elf_file_open(int fd, Elf **ret, uint64_t *ret_size)
{
	struct stat st;
	Elf *elf;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !header_sane(fd, (uint64_t)st.st_size) || elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return -ENOEXEC;
	}
	*ret = elf;
	*ret_size = (uint64_t)st.st_size;
	return 0;
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

bool elf_file_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t file_size, struct elf_symbols *ret)
{
	size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	Elf_Scn *names_scn = elf_getscn(elf, sh->sh_link);
	GElf_Shdr names_sh;

	if (!entry || sh->sh_entsize != entry || !names_scn || names_scn == scn ||
	    !gelf_getshdr(names_scn, &names_sh) || names_sh.sh_type != SHT_STRTAB)
		return false;
	ret->syms = section_data(scn, sh, SYMTAB_BYTES_MAX, file_size);
	ret->names = section_data(names_scn, &names_sh, STRTAB_BYTES_MAX, file_size);
	ret->n = sh->sh_size / entry;
	return ret->syms && ret->names && ret->syms->d_type == ELF_T_SYM;
}

bool elf_symbols_at(const struct elf_symbols *in, size_t i, GElf_Sym *ret, const char **ret_name, size_t *ret_avail)
{
	if (!gelf_getsym(in->syms, (int)i, ret) || ret->st_name >= in->names->d_size)
		return false;
	*ret_name = (const char *)in->names->d_buf + ret->st_name;
	*ret_avail = in->names->d_size - ret->st_name;
	return true;
}
