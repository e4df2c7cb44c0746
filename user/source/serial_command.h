/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_command.h - lines for a board that speaks the loopscope protocol (targets/PROTOCOL.md, "Host to board").
 *
 * Lines are ASCII and hold no control character but their newline, so that no REPL is ever interrupted.
 */
#ifndef LOOPSCOPE_SOURCE_SERIAL_COMMAND_H
#define LOOPSCOPE_SOURCE_SERIAL_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "lib/fault.h"

#define SERIAL_FILTER_MAX 12          /* ids in one filter */
#define SERIAL_MIN_STEP_MAX_NS (0xFFFFFFFFull * 1000) /* as the line's number reaches */
#define SERIAL_WISHES_SIZE 256
#define SERIAL_PING_SIZE 80

/* What the user wants of the board; the board shows in its SYNC what is in force. */
struct serial_wishes {
	int rate;             /* index into serial_rates, -1: as it is */
	uint64_t min_step_us; /* only steps at least that long; 0: as it is */
	uint16_t ids[SERIAL_FILTER_MAX];
	size_t n_ids;         /* 0: as it is */
};

/* "off", "totals", "runs", "all"; NULL-terminated: fit for OPT_CHOICE. */
extern const char *const serial_rates[];

/* "3,5,7": ids 1 to 65534. -EINVAL with a sentence and EXIT_USAGE; *w is untouched then. */
int serial_wishes_filter(struct serial_wishes *w, const char *list, struct fault *f);
/* The lines for it: their bytes, 0 where nothing is wanted. */
size_t serial_wishes_put(const struct serial_wishes *w, uint8_t out[SERIAL_WISHES_SIZE]);
size_t serial_ping_put(uint16_t nonce, uint8_t out[SERIAL_PING_SIZE]);

#endif
