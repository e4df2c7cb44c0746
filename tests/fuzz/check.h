/* SPDX-License-Identifier: BSD-2-Clause */
/* check.h - a promise that the fuzzers hold the code to: where it is broken they end as on any other crash. */
#ifndef LOOPSCOPE_TESTS_FUZZ_CHECK_H
#define LOOPSCOPE_TESTS_FUZZ_CHECK_H

#define CHECK(x) \
	do { \
		if (!(x)) \
			__builtin_trap(); \
	} while (0)

#endif
