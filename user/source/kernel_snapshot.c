/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_snapshot.c - one snapshot of all observed threads, handed out as samples; and what the kernel side has lost. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "lib/cleanup.h"
#include "source/kernel_internal.h"
#include "source/kernel_sample.h"

#define TORN_TRIES 5
#define TORN_WAIT_NS 2000000

/* phases: NULL where there are none. */
static void deliver(struct kernel_source *k, const struct ls_snap *snap, const struct ls_phases *phases)
{
	struct loop_sample s;

	kernel_sample(snap, &s);
	if (phases)
		kernel_phases_fill(&k->phases, phases, k->skel->bss->ls_phases_attached, &s);
	if (snap->reason == LS_SNAP_LIVE)
		k->cost.events_live += s.events;
	else
		k->cost.events_ended += s.events;
	s.over_budget = k->measuring && !k->edges.attached;
	if (snap->t.edges && snap->t.edges == k->skel->bss->ls_edges)
		s.edges = k->edges.kind;
	if (k->edges.kind != EDGES_SCHED)
		kernel_ticks_fill(&k->ticks, &s);
	if (!k->fn_err)
		k->fn_err = k->fn(k->arg, &s);
}

void kernel_deliver(void *arg, const struct ls_snap *snap)
{
	deliver(arg, snap, NULL);
}

size_t kernel_read_snap(const char *data, size_t n, struct ls_snap *ret, struct ls_phases *ret_phases)
{
	size_t size = sizeof(*ret);

	if (n < size)
		return 0;
	memcpy(ret, data, size);
	if (!ret->phases)
		return size;
	if (n < size + sizeof(*ret_phases))
		return 0;
	memcpy(ret_phases, data + size, sizeof(*ret_phases));
	return size + sizeof(*ret_phases);
}

static ssize_t take_snaps(void *arg, const char *data, size_t n)
{
	size_t used = 0, size;
	struct ls_phases phases;
	struct ls_snap snap;

	for (; (size = kernel_read_snap(data + used, n - used, &snap, &phases)); used += size)
		deliver(arg, &snap, snap.phases ? &phases : NULL);
	return (ssize_t)used;
}

static ssize_t take_ticks(void *arg, const char *data, size_t n)
{
	struct kernel_source *k = arg;
	size_t used = 0;

	for (; n - used >= sizeof(struct ls_tick_snap); used += sizeof(struct ls_tick_snap)) {
		struct ls_tick_snap snap;
		int err;

		memcpy(&snap, data + used, sizeof(snap));
		err = kernel_ticks_take(&k->ticks, &snap, k->skel->data->ls_epoch);
		if (err)
			return err;
	}
	return (ssize_t)used;
}

static uint64_t torn(const struct kernel_source *k)
{
	uint64_t n = 0;

	kernel_counter(k, LS_C_TORN, &n);
	return n;
}

static void wait_a_moment(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = TORN_WAIT_NS }, NULL);
}

/* A walk that found a thread whose sums were being written on a CPU that stood still meanwhile (a virtual one can, for as long as
 * its host has others to run) is made again: who takes the bytes must not mind getting a thread twice. Only what is torn in the
 * last walk is lost. */
static int walk_whole(struct kernel_source *k, enum kernel_walk which, kernel_bytes_fn each)
{
	uint64_t before = torn(k), now;

	for (int tries = 1;; tries++) {
		int err;

		k->cost.events_live = 0;
		err = kernel_walk(k, which, each, k);
		now = torn(k);
		if (err || now == before || tries == TORN_TRIES)
			return err;
		k->torn_mended += now - before;
		before = now;
		wait_a_moment();
	}
}

int kernel_source_snapshot(struct kernel_source *k, kernel_sample_fn fn, void *arg, struct fault *f)
{
	int err = 0;

	k->fn = fn;
	k->arg = arg;
	k->fn_err = 0;
	if (k->edges.kind != EDGES_SCHED) {
		k->skel->data->ls_epoch++;
		kernel_ticks_begin(&k->ticks);
		err = walk_whole(k, WALK_TICKS, take_ticks);
	}
	if (!err)
		err = walk_whole(k, WALK_SNAPSHOT, take_snaps);
	if (!err) {
		int n;

		kernel_ended_hand_out(&k->kept, kernel_deliver, k);
		n = ring_buffer__consume(k->ended);
		err = n < 0 ? n : 0;
	}
	kernel_ticks_end(&k->ticks);
	k->fn = NULL;
	if (err)
		return fault(f, err, EXIT_FAILED, "the observed threads can't be read: %s", strerror(-err));
	return k->fn_err;
}

int kernel_source_look(struct kernel_source *k, kernel_sample_fn fn, void *arg, struct fault *f)
{
	uint64_t counted = k->cost.events_live;
	int err;

	k->fn = fn;
	k->arg = arg;
	k->fn_err = 0;
	err = walk_whole(k, WALK_SNAPSHOT, take_snaps);
	k->cost.events_live = counted;
	k->fn = NULL;
	if (err)
		return fault(f, err, EXIT_FAILED, "the observed threads can't be read: %s", strerror(-err));
	return k->fn_err;
}

/* The sum over the CPUs; unchanged where it can't be read. */
int kernel_counter(const struct kernel_source *k, __u32 which, uint64_t *ret)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *v = NULL;
	uint64_t sum = 0;

	if (cpus < 0)
		return cpus;
	v = calloc((size_t)cpus, sizeof(*v));
	if (!v)
		return -ENOMEM;
	if (bpf_map_lookup_elem(bpf_map__fd(k->skel->maps.ls_counters), &which, v))
		return -errno;
	for (int c = 0; c < cpus; c++)
		sum += v[c];
	*ret = sum;
	return 0;
}

/* How often the kernel has left out one of our programs because it, or for some kinds any, was running on that CPU already, or was
 * preempted there: each time an event was missed. Iterators are not left out. */
static int recursion_misses(const struct kernel_source *k, uint64_t *ret)
{
	struct bpf_program *prog;
	uint64_t sum = 0;

	bpf_object__for_each_program(prog, k->skel->obj) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (bpf_program__fd(prog) < 0)
			continue;
		if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			return -errno;
		sum += info.recursion_misses;
	}
	*ret = sum;
	return 0;
}

int kernel_source_losses(struct kernel_source *k, struct kernel_losses *ret)
{
	uint64_t d[LS_NR_COUNTERS] = {}, missed = 0;
	int err = recursion_misses(k, &missed);

	if (err)
		return err;

	for (__u32 i = 0; i < LS_NR_COUNTERS; i++) {
		uint64_t sum = 0;

		err = kernel_counter(k, i, &sum);
		if (err)
			return err;
		d[i] = sum - k->counters[i];
		k->counters[i] = sum;
	}
	ret->ended_lost = d[LS_C_RING_FULL] + kernel_ended_lost(&k->kept);
	ret->not_tracked = d[LS_C_NO_STORAGE];
	ret->torn = d[LS_C_TORN] - k->torn_mended;
	ret->edges = d[LS_C_EVENTS_LOST];
	ret->slow_ticks = d[LS_C_SLOW_LOST];
	ret->stacks = d[LS_C_STACK_LOST];
	ret->missed = missed - k->missed;
	k->missed = missed;
	k->torn_mended = 0;
	return 0;
}
