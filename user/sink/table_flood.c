/* SPDX-License-Identifier: BSD-2-Clause */
/* table_flood.c - see table_flood.h. */
#include "sink/table_flood.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/cleanup.h"

struct ended {
	uint32_t pid;
	size_t row;
};

/* A process's together, each in the order of the rows. */
static int compare(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static bool came_and_went(const struct loop_record *r)
{
	return r->ended && r->source == SOURCE_KERNEL;
}

static size_t collect(const struct interval *iv, struct ended *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < iv->n_loops; i++)
		if (came_and_went(&iv->loops[i]))
			ret[n++] = (struct ended){ .pid = iv->loops[i].id.pid, .row = i };
	qsort(ret, n, sizeof(*ret), compare);
	return n;
}

/* One process's, n of them: those beyond the first few. */
static void leave_out(struct table_flood *flood, const struct interval *iv, const struct ended *e, size_t n, bool *out)
{
	if (n <= TABLE_ENDED_ROWS)
		return;
	for (size_t i = TABLE_ENDED_ROWS; i < n; i++)
		out[e[i].row] = true;
	n -= TABLE_ENDED_ROWS;
	flood->n_left_out += n;
	flood->n_processes++;
	if (n <= flood->most)
		return;
	flood->most = n;
	flood->of = &iv->loops[e->row];
}

int table_flood_cut(const struct interval *iv, struct table_flood *ret_flood, struct interval *ret)
{
	_cleanup_free_ struct ended *ended = NULL;
	_cleanup_free_ bool *out = NULL;
	size_t n, from = 0;

	*ret_flood = (struct table_flood){ .of = NULL };
	*ret = *iv;
	if (iv->n_loops <= TABLE_ENDED_ROWS)
		return 0;
	ended = calloc(iv->n_loops, sizeof(*ended));
	out = calloc(iv->n_loops, sizeof(*out));
	if (!ended || !out)
		return -ENOMEM;
	n = collect(iv, ended);
	for (size_t i = 1; i <= n; i++) {
		if (i < n && ended[i].pid == ended[from].pid)
			continue;
		leave_out(ret_flood, iv, &ended[from], i - from, out);
		from = i;
	}
	if (!ret_flood->n_left_out)
		return 0;
	ret_flood->loops = calloc(iv->n_loops - ret_flood->n_left_out, sizeof(*ret_flood->loops));
	if (!ret_flood->loops)
		return -ENOMEM;
	ret->loops = ret_flood->loops;
	ret->n_loops = 0;
	for (size_t i = 0; i < iv->n_loops; i++)
		if (!out[i])
			ret_flood->loops[ret->n_loops++] = iv->loops[i];
	return 0;
}

void table_flood_free(struct table_flood *flood)
{
	free(flood->loops);
	flood->loops = NULL;
}
