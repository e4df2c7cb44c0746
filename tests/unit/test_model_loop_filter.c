/* SPDX-License-Identifier: BSD-2-Clause */
/* test_model_loop_filter.c - which loops include and exclude take, hostile names among them. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <locale.h>
#include <string.h>

#include "lib/cleanup.h"
#include "model/loop_filter.h"

static struct loop_record record(const char *comm, const char *thread, const char *cgroup, const char *runtime)
{
	struct loop_record r = {.cgroup = cgroup, .runtime = runtime};

	memcpy(r.comm, comm, strnlen(comm, sizeof(r.comm)));
	memcpy(r.thread, thread, strnlen(thread, sizeof(r.thread)));
	return r;
}

static bool takes(const char *include, const char *exclude, const struct loop_record *r)
{
	const char *in[] = {include}, *ex[] = {exclude};
	struct loop_filter *f = NULL;
	bool ret;

	cr_assert_eq(loop_filter_new(in, !!include, ex, !!exclude, &f), 0);
	ret = loop_filter_takes(f, r);
	loop_filter_free(f);
	return ret;
}

TestSuite(model_loop_filter, .timeout = 30);

Test(model_loop_filter, none_takes_all)
{
	struct loop_record r = record("redis-server", "redis-server", "", "redis");

	cr_assert(loop_filter_takes(NULL, &r));
	cr_assert(takes(NULL, NULL, &r));
}

Test(model_loop_filter, each_kind_of_name)
{
	struct loop_record r = record("node", "worker", "/kubepods/pod1/abc", "libuv");

	cr_assert(takes("comm=no*", NULL, &r));
	cr_assert_not(takes("comm=worker", NULL, &r));
	cr_assert(takes("thread=work?r", NULL, &r));
	cr_assert(takes("cgroup=/kubepods/*", NULL, &r), "* also stands for slashes");
	cr_assert_not(takes("cgroup=kubepods", NULL, &r), "the whole name");
	cr_assert(takes("runtime=lib[eu]v", NULL, &r));
	cr_assert_not(takes("comm=*", "runtime=libuv", &r), "exclude wins");
	cr_assert(takes(NULL, "runtime=redis", &r));
}

Test(model_loop_filter, one_include_is_enough_one_exclude_too_much)
{
	const char *in[] = {"comm=redis*", "runtime=libuv"}, *ex[] = {"cgroup=/batch/*", "comm=node-test"};
	struct loop_record redis = record("redis-server", "", "", "redis"), node = record("node", "", "/web", "libuv"),
			   batch = record("node", "", "/batch/1", "libuv"), other = record("nginx", "", "", "nginx");
	struct loop_filter *f = NULL;

	cr_assert_eq(loop_filter_new(in, 2, ex, 2, &f), 0);
	cr_assert(loop_filter_takes(f, &redis));
	cr_assert(loop_filter_takes(f, &node));
	cr_assert_not(loop_filter_takes(f, &batch));
	cr_assert_not(loop_filter_takes(f, &other));
	loop_filter_free(f);
}

/* A name of 16 bytes without a NUL, invalid UTF-8 in any locale: it is matched all the same. */
Test(model_loop_filter, no_name_escapes_by_its_bytes)
{
	static const char *const locales[] = {"C", "C.UTF-8"};
	struct loop_record broken = record("\xff\xfe-evil", "", NULL, NULL), full = record("0123456789abcdef", "", NULL, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(locales); i++) {
		cr_assert(setlocale(LC_CTYPE, locales[i]));
		cr_assert(takes("comm=*-evil", NULL, &broken), "%s", locales[i]);
		cr_assert_not(takes(NULL, "comm=*-evil", &broken), "%s", locales[i]);
		cr_assert(takes("comm=0123456789abcdef", NULL, &full), "%s", locales[i]);
		cr_assert(takes("comm=*", NULL, &broken), "%s", locales[i]);
	}
}

Test(model_loop_filter, a_name_that_is_not_known_is_empty)
{
	struct loop_record r = record("", "", NULL, NULL);

	cr_assert_not(takes("cgroup=?*", NULL, &r));
	cr_assert(takes("cgroup=*", NULL, &r));
}

struct wrong {
	char text[32];
};

ParameterizedTestParameters(model_loop_filter, refused)
{
	static struct wrong cases[] = {{"redis"}, {"comm"}, {"comm="}, {"=x"}, {"pid=7"}, {""}, {"Comm=x"}, {"\x1b[31m=x"}};

	return cr_make_param_array(struct wrong, cases, sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(struct wrong *w, model_loop_filter, refused)
{
	const char *texts[] = {w->text};
	struct loop_filter *f = NULL;
	char sentence[200];

	cr_assert_eq(loop_filter_check(w->text, sentence, sizeof(sentence)), -EINVAL);
	cr_assert(strstr(sentence, "for example comm=redis*"), "%s", sentence);
	cr_assert_null(strchr(sentence, '\x1b'));
	cr_assert_eq(loop_filter_new(texts, 1, NULL, 0, &f), -EINVAL);
	cr_assert_null(f);
}
