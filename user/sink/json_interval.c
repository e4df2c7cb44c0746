/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_interval.c - the line that ends each interval, also one in which no loop was seen.
 */
#include "sink/json_record.h"
#include "sink/json_value.h"

void json_interval(struct json_writer *w, const struct interval *iv)
{
	json_line_begin(w, "interval");
	json_put_decimal(w, "ts", iv->ts, 6);
	json_put_decimal(w, "interval_s", iv->interval_s, 6);
	json_put_integer(w, "seq", iv->seq);
	json_put_integer(w, "loops", (int64_t)iv->n_loops);
	json_put_integer(w, "asleep", (int64_t)iv->n_asleep);
	json_put_share(w, "steal", iv->steal);
	json_put_count(w, "lost", iv->lost);
	json_put_boolean(w, "last", iv->last);
}
