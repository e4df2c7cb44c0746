/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_talk.h - the words from here to one board: greetings, what the user wants of it, questions for its clock.
 *
 * Only who is known to be there is spoken to: a protocol that was forced at once, one that is recognised when it is.
 * Nothing is sent where only listening was asked for, and nothing that the protocol in use does not know. A byte 03 goes
 * out only in SystemView's hello, and that only where SystemView was forced or recognised. A line that takes no bytes
 * costs a second once; nothing more is sent then until the port is opened anew.
 */
#ifndef LOOPSCOPE_CMD_SERIAL_TALK_H
#define LOOPSCOPE_CMD_SERIAL_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/serial.h"
#include "source/serial_command.h"
#include "source/serial_port.h"

struct serial_talk {
	struct serial_port *port;          /* borrowed */
	const struct serial_wishes *wishes; /* borrowed */
	enum serial_protocol forced;       /* SERIAL_AUTO: none */
	bool mute;                         /* say nothing */

	/* of this opening */
	uint8_t first[2];
	size_t n_first;
	bool greeted, started, greet_due;
	bool deaf; /* the board's line takes no bytes */
	unsigned unanswered, skipped;

	uint16_t nonce;
};

void serial_talk_opened(struct serial_talk *t);
void serial_talk_closing(struct serial_talk *t);
/* Bytes came; they are not decoded yet. */
void serial_talk_heard(struct serial_talk *t, const uint8_t *p, size_t n);
/* They are decoded: p as recognised. */
void serial_talk_answer(struct serial_talk *t, enum serial_protocol p);
/* The board began anew: it has forgotten what was wanted of it. */
void serial_talk_reset(struct serial_talk *t);
void serial_talk_clock_came(struct serial_talk *t);
/* Whether the board would be asked for its clock now; *ret_nonce is the question's, serial_talk_ask() sends it. */
bool serial_talk_may_ask(struct serial_talk *t, enum serial_protocol p, uint16_t *ret_nonce);
void serial_talk_ask(struct serial_talk *t, uint16_t nonce);

#endif
