/* SPDX-License-Identifier: BSD-2-Clause */
/* source_span.c - see source_span.h. */
#include "model/source_span.h"

bool source_span_of_board(const struct board_stretch *b, struct source_span *ret)
{
	static const struct {
		enum lane_kind lane;
		enum span_kind kind;
	} table[] = {
		[EDGE_RUN] = { LANE_TASK, SPAN_RUN },	  [EDGE_ISR] = { LANE_ISR, SPAN_ISR },	   [EDGE_IDLE] = { LANE_IDLE, SPAN_IDLE },
		[EDGE_ALIVE] = { LANE_TASK, SPAN_ALIVE }, [EDGE_READY] = { LANE_TASK, SPAN_READY }, [EDGE_PASS] = { LANE_LOOP, SPAN_TICK },
		[EDGE_MARK] = { LANE_MARK, SPAN_MARK },	  [EDGE_GAP] = { LANE_LOOP, SPAN_GAP },	   [EDGE_RESET] = { LANE_LOOP, SPAN_GAP },
	};
	const struct board_edge *e = b->edge;

	/* What is open comes again when it has ended. */
	if (e->kind == EDGE_HOG || e->open || (unsigned)e->kind >= sizeof(table) / sizeof(table[0]))
		return false;
	*ret = (struct source_span){
		.kind = table[e->kind].kind, .lane = table[e->kind].lane, .number = e->id, .instance = e->instance, .name = e->name,
		.start = e->start, .end = e->end, .net = e->net, .hz = e->hz, .value = e->value, .open = e->open,
		.unsure = !e->clean && e->kind != EDGE_GAP, .new_session = e->kind == EDGE_RESET, .clock = b->clock,
		.arrival_ns = b->arrival_ns,
	};
	if (e->kind != EDGE_MARK && e->kind != EDGE_GAP)
		ret->value = -1;
	if (e->kind != EDGE_RUN && e->kind != EDGE_ISR && e->kind != EDGE_IDLE)
		ret->net = ret->end - ret->start;
	return true;
}
