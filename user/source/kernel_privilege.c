/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_privilege.c - see kernel_privilege.h. Facts: capabilities(7), bpf(2), proc(5); kernel/events/core.c has
 * perf_uprobe_event_init(), where CAP_PERFMON does not do.
 */
#include "source/kernel_privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>

#include "lib/cleanup.h"
#include "lib/privilege.h"

#define NO_OTHER (-1)

const struct kernel_privilege kernel_privileges[] = {
	{ CAP_BPF, CAP_SYS_ADMIN, true, false, "loading programs and maps into the kernel, and reading them", "nothing can be observed" },
	{ CAP_PERFMON, CAP_SYS_ADMIN, true, false, "attaching programs to the scheduler, and a look at each CPU now and then",
	  "nothing can be observed" },
	{ CAP_SYS_PTRACE, NO_OTHER, false, false, "reading which executable and libraries other users' processes run",
	  "other users' runtimes show as unknown, and their stacks without names" },
	{ CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, false, false, "reading executables that only their owner may read",
	  "runtimes of private executables show as unknown" },
	{ CAP_SYS_ADMIN, NO_OTHER, false, true,
	  "the start only: switching on the kernel's BPF run-time statistics, mounting tracefs, placing uprobes",
	  "the observer's cost shows as unknown, and --edges takes what works without" },
};

const size_t kernel_privileges_n = ARRAY_SIZE(kernel_privileges);

bool kernel_privilege_there(const struct kernel_privilege *p)
{
	return privilege_has(p->cap) || privilege_has(p->or_cap);
}

int kernel_privilege_check(struct fault *f)
{
	char missing[80] = "";
	size_t len = 0, n = 0;

	for (size_t i = 0; i < kernel_privileges_n; i++) {
		const struct kernel_privilege *p = &kernel_privileges[i];

		if (!p->required || kernel_privilege_there(p) || len >= sizeof(missing))
			continue;
		len += (size_t)snprintf(missing + len, sizeof(missing) - len, "%s%s", n++ ? " and " : "",
					privilege_name(p->cap).text);
	}
	if (!n)
		return 0;
	return fault(f, -EPERM, EXIT_IMPOSSIBLE,
		     "%s %s missing; run it as root (sudo loopscope ...), or give it CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE", missing,
		     n > 1 ? "are" : "is");
}

int kernel_privilege_drop(bool places_uprobes, struct fault *f)
{
	int keep[ARRAY_SIZE(kernel_privileges)];
	size_t n = 0;

	for (size_t i = 0; i < kernel_privileges_n; i++) {
		const struct kernel_privilege *p = &kernel_privileges[i];

		if (!p->at_start || places_uprobes)
			keep[n++] = privilege_has(p->cap) ? p->cap : p->or_cap; /* -1, which nobody has, is passed over */
	}
	return privilege_keep(keep, n, f);
}
