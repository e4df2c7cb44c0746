/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_interval.c - the line that ends each interval, also one in which no loop was seen.
 */
#include "sink/json_record.h"
#include "sink/json_value.h"

json_t *json_interval(const struct interval *iv)
{
	struct json_object o = json_line_new("interval");

	json_put(&o, "ts", json_decimal(iv->ts, 3));
	json_put(&o, "interval_s", json_decimal(iv->interval_s, 6));
	json_put(&o, "seq", json_integer(iv->seq));
	json_put(&o, "loops", json_integer((json_int_t)iv->n_loops));
	json_put(&o, "asleep", json_integer((json_int_t)iv->n_asleep));
	json_put(&o, "steal", json_share(iv->steal));
	json_put(&o, "lost", json_count(iv->lost));
	json_put(&o, "last", json_boolean(iv->last));
	return json_object_take(&o);
}
