/* SPDX-License-Identifier: BSD-2-Clause */
/* serial_command.c - see serial_command.h. */
#include "source/serial_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/parse.h"
#include "targets/codec/lswire.h"

_Static_assert(SERIAL_FILTER_MAX == LSW_COMMAND_IDS, "a filter is one line");
_Static_assert(SERIAL_WISHES_SIZE >= 3 * LSW_LINE_MAX && SERIAL_PING_SIZE >= LSW_LINE_MAX, "lines must fit");

const char *const serial_rates[] = {
	[LSW_RATE_OFF] = "off", [LSW_RATE_TOTALS] = "totals", [LSW_RATE_RUNS] = "runs", [LSW_RATE_ALL] = "all", NULL,
};

static int bad_filter(const char *list, struct fault *f)
{
	return fault(f, -EINVAL, EXIT_USAGE,
		     "'%s' is no filter: give the ids of up to %d tasks, from the ID column, as in --filter 3,5", list,
		     SERIAL_FILTER_MAX);
}

int serial_wishes_filter(struct serial_wishes *w, const char *list, struct fault *f)
{
	uint16_t ids[SERIAL_FILTER_MAX];
	const char *p = list;
	size_t n = 0;

	for (;;) {
		size_t len = strcspn(p, ",");
		char number[8];
		uint64_t id;

		if (n == SERIAL_FILTER_MAX || len == 0 || len >= sizeof(number))
			return bad_filter(list, f);
		memcpy(number, p, len);
		number[len] = '\0';
		if (parse_u64(number, 1, 0xFFFE, &id) < 0)
			return bad_filter(list, f);
		ids[n++] = (uint16_t)id;
		if (!p[len])
			break;
		p += len + 1;
	}
	memcpy(w->ids, ids, sizeof(ids[0]) * n);
	w->n_ids = n;
	return 0;
}

/* A command that the codec refuses is left out: none of ours is. */
static size_t put(uint8_t *out, const struct lsw_command *c)
{
	char line[LSW_LINE_MAX];
	int n = lsw_command_put(line, c);

	if (n <= 0)
		return 0;
	memcpy(out, line, (size_t)n);
	return (size_t)n;
}

size_t serial_wishes_put(const struct serial_wishes *w, uint8_t out[SERIAL_WISHES_SIZE])
{
	struct lsw_command filter = { .op = 'i', .n_ids = (uint8_t)w->n_ids };
	size_t n = 0;

	if (w->rate >= 0)
		n += put(out + n, &(struct lsw_command){ .op = 'r', .value = (uint32_t)w->rate });
	if (w->min_step_us)
		n += put(out + n, &(struct lsw_command){ .op = 'f', .value = (uint32_t)w->min_step_us });
	if (w->n_ids) {
		memcpy(filter.ids, w->ids, w->n_ids * sizeof(w->ids[0]));
		n += put(out + n, &filter);
	}
	return n;
}

size_t serial_ping_put(uint16_t nonce, uint8_t out[SERIAL_PING_SIZE])
{
	return put(out, &(struct lsw_command){ .op = 't', .value = nonce });
}
