/* SPDX-License-Identifier: 0BSD */
/*
 * lsagent_send.c - the sending half: the ring's events into frames, SYNC, totals and names once a second, the host's
 * commands. Runs when the program has time (lsa_poll), or out of a timer's interrupt while a step does not end.
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

	lsa_charge(a, a->cfg.clock());
	ticks = a->busy + a->idle + a->isr;
	LSA_UNLOCK(s);
	return ticks;
}

static void begin_frame(struct lsa *a, uint32_t t)
{
	lsw_frame_begin(&a->frame, (uint8_t)a->frames, t, a->cfg.boot);
	a->cursor = t;
	a->frame_at = uptime(a);
}

/* Puts a record that speaks of the moment t, into the next frame where this one is full. */
static void put_at(struct lsa *a, struct lsw_record *r, uint32_t t)
{
	if (!a->frame.len)
		begin_frame(a, t);
	r->dt = (t - a->cursor) & a->mask;
	if (lsw_frame_put(&a->frame, r) == LSW_EROOM) {
		send_frame(a);
		begin_frame(a, t);
		r->dt = 0;
		lsw_frame_put(&a->frame, r);
	}
	a->cursor = t;
}

/* Puts a record that speaks of no moment. */
static void put(struct lsa *a, struct lsw_record *r)
{
	put_at(a, r, a->frame.len ? a->cursor : a->cfg.clock());
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
	put(a, r);
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
		struct lsa_task t = a->cfg.tasks[id - 1];

		LSA_UNLOCK(s);
		r.u.name.kind = t.kind;
		r.u.name.inst = t.inst;
		if (t.name)
			put_name_text(a, &r, t.name);
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
	case LSW_OPEN:
		r.u.open.ran = e->value;
		break;
	case LSW_DROPPED:
		r.u.dropped.total = e->value;
		put(a, &r);
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

/* write may block: is this the moment for it? */
static bool may_write(const struct lsa *a, uint16_t wait_ms)
{
	return !a->cfg.byte_us || (uint32_t)wait_ms * 1000 >= (uint32_t)a->cfg.byte_us * LSW_WIRE_MAX ||
	       ring_used(a) >= a->cfg.ring_len - a->cfg.ring_len / 4u;
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

/* The sums of this moment. The ring is empty but for what interrupts put there since: that is later in the stream than
 * this SYNC, and so must be later in time. False: it is not. */
static bool put_sync(struct lsa *a)
{
	struct lsw_record r = { .type = LSW_SYNC };
	uint32_t s, now;

	make_room(a, SYNC_LEN);
	s = LSA_LOCK();
	if (ring_used(a)) {
		LSA_UNLOCK(s);
		return false;
	}
	now = a->cfg.clock();
	lsa_charge(a, now);
	r.u.sync.busy = a->busy;
	r.u.sync.idle = a->idle;
	r.u.sync.isr = a->isr;
	r.u.sync.dropped = a->dropped;
	LSA_UNLOCK(s);
	r.u.sync.version = LSW_VERSION;
	r.u.sync.bits = a->cfg.bits;
	r.u.sync.rate = a->rate;
	r.u.sync.flags = a->flags;
	r.u.sync.hz = a->cfg.hz;
	r.u.sync.frames = a->frames;
	a->sync_at = r.u.sync.busy + r.u.sync.idle + r.u.sync.isr;
	put_at(a, &r, now);
	return true;
}

static void put_totals(struct lsa *a)
{
	for (uint16_t id = 1; id <= a->n_tasks; id++) {
		struct lsw_record r = { .type = LSW_TOTALS, .id = id };
		uint32_t s = LSA_LOCK();
		struct lsa_task t = a->cfg.tasks[id - 1];

		lsa_charge(a, a->cfg.clock());
		if (a->current == id) /* a step in progress counts for what it has had so far */
			t.busy += a->own;
		LSA_UNLOCK(s);
		if (!t.name)
			continue;
		r.u.totals.runs = t.runs;
		r.u.totals.busy = t.busy;
		r.u.totals.max = t.max;
		put(a, &r);
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
	uint32_t s;

	make_room(a, 11);
	s = LSA_LOCK();
	r.u.time.nonce = a->nonce;
	r.u.time.rx = a->nonce_rx;
	LSA_UNLOCK(s);
	r.u.time.tx = a->cfg.clock();
	put(a, &r);
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

/* A SYNC, and behind it what belongs to it. */
static void once_a_second(struct lsa *a, uint16_t wait_ms)
{
	/* Interrupts that keep the ring from being empty just now get a second chance, not an endless one. */
	for (int tries = 0; tries < 4; tries++) {
		drain(a, wait_ms, true);
		if (put_sync(a))
			break;
	}
	if (a->rate == LSW_RATE_OFF)
		return;
	put_totals(a);
	put_names(a, NAMES_A_SECOND);
}

static void send(struct lsa *a, uint16_t wait_ms, bool hurry)
{
	uint8_t requests = take_requests(a);

	if (a->stopped) {
		a->tail = a->head;
		a->frame.len = 0;
		if (requests & REQUEST_TIME)
			put_time(a);
		return;
	}
	hurry = hurry || requests || wait_ms >= LONG_SLEEP_MS;
	drain(a, wait_ms, hurry);
	if ((requests & REQUEST_SYNC) || uptime(a) - a->sync_at >= a->cfg.hz)
		once_a_second(a, wait_ms);
	if (requests & REQUEST_NAMES) {
		a->next_name = 0;
		put_names(a, (uint16_t)(a->n_tasks + 1));
	}
	if (requests & REQUEST_TIME)
		put_time(a);
	if (a->frame.len && (hurry || (uptime(a) - a->frame_at >= lsa_ticks_of_ms(a, FLUSH_MS) && may_write(a, wait_ms))))
		send_frame(a);
}

/* Takes the right to send, and the time for it on the agent's own account. */
static bool claim(struct lsa *a)
{
	uint32_t s = LSA_LOCK();
	bool mine = !a->sending;

	if (mine) {
		a->sending = true;
		lsa_nest_in(a, a->agent, a->cfg.clock());
	}
	LSA_UNLOCK(s);
	return mine;
}

static void release(struct lsa *a)
{
	uint32_t s = LSA_LOCK();
	uint16_t id;

	lsa_nest_out(a, a->cfg.clock(), &id);
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
	uint32_t s = LSA_LOCK(), now = a->cfg.clock(), ran = (now - a->began) & a->mask;
	bool hog = a->current && a->current != LSA_IDLE && ran >= a->hog, news = false;

	lsa_charge(a, now); /* also keeps the clock from wrapping unseen */
	if (hog && ran >= a->hog_after) {
		if (a->rate >= LSW_RATE_TOTALS)
			lsa_push(a, LSW_OPEN, a->current, now, ran);
		a->hog_after = ran > UINT32_MAX / 2 ? UINT32_MAX : 2 * ran;
		news = true;
	}
	hog = hog && (news || a->busy + a->idle + a->isr - a->sync_at >= a->cfg.hz);
	LSA_UNLOCK(s);
	/* The step does not end, so nobody polls: what is to be seen while it lasts must go out from here. */
	if (hog && claim(a)) {
		send(a, 0, true);
		release(a);
	}
}

/* ---- the host's commands ---- */

static void set_filter(struct lsa *a, const struct lsw_command *c)
{
	for (uint16_t i = 0; i < a->n_tasks; i++) {
		bool pass = c->n_ids == 0;

		for (uint8_t k = 0; k < c->n_ids; k++)
			pass = pass || c->ids[k] == i + 1;
		a->cfg.tasks[i].pass = pass;
	}
}

static void set_flag(struct lsa *a, uint8_t flag, bool on)
{
	a->flags = (uint8_t)(on ? a->flags | flag : a->flags & ~flag);
}

bool lsa_rx(struct lsa *a, uint8_t byte)
{
	struct lsw_command c;
	uint8_t request = REQUEST_SYNC; /* shows that the command arrived */
	uint64_t ticks;
	uint32_t s;
	bool ours;

	if (!lsw_line_feed(&a->line, byte, &c, &ours))
		return ours;
	s = LSA_LOCK();
	switch (c.op) {
	case '+':
		a->stopped = false;
		request |= REQUEST_NAMES;
		break;
	case '-':
		a->stopped = true;
		break;
	case 't':
		a->nonce = (uint16_t)c.value;
		a->nonce_rx = a->cfg.clock();
		request = REQUEST_TIME;
		break;
	case 'n':
		request = REQUEST_NAMES;
		break;
	case 'r':
		a->rate = (uint8_t)c.value;
		break;
	case 'f':
		ticks = (uint64_t)c.value * a->cfg.hz / 1000000;
		a->min_step = ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
		set_flag(a, LSW_FLAG_MIN_STEP, c.value != 0);
		break;
	default:
		set_filter(a, &c);
		set_flag(a, LSW_FLAG_FILTER, c.n_ids != 0);
	}
	a->requests |= request;
	LSA_UNLOCK(s);
	return ours;
}
