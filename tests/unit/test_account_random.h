/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_account_random.h - events as data, so that they can be invented, dropped, doubled and reordered before the state
 * machine sees them, and the machine's surroundings: the CPUs' rings. Everything follows from a seed.
 */
#ifndef TEST_ACCOUNT_RANDOM_H
#define TEST_ACCOUNT_RANDOM_H

#include <stdbool.h>

#include "test_account_fixture.h"

#define CPUS 3

enum event_kind { EV_SLEEP, EV_PREEMPT, EV_WAKE, EV_RUN, EV_RING, EV_EXEC, EV_MISSED, N_EVENT_KINDS };

struct event {
	enum event_kind kind;
	uint64_t at;
	struct acct_place place;
	struct acct_throttle thr; /* of PREEMPT, WAKE */
	uint64_t clock;           /* of RUN */
	uint32_t cpu;             /* of PREEMPT, WAKE: where it waits; of RING */
	uint32_t tgid;            /* of RING */
	bool no_ring;             /* of RUN: the ring is not known */
	__u64 queued_ns;          /* of RUN */
};

struct world {
	struct ls_thread t;
	struct ls_cpu cpus[CPUS];
};

/* splitmix64: any seed will do, neighbours too. */
static inline uint64_t next_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline uint64_t below(uint64_t *seed, uint64_t n)
{
	return next_random(seed) % n;
}

static inline bool chance(uint64_t *seed, unsigned percent)
{
	return below(seed, 100) < percent;
}

/* Short times are as likely as long ones. */
static inline uint64_t random_ns(uint64_t *seed, uint64_t max)
{
	uint64_t limit = max >> below(seed, 24);

	return limit ? below(seed, limit) : 0;
}

/* The ring that the BPF programs would hand in: of the CPU on which the thread waits. */
static inline const struct ls_cpu *world_ring(const struct world *w)
{
	return w->t.wait_cpu < CPUS ? &w->cpus[w->t.wait_cpu] : NULL;
}

static inline void world_event(struct world *w, const struct event *e)
{
	char comm[16];

	switch (e->kind) {
	case EV_SLEEP:
		acct_sleep(&w->t, e->at, &e->place);
		break;
	case EV_PREEMPT:
		acct_preempt(&w->t, e->at, &e->place, e->cpu, &e->thr);
		break;
	case EV_WAKE:
		acct_wakeup(&w->t, e->at, e->cpu, &e->thr);
		break;
	case EV_RUN:
		acct_run(&w->t, e->at, e->no_ring ? NULL : world_ring(w), e->clock, e->queued_ns);
		break;
	case EV_RING:
		snprintf(comm, sizeof(comm), "hog-%u", e->tgid);
		ring_switch(&w->cpus[e->cpu], e->at, e->tgid, comm);
		break;
	case EV_EXEC:
		acct_restart(&w->t);
		break;
	case EV_MISSED: /* as the snapshot repairs a thread that it finds on a CPU */
		if (w->t.state != LS_NONE && !acct_on_cpu(&w->t))
			acct_missed_run(&w->t, e->at, world_ring(w), e->place.ran_ns, e->place.delay_ns);
		break;
	case N_EVENT_KINDS:
		break;
	}
}

/* --- events without sense: any place, any time, any clock --- */

static inline struct acct_place random_place(uint64_t *seed)
{
	static const uint32_t nrs[] = { NR_READ, NR_POLL, NR_FSYNC, NR_FUTEX, NR_EPOLL, 23, 35, 61, 270, 271, 281, 441,
					LS_NR_PAGE_FAULT, LS_NR_STOPPED, LS_NR_UNKNOWN };
	static const uint64_t extremes[] = { 0, 1, ~0ULL, ~0ULL - 511, 1ULL << 63, HOME_SP };
	struct acct_place p = {
		.sp = chance(seed, 3) ? extremes[below(seed, 6)] : HOME_SP - 2048 + 512 * below(seed, 8),
		.nr = nrs[below(seed, sizeof(nrs) / sizeof(nrs[0]))],
		.abi = chance(seed, 5),
		.io_wait = chance(seed, 50),
		.fd = (int32_t)next_random(seed),
		.nfds = (int32_t)next_random(seed),
		.timeout_ns = LS_NO_TIMEOUT,
	};

	if (chance(seed, 40))
		p.timeout_ns = chance(seed, 10) ? next_random(seed) : random_ns(seed, SEC);
	if (chance(seed, 50))
		p.ran_ns = chance(seed, 5) ? next_random(seed) : random_ns(seed, SEC);
	if (chance(seed, 50))
		p.delay_ns = chance(seed, 5) ? next_random(seed) : random_ns(seed, 10 * SEC);
	return p;
}

/* Mostly forward, by nanoseconds to minutes; sometimes not at all, or back. */
static inline uint64_t random_time(uint64_t *seed, uint64_t now)
{
	uint64_t kind = below(seed, 100);

	if (kind < 8)
		return now;
	if (kind < 16)
		return now - random_ns(seed, now < SEC ? now : SEC);
	if (kind < 18)
		return below(seed, now + 1);
	if (kind < 20)
		return now + random_ns(seed, 200 * SEC);
	return now + random_ns(seed, 100 * MS);
}

static inline uint64_t random_clock(uint64_t *seed, uint64_t now)
{
	return chance(seed, 5) ? next_random(seed) : now / 3 + random_ns(seed, SEC);
}

static inline struct event random_event(uint64_t *seed, uint64_t now)
{
	/* Exec is rare, so that there is a life to account for. */
	static const enum event_kind kinds[] = { EV_SLEEP, EV_SLEEP, EV_SLEEP, EV_PREEMPT, EV_PREEMPT, EV_WAKE, EV_WAKE,
						 EV_WAKE,  EV_RUN,   EV_RUN,   EV_RUN,     EV_RING,    EV_RING, EV_MISSED };
	struct event e = {
		.kind = below(seed, 2000) ? kinds[below(seed, sizeof(kinds) / sizeof(kinds[0]))] : EV_EXEC,
		.at = random_time(seed, now),
		.place = random_place(seed),
		.clock = random_clock(seed, now),
		.cpu = (uint32_t)below(seed, CPUS),
		.tgid = (uint32_t)below(seed, 20),
		.no_ring = chance(seed, 10),
		.queued_ns = chance(seed, 3) ? 0 : chance(seed, 5) ? next_random(seed) : random_ns(seed, SEC),
	};

	if (chance(seed, 30))
		e.thr = (struct acct_throttle){ .ref = 1 + below(seed, 2), .clock = random_clock(seed, now) };
	return e;
}

/* --- what is checked --- */

/* What must never shrink from one moment to a later one. NULL: nothing has. */
static inline const char *thread_shrank(const struct ls_thread *was, const struct ls_thread *is)
{
	if (is->generation != was->generation || was->state == LS_NONE)
		return is->generation < was->generation ? "fewer execs" : NULL;
	/* In its first seconds a thread may turn out to have been found inside a callback: what was slept in the nested wait and
	 * in its own then change places, once. */
	if (is->home != was->home && is->last_ns - is->birth_ns < ACCT_DOUBT_NS)
		return is->sum_ns[LS_IDLE] + is->sum_ns[LS_TICK_BLOCKED] < was->sum_ns[LS_IDLE] + was->sum_ns[LS_TICK_BLOCKED] ?
			       "asleep" :
			       NULL;
	for (int i = 0; i < LS_NR_STATES; i++)
		if (is->sum_ns[i] < was->sum_ns[i])
			return "a state's sum";
	for (int i = 0; i < LS_BLOCKED; i++)
		if (is->blocked[i].ns < was->blocked[i].ns ||
		    (was->blocked[i].used && (is->blocked[i].nr != was->blocked[i].nr || is->blocked[i].abi != was->blocked[i].abi)))
			return "a blocked row";
	if (is->last_ns < was->last_ns || is->birth_ns != was->birth_ns)
		return "time";
	if (is->throttled_ns < was->throttled_ns || is->naive_idle_ns < was->naive_idle_ns || is->outer_ns < was->outer_ns)
		return "throttled, naive idle or outer";
	if (is->blocked_other_ns < was->blocked_other_ns || is->culprit_other_ns < was->culprit_other_ns)
		return "other";
	if (sum_culprits(is) < sum_culprits(was))
		return "culprits";
	if (is->io_sleeps < was->io_sleeps || is->events < was->events || is->lost < was->lost || is->repaired < was->repaired)
		return "a count";
	return NULL;
}

#endif
