/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - the names under which a record's enums reach JSON and disk.
 *
 * They are part of the output's contract: a name is never changed, only new ones are added. A value outside the
 * enum (a recording written by a newer version, say) is "unknown", never a crash.
 */
#include "model/record.h"

#include "lib/cleanup.h"

static const char *const source_names[] = {
	[SOURCE_KERNEL] = "kernel",
	[SOURCE_RECORDING] = "recording",
	[SOURCE_SERIAL] = "serial",
};

static const char *const cost_names[] = {
	[COST_UNKNOWN] = NULL,
	[COST_CALIBRATED] = "calibrated",
	[COST_KERNEL] = "kernel",
};

static const char *const edge_names[] = {
	[EDGES_SCHED] = "sched",
	[EDGES_TRACEPOINT] = "tracepoint",
	[EDGES_FENTRY] = "fentry",
	[EDGES_UPROBE] = "uprobe",
	[EDGES_BOARD] = "board",
};

/* Casts to unsigned make one comparison refuse negative values too. */
const char *record_source_name(enum record_source s)
{
	return (unsigned)s < ARRAY_SIZE(source_names) ? source_names[s] : "unknown";
}

const char *cost_kind_name(enum cost_kind k)
{
	return (unsigned)k < ARRAY_SIZE(cost_names) ? cost_names[k] : NULL;
}

const char *edge_kind_name(enum edge_kind k)
{
	return (unsigned)k < ARRAY_SIZE(edge_names) ? edge_names[k] : "unknown";
}
