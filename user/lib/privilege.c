/* SPDX-License-Identifier: BSD-2-Clause */
/* privilege.c - see privilege.h. libcap-ng keeps the state that it works on per thread. */
#include "lib/privilege.h"

#include <cap-ng.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

bool privilege_has(int cap)
{
	return cap >= 0 && !capng_get_caps_process() && capng_have_capability(CAPNG_EFFECTIVE, (unsigned)cap) == 1;
}

struct privilege_name privilege_name(int cap)
{
	const char *name = cap >= 0 ? capng_capability_to_name((unsigned)cap) : NULL;
	struct privilege_name ret;

	if (!name) {
		snprintf(ret.text, sizeof(ret.text), "capability %d", cap);
		return ret;
	}
	snprintf(ret.text, sizeof(ret.text), "CAP_%s", name);
	for (char *c = ret.text; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return ret;
}

/* Of those that the thread has: asking for more would be refused as a whole. */
static int choose(const int *caps, size_t n)
{
	const capng_type_t everywhere = CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET;
	bool has[64] = {false};

	for (size_t i = 0; i < n; i++)
		if (caps[i] >= 0 && caps[i] < 64)
			has[caps[i]] = capng_have_capability(CAPNG_PERMITTED, (unsigned)caps[i]) == 1;
	capng_clear(CAPNG_SELECT_ALL);
	for (unsigned cap = 0; cap < 64; cap++)
		if (has[cap] && capng_update(CAPNG_ADD, everywhere, cap))
			return -EINVAL;
	return 0;
}

/* The bounding set goes first: taking away from it takes CAP_SETPCAP, which goes next. */
int privilege_keep(const int *caps, size_t n, struct fault *f)
{
	capng_select_t sets = CAPNG_SELECT_CAPS | CAPNG_SELECT_AMBIENT;
	int err;

	if (capng_get_caps_process())
		return fault(f, -EIO, EXIT_FAILED, "the capabilities of this process can't be read; is /proc mounted?");
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) == 1)
		sets = CAPNG_SELECT_ALL;
	err = choose(caps, n);
	if (err || capng_apply(sets))
		return fault(f, err ? err : -EPERM, EXIT_FAILED, "privileges can't be given up; see capabilities(7)");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fault(f, -errno, EXIT_FAILED, "no_new_privs can't be set: %s", strerror(errno));
	return 0;
}
