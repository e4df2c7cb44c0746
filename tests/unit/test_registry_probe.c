/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_registry_probe.c - what a probe file may say, and with what sentence everything else is refused.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <string.h>

#include "registry/probe.h"

TestSuite(registry_probe, .timeout = 20);

#define HEAD "[runtime]\nname = x\ndescription = d\n"
#define GOOD HEAD "[match]\nexe = a\n"

static const char complete[] = "\xef\xbb\xbf; a comment, after a byte order mark\n"
			       "[runtime]\n"
			       "name = abc_1-2\n"
			       "description = A loop ; this is a comment\n"
			       "priority = 77\n"
			       "\n"
			       "[match]\n"
			       "exe = one, two* ,three\n"
			       "mapped: pkg/lib*.so\n"
			       "symbol = f, _ZN3foo*\n"
			       "import = g\n"
			       "section = .go.buildinfo\n"
			       "text = some text here\n"
			       "thread = worker*\n"
			       "syscall = epoll_*, poll\n"
			       "[match.2]\r\n"
			       "exe = four\r\n"
			       "# another comment\n"
			       "[entry]\n"
			       "loop = run\n"
			       "tick = a, b\n"
			       "phases = timers:t_1, poll:p.cold, timers:t_2\n"
			       "[behaviour]\n"
			       "park = futex";

Test(registry_probe, everything_that_is_allowed)
{
	CLEANUP(probe_free_ptr) struct probe *p = NULL;
	struct fault f = {};

	cr_assert_eq(probe_parse("t.probe", complete, strlen(complete), &p, &f), 0, "%s", f.text);
	cr_expect_str_eq(p->runtime.name, "abc_1-2");
	cr_expect_str_eq(p->runtime.description, "A loop");
	cr_expect_str_eq(p->runtime.source, "t.probe");
	cr_expect(p->runtime.park_is_idle);
	cr_expect_eq(p->priority, 77u);
	cr_assert_eq(p->n_rules, 2u);
	cr_assert_eq(p->rules[0].exe.n, 3u);
	cr_expect_str_eq(p->rules[0].exe.v[1], "two*");
	cr_expect_str_eq(p->rules[0].exe.v[2], "three");
	cr_expect_str_eq(p->rules[0].mapped.v[0], "pkg/lib*.so");
	cr_expect_str_eq(p->rules[0].symbol.v[1], "_ZN3foo*");
	cr_expect_str_eq(p->rules[0].text.v[0], "some text here");
	cr_expect_eq(p->rules[0].syscalls, io_wait_bit("epoll_wait") | io_wait_bit("epoll_pwait") |
						   io_wait_bit("epoll_pwait2") | io_wait_bit("poll"));
	cr_expect_str_eq(p->rules[1].exe.v[0], "four");
	cr_expect_eq(p->rules[1].syscalls, 0u);
	cr_expect_str_eq(p->runtime.entry[RUNTIME_ENTRY_TICK][1], "b");
	cr_expect_null(p->runtime.entry[RUNTIME_ENTRY_TICK][2]);
	cr_expect_null(p->runtime.entry[RUNTIME_ENTRY_POLL][0]);
	cr_expect_str_eq(p->runtime.phases.names[0], "timers");
	cr_expect_str_eq(p->runtime.phases.names[1], "poll");
	cr_expect_null(p->runtime.phases.names[2]);
	cr_expect_str_eq(p->runtime.phases.symbols[1], "p.cold");
	cr_expect_str_eq(p->runtime.phases.symbols[2], "t_2");
	cr_expect_null(p->runtime.phases.symbols[3]);
	cr_expect_eq(p->runtime.phases.which[1], 1u);
	cr_expect_eq(p->runtime.phases.which[2], 0u);
	cr_expect_str_eq(p->runtime.mapped[0], "lib*.so", "the base name");
	cr_expect_null(p->runtime.mapped[1]);
}

static const struct {
	const char *text, *says; /* how the sentence begins */
} malformed[] = {
	{"", "t.probe:1: the name is missing"},
	{"name = x\n", "t.probe:1: 'name' stands before any section"},
	{"[runtime]\n\nnonsense\n", "t.probe:3: neither [section] nor key = value"},
	{"[runtime\nname = x\n", "t.probe:1: the section's ] is missing"},
	{HEAD "[wrong]\n", "t.probe:4: unknown section [wrong]: allowed are [runtime], [match]"},
	{HEAD "[matches]\nexe = a\n", "t.probe:4: unknown section [matches]"},
	{HEAD "[0123456789012345678901234567890123456789]\n", "t.probe:4: unknown section"},
	{HEAD "[match] exe = a\n", "t.probe:4: there is text after the section's ]"},
	{"[runtime]\ncolour = red\n",
	 "t.probe:2: unknown key 'colour' in [runtime]: allowed are name, description, priority"},
	{GOOD "[behaviour]\nexe = a\n", "t.probe:7: unknown key 'exe' in [behaviour]: allowed are park"},
	{"[runtime]\nname = x\nname = y\n", "t.probe:3: 'name' is given twice"},
	{HEAD "[runtime]\n", "t.probe:4: [runtime] is given twice"},
	{GOOD "[match]\nexe = b\n", "t.probe:6: [match] comes after 1 alternatives"},
	{GOOD "[match.3]\nexe = b\n", "t.probe:6: [match.3] comes after 1 alternatives"},
	{GOOD "[match.9]\nexe = b\n", "t.probe:6: [match.9]: alternatives are called [match.2] to [match.8]"},
	{GOOD "[match.x]\nexe = b\n", "t.probe:6: [match.x]: alternatives are called"},
	{"[runtime]\nname = Big\n", "t.probe:2: name 'Big': 1 to 31 of a-z"},
	{"[runtime]\nname = unknown\n", "t.probe:2: name 'unknown'"},
	{"[runtime]\nname =\n", "t.probe:2: name ''"},
	{"[runtime]\ndescription = \x1b[31m\n", "t.probe:2: description: 1 to 120 printable"},
	{"[runtime]\npriority = -1\n", "t.probe:2: priority '-1': a number from 0 to 100"},
	{"[runtime]\npriority = 101\n", "t.probe:2: priority '101'"},
	{"[runtime]\ndescription = d\n[match]\nexe = a\n", "t.probe:1: the name is missing"},
	{"\n[runtime]\nname = x\n[match]\nexe = a\n", "t.probe:2: the description is missing"},
	{HEAD, "t.probe:1: there is no [match]: say there how to recognise x"},
	{HEAD "[match]\n", "t.probe:4: this [match] would match every process"},
	{HEAD "[match]\nsyscall = poll\n[entry]\n", "t.probe:4: this [match] would match every process"},
	{HEAD "[match]\nexe = a,,b\n", "t.probe:5: 'exe' has an empty value"},
	{HEAD "[match]\nexe =\n", "t.probe:5: 'exe' has an empty value"},
	{HEAD "[match]\nexe = 1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h\n", "t.probe:5: 'exe' has too many values: at most 16"},
	{HEAD "[match]\nexe = /bin/a\n", "t.probe:5: exe '/bin/a' has a slash"},
	{HEAD "[match]\nmapped = lib[a\n", "t.probe:5: 'lib[a' is not a file name pattern"},
	{HEAD "[match]\nthread = tokio-runtime-worker\n", "t.probe:5: thread 'tokio-runtime-worker' can never match"},
	{HEAD "[match]\nsymbol = a b\n", "t.probe:5: 'a b' is not a symbol"},
	{HEAD "[match]\nsymbol = *\n", "t.probe:5: '*' is not a symbol"},
	{HEAD "[match]\nsymbol = a*b\n", "t.probe:5: 'a*b' is not a symbol"},
	{HEAD "[match]\nsection = rodata\n", "t.probe:5: 'rodata' is not an ELF section's name"},
	{HEAD "[match]\ntext = short\n", "t.probe:5: text 'short': 8 to 64 characters"},
	{HEAD "[match]\nexe = a\nsyscall = futex\n", "t.probe:6: 'futex' is no IO wait: allowed are epoll_wait"},
	{GOOD "[entry]\ntick = f*\n", "t.probe:7: 'f*' is not a symbol"},
	{GOOD "[entry]\nphases = timers\n", "t.probe:7: phase 'timers' names no function: give NAME:SYMBOL"},
	{GOOD "[entry]\nphases = :f\n", "t.probe:7: phase '': 1 to 15 of a-z"},
	{GOOD "[entry]\nphases = Timers:f\n", "t.probe:7: phase 'Timers': 1 to 15 of a-z"},
	{GOOD "[entry]\nphases = a:f*\n", "t.probe:7: 'f*' is not a symbol"},
	{GOOD "[entry]\nphases = a:f, b:f\n", "t.probe:7: 'f' begins two phases"},
	{GOOD "[entry]\nphases = a:a,b:b,c:c,d:d,e:e,f:f,g:g,h:h,i:i\n", "t.probe:7: 'phases' has too many names: at most 8"},
	{GOOD "[behaviour]\npark = pause\n", "t.probe:7: park 'pause': only 'futex' is allowed"},
	{HEAD "[match]\nexe = a,\n  b\n", "t.probe:5: 'exe' has an empty value"},
	{HEAD "[match]\nexe = a\n  b\n", "t.probe:6: the line is indented"},
};

ParameterizedTestParameters(registry_probe, refused)
{
	static size_t index[ARRAY_SIZE(malformed)];

	for (size_t i = 0; i < ARRAY_SIZE(index); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, ARRAY_SIZE(index));
}

ParameterizedTest(size_t *i, registry_probe, refused)
{
	struct probe *p = NULL;
	struct fault f = {};
	int err = probe_parse("t.probe", malformed[*i].text, strlen(malformed[*i].text), &p, &f);

	cr_expect_eq(err, -EINVAL);
	cr_expect_eq(f.status, EXIT_FAILED);
	cr_expect_null(p);
	cr_expect(!strncmp(f.text, malformed[*i].says, strlen(malformed[*i].says)), "case %zu: said '%s', not '%s'", *i,
		  f.text, malformed[*i].says);
}

Test(registry_probe, overlong_line_and_nul_are_refused)
{
	char text[1024] = "[runtime]\nname = ";
	struct probe *p = NULL;
	struct fault f = {};

	memset(text + strlen(text), 'a', 900);
	cr_expect_eq(probe_parse("t.probe", text, strlen(text), &p, &f), -EINVAL);
	cr_expect(strstr(f.text, "t.probe:2: the line is too long"), "%s", f.text);

	f = (struct fault){};
	cr_expect_eq(probe_parse("t.probe", "[runtime]\nna\0me = x\n", 20, &p, &f), -EINVAL);
	cr_expect(strstr(f.text, "t.probe:2: a NUL byte"), "%s", f.text);
}

/* Any prefix and any changed byte of a good file is either parsed or refused with a sentence. */
Test(registry_probe, survives_damage)
{
	char text[sizeof(complete)];

	for (size_t len = 0; len < sizeof(complete); len++) {
		CLEANUP(probe_free_ptr) struct probe *p = NULL;
		struct fault f = {};
		int err = probe_parse("t.probe", complete, len, &p, &f);

		cr_assert((err == 0 && p) || (err == -EINVAL && !p && f.text[0]), "prefix of %zu: %d", len, err);
	}
	for (size_t at = 0; at < sizeof(complete) - 1; at++) {
		CLEANUP(probe_free_ptr) struct probe *p = NULL;
		struct fault f = {};
		int err;

		memcpy(text, complete, sizeof(text));
		text[at] ^= (char)(1 << at % 8);
		err = probe_parse("t.probe", text, sizeof(text) - 1, &p, &f);
		cr_assert((err == 0 && p) || (err == -EINVAL && !p && f.text[0]), "byte %zu: %d", at, err);
	}
}

Test(registry_probe, io_wait_patterns)
{
	cr_expect_eq(io_wait_bit("futex"), 0u);
	cr_expect_eq(io_wait_bits_matching("*poll"), io_wait_bit("poll") | io_wait_bit("ppoll"));
	cr_expect_eq(io_wait_bits_matching("*select*"), io_wait_bit("select") | io_wait_bit("pselect6"));
	cr_expect_eq(io_wait_bits_matching("read"), 0u);
}
