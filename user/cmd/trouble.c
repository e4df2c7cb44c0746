/* SPDX-License-Identifier: BSD-2-Clause */
/* trouble.c - see trouble.h. */
#include "cmd/trouble.h"

#include <stdio.h>
#include <string.h>

void trouble_is(struct trouble *t, const struct fault *f)
{
	if (!strcmp(t->told.text, f->text))
		return;
	t->told = *f;
	fault_report(f);
}

void trouble_is_over(struct trouble *t)
{
	if (!t->told.text[0])
		return;
	t->told.text[0] = '\0';
	fprintf(stderr, "loopscope: %s works again\n", t->what);
}
