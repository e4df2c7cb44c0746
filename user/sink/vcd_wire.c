/* SPDX-License-Identifier: BSD-2-Clause */
/* vcd_wire.c - see vcd_wire.h. */
#include "sink/vcd_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "sink/lane_group.h"

#define NAME_SHOWN 128

static enum vcd_role role_of(const struct timeline_span *s)
{
	switch (s->kind) {
	case SPAN_READY:
		return VCD_READY;
	case SPAN_ALIVE:
		return VCD_ALIVE;
	default:
		return VCD_MAIN;
	}
}

int vcd_survey(void *arg, const struct timeline_span *s)
{
	struct vcd_lane *l = &((struct vcd_lane *)arg)[s->lane];

	if (s->kind < SPAN_GAP)
		l->wire[role_of(s)].exists = true;
	if (s->slow)
		l->wire[VCD_SLOW].exists = true;
	return 0;
}

char vcd_value(const struct lane *l, const struct vcd_lane *state, const struct vcd_lane *owner, enum vcd_role role)
{
	if (!state->born || state->gone || state->open[SPAN_GAP] || owner->open[SPAN_GAP])
		return 'x';
	switch (role) {
	case VCD_SLOW:
		return state->open_slow ? '1' : '0';
	case VCD_READY:
		return state->open[SPAN_READY] ? '1' : '0';
	case VCD_ALIVE:
		return state->open[SPAN_ALIVE] ? '1' : '0';
	default:
		break;
	}
	if (l->kind == LANE_MARK)
		return state->high ? '1' : '0';
	if (l->kind == LANE_LOOP)
		return state->open[SPAN_TICK] ? '1' : state->open[SPAN_IO_WAIT] ? '0' : 'x';
	return state->open[SPAN_RUN] || state->open[SPAN_ISR] || state->open[SPAN_IDLE] ? '1' : '0';
}

/* Identifiers are words of printable ASCII, ! to ~: the number in base 94, the lowest digit first. */
static void put_identifier(FILE *out, uint32_t number)
{
	do {
		putc('!' + (int)(number % 94), out);
		number /= 94;
	} while (number);
}

void vcd_put_value(FILE *out, const struct vcd_wire *w, char value)
{
	putc(value, out);
	put_identifier(out, w->number);
	putc('\n', out);
}

void vcd_name(char *dst, size_t size, const char *name)
{
	static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+";
	size_t n = 0;

	for (const char *p = name; *p && p < name + NAME_SHOWN && n + 4 < size; p++) {
		if (strchr(legal, *p))
			dst[n++] = *p;
		else if (*p == ' ' || *p == '.')
			dst[n++] = '_';
		else
			n += (size_t)snprintf(dst + n, 4, "%%%02X", (unsigned char)*p);
	}
	dst[n] = '\0';
}

struct named {
	uint32_t scope, index;
	uint32_t repeats; /* of the same name in the same scope, before this one */
	bool elsewhere;   /* another scope has the same name */
	char *name;       /* owned */
};

static void named_free(struct named *n, size_t count)
{
	for (size_t i = 0; n && i < count; i++)
		free(n[i].name);
	free(n);
}

static int by_index(const void *x, const void *y)
{
	const struct named *a = x, *b = y;

	return (a->index > b->index) - (a->index < b->index);
}

static int by_name(const void *x, const void *y)
{
	const struct named *a = x, *b = y;
	int order = strcmp(a->name, b->name);

	if (!order)
		order = (a->scope > b->scope) - (a->scope < b->scope);
	return order ? order : by_index(x, y);
}

static void compare_names(struct named *n, size_t count)
{
	qsort(n, count, sizeof(*n), by_name);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(n[i].name, n[i - 1].name) != 0)
			continue;
		if (n[i].scope == n[i - 1].scope) {
			n[i].repeats = n[i - 1].repeats + 1;
			n[i].elsewhere = n[i - 1].elsewhere;
		} else {
			n[i].elsewhere = true;
			for (size_t j = i; j-- > 0 && !n[j].elsewhere && strcmp(n[j].name, n[i].name) == 0;)
				n[j].elsewhere = true;
		}
	}
	qsort(n, count, sizeof(*n), by_index);
}

static bool name_scopes(const struct lane *lanes, const struct lane_groups *g, struct named *ret)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct lane *l = &lanes[g->first[i]];
		char name[VCD_NAME_SIZE];

		vcd_name(name, sizeof(name), l->process[0] ? l->process : l->name);
		ret[i].index = i;
		if ((l->id.pid ? asprintf(&ret[i].name, "%s-%u", name, l->id.pid) : asprintf(&ret[i].name, "%s", name)) < 0) {
			ret[i].name = NULL;
			return false;
		}
	}
	compare_names(ret, g->n);
	return true;
}

static bool name_lanes(const struct lane *lanes, size_t n, const struct lane_groups *g, struct named *ret)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct lane *l = &lanes[i];
		char name[VCD_NAME_SIZE], number[16] = "";

		vcd_name(name, sizeof(name), lane_short_name(l));
		if (l->kind == LANE_LOOP && l->id.pid)
			snprintf(number, sizeof(number), "-%u", l->id.tid);
		else if (l->instance)
			snprintf(number, sizeof(number), "-%u", l->instance + 1);
		ret[i].index = i;
		ret[i].scope = g->of[i];
		if (asprintf(&ret[i].name, "%s%s", name, number) < 0) {
			ret[i].name = NULL;
			return false;
		}
	}
	compare_names(ret, n);
	return true;
}

static void put_name(FILE *out, const struct named *n)
{
	fputs(n->name[0] ? n->name : "~", out);
	if (n->repeats)
		fprintf(out, "~%u", n->repeats + 1);
}

static void declare_wires(FILE *out, const struct named *scope, const struct named *name, struct vcd_lane *l, uint32_t *number)
{
	static const char *const suffix[] = { [VCD_MAIN] = "", [VCD_SLOW] = ":slow", [VCD_READY] = ":ready", [VCD_ALIVE] = ":alive" };

	for (enum vcd_role r = 0; r < VCD_ROLES; r++) {
		if (!l->wire[r].exists)
			continue;
		l->wire[r].number = (*number)++;
		fputs("$var wire 1 ", out);
		put_identifier(out, l->wire[r].number);
		putc(' ', out);
		/* PulseView shows names without their scopes. */
		if (name->elsewhere) {
			put_name(out, scope);
			putc('/', out);
		}
		put_name(out, name);
		fprintf(out, "%s $end\n", suffix[r]);
	}
}

static bool has_wires(const struct vcd_lane *l)
{
	bool any = false;

	for (enum vcd_role r = 0; r < VCD_ROLES; r++)
		any |= l->wire[r].exists;
	return any;
}

/* ret_head: the first lane of each group that has wires; ret_next: the one after it. */
static void chain_groups(const struct lane_groups *g, const struct vcd_lane *state, size_t n, uint32_t *ret_head, uint32_t *ret_next)
{
	for (size_t i = 0; i < g->n; i++)
		ret_head[i] = LANE_NONE;
	for (uint32_t i = (uint32_t)n; i-- > 0;) {
		if (!has_wires(&state[i]))
			continue;
		ret_next[i] = ret_head[g->of[i]];
		ret_head[g->of[i]] = i;
	}
}

static void declare_scopes(FILE *out, const struct lane_groups *g, const struct named *scopes, const struct named *names,
			   struct vcd_lane *state, const uint32_t *head, const uint32_t *next)
{
	uint32_t number = 0;

	for (size_t i = 0; i < g->n; i++) {
		if (head[i] == LANE_NONE)
			continue;
		fputs("$scope module ", out);
		put_name(out, &scopes[i]);
		fputs(" $end\n", out);
		for (uint32_t l = head[i]; l != LANE_NONE; l = next[l])
			declare_wires(out, &scopes[i], &names[l], &state[l], &number);
		fputs("$upscope $end\n", out);
	}
}

int vcd_declare(FILE *out, const struct lane *lanes, size_t n, struct vcd_lane *state)
{
	_cleanup_free_ uint32_t *head = calloc(n + 1, sizeof(*head)), *next = calloc(n + 1, sizeof(*next));
	struct named *scopes = calloc(n + 1, sizeof(*scopes)), *names = calloc(n + 1, sizeof(*names));
	struct lane_groups g = { 0 };
	int err = -ENOMEM;

	if (head && next && scopes && names && !lane_groups_new(lanes, n, &g) && name_scopes(lanes, &g, scopes) &&
	    name_lanes(lanes, n, &g, names)) {
		chain_groups(&g, state, n, head, next);
		declare_scopes(out, &g, scopes, names, state, head, next);
		err = 0;
	}
	named_free(scopes, n);
	named_free(names, n);
	lane_groups_free(&g);
	return err;
}
