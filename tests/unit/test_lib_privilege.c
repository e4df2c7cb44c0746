/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lib_privilege.c - capabilities kept and given up, held against what the kernel says of this process. Each test is a
 * process of its own. What only root can show is skipped for who is not. */
#include <criterion/criterion.h>

#include <cap-ng.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "lib/cleanup.h"
#include "lib/privilege.h"

TestSuite(lib_privilege, .timeout = 30);

/* A set of /proc/self/status: "CapEff", "CapBnd", ... */
static uint64_t set_of(const char *name)
{
	_cleanup_fclose_ FILE *in = fopen("/proc/thread-self/status", "re");
	char line[256];
	uint64_t bits;

	cr_assert(in);
	while (fgets(line, sizeof(line), in))
		if (!strncmp(line, name, strlen(name)) && sscanf(line + strlen(name), ": %" SCNx64, &bits) == 1)
			return bits;
	cr_assert_fail("no %s in /proc/thread-self/status", name);
	return 0;
}

static void needs(int cap)
{
	if (!(set_of("CapEff") & (UINT64_C(1) << cap)))
		cr_skip_test("needs %s", privilege_name(cap).text);
}

Test(lib_privilege, has_what_the_kernel_says)
{
	uint64_t effective = set_of("CapEff");

	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		cr_assert_eq(privilege_has(cap), !!(effective & (UINT64_C(1) << cap)), "capability %d", cap);
	cr_assert_not(privilege_has(-1));
	cr_assert_not(privilege_has(200));
}

Test(lib_privilege, names_as_manuals_spell_them)
{
	cr_assert_str_eq(privilege_name(CAP_BPF).text, "CAP_BPF");
	cr_assert_str_eq(privilege_name(CAP_DAC_READ_SEARCH).text, "CAP_DAC_READ_SEARCH");
	cr_assert_str_eq(privilege_name(-1).text, "capability -1");
}

Test(lib_privilege, keeps_what_it_is_told_and_nothing_else)
{
	const int keep[] = {CAP_KILL, CAP_CHOWN};
	const uint64_t bits = (UINT64_C(1) << CAP_KILL) | (UINT64_C(1) << CAP_CHOWN);
	struct fault f = {0};

	needs(CAP_KILL);
	needs(CAP_CHOWN);
	needs(CAP_SETPCAP);
	cr_assert_eq(privilege_keep(keep, 2, &f), 0, "%s", f.text);
	cr_assert_eq(set_of("CapEff"), bits);
	cr_assert_eq(set_of("CapPrm"), bits);
	cr_assert_eq(set_of("CapBnd"), bits);
	cr_assert_eq(set_of("CapInh"), 0);
	cr_assert_eq(set_of("CapAmb"), 0);
	cr_assert_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
}

Test(lib_privilege, what_is_not_there_is_not_kept)
{
	const int first[] = {CAP_KILL}, second[] = {CAP_KILL, CAP_SYS_ADMIN, -1, 63};
	struct fault f = {0};

	needs(CAP_KILL);
	cr_assert_eq(privilege_keep(first, 1, &f), 0, "%s", f.text);
	cr_assert_eq(privilege_keep(second, 4, &f), 0, "%s", f.text);
	cr_assert_eq(set_of("CapEff"), UINT64_C(1) << CAP_KILL);
	cr_assert_not(privilege_has(CAP_SYS_ADMIN));
}

Test(lib_privilege, keeps_nothing)
{
	struct fault f = {0};

	cr_assert_eq(privilege_keep(NULL, 0, &f), 0, "%s", f.text);
	cr_assert_eq(set_of("CapEff"), 0);
	cr_assert_eq(set_of("CapPrm"), 0);
	cr_assert_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
}

/* Ambient ones come with the process, as from systemd, and would outlive an exec. */
Test(lib_privilege, ambient_ones_go)
{
	const int keep[] = {CAP_KILL};
	struct fault f = {0};

	needs(CAP_KILL);
	cr_assert_eq(capng_get_caps_process(), 0);
	cr_assert_eq(capng_update(CAPNG_ADD, CAPNG_INHERITABLE | CAPNG_AMBIENT, CAP_KILL), 0);
	cr_assert_eq(capng_apply(CAPNG_SELECT_CAPS | CAPNG_SELECT_AMBIENT), 0);
	cr_assert_eq(set_of("CapAmb"), UINT64_C(1) << CAP_KILL);
	cr_assert_eq(privilege_keep(keep, 1, &f), 0, "%s", f.text);
	cr_assert_eq(set_of("CapAmb"), 0);
	cr_assert_eq(set_of("CapInh"), 0);
	cr_assert_eq(set_of("CapEff"), UINT64_C(1) << CAP_KILL);
}
