/* SPDX-License-Identifier: BSD-2-Clause */
/* test_symbols.c - names for addresses in this process and in a child: own code, stripped libraries, JIT code, and what is no code. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <jansson.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "registry/symbols.h"

TestSuite(symbols, .timeout = 60);

extern char _start[];

__attribute__((noinline)) static int named_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static struct symbols *new_symbols(void)
{
	struct symbols *s = NULL;

	cr_assert_eq(symbols_new(&s), 0);
	return s;
}

static const char *name_of(struct symbols *s, pid_t pid, uint64_t addr)
{
	const char *name = NULL;

	return symbols_resolve(s, pid, &addr, 1, &name) ? name : NULL;
}

Test(symbols, a_function_of_our_own)
{
	struct symbols *s = new_symbols();

	cr_assert_eq(named_function(1), 2);
	cr_assert_str_eq(name_of(s, getpid(), (uintptr_t)named_function), "named_function");
	cr_assert_str_eq(name_of(s, getpid(), (uintptr_t)named_function + 1), "named_function");
	symbols_free(s);
	symbols_free(NULL);
}

/* A return address may be the first byte of the next function: a call that never returns ends its own. */
/* A library's functions carry versions in its table of symbols; nobody asked for those. */
Test(symbols, a_librarys_function_without_its_version)
{
	uint64_t at = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "clock_nanosleep");
	const char *name[1] = { "" };
	struct symbols *s = NULL;

	cr_assert_neq(at, 0u);
	cr_assert_eq(symbols_new(&s), 0);
	cr_assert_eq(symbols_resolve(s, getpid(), &at, 1, name), 1u);
	cr_assert(!strcmp(name[0], "clock_nanosleep") || !strcmp(name[0], "__clock_nanosleep"), "%s", name[0]);
	symbols_free(s);
}

Test(symbols, return_addresses_belong_to_the_call_before_them)
{
	struct symbols *s = new_symbols();
	uint64_t addr[] = { (uintptr_t)named_function, (uintptr_t)named_function + 1, (uintptr_t)named_function };
	const char *names[3];

	cr_assert_eq(symbols_resolve(s, getpid(), addr, 3, names), 3u);
	cr_assert_str_eq(names[0], "named_function");
	cr_assert_str_eq(names[1], "named_function");
	cr_assert_str_neq(names[2], "named_function");
	symbols_free(s);
}

Test(symbols, a_stack_is_cut_where_no_code_is)
{
	struct symbols *s = new_symbols();
	uint64_t on_stack = 0;
	uint64_t addr[] = { (uintptr_t)named_function, (uintptr_t)&on_stack, (uintptr_t)named_function + 1 };
	const char *names[3] = { NULL };

	cr_assert_eq(symbols_resolve(s, getpid(), addr, 3, names), 1u);
	addr[0] = 0;
	cr_assert_eq(symbols_resolve(s, getpid(), addr, 3, names), 0u);
	addr[0] = UINT64_MAX;
	cr_assert_eq(symbols_resolve(s, getpid(), addr, 3, names), 0u);
	cr_assert_eq(symbols_resolve(s, getpid(), addr, 0, names), 0u);
	symbols_free(s);
}

/* Code of a shared library that no exported symbol covers: found by its dynamic table alone. */
static uint64_t uncovered_code(void *inside, uintptr_t *ret_base)
{
	ElfW(Sym) * sym;
	Dl_info info;

	cr_assert(dladdr(inside, &info));
	*ret_base = (uintptr_t)info.dli_fbase;
	for (uintptr_t at = (uintptr_t)inside; at < (uintptr_t)inside + 65536; at += 16) {
		if (!dladdr1((void *)at, &info, (void **)&sym, RTLD_DL_SYMENT) || (uintptr_t)info.dli_fbase != *ret_base)
			break;
		if (!info.dli_saddr || !sym || at >= (uintptr_t)info.dli_saddr + sym->st_size + 64)
			return at;
	}
	return 0;
}

Test(symbols, stripped_code_is_its_module_and_offset)
{
	struct symbols *s = new_symbols();
	uintptr_t base = 0;
	uint64_t at = uncovered_code((void *)json_object, &base);
	char want[PATH_MAX + 32], *path;
	Dl_info info;

	if (!at)
		cr_skip_test("every address near json_object() is covered by an exported symbol");
	cr_assert_str_eq(name_of(s, getpid(), (uintptr_t)json_object), "json_object");
	cr_assert(dladdr((void *)json_object, &info));
	path = realpath(info.dli_fname, NULL);
	cr_assert_not_null(path);
	snprintf(want, sizeof(want), "%s+0x%llx", strrchr(path, '/') + 1, (unsigned long long)(at - base));
	if (!strchr(name_of(s, getpid(), at), '+'))
		cr_skip_test("libjansson has a separate debug file here");
	cr_assert_str_eq(name_of(s, getpid(), at), want);
	free(path);
	symbols_free(s);
}

static char *jit_code(void)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		cr_skip_test("no memory can be made executable here");
	return code;
}

Test(symbols, jit_code_has_the_names_of_its_map)
{
	struct symbols *s = new_symbols();
	char *code = jit_code(), path[64], want[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	cr_assert_not_null(map);
	fprintf(map, "%llx 40 JS:*parse /app/x.js:3\n", (unsigned long long)(uintptr_t)code);
	fclose(map);
	cr_assert_str_eq(name_of(s, getpid(), (uintptr_t)code + 8), "JS:*parse /app/x.js:3");
	snprintf(want, sizeof(want), "[anonymous code]+0x%llx", (unsigned long long)(uintptr_t)code + 0x80);
	cr_assert_str_eq(name_of(s, getpid(), (uintptr_t)code + 0x80), want);
	unlink(path);
	symbols_free(s);
}

Test(symbols, what_was_loaded_since_is_found)
{
	struct symbols *s = new_symbols();
	char *code;

	cr_assert_str_eq(name_of(s, getpid(), (uintptr_t)named_function), "named_function");
	code = jit_code();
	/* It looks again once a second at most. */
	for (int i = 0; i < 100 && !name_of(s, getpid(), (uintptr_t)code); i++)
		usleep(50000);
	cr_assert_not_null(name_of(s, getpid(), (uintptr_t)code));
	cr_assert_str_eq(name_of(s, getpid(), (uintptr_t)named_function), "named_function");
	symbols_free(s);
}

Test(symbols, an_ended_process_keeps_the_names_it_had)
{
	struct symbols *s = new_symbols();
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	cr_assert_str_eq(name_of(s, pid, (uintptr_t)named_function), "named_function");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert_str_eq(name_of(s, pid, (uintptr_t)named_function), "named_function");
	symbols_free(s);
	s = new_symbols();
	cr_assert_null(name_of(s, pid, (uintptr_t)named_function));
	symbols_free(s);
}

Test(symbols, the_outermost_frame)
{
	struct symbols *s = new_symbols();

	cr_assert(symbols_is_outermost(s, getpid(), (uintptr_t)_start + 8));
	cr_assert_not(symbols_is_outermost(s, getpid(), (uintptr_t)named_function + 1));
	cr_assert_not(symbols_is_outermost(s, getpid(), 0));
	symbols_free(s);
}

/* More processes than are kept: the least used is dropped, and read again when it is asked for. */
Test(symbols, many_processes)
{
	enum { N = 70 };
	struct symbols *s = new_symbols();
	pid_t pids[N];

	for (int i = 0; i < N; i++) {
		pids[i] = fork();
		cr_assert_geq(pids[i], 0);
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < N; i++)
			cr_assert_str_eq(name_of(s, pids[i], (uintptr_t)named_function), "named_function");
	for (int i = 0; i < N; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	symbols_free(s);
}
