/* SPDX-License-Identifier: BSD-2-Clause */
/* functions.c - see functions.h. */
#include "registry/functions.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "lib/cleanup.h"
#include "registry/elf_file.h"
#include "registry/target.h"

struct wanted {
	const char *const *names;
	size_t n;
};

struct places {
	uint64_t offset[FUNCTIONS_MAX];
	size_t which[FUNCTIONS_MAX];
	size_t n;
};

static void add_place(struct places *to, uint64_t offset, size_t which)
{
	for (size_t i = 0; i < to->n; i++)
		if (to->offset[i] == offset)
			return;
	if (to->n == FUNCTIONS_MAX)
		return;
	to->offset[to->n] = offset;
	to->which[to->n++] = which;
}

/* From the address that the symbol has when the file is loaded to its place in the file. False for what is no code in it. */
static bool file_offset(Elf *elf, const GElf_Sym *sym, uint64_t file_size, uint64_t *ret)
{
	Elf_Scn *scn = sym->st_shndx < SHN_LORESERVE ? elf_getscn(elf, sym->st_shndx) : NULL;
	uint64_t within;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS || !(sh.sh_flags & SHF_EXECINSTR))
		return false;
	if (sym->st_value < sh.sh_addr || sym->st_value - sh.sh_addr >= sh.sh_size)
		return false;
	within = sym->st_value - sh.sh_addr;
	if (sh.sh_offset >= file_size || within >= file_size - sh.sh_offset)
		return false;
	*ret = sh.sh_offset + within;
	return true;
}

static void read_table(Elf *elf, const struct elf_symbols *in, uint64_t file_size, const struct wanted *w, struct places *to)
{
	for (size_t i = 0; i < in->n; i++) {
		uint64_t offset;
		const char *name;
		GElf_Sym sym;
		size_t avail;

		if (!elf_symbols_at(in, i, &sym, &name, &avail) || GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF)
			continue;
		for (size_t k = 0; k < w->n; k++) {
			size_t len = strlen(w->names[k]);

			if (avail > len && !memcmp(name, w->names[k], len + 1) && file_offset(elf, &sym, file_size, &offset))
				add_place(to, offset, k);
		}
	}
}

static bool read_section(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t file_size, const struct wanted *w, struct places *to)
{
	struct elf_symbols in;

	if (!elf_file_symbols(elf, scn, sh, file_size, &in))
		return false;
	read_table(elf, &in, file_size, w, to);
	return true;
}

/* The first section of that type. */
static bool read_type(Elf *elf, uint32_t type, uint64_t file_size, const struct wanted *w, struct places *to)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == type)
			return read_section(elf, scn, &sh, file_size, w, to);
	return false;
}

static int in_file(int path_fd, const struct wanted *w, functions_fn fn, void *arg)
{
	_cleanup_close_ int fd = target_reopen(path_fd);
	CLEANUP(elf_end_ptr) Elf *elf = NULL;
	struct places found = { .n = 0 };
	uint64_t size;
	int err;

	if (fd < 0)
		return fd;
	err = elf_file_open(fd, &elf, &size);
	if (err)
		return err;
	if (!read_type(elf, SHT_SYMTAB, size, w, &found))
		read_type(elf, SHT_DYNSYM, size, w, &found);
	if (!found.n)
		return 0;
	err = fn(arg, path_fd, found.offset, found.which, found.n);
	return err < 0 ? err : (int)found.n;
}

int functions_in_exe(pid_t pid, const char *const *names, size_t n_names, functions_fn fn, void *arg)
{
	_cleanup_close_ int path_fd = -1;
	struct file_key key;
	int err = target_open_exe(pid, &path_fd, &key);

	return err ? err : in_file(path_fd, &(struct wanted){ names, n_names }, fn, arg);
}

#define SEEN_MAX 16

struct search {
	pid_t pid;
	const char *const *files;
	struct wanted wanted;
	functions_fn fn;
	void *arg;
	struct file_key seen[SEEN_MAX]; /* a library has several mappings */
	size_t n_seen;
	int found;
};

static bool meets(const char *const *patterns, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (; *patterns; patterns++)
		if (!fnmatch(*patterns, slash ? slash + 1 : path, 0))
			return true;
	return false;
}

static bool seen_before(struct search *s, const struct file_key *key)
{
	for (size_t i = 0; i < s->n_seen; i++)
		if (file_key_equal(&s->seen[i], key))
			return true;
	if (s->n_seen == SEEN_MAX)
		return true;
	s->seen[s->n_seen++] = *key;
	return false;
}

static int look(void *arg, const struct mapping *m)
{
	struct search *s = arg;
	_cleanup_close_ int path_fd = -1;
	struct file_key key;
	int n;

	if (!meets(s->files, m->path) || target_open_mapping(s->pid, m, &path_fd, &key) || seen_before(s, &key))
		return 0;
	n = in_file(path_fd, &s->wanted, s->fn, s->arg);
	if (n == -ENOEXEC || n == -EACCES)
		return 0; /* not what its name says */
	if (n < 0)
		return n;
	s->found += n;
	return 0;
}

int functions_in_mapped(pid_t pid, const char *const *files, const char *const *names, size_t n_names, functions_fn fn, void *arg)
{
	struct search s = { .pid = pid, .files = files, .wanted = { names, n_names }, .fn = fn, .arg = arg };
	int err = target_each_mapping(pid, look, &s);

	return err ? err : s.found;
}
