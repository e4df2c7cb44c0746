/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_order.c - see observe_order.h. */
#include "cmd/observe_order.h"

#include <errno.h>
#include <stdlib.h>

#include "cmd/observe.h"

const char *const observe_sorts[] = { "load", "busy", "wait", "pid", NULL };

static double sort_key(const struct loop_record *r, int by)
{
	switch (by) {
	case OBSERVE_BY_BUSY:
		return r->busy;
	case OBSERVE_BY_WAIT:
		return r->wait;
	case OBSERVE_BY_PID:
		return -(double)r->id.pid;
	default:
		return r->load;
	}
}

static int compare(const void *a, const void *b, void *by)
{
	const struct loop_record *x = a, *y = b;
	double kx = sort_key(x, *(int *)by), ky = sort_key(y, *(int *)by);

	if (kx != ky)
		return kx < ky ? 1 : -1;
	if (x->id.pid != y->id.pid)
		return x->id.pid < y->id.pid ? -1 : 1;
	return x->id.tid < y->id.tid ? -1 : x->id.tid > y->id.tid;
}

int observe_choose(struct observe_order *x, struct interval *iv, struct fault *f)
{
	struct loop_record *p;
	size_t n = 0;

	if (!iv->n_loops)
		return 0;
	p = reallocarray(x->sorted, iv->n_loops, sizeof(*p));
	if (!p)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	x->sorted = p;
	for (size_t i = 0; i < iv->n_loops; i++)
		if (loop_filter_takes(x->filter, &iv->loops[i]))
			p[n++] = iv->loops[i];
	qsort_r(p, n, sizeof(*p), compare, &x->by);
	iv->n_excluded = iv->n_loops - n;
	iv->loops = p;
	iv->n_loops = n;
	return 0;
}
