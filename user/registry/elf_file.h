/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_file.h - an ELF file's symbol tables, of any class and byte order, however hostile.
 *
 * libelf reads the tables. It allocates by what the header claims, so that the header is checked here first, and each
 * table's size before it is asked for. Bounds are far above what real programs have (node: 74,000 dynamic symbols, 7
 * MiB of names) and keep one hostile file to tens of MiB and a fraction of a second. Nothing is mapped: a file may shrink
 * while it is read.
 *
 * Internal to registry/.
 */
#ifndef LOOPSCOPE_REGISTRY_ELF_FILE_H
#define LOOPSCOPE_REGISTRY_ELF_FILE_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* fd: open for reading; its offset is left anywhere, and it must stay open until elf_end(). -ENOEXEC: no ELF file, or one
 * beyond the bounds. */
int elf_file_open(int fd, Elf **ret, uint64_t *ret_size);

static inline void elf_end_ptr(Elf **elf)
{
	elf_end(*elf);
}

/* Borrowed from the Elf. */
struct elf_symbols {
	Elf_Data *syms, *names;
	size_t n;
};

/* A symbol table's content; false where it is not what it should be. sh is scn's header. */
bool elf_file_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t file_size, struct elf_symbols *ret);

/* The i-th symbol and its name, which is not terminated: avail bytes are left in the table. False for a broken entry. */
bool elf_symbols_at(const struct elf_symbols *in, size_t i, GElf_Sym *ret, const char **ret_name, size_t *ret_avail);

#endif
