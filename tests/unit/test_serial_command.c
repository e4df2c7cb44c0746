/* SPDX-License-Identifier: BSD-2-Clause */
/* test_serial_command.c - what is said to a board: right lines, and never a control character but the newline. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "source/serial_command.h"

TestSuite(serial_command, .timeout = 20);

static void check_line(const uint8_t *p, size_t n, const char *want)
{
	cr_assert_eq(n, strlen(want), "%zu bytes, not %s", n, want);
	cr_assert_arr_eq(p, want, n);
	for (size_t i = 0; i < n; i++)
		cr_assert(p[i] >= 0x20 || p[i] == '\n');
}

Test(serial_command, wishes_are_lines)
{
	struct serial_wishes w = { .rate = -1 };
	uint8_t out[SERIAL_WISHES_SIZE];
	struct fault f = { 0 };

	check_line(out, serial_wishes_put(&w, out), "");
	w.rate = 0;
	check_line(out, serial_wishes_put(&w, out), "~r0\n");
	w.rate = 2;
	w.min_step_us = SERIAL_MIN_STEP_MAX_NS / 1000;
	cr_assert_eq(serial_wishes_filter(&w, "3,65534", &f), 0);
	check_line(out, serial_wishes_put(&w, out), "~r2\n~f4294967295\n~i3,65534\n");
}

Test(serial_command, the_longest_wishes_fit)
{
	struct serial_wishes w = { .rate = 3, .min_step_us = SERIAL_MIN_STEP_MAX_NS / 1000 };
	uint8_t out[SERIAL_WISHES_SIZE];
	struct fault f = { 0 };

	cr_assert_eq(serial_wishes_filter(&w, "65523,65524,65525,65526,65527,65528,65529,65530,65531,65532,65533,65534", &f), 0);
	cr_assert_eq(w.n_ids, SERIAL_FILTER_MAX);
	check_line(out, serial_wishes_put(&w, out),
		   "~r3\n~f4294967295\n~i65523,65524,65525,65526,65527,65528,65529,65530,65531,65532,65533,65534\n");
}

Test(serial_command, bad_filters_are_refused)
{
	static const char *const bad[] = { "", ",", "3,", ",3", "0", "65535", "3,x", "3 ,4", "-3", "1,2,3,4,5,6,7,8,9,10,11,12,13",
					   "00000000000003" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct serial_wishes w = { .rate = -1, .ids = { 7 }, .n_ids = 1 };
		struct fault f = { 0 };

		cr_assert_eq(serial_wishes_filter(&w, bad[i], &f), -EINVAL, "%s", bad[i]);
		cr_assert_eq(f.status, EXIT_USAGE);
		cr_assert(w.n_ids == 1 && w.ids[0] == 7, "untouched");
	}
}

Test(serial_command, no_nonce_makes_a_byte_03)
{
	uint8_t out[SERIAL_PING_SIZE];

	for (unsigned nonce = 0; nonce < 65536; nonce++) {
		char want[16];

		snprintf(want, sizeof(want), "~t%u\n", nonce);
		check_line(out, serial_ping_put((uint16_t)nonce, out), want);
	}
}
