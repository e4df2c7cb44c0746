/* SPDX-License-Identifier: BSD-2-Clause */
/* tracker.c - see tracker.h. */
#include "model/tracker.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Without memory a loop is not added, rather than the program ended. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/cleanup.h"

#define RECORDS_ROOM 64 /* for so many no memory is given back and asked for again */
#define FORGET_AFTER_ROUNDS 3

struct tracked {
	struct loop_id id; /* key: zeroed before it is filled, padding included */
	struct loop_facts facts;
	struct loop_sample before, now;
	bool has_before, has_facts;
	unsigned round; /* of `now` */
	unsigned first_round;
	UT_hash_handle hh;
};

struct tracker {
	struct tracker_options o;
	struct tracked *loops;
	struct loop_record *records;
	size_t n_records, cap_records;
	unsigned round;
	double wall_ts;
	uint64_t mono_ns, last_mono_ns;
	size_t n_beyond;
	bool any_ended; /* in the last round */
	double event_cost_ns, wait_cost_ns, entry_cost_ns;
	enum cost_kind cost_kind;
};

int tracker_new(const struct tracker_options *o, struct tracker **ret)
{
	struct tracker *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->o = *o;
	if (!t->o.max_loops)
		t->o.max_loops = 65536;
	t->event_cost_ns = NAN;
	*ret = t;
	return 0;
}

static void forget(struct tracker *t, struct tracked *l)
{
	HASH_DEL(t->loops, l);
	free(l->facts.cgroup);
	free(l);
}

void tracker_free(struct tracker *t)
{
	struct tracked *l, *tmp;

	if (!t)
		return;
	HASH_ITER(hh, t->loops, l, tmp)
		forget(t, l);
	free(t->records);
	free(t);
}

/* At the next round's beginning: until then the record of its end refers to it. */
static void forget_ended(struct tracker *t)
{
	struct tracked *l, *tmp;

	if (!t->any_ended)
		return;
	t->any_ended = false;
	HASH_ITER(hh, t->loops, l, tmp)
		if (l->now.ended)
			forget(t, l);
}

/* What the last round needed much less of than one before it. */
static void give_back_room(struct tracker *t)
{
	if (t->cap_records <= RECORDS_ROOM || t->n_records > t->cap_records / 4)
		return;
	free(t->records);
	t->records = NULL;
	t->cap_records = 0;
}

void tracker_begin(struct tracker *t, double wall_ts, uint64_t mono_ns)
{
	forget_ended(t);
	give_back_room(t);
	t->round++;
	t->last_mono_ns = t->mono_ns;
	t->wall_ts = wall_ts;
	t->mono_ns = mono_ns;
	t->n_records = 0;
	t->n_beyond = 0;
}

static struct tracked *find(const struct tracker *t, const struct loop_id *id)
{
	struct loop_id key;
	struct tracked *l;

	memset(&key, 0, sizeof(key));
	key.pid = id->pid;
	key.tid = id->tid;
	key.start_ns = id->start_ns;
	key.generation = id->generation;
	HASH_FIND(hh, t->loops, &key, sizeof(key), l);
	return l;
}

/* A program that is ending has no files mapped any more, and perhaps no control group: what was known of it holds. */
static void keep_known(struct loop_facts *f, struct loop_facts *was)
{
	if (was->runtime_known && !f->runtime_known) {
		f->runtime = was->runtime;
		f->runtime_known = true;
		f->park_is_idle = was->park_is_idle;
	}
	if (f->nspid < 0)
		f->nspid = was->nspid;
	if (!f->cgroup) {
		f->cgroup = was->cgroup;
		was->cgroup = NULL;
	}
}

static void read_facts(struct tracker *t, struct tracked *l, const struct loop_sample *s)
{
	struct loop_facts f = { .nspid = -1, .runtime = "unknown" };

	t->o.facts(t->o.arg, s, &f);
	if (l->has_facts)
		keep_known(&f, &l->facts);
	l->has_facts = true;
	free(l->facts.cgroup);
	l->facts = f;
}

/* Facts change: a program maps its loop's library late, renames itself, is moved to a cgroup. They are read again after 1, 2,
 * 4, 8, ... rounds: soon for what is starting up, seldom for what has been there for long. */
static bool facts_are_due(const struct tracker *t, const struct tracked *l)
{
	unsigned age = t->round - l->first_round;

	return age && !(age & (age - 1));
}

static struct tracked *add(struct tracker *t, const struct loop_sample *s)
{
	struct tracked *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->id.pid = s->id.pid;
	l->id.tid = s->id.tid;
	l->id.start_ns = s->id.start_ns;
	l->id.generation = s->id.generation;
	l->first_round = t->round;
	HASH_ADD(hh, t->loops, id, sizeof(l->id), l);
	if (!l->hh.tbl) {
		free(l);
		return NULL;
	}
	read_facts(t, l, s);
	return l;
}

int tracker_sample(struct tracker *t, const struct loop_sample *s)
{
	struct tracked *l = find(t, &s->id);

	if (!l && HASH_COUNT(t->loops) >= t->o.max_loops) {
		t->n_beyond++;
		return 0;
	}
	if (!l)
		l = add(t, s);
	if (!l)
		return -ENOMEM;
	if (!s->ended && l->round != t->round && facts_are_due(t, l))
		read_facts(t, l, s);
	/* A thread that ends in this round may come twice, from the walk and from its end: the later one holds. */
	if (l->round == t->round && s->now_ns < l->now.now_ns)
		return 0;
	l->now = *s;
	l->round = t->round;
	t->any_ended |= s->ended;
	return 0;
}

int tracker_learn(struct tracker *t, const struct loop_sample *s)
{
	struct tracked *l = find(t, &s->id);

	if (s->ended || (l && l->facts.runtime_known) || (!l && HASH_COUNT(t->loops) >= t->o.max_loops))
		return 0;
	if (l) {
		read_facts(t, l, s);
		return 0;
	}
	l = add(t, s);
	if (!l)
		return -ENOMEM;
	l->round = t->round; /* as if it had been in the last one: kept for the next */
	return 0;
}

static int append(struct tracker *t, const struct loop_record *r)
{
	if (t->n_records == t->cap_records) {
		size_t cap = t->cap_records ? 2 * t->cap_records : RECORDS_ROOM;
		struct loop_record *p = reallocarray(t->records, cap, sizeof(*p));

		if (!p)
			return -ENOMEM;
		t->records = p;
		t->cap_records = cap;
	}
	t->records[t->n_records++] = *r;
	return 0;
}

static int report(struct tracker *t, struct tracked *l, size_t *n_asleep)
{
	enum loop_class class = loop_classify(&l->now, &l->facts);
	struct loop_record r;

	if (class == LOOP_IS_ASLEEP && !t->o.show_asleep && !t->o.show_all) {
		(*n_asleep)++;
		return 0;
	}
	if (class == LOOP_IS_NO_LOOP && !t->o.show_all)
		return 0;
	if (!loop_delta(l->has_before ? &l->before : NULL, &l->now, &l->facts, &r))
		return 0;
	/* The sample's own time: a walk over many threads takes a while, and may itself have waited for a CPU. */
	r.ts = t->wall_ts + (double)(int64_t)(l->now.now_ns - t->mono_ns) / 1e9;
	if (!isnan(t->event_cost_ns)) {
		uint64_t was = l->has_before ? l->before.events : 0;
		uint64_t events = l->now.events > was ? l->now.events - was : 0;

		r.observer_cost = (double)events * t->event_cost_ns / (r.interval_s * 1e9);
		if (r.io_waits > 0)
			r.observer_cost += (double)r.io_waits * t->wait_cost_ns / (r.interval_s * 1e9);
		for (size_t i = 0; i < r.n_phases; i++)
			if (r.phases[i].entries > 0)
				r.observer_cost += (double)r.phases[i].entries * t->entry_cost_ns / (r.interval_s * 1e9);
		r.cost_from = t->cost_kind;
	}
	return append(t, &r);
}

int tracker_end(struct tracker *t, struct interval *ret)
{
	struct tracked *l, *tmp;
	size_t n_asleep = 0;
	int err;

	HASH_ITER(hh, t->loops, l, tmp) {
		if (l->round != t->round) {
			if (t->round - l->round >= FORGET_AFTER_ROUNDS)
				forget(t, l);
			continue;
		}
		/* The first round only sets the start. */
		err = t->round > 1 ? report(t, l, &n_asleep) : 0;
		if (err)
			return err;
		l->before = l->now;
		l->before.tick_hist = l->before.io_hist = NULL; /* the source's, and gone with its next snapshot */
		l->has_before = true;
	}
	*ret = (struct interval){
		.ts = t->wall_ts,
		.mono_ns = t->mono_ns,
		.interval_s = t->round > 1 ? (double)(t->mono_ns - t->last_mono_ns) / 1e9 : 0,
		.seq = t->round > 1 ? t->round - 2 : 0,
		.loops = t->records,
		.n_loops = t->n_records,
		.n_asleep = n_asleep,
		.n_beyond = t->n_beyond,
		.steal = NAN,
		.lost = -1,
	};
	return 0;
}

const struct loop_facts *tracker_facts(const struct tracker *t, const struct loop_id *id)
{
	struct tracked *l = find(t, id);

	return l ? &l->facts : NULL;
}

void tracker_set_event_cost(struct tracker *t, double ns, enum cost_kind kind)
{
	t->event_cost_ns = ns;
	t->cost_kind = kind;
}

void tracker_set_wait_cost(struct tracker *t, double ns)
{
	t->wait_cost_ns = ns;
}

void tracker_set_entry_cost(struct tracker *t, double ns)
{
	t->entry_cost_ns = ns;
}
