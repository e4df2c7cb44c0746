/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_account_fixture.h - what the tests of the kernel side's state machine share: places, run queues without a quota, a
 * CPU's ring to fill, and the invariants that bpf/account.h promises, as one function that names the first one broken.
 *
 * Times in the examples are milliseconds (MS) so that a sequence can be read; the machine takes nanoseconds.
 */
#ifndef TEST_ACCOUNT_FIXTURE_H
#define TEST_ACCOUNT_FIXTURE_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bpf/account.h"

#define MS 1000000ULL
#define SEC ACCT_SEC

#define NR_READ 0
#define NR_POLL 7
#define NR_FSYNC 74
#define NR_FUTEX 202
#define NR_EPOLL 232

#define HOME_SP 0x7fff0000ULL /* the loop's own wait point; stacks grow down, so a callback's calls are below */

static inline struct acct_place place_io(uint64_t sp, uint32_t nr)
{
	return (struct acct_place){ .sp = sp, .nr = nr, .io_wait = 1, .fd = 3 + (int)((HOME_SP - sp) * 7 & 0xfffff), .nfds = -1, .timeout_ns = LS_NO_TIMEOUT };
}

static inline struct acct_place place_block(uint64_t sp, uint32_t nr)
{
	return (struct acct_place){ .sp = sp, .nr = nr, .fd = -1, .nfds = -1, .timeout_ns = LS_NO_TIMEOUT };
}

static const struct acct_throttle no_quota;

/* The events, short: without quota, ring or missed switches. */
static inline void io_sleep(struct ls_thread *t, uint64_t now, uint64_t sp)
{
	struct acct_place p = place_io(sp, NR_EPOLL);

	acct_sleep(t, now, &p);
}

static inline void io_sleep_for(struct ls_thread *t, uint64_t now, uint64_t timeout_ns)
{
	struct acct_place p = place_io(HOME_SP, NR_EPOLL);

	p.timeout_ns = timeout_ns;
	acct_sleep(t, now, &p);
}

static inline void block(struct ls_thread *t, uint64_t now, uint32_t nr)
{
	struct acct_place p = place_block(HOME_SP - 256, nr);

	acct_sleep(t, now, &p);
}

static inline void preempt(struct ls_thread *t, uint64_t now)
{
	struct acct_place p = place_block(HOME_SP - 256, LS_NR_UNKNOWN);

	acct_preempt(t, now, &p, 0, &no_quota);
}

static inline void wake(struct ls_thread *t, uint64_t now)
{
	acct_wakeup(t, now, 0, &no_quota);
}

static inline void run(struct ls_thread *t, uint64_t now)
{
	acct_run(t, now, NULL, 0, 0);
}

/* A thread whose accounting begins at now, asleep at its wait point. */
static inline struct ls_thread thread_asleep(uint64_t now)
{
	struct ls_thread t = { .home = -1 };

	io_sleep(&t, now, HOME_SP);
	return t;
}

/* ... and on the CPU 10 ms later, after a delay of 1 ms: IDLE 9 ms, WAIT_IO 1 ms. */
static inline struct ls_thread thread_running(uint64_t now)
{
	struct ls_thread t = thread_asleep(now - 10 * MS);

	wake(&t, now - 1 * MS);
	run(&t, now);
	return t;
}

/* Asleep at sp and on the CPU again, from now on for ns. */
static inline void io_visit(struct ls_thread *t, uint64_t now, uint64_t ns, uint64_t sp)
{
	io_sleep(t, now, sp);
	wake(t, now + ns);
	run(t, now + ns);
}

static inline void ring_switch(struct ls_cpu *c, uint64_t now, uint32_t tgid, const char *comm)
{
	char padded[LS_COMM_LEN] __attribute__((aligned(8))) = "";

	snprintf(padded, sizeof(padded), "%s", comm);
	acct_cpu_switch(c, now, tgid, tgid, padded);
}

static inline uint64_t culprit_ns(const struct ls_thread *t, uint32_t tgid, const char *comm)
{
	for (int i = 0; i < LS_CULPRITS; i++)
		if (t->culprits[i].used && t->culprits[i].tgid == tgid && !strcmp(t->culprits[i].comm, comm))
			return t->culprits[i].ns;
	return 0;
}

static inline uint64_t blocked_ns(const struct ls_thread *t, uint32_t nr)
{
	for (int i = 0; i < LS_BLOCKED; i++)
		if (t->blocked[i].used && t->blocked[i].nr == nr)
			return t->blocked[i].ns;
	return 0;
}

static inline uint64_t sum_states(const struct ls_thread *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < LS_NR_STATES; i++)
		sum += t->sum_ns[i];
	return sum;
}

static inline uint64_t sum_blocked(const struct ls_thread *t)
{
	uint64_t sum = t->blocked_other_ns;

	for (int i = 0; i < LS_BLOCKED; i++)
		sum += t->blocked[i].ns;
	return sum;
}

static inline uint64_t sum_culprits(const struct ls_thread *t)
{
	uint64_t sum = t->culprit_other_ns;

	for (int i = 0; i < LS_CULPRITS; i++)
		sum += t->culprits[i].ns;
	return sum;
}

static inline uint64_t sum_wait(const struct ls_thread *t)
{
	return t->sum_ns[LS_WAIT_IO] + t->sum_ns[LS_WAIT_TICK];
}

static inline const char *points_broken(const struct ls_thread *t)
{
	if (t->home < -1 || t->home >= LS_POINTS)
		return "home is out of range";
	if (t->state == LS_NONE ? t->home != -1 : t->home < 0 || !t->points[t->home].count)
		return "home is not a point that was visited";
	for (int i = 0; i < LS_POINTS; i++) {
		const struct ls_point *p = &t->points[i];

		if (p->count && (p->first_ns > p->last_ns || p->last_ns > t->last_ns || p->first_ns < t->birth_ns))
			return "a point was visited outside the thread's time";
		for (int j = 0; p->count && j < i; j++)
			if (t->points[j].count && t->points[j].sp == p->sp && t->points[j].nr == p->nr &&
			    t->points[j].abi == p->abi)
				return "two rows for one place";
	}
	return NULL;
}

/* The first invariant that does not hold after any event, NULL: all do. */
static inline const char *thread_broken(const struct ls_thread *t)
{
	uint64_t in_progress = acct_waiting(t) ? t->last_ns - t->wait_start_ns : 0;

	if (t->state >= LS_NR_STATES || t->state == LS_IO_CPU)
		return "state is out of range";
	if (t->last_ns < t->birth_ns)
		return "last event before birth";
	if (sum_states(t) != t->last_ns - t->birth_ns)
		return "states do not sum to the life";
	if (t->sum_ns[LS_NONE])
		return "time in no state";
	if (sum_blocked(t) != t->sum_ns[LS_TICK_BLOCKED])
		return "blocked rows do not sum to TICK_BLOCKED";
	if (acct_waiting(t) && t->wait_start_ns > t->last_ns)
		return "wait begins in the future";
	if (sum_culprits(t) + in_progress != sum_wait(t))
		return "culprits do not sum to WAIT_*";
	if (t->throttled_ns > sum_wait(t))
		return "throttled for longer than it waited";
	if (t->naive_idle_ns > t->sum_ns[LS_IDLE] + t->sum_ns[LS_WAIT_IO])
		return "naive idle outside its calls";
	if (t->outer_ns > t->sum_ns[LS_TICK_BLOCKED])
		return "outer for longer than blocked";
	return points_broken(t);
}

#define assert_whole(t)                                     \
	do {                                                \
		const char *broken_ = thread_broken(t);     \
                                                            \
		cr_assert(!broken_, "%s", broken_);         \
	} while (0)

#define assert_ns(have, want) cr_assert_eq((uint64_t)(have), (uint64_t)(want), "%s: %llu ns, not %llu", #have, \
					   (unsigned long long)(have), (unsigned long long)(want))

#endif
