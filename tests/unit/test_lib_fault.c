/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lib_fault.c - faults: the first is kept, what is printed is one harmless line. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include <errno.h>
#include <string.h>

#include "lib/fault.h"

TestSuite(lib_fault, .timeout = 30);

Test(lib_fault, returns_the_error_and_fills)
{
	struct fault f = {0};

	cr_assert_eq(fault(&f, -ENOENT, EXIT_IMPOSSIBLE, "no %s in %d", "BTF", 7), -ENOENT);
	cr_assert_str_eq(f.text, "no BTF in 7");
	cr_assert_eq(f.status, EXIT_IMPOSSIBLE);
}

Test(lib_fault, accepts_null)
{
	cr_assert_eq(fault(NULL, -EINVAL, EXIT_FAILED, "nobody listens"), -EINVAL);
}

Test(lib_fault, first_is_kept)
{
	struct fault f = {0};

	fault(&f, -ENOENT, EXIT_IMPOSSIBLE, "the cause");
	cr_assert_eq(fault(&f, -EIO, EXIT_FAILED, "the consequence"), -EIO);
	cr_assert_str_eq(f.text, "the cause");
	cr_assert_eq(f.status, EXIT_IMPOSSIBLE);
}

Test(lib_fault, percent_m_is_the_callers_errno_and_errno_survives)
{
	struct fault f = {0};

	errno = ENOSPC;
	fault(&f, -ENOSPC, EXIT_FAILED, "%m");
	cr_assert_eq(errno, ENOSPC);
	cr_assert_str_eq(f.text, strerror(ENOSPC));
}

Test(lib_fault, long_sentence_is_cut_and_marked)
{
	struct fault f = {0};

	fault(&f, -EIO, EXIT_FAILED, "%0600d", 1);
	cr_assert_eq(strlen(f.text), sizeof(f.text) - 1);
	cr_assert_str_eq(f.text + sizeof(f.text) - 4, "...");
}

Test(lib_fault, longest_sentence_is_not_cut)
{
	struct fault f = {0};

	fault(&f, -EIO, EXIT_FAILED, "%0*d", (int)sizeof(f.text) - 1, 1);
	cr_assert_eq(strlen(f.text), sizeof(f.text) - 1);
	cr_assert_eq(f.text[sizeof(f.text) - 2], '1');
}

Test(lib_fault, report_prints_one_line_without_control_characters, .init = cr_redirect_stderr)
{
	struct fault f = {0};

	fault(&f, -EINVAL, EXIT_USAGE, "no process named 'a\x1b[31m\nb\xff'");
	cr_assert_eq(fault_report(&f), EXIT_USAGE);
	fflush(stderr);
	cr_assert_stderr_eq_str("loopscope: no process named 'a\\x1b[31m\\x0ab\\xff'\n");
}

Test(lib_fault, report_without_a_sentence_prints_nothing, .init = cr_redirect_stderr)
{
	struct fault f = {0};

	cr_assert_eq(fault_report(&f), EXIT_FAILED);
	cr_assert_eq(fault_report(NULL), EXIT_FAILED);
	fflush(stderr);
	cr_assert_stderr_eq_str("");
}
