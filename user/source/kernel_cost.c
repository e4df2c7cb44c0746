/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_cost.c - see kernel_cost.h. */
#include "source/kernel_cost.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "lib/cleanup.h"
#include "lib/now.h"

#define BASE_NS 40.0          /* a switch between two threads that nobody observes, statistics included: make bench */
#define EVENT_NS_MAX 2000.0   /* more is a CPU that was taken away in the middle of a run: a hypervisor's, no cost of ours */
#define CALIBRATION_RUNS 2000 /* enough for a mean that is good to a few per cent */
#define CALIBRATION_ROUNDS 10 /* then what there is must do */

static bool admin_keeps_stats_on(void)
{
	_cleanup_fclose_ FILE *in = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");

	return in && fgetc(in) == '1';
}

void kernel_cost_start(struct kernel_cost *c)
{
	c->per_event_ns = NAN;
	c->kind = COST_UNKNOWN;
	c->always_on = admin_keeps_stats_on();
	c->stats_fd = c->always_on ? -1 : bpf_enable_stats(BPF_STATS_RUN_TIME);
}

void kernel_cost_programs(struct kernel_cost *c, const int *fds, size_t n)
{
	for (size_t i = 0; i < n && c->n_progs < KERNEL_COST_PROGRAMS; i++)
		if (fds[i] >= 0)
			c->prog_fds[c->n_progs++] = fds[i];
}

static bool total_run_time(const struct kernel_cost *c, double *ret_ns, double *ret_runs)
{
	double ns = 0, runs = 0;

	for (size_t i = 0; i < c->n_progs; i++) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (bpf_obj_get_info_by_fd(c->prog_fds[i], &info, &len))
			return false;
		ns += (double)info.run_time_ns;
		runs += (double)info.run_cnt;
	}
	*ret_ns = ns - c->ns_before;
	*ret_runs = runs - c->runs_before;
	return true;
}

double kernel_cost_per_event(struct kernel_cost *c, enum cost_kind *ret_kind)
{
	double ns, runs, events = (double)(c->events_live + c->events_ended) - c->events_before;

	if (!c->always_on && !kernel_cost_calibrates(c)) {
		if (c->kind == COST_UNKNOWN && events > 0 && c->idle) { /* they have begun to do something */
			c->rounds = 0;
			kernel_cost_again(c);
		}
		*ret_kind = c->kind;
		return c->per_event_ns;
	}
	if (!total_run_time(c, &ns, &runs))
		ns = runs = 0;
	if (runs > 0 && events > 0) {
		double base = ns / runs < BASE_NS ? ns / runs : BASE_NS;

		c->per_event_ns = base + (ns - base * runs) / events;
		if (c->per_event_ns > EVENT_NS_MAX)
			c->per_event_ns = EVENT_NS_MAX;
		c->kind = c->always_on ? COST_KERNEL : COST_CALIBRATED;
	}
	/* Also where no observed thread did anything: everybody pays meanwhile. */
	c->rounds++;
	if (!c->always_on && ((runs >= CALIBRATION_RUNS && events > 0) || c->rounds >= CALIBRATION_ROUNDS)) {
		c->idle = c->kind == COST_UNKNOWN;
		kernel_cost_stop(c);
	}
	*ret_kind = c->kind;
	return c->per_event_ns;
}

bool kernel_cost_calibrates(const struct kernel_cost *c)
{
	return c->stats_fd > 0;
}

void kernel_cost_stop(struct kernel_cost *c)
{
	if (c->stats_fd > 0)
		close(c->stats_fd);
	c->stats_fd = -1;
}

void kernel_cost_again(struct kernel_cost *c)
{
	double ns, runs;

	if (c->always_on || !total_run_time(c, &ns, &runs))
		return;
	c->ns_before += ns;
	c->runs_before += runs;
	c->events_before = (double)(c->events_live + c->events_ended);
	c->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
}

double kernel_cost_least_ns(void (*call)(void *arg), void *arg, unsigned calls)
{
	double best = INFINITY;

	for (int batch = 0; batch < 8; batch++) {
		uint64_t from = now_ns();

		for (unsigned i = 0; i < calls; i++)
			call(arg);
		best = fmin(best, (double)(now_ns() - from) / calls);
	}
	return best;
}
