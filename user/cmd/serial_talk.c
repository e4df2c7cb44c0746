/* SPDX-License-Identifier: BSD-2-Clause */
/* serial_talk.c - see serial_talk.h. */
#include "cmd/serial_talk.h"

#include <errno.h>

#define UNANSWERED_MAX 8 /* questions for the clock without an answer: from then on one in UNANSWERED_MAX is sent */

static void say(struct serial_talk *t, const uint8_t *p, size_t n, bool any_byte)
{
	if (n == 0 || t->mute || t->deaf)
		return;
	/* That the port is gone is found by the next read. */
	if (serial_port_write(t->port, p, n, any_byte) == -ETIMEDOUT)
		t->deaf = true;
}

static void greet(struct serial_talk *t, enum serial_protocol p, enum serial_moment when)
{
	uint8_t words[SERIAL_WISHES_SIZE];
	size_t n = serial_greeting(p, when, words);

	say(t, words, n, p == SERIAL_SYSTEMVIEW);
	if (p == SERIAL_LOOPSCOPE && when == SERIAL_OPENED) {
		n = serial_wishes_put(t->wishes, words);
		say(t, words, n, false);
	}
}

void serial_talk_opened(struct serial_talk *t)
{
	t->greeted = t->forced != SERIAL_AUTO;
	t->started = t->greet_due = t->deaf = false;
	t->n_first = 0;
	t->unanswered = t->skipped = 0;
	if (t->greeted)
		greet(t, t->forced, SERIAL_OPENED);
}

void serial_talk_closing(struct serial_talk *t)
{
	if (t->started)
		greet(t, SERIAL_SYSTEMVIEW, SERIAL_CLOSING);
}

void serial_talk_heard(struct serial_talk *t, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n && t->n_first < sizeof(t->first); i++)
		t->first[t->n_first++] = p[i];
}

/* SystemView: its hello waits for ours and for START; one that records already takes START as a wish for its names and a
 * sync, and a hello for rubbish. */
void serial_talk_answer(struct serial_talk *t, enum serial_protocol p)
{
	bool hello = t->n_first == 2 && t->first[0] == 'S' && t->first[1] == 'V';

	if (p == SERIAL_LOOPSCOPE && t->greet_due && !t->greeted)
		greet(t, p, SERIAL_OPENED);
	if (p == SERIAL_LOOPSCOPE && t->greet_due)
		t->greeted = t->greet_due = false;
	if (p == SERIAL_SYSTEMVIEW && !t->started && t->n_first) {
		if (hello && !t->greeted)
			greet(t, p, SERIAL_OPENED);
		greet(t, p, SERIAL_ANSWERED);
		t->greeted = t->started = true;
	}
}

void serial_talk_reset(struct serial_talk *t)
{
	t->greet_due = true;
}

void serial_talk_clock_came(struct serial_talk *t)
{
	t->unanswered = t->skipped = 0;
}

bool serial_talk_may_ask(struct serial_talk *t, enum serial_protocol p, uint16_t *ret_nonce)
{
	if (p != SERIAL_LOOPSCOPE || t->mute || t->deaf)
		return false;
	/* A board that does not answer need not be asked so often. */
	if (t->unanswered >= UNANSWERED_MAX && ++t->skipped % UNANSWERED_MAX)
		return false;
	t->unanswered++;
	*ret_nonce = ++t->nonce;
	return true;
}

void serial_talk_ask(struct serial_talk *t, uint16_t nonce)
{
	uint8_t words[SERIAL_PING_SIZE];
	size_t n = serial_ping_put(nonce, words);

	say(t, words, n, false);
}
