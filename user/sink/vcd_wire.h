/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vcd_wire.h - the wires of a value change dump: which there are, what they are called, what they are now.
 *
 * A name is made of what is legal everywhere (letters, digits, _ - +): a blank and a point, which divide names, become _, other
 * bytes %XX. Two names of one scope that would be the same are told apart by ~2, ~3, ...; one that several scopes have has the
 * scope's name and a slash in front; what a second wire shows of its lane stands after a colon. None of these signs is in a name,
 * so nothing meets by chance.
 */
#ifndef LOOPSCOPE_SINK_VCD_WIRE_H
#define LOOPSCOPE_SINK_VCD_WIRE_H

#include <stdio.h>

#include "model/recording.h"

#define VCD_NAME_SIZE 512

/* What a wire shows of its lane. */
enum vcd_role {
	VCD_MAIN, /* ticks, steps, interrupts, idle time, marks: what the lane is about */
	VCD_SLOW,
	VCD_READY,
	VCD_ALIVE,
	VCD_ROLES
};

struct vcd_wire {
	uint32_t number;   /* its identifier's; from 0 */
	char shown;        /* 0: nothing yet */
	char now, passed;  /* passed: what it was in between, at this moment; 0: nothing else */
	bool exists, queued;
};

struct vcd_lane {
	struct vcd_wire wire[VCD_ROLES];
	uint16_t open[SPAN_GAP + 1]; /* spans, by kind; saturating */
	uint16_t open_slow;
	bool born, gone, high; /* high: of a mark */
	int64_t first_ns, last_ns; /* when it is known what it does */
	uint32_t below, beside; /* the first lane of this loop's, the next one of the same loop; LANE_NONE: none */
};

/* The wires that the lane's spans need are marked as existing. A timeline_span_fn: arg is an array of struct vcd_lane. */
int vcd_survey(void *arg, const struct timeline_span *s);

/* Numbers the wires and writes their declarations. -ENOMEM; errors of writing stay in out. */
int vcd_declare(FILE *out, const struct lane *lanes, size_t n, struct vcd_lane *state);

/* What the wire should be now. */
char vcd_value(const struct lane *l, const struct vcd_lane *state, const struct vcd_lane *owner, enum vcd_role role);

void vcd_put_value(FILE *out, const struct vcd_wire *w, char value);

/* A hostile name, made legal. */
void vcd_name(char *dst, size_t size, const char *name);

#endif
