/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols.c - see symbols.h. */
#include "registry/symbols.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#undef ARRAY_SIZE /* libiberty has one of its own */
#include "lib/cleanup.h"
#include "registry/perf_map.h"
#include "registry/proc.h"

#define PROCESSES_MAX 64
#define NAMES_MAX 65536 /* per process; beyond, the cache starts anew */
#define SYMBOL_MAX 1024 /* longer names are cut; demanglers take time that grows faster than the name */
#define MAPPINGS_MAX 65536
#define REPORT_AGAIN_S 1

struct name {
	uint64_t addr;
	char *text;
	UT_hash_handle hh;
};

/* Where code can be. */
struct range {
	uint64_t start, end;
	bool vdso; /* the kernel's own, which is no file */
	bool file;
};

struct process {
	pid_t pid; /* key */
	uint64_t start_ticks;
	Dwfl *dwfl; /* NULL: its mappings could not be read */
	struct range *code;
	size_t n_code;
	time_t reported;
	struct perf_map *jit;
	struct name *names;
	unsigned used; /* for the choice of who is dropped */
	UT_hash_handle hh;
};

struct symbols {
	struct process *processes;
	unsigned clock;
};

int symbols_new(struct symbols **ret)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*ret = s;
	return 0;
}

static void free_names(struct process *p)
{
	struct name *n, *tmp;

	HASH_ITER(hh, p->names, n, tmp) {
		HASH_DEL(p->names, n);
		free(n->text);
		free(n);
	}
}

static void drop(struct symbols *s, struct process *p)
{
	HASH_DEL(s->processes, p);
	free_names(p);
	dwfl_end(p->dwfl);
	free(p->code);
	perf_map_free(p->jit);
	free(p);
}

void symbols_free(struct symbols *s)
{
	struct process *p, *tmp;

	if (!s)
		return;
	HASH_ITER(hh, s->processes, p, tmp)
		drop(s, p);
	free(s);
}

/* --- mappings ------------------------------------------------------------------------------------------------------------- */

/* No search by libdwfl itself: every file is opened here. Separate debug files are found by build-id, debuglink or debuginfod. */
static int no_elf(Dwfl_Module *mod, void **userdata, const char *modname, Dwarf_Addr base, char **file_name, Elf **elfp)
{
	return -1;
}

static char *debuginfo_path = NULL; /* libdwfl's default: beside the file, .debug, /usr/lib/debug */

static const Dwfl_Callbacks callbacks = {
	.find_elf = no_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &debuginfo_path,
};

/* The mapped file as the target sees it: in its own root or, deleted meanwhile, through its mappings. Never a device or a FIFO. */
static int open_mapped(pid_t pid, const char *path, uint64_t start, uint64_t end)
{
	char name[4200];
	struct stat st;

	for (int i = 0; i < 2; i++) {
		_cleanup_close_ int fd = -1;

		if (i == 0)
			snprintf(name, sizeof(name), "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)start,
				 (unsigned long long)end);
		else
			snprintf(name, sizeof(name), "/proc/%d/root%.4000s", pid, path);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
			return TAKE_FD(fd);
	}
	return -1;
}

/* A file's first mapping carries its headers: where it was loaded. */
static void report_mapping(Dwfl *dwfl, pid_t pid, char *line)
{
	unsigned long long start, end, offset, inode;
	int path_at = 0, fd;
	char *path;

	if (sscanf(line, "%llx-%llx %*4s %llx %*x:%*x %llu %n", &start, &end, &offset, &inode, &path_at) < 4 || !path_at)
		return;
	path = line + path_at;
	path[strcspn(path, "\n")] = '\0';
	if (offset || path[0] != '/')
		return;
	fd = open_mapped(pid, path, start, end);
	if (fd < 0)
		return;
	/* libdwfl takes the fd, if it takes the file. */
	if (!dwfl_report_elf(dwfl, path, path, fd, start, false))
		close(fd);
}

static void note_code(struct process *p, const char *line)
{
	unsigned long long start, end, inode;
	struct range *r;
	char x;

	if (sscanf(line, "%llx-%llx %*c%*c%c%*c %*x %*x:%*x %llu", &start, &end, &x, &inode) != 4 || x != 'x')
		return;
	r = reallocarray(p->code, p->n_code + 1, sizeof(*r));
	if (!r)
		return;
	r[p->n_code++] = (struct range){ start, end, strstr(line, "[vdso]") != NULL, inode != 0 };
	p->code = r;
}

/* Anew each time: libdwfl takes a module that it has already for one that overlaps. */
static void report(struct process *p)
{
	_cleanup_fclose_ FILE *maps = NULL;
	char name[64], line[4352];

	p->reported = time(NULL);
	snprintf(name, sizeof(name), "/proc/%d/maps", p->pid);
	maps = fopen(name, "re");
	if (!maps) /* it has ended: what is known stays */
		return;
	dwfl_end(p->dwfl);
	p->dwfl = dwfl_begin(&callbacks);
	p->n_code = 0;
	free_names(p);
	if (!p->dwfl)
		return;
	dwfl_report_begin(p->dwfl);
	for (int n = 0; n < MAPPINGS_MAX && fgets(line, sizeof(line), maps); n++) {
		note_code(p, line);
		report_mapping(p->dwfl, p->pid, line);
	}
	dwfl_report_end(p->dwfl, NULL, NULL);
}

static const struct range *code_at(const struct process *p, uint64_t addr)
{
	for (size_t i = 0; i < p->n_code; i++)
		if (addr >= p->code[i].start && addr < p->code[i].end)
			return &p->code[i];
	return NULL;
}

/* --- processes ------------------------------------------------------------------------------------------------------------ */

static void drop_least_used(struct symbols *s)
{
	struct process *p, *tmp, *least = NULL;

	HASH_ITER(hh, s->processes, p, tmp)
		if (!least || p->used < least->used)
			least = p;
	if (least)
		drop(s, least);
}

static struct process *process_of(struct symbols *s, pid_t pid)
{
	struct proc_info info;
	struct process *p;
	int gone = proc_info_read(pid, &info);

	HASH_FIND_INT(s->processes, &pid, p);
	if (p && !gone && p->start_ticks != info.start_ticks) { /* another process by now */
		drop(s, p);
		p = NULL;
	}
	if (!p) {
		if (HASH_COUNT(s->processes) >= PROCESSES_MAX)
			drop_least_used(s);
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->pid = pid;
		p->start_ticks = gone ? 0 : info.start_ticks;
		p->jit = perf_map_new(pid);
		report(p);
		HASH_ADD_INT(s->processes, pid, p);
	}
	p->used = ++s->clock;
	return p;
}

/* --- names ---------------------------------------------------------------------------------------------------------------- */

/* Without the version that a linker's table of symbols may carry: "clock_gettime@@GLIBC_2.17". */
static char *demangled(const char *symbol)
{
	size_t n = strcspn(symbol, "@");
	_cleanup_free_ char *name = strndup(symbol, n && n < SYMBOL_MAX ? n : SYMBOL_MAX);
	char *plain = name && n < SYMBOL_MAX ? cplus_demangle(name, DMGL_AUTO) : NULL;

	return plain ? plain : TAKE_PTR(name);
}

static char *module_offset(const char *module, uint64_t offset)
{
	const char *base = strrchr(module, '/');
	char *text;

	return asprintf(&text, "%s+0x%llx", base ? base + 1 : module, (unsigned long long)offset) < 0 ? NULL : text;
}

static char *look_up(struct process *p, uint64_t addr)
{
	const struct range *code = code_at(p, addr);
	/* libdwfl takes what follows a file's last page for a part of it: JIT code is put just there. */
	Dwfl_Module *mod = p->dwfl && code->file ? dwfl_addrmodule(p->dwfl, addr) : NULL;
	const char *symbol, *jit, *module;
	GElf_Off offset;
	Dwarf_Addr start;
	GElf_Sym sym;
	char *text;

	if (!mod) {
		jit = p->jit ? perf_map_find(p->jit, addr) : NULL;
		if (jit)
			return strdup(jit);
		if (code->vdso)
			return module_offset("[vdso]", addr - code->start);
		return asprintf(&text, "[anonymous code]+0x%llx", (unsigned long long)addr) < 0 ? NULL : text;
	}
	symbol = dwfl_module_addrinfo(mod, addr, &offset, &sym, NULL, NULL, NULL);
	/* A stripped file has a few exported symbols; the nearest before the address is not its name unless it covers it. */
	if (symbol && *symbol && (offset < sym.st_size || !offset))
		return demangled(symbol);
	module = dwfl_module_info(mod, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	return module_offset(module ? module : "[unknown]", addr - start);
}

static const char *name_of(struct process *p, uint64_t addr)
{
	struct name *n;

	HASH_FIND(hh, p->names, &addr, sizeof(addr), n);
	if (n)
		return n->text;
	n = calloc(1, sizeof(*n));
	if (!n)
		return "[out of memory]";
	n->addr = addr;
	n->text = look_up(p, addr);
	if (!n->text) {
		free(n);
		return "[out of memory]";
	}
	HASH_ADD(hh, p->names, addr, sizeof(n->addr), n);
	return n->text;
}

size_t symbols_resolve(struct symbols *s, pid_t pid, const uint64_t *addr, size_t n, const char **ret)
{
	struct process *p = process_of(s, pid);

	if (!p)
		return 0;
	if (HASH_COUNT(p->names) > NAMES_MAX)
		free_names(p);
	/* Something may have been loaded since. Before the first name is handed out: a new look drops all names. */
	if (n && !code_at(p, addr[0]) && time(NULL) - p->reported >= REPORT_AGAIN_S)
		report(p);
	for (size_t i = 0; i < n; i++) {
		uint64_t at = i ? addr[i] - 1 : addr[i];

		if (!code_at(p, at))
			return i;
		ret[i] = name_of(p, at);
	}
	return n;
}

bool symbols_is_outermost(struct symbols *s, pid_t pid, uint64_t addr)
{
	static const char *const outermost[] = { "_start", "__libc_start_main", "__libc_start_call_main", "clone", "__clone", "clone3",
						 "__clone3", "start_thread", "runtime.goexit", "_dl_start_user" };
	struct process *p = process_of(s, pid);
	const char *name = p && code_at(p, addr - 1) ? name_of(p, addr - 1) : "";

	for (size_t i = 0; i < ARRAY_SIZE(outermost); i++)
		if (!strcmp(name, outermost[i]) || (!strncmp(name, outermost[i], strlen(outermost[i])) && strchr("@.", name[strlen(outermost[i])])))
			return true;
	return false;
}
