/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trouble.h - what a daemon goes on in spite of: said once on standard error when it begins or changes, and once when it is over.
 */
#ifndef LOOPSCOPE_CMD_TROUBLE_H
#define LOOPSCOPE_CMD_TROUBLE_H

#include "lib/fault.h"

struct trouble {
	const char *what;   /* "--textfile": for "... works again" */
	struct fault told; /* text "": all is well */
};

void trouble_is(struct trouble *t, const struct fault *f);
void trouble_is_over(struct trouble *t);

#endif
