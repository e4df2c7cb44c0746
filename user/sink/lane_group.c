/* SPDX-License-Identifier: BSD-2-Clause */
/* lane_group.c - see lane_group.h. */
#include "sink/lane_group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct lane *lane_owner(const struct lane *lanes, size_t n, const struct lane *l)
{
	return l->parent < n ? &lanes[l->parent] : l;
}

const char *lane_short_name(const struct lane *l)
{
	bool said_above = l->kind == LANE_LOOP && !l->id.pid && strcmp(l->name, l->process) == 0;

	return said_above || !l->name[0] ? lane_kind_name(l->kind) : l->name;
}

static int compare_owners(const struct lane *a, const struct lane *b)
{
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->id.pid != b->id.pid)
		return a->id.pid < b->id.pid ? -1 : 1;
	return strcmp(a->process, b->process);
}

static int compare(const void *x, const void *y)
{
	const struct lane *const *a = x, *const *b = y;
	int order = compare_owners(*a, *b);

	/* All of them lie in one array: of those that belong together, the first is the first. */
	return order ? order : (*a > *b) - (*a < *b);
}

/* ret_leader: for each lane, the first owner of its group, by index. */
static int find_leaders(const struct lane *lanes, size_t n, uint32_t *ret_leader)
{
	_cleanup_free_ const struct lane **sorted = calloc(n, sizeof(const struct lane *));
	const struct lane *leader = NULL;
	size_t owners = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (lane_owner(lanes, n, &lanes[i]) == &lanes[i])
			sorted[owners++] = &lanes[i];
	qsort(sorted, owners, sizeof(const struct lane *), compare);
	for (size_t i = 0; i < owners; i++) {
		if (!leader || compare_owners(leader, sorted[i]))
			leader = sorted[i];
		ret_leader[sorted[i] - lanes] = (uint32_t)(leader - lanes);
	}
	return 0;
}

int lane_groups_new(const struct lane *lanes, size_t n, struct lane_groups *ret)
{
	_cleanup_free_ uint32_t *leader = calloc(n + 1, sizeof(*leader));
	_cleanup_free_ uint32_t *number = calloc(n + 1, sizeof(*number));
	struct lane_groups g = { .of = calloc(n + 1, sizeof(*g.of)), .first = calloc(n + 1, sizeof(*g.first)) };

	if (!leader || !number || !g.of || !g.first || (n && find_leaders(lanes, n, leader))) {
		lane_groups_free(&g);
		return -ENOMEM;
	}
	memset(number, 0xff, n * sizeof(*number));
	for (size_t i = 0; i < n; i++) {
		uint32_t first = leader[lane_owner(lanes, n, &lanes[i]) - lanes];

		if (number[first] == UINT32_MAX) {
			number[first] = (uint32_t)g.n;
			g.first[g.n++] = first;
		}
		g.of[i] = number[first];
	}
	*ret = g;
	return 0;
}

void lane_groups_free(struct lane_groups *g)
{
	free(g->of);
	free(g->first);
	*g = (struct lane_groups){ 0 };
}
