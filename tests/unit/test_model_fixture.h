/* SPDX-License-Identifier: BSD-2-Clause */
/* test_model_fixture.h - samples and facts for the tests of the loop's arithmetic and of the tracker. */
#ifndef TEST_MODEL_FIXTURE_H
#define TEST_MODEL_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "model/loop.h"

#define MODEL_MS 1000000ULL
#define MODEL_SEC 1000000000ULL

static const struct loop_facts plain_facts = { .comm = "prog", .nspid = 7, .runtime = "unknown" };

/* A loop born at 0 that spent these milliseconds in each state, in the order of enum loop_state. */
static inline struct loop_sample sample_ms(uint64_t idle, uint64_t cpu, uint64_t blocked, uint64_t wait_io, uint64_t wait_tick)
{
	return (struct loop_sample){
		.id = { .pid = 100, .tid = 101, .start_ns = 5 },
		.source = SOURCE_KERNEL,
		.edges = EDGES_SCHED,
		.now_ns = (idle + cpu + blocked + wait_io + wait_tick) * MODEL_MS,
		.state_ns = { [LOOP_IDLE] = idle * MODEL_MS,
			      [LOOP_TICK_CPU] = cpu * MODEL_MS,
			      [LOOP_TICK_BLOCKED] = blocked * MODEL_MS,
			      [LOOP_WAIT_IO] = wait_io * MODEL_MS,
			      [LOOP_WAIT_TICK] = wait_tick * MODEL_MS },
		.wait_syscall = "epoll_wait",
		.wait_fd = 4,
		.wait_nfds = -1,
		.wait_repeats = 10,
		.thread = "thread",
	};
}

static inline void sample_blocked(struct loop_sample *s, size_t row, const char *what, uint64_t ms)
{
	snprintf(s->blocked[row].what, sizeof(s->blocked[row].what), "%s", what);
	s->blocked[row].ns = ms * MODEL_MS;
}

static inline void sample_waited(struct loop_sample *s, size_t row, int64_t pid, const char *comm, uint64_t ms)
{
	memset(s->waited[row].comm, 0, sizeof(s->waited[row].comm));
	snprintf(s->waited[row].comm, sizeof(s->waited[row].comm), "%s", comm);
	s->waited[row].pid = pid;
	s->waited[row].ns = ms * MODEL_MS;
}

#define assert_near(have, want) cr_assert(fabs((have) - (want)) <= 1e-9, "%s: %.12f, not %.12f", #have, (double)(have), \
					  (double)(want))

/* What must hold of any record that the arithmetic makes. */
static inline void assert_conserves(const struct loop_record *r)
{
	double parts = r->tick_cpu + r->tick_blocked + r->wait_io + r->wait_tick + r->idle;

	if (!isnan(r->io_cpu))
		parts += r->io_cpu;
	assert_near(parts, 1.0);
	assert_near(r->busy + r->wait + r->idle, 1.0);
	assert_near(r->load, r->busy + r->wait);
	assert_near(r->load, 1 - r->idle);
	assert_near(r->wait, r->wait_io + r->wait_tick);
	cr_assert(r->throttled >= 0 && r->throttled <= r->wait, "throttled %f of %f", r->throttled, r->wait);
	cr_assert(r->tick_cpu >= 0 && r->tick_blocked >= 0 && r->wait_io >= 0 && r->wait_tick >= 0 && r->idle >= 0);
	cr_assert(isnan(r->naive_load) || (r->naive_load >= 0 && r->naive_load <= 1));
}

static inline double blocked_total(const struct loop_record *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->n_blocked_by; i++)
		sum += r->blocked_by[i].share;
	return sum;
}

static inline double waited_total(const struct loop_record *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->n_waited_for; i++)
		sum += r->waited_for[i].share;
	return sum;
}

#endif
