/* SPDX-License-Identifier: 0BSD */
/*
 * lsagent_send.c - the sending half: the ring's events into frames, SYNC, totals and names once a second. Runs when the
 * program has time (lsa_poll), or out of a timer's interrupt while a step does not end.
 *
 * One context at a time sends: whoever sets `sending` under the lock. It alone moves `tail` and touches the frame.
 */
#include "lsagent.h"
#include "lsagent_private.h"

#define FLUSH_MS 100         /* a frame that is not full is sent after this long */
#define LONG_SLEEP_MS 1000   /* before such a sleep nothing is kept back: PROTOCOL.md, Wrap */
#define NAMES_A_SECOND 2
#define EVENT_MAX 14u        /* bytes of an event's record, its ADVANCE included, NAME excepted */
#define SYNC_LEN 45u
#define TIME_LEN 11u
#define CLOCK_BITS 32       /* what lsa_charge makes of the clock */

/* ---- one frame ---- */

static void send_frame(struct lsa *a)
{
	size_t n = lsw_frame_end(&a->frame);

	a->frame.len = 0;
	if (!n)
		return;
	a->frames++;
	a->cfg.write(a->frame.wire, n);
}

/* Ticks since lsa_init: unlike the clock it does not wrap. */
static uint64_t uptime(struct lsa *a)
{
	uint32_t s = LSA_LOCK();
	uint64_t ticks;

	lsa_charge(a);
	ticks = a->busy + a->idle + a->isr;
	LSA_UNLOCK(s);
	return ticks;
}

static void begin_frame(struct lsa *a, uint32_t t)
{
	lsw_frame_begin(&a->frame, (uint8_t)a->frames, t, a->cfg.boot);
	a->cursor = t;
	a->has_sync = false;
	a->frame_at = uptime(a);
}

/* Puts a record that speaks of the moment t, into the next frame where this one is full. */
static void put_at(struct lsa *a, struct lsw_record *r, uint32_t t)
{
	if (!a->frame.len)
		begin_frame(a, t);
	r->dt = t - a->cursor;
	if (lsw_frame_put(&a->frame, r) == LSW_EROOM) {
		send_frame(a);
		begin_frame(a, t);
		r->dt = 0;
		lsw_frame_put(&a->frame, r);
	}
	a->cursor = t;
}

/* Puts a record that speaks of no moment. If it begins a frame, that begins where the last one ended: what interrupts
 * have put into the ring meanwhile is later than that. */
static void put_still(struct lsa *a, struct lsw_record *r)
{
	put_at(a, r, a->cursor);
}

static void make_room(struct lsa *a, size_t bytes)
{
	if (a->frame.len && lsw_frame_used(&a->frame) + bytes > LSW_RECORDS_MAX)
		send_frame(a);
}

/* ---- what goes into it ---- */

static void put_name_text(struct lsa *a, struct lsw_record *r, const char *text)
{
	size_t n = 0;

	while (n < LSW_NAME_MAX && text[n])
		n++;
	r->type = LSW_NAME;
	r->u.name.len = (uint8_t)n;
	r->u.name.text = (const uint8_t *)text;
	put_still(a, r);
}

/* id 0 is the board. */
static void put_name(struct lsa *a, uint16_t id)
{
	struct lsw_record r = { .id = id };

	if (!id) {
		r.u.name.kind = LSW_KIND_BOARD;
		if (a->cfg.name)
			put_name_text(a, &r, a->cfg.name);
	} else if (id <= a->n_tasks) {
		uint32_t s = LSA_LOCK();
		struct lsa_task task = a->cfg.tasks[id - 1];

		LSA_UNLOCK(s);
		r.u.name.kind = task.kind;
		r.u.name.inst = task.inst;
		if (task.name)
			put_name_text(a, &r, task.name);
	}
}

static void put_event(struct lsa *a, const struct lsa_event *e)
{
	struct lsw_record r = { .type = e->type, .id = e->id };

	switch (e->type) {
	case LSW_NAME:
		put_name(a, e->id);
		return;
	case LSW_RUN:
		r.u.run.dur = e->value;
		break;
	case LSW_IDLE:
		r.id = 0;
		r.u.idle.asked_ms = e->id;
		r.u.idle.slept = e->value;
		break;
	case LSW_MARK:
		r.u.mark.value = (int32_t)e->value;
		break;
	case LSW_DROPPED:
		r.u.dropped.total = e->value;
		put_still(a, &r);
		return;
	default: /* SWITCH, ISR_IN, ISR_OUT, END: id and time are all */
		break;
	}
	put_at(a, &r, e->t);
}

static uint16_t ring_used(const struct lsa *a)
{
	return (uint16_t)(a->head - a->tail);
}

static bool nearly_full(const struct lsa *a)
{
	return ring_used(a) >= a->cfg.ring_len - a->cfg.ring_len / 4u;
}

/* write may block: is this the moment for it? */
static bool may_write(const struct lsa *a, uint16_t wait_ms)
{
	return !a->cfg.byte_us || (uint32_t)wait_ms * 1000 >= (uint32_t)a->cfg.byte_us * LSW_WIRE_MAX || nearly_full(a);
}

/* Empties the ring, as far as frames may be sent. */
static void drain(struct lsa *a, uint16_t wait_ms, bool hurry)
{
	while (ring_used(a)) {
		struct lsa_event e;

		if (a->frame.len && lsw_frame_used(&a->frame) + EVENT_MAX > LSW_RECORDS_MAX) {
			if (!hurry && !may_write(a, wait_ms))
				return;
			send_frame(a);
		}
		e = a->cfg.ring[a->tail & a->ring_mask];
		__asm__ volatile("" : : : "memory"); /* the event is read before its place is given away */
		a->tail++;
		put_event(a, &e);
	}
}

/* Empties the ring and takes the lock with it empty, so that a record of this very moment may follow: what interrupts
 * put into the ring from now on is later. Returns the time, with *ret_s to be given to LSA_UNLOCK; false, without the
 * lock, if interrupts keep filling the ring. */
static bool lock_present(struct lsa *a, size_t room, uint32_t *ret_s, uint32_t *ret_now)
{
	for (int tries = 0; tries < 4; tries++) {
		uint32_t s;

		drain(a, 0, true);
		make_room(a, room);
		s = LSA_LOCK();
		if (!ring_used(a)) {
			*ret_s = s;
			*ret_now = lsa_charge(a);
			return true;
		}
		LSA_UNLOCK(s);
	}
	return false;
}

void lsa_put_sync(struct lsa *a)
{
	struct lsw_record r = { .type = LSW_SYNC };
	uint32_t s, now;

	if (a->frame.len && a->has_sync)
		send_frame(a);
	if (!lock_present(a, SYNC_LEN, &s, &now))
		return;
	r.u.sync.busy = a->busy;
	r.u.sync.idle = a->idle;
	r.u.sync.isr = a->isr;
	r.u.sync.dropped = a->dropped;
	LSA_UNLOCK(s);
	r.u.sync.version = LSW_VERSION;
	r.u.sync.bits = CLOCK_BITS;
	r.u.sync.rate = a->rate;
	r.u.sync.flags = a->flags;
	r.u.sync.hz = a->cfg.hz;
	r.u.sync.frames = a->frames;
	a->sync_at = r.u.sync.busy + r.u.sync.idle + r.u.sync.isr;
	put_at(a, &r, now);
	a->has_sync = true;
}

/* The step that does not end. */
static void put_open(struct lsa *a)
{
	struct lsw_record r = { .type = LSW_OPEN };
	uint32_t s, now;

	if (!lock_present(a, EVENT_MAX, &s, &now))
		return;
	r.id = a->current;
	r.u.open.ran = now - a->began;
	LSA_UNLOCK(s);
	put_at(a, &r, now);
}

static void put_totals(struct lsa *a)
{
	for (uint16_t id = 1; id <= a->n_tasks; id++) {
		struct lsw_record r = { .type = LSW_TOTALS, .id = id };
		uint32_t s = LSA_LOCK();
		struct lsa_task t = a->cfg.tasks[id - 1];

		lsa_charge(a);
		if (a->current == id) /* a step in progress counts for what it has had so far */
			t.busy += a->own;
		LSA_UNLOCK(s);
		if (!t.name)
			continue;
		r.u.totals.runs = t.runs;
		r.u.totals.busy = t.busy;
		r.u.totals.max = t.max;
		put_still(a, &r);
	}
}

static void put_names(struct lsa *a, uint16_t count)
{
	while (count--) {
		put_name(a, a->next_name);
		a->next_name = a->next_name < a->n_tasks ? (uint16_t)(a->next_name + 1) : 0;
	}
}

static void put_time(struct lsa *a)
{
	struct lsw_record r = { .type = LSW_TIME };
	uint32_t s, now;

	if (!lock_present(a, TIME_LEN, &s, &now))
		return;
	r.u.time.nonce = a->nonce;
	r.u.time.rx = a->nonce_rx;
	r.u.time.tx = now;
	/* The host places rx and tx around the cursor, which may be long ago. */
	if (!a->frame.len)
		a->cursor = now;
	LSA_UNLOCK(s);
	put_still(a, &r);
	send_frame(a);
}

/* ---- when ---- */

static uint8_t take_requests(struct lsa *a)
{
	uint32_t s = LSA_LOCK();
	uint8_t requests = a->requests;

	a->requests = 0;
	LSA_UNLOCK(s);
	return requests;
}

static bool is_old(struct lsa *a)
{
	return uptime(a) - a->frame_at >= lsa_ticks_of_ms(a, FLUSH_MS);
}

static void send(struct lsa *a, uint16_t wait_ms, bool hurry)
{
	uint8_t requests = take_requests(a);
	bool second;

	if (a->stopped) {
		a->tail = a->head;
		a->frame.len = 0;
		if (requests & REQUEST_TIME)
			put_time(a);
		return;
	}
	hurry = hurry || requests || wait_ms >= LONG_SLEEP_MS;
	drain(a, wait_ms, hurry);
	second = uptime(a) - a->sync_at >= a->cfg.hz;
	if (second || (requests & REQUEST_SYNC)) {
		lsa_put_sync(a);
		if (a->rate != LSW_RATE_OFF)
			put_totals(a);
	}
	if (requests & REQUEST_NAMES)
		put_names(a, (uint16_t)(a->n_tasks + 1));
	else if (second && a->rate != LSW_RATE_OFF)
		put_names(a, NAMES_A_SECOND);
	if (requests & REQUEST_TIME)
		put_time(a);
	if (a->frame.len && (hurry || (is_old(a) && may_write(a, wait_ms))))
		send_frame(a);
}

/* Takes the right to send, and the time for it on the agent's own account. */
static bool claim(struct lsa *a)
{
	uint32_t s = LSA_LOCK();
	bool mine = !a->sending;

	if (mine) {
		a->sending = true;
		lsa_charge(a);
		lsa_nest_in(a, a->agent);
	}
	LSA_UNLOCK(s);
	return mine;
}

static void release(struct lsa *a)
{
	uint32_t s = LSA_LOCK();
	uint16_t id;

	lsa_charge(a);
	lsa_nest_out(a, &id);
	a->sending = false;
	LSA_UNLOCK(s);
}

void lsa_poll(struct lsa *a, uint16_t wait_ms)
{
	if (!claim(a))
		return;
	send(a, wait_ms, false);
	release(a);
}

void lsa_tick(struct lsa *a)
{
	/* Reading the clock here also keeps it from wrapping unseen. */
	uint32_t s = LSA_LOCK(), ran = lsa_charge(a) - a->began;
	bool hog = a->current && a->current != LSA_IDLE && ran >= a->hog, open = hog && ran >= a->hog_after;
	bool due = open || (hog && (nearly_full(a) || a->busy + a->idle + a->isr - a->sync_at >= a->cfg.hz));

	if (open)
		a->hog_after = ran > UINT32_MAX / 2 ? UINT32_MAX : 2 * ran;
	LSA_UNLOCK(s);
	/* The step does not end, so nobody polls: what is to be seen while it lasts must go out from here. */
	if (due && claim(a)) {
		if (open && !a->stopped && a->rate >= LSW_RATE_TOTALS)
			put_open(a);
		send(a, 0, true);
		release(a);
	}
}
