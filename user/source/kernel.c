/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel.c - see kernel.h: loading, attaching, handing out samples. */
#include "source/kernel.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "lib/cleanup.h"
#include "lib/now.h"
#include "source/kernel_check.h"
#include "source/kernel_internal.h"
#include "source/kernel_sample.h"

#define BATCH 32768 /* records taken at once */
#define BATCH_FULL (-ECANCELED)
#define STREAM_BYTES (1u << 24) /* a second and more of 200,000 turns a second */

/* Kernels before 5.18 don't hand prev_state to sched_switch: see bpf/core_fixes.h. */
static bool switch_has_prev_state(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	while (t && (btf_is_typedef(t) || btf_is_ptr(t)))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) && btf_vlen(t) >= 5; /* with the leading context pointer */
}

static int choose_programs(struct kernel_source *k, bool only, struct fault *f)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has_state;
	int err;

	if (!btf)
		return fault(f, -errno, EXIT_IMPOSSIBLE,
			     "the kernel's type information (BTF) can't be read: use a kernel built with CONFIG_DEBUG_INFO_BTF");
	has_state = switch_has_prev_state(btf);
	bpf_program__set_autoload(k->skel->progs.ls_sched_switch, has_state);
	bpf_program__set_autoload(k->skel->progs.ls_sched_switch_5_15, !has_state);
	k->edges.find = k->o.find;
	k->edges.find_arg = k->o.arg;
	kernel_phases_prepare(&k->phases, k->skel, only && k->o.phases);
	err = kernel_edges_prepare(&k->edges, k->skel, btf, only ? k->o.edges : CHOOSE_SCHED, f);
	btf__free(btf);
	return err;
}

/* Maps that only measured edges need shrink to what the kernel accepts where there are none. */
static void size_maps(struct kernel_source *k)
{
	if (k->edges.kind != EDGES_SCHED) {
		if (k->o.stream)
			bpf_map__set_max_entries(k->skel->maps.ls_events, STREAM_BYTES);
		return;
	}
	bpf_map__set_max_entries(k->skel->maps.ls_events, (__u32)sysconf(_SC_PAGESIZE));
	bpf_map__set_max_entries(k->skel->maps.ls_stacks, 1);
}

static int prepare(struct kernel_source *k, struct fault *f)
{
	int err, cpus = libbpf_num_possible_cpus();
	bool only = k->o.only_pids || k->o.n_pids;

	k->skel = loopscope_bpf__open();
	if (!k->skel)
		return fault(f, -errno, EXIT_FAILED, "the BPF programs can't be opened: %s", strerror(errno));
	err = choose_programs(k, only, f);
	if (err)
		return err;
	if (cpus > 0)
		bpf_map__set_max_entries(k->skel->maps.ls_cpus, (__u32)cpus);
	size_maps(k);
	k->skel->rodata->ls_only_targets = only;
	k->skel->rodata->ls_self_tgid = (__u32)getpid();
	k->skel->rodata->ls_measure = k->edges.kind != EDGES_SCHED;
	k->skel->rodata->ls_stream = k->o.stream;
	k->skel->rodata->ls_stream_mark = STREAM_BYTES / 4;
	k->skel->rodata->ls_slow_ns = k->edges.kind == EDGES_SCHED ? 0 : k->o.slow_ns;
	return 0;
}

static int on_ended(void *arg, void *data, size_t size)
{
	struct kernel_source *k = arg;

	if (size >= sizeof(struct ls_snap) && k->fn)
		kernel_deliver(k, data);
	else if (size >= sizeof(struct ls_snap))
		kernel_ended_keep(&k->kept, data);
	return 0;
}

/* A full batch ends the call: what comes in as fast as it is taken must not hold up everything else. */
static int on_event(void *arg, void *data, size_t size)
{
	struct kernel_source *k = arg;
	__u32 type = size >= sizeof(type) ? *(const __u32 *)data : 0;
	int err = 0;

	if (type == LS_EV_SLOW && size >= sizeof(struct ls_slow))
		err = kernel_ticks_slow(&k->ticks, data);
	else if (type > LS_EV_SLOW && type <= LS_EV_LOOP_STOP && size >= sizeof(struct ls_turn))
		err = kernel_stream_turn(&k->stream, data);
	if (!err && ++k->taken >= BATCH)
		return BATCH_FULL;
	return err;
}

static ssize_t no_bytes(void *arg, const char *data, size_t n)
{
	return (ssize_t)n;
}

/* Finds what is asleep in an IO wait already. */
static int seed(struct kernel_source *k, pid_t pid)
{
	struct bpf_link *link = kernel_walk_attach(k->skel->progs.ls_seed, pid);
	int err;

	if (!link && pid)
		link = kernel_walk_attach(k->skel->progs.ls_seed, 0);
	if (!link)
		return -errno;
	err = kernel_walk_link(link, no_bytes, NULL);
	bpf_link__destroy(link);
	return err;
}

static int set_target(struct kernel_source *k, pid_t pid, bool follow)
{
	__u32 key = (__u32)pid;
	__u8 value = follow;

	return bpf_map__update_elem(k->skel->maps.ls_targets, &key, sizeof(key), &value, sizeof(value), BPF_ANY);
}

int kernel_source_watch(struct kernel_source *k, pid_t pid, bool follow_children, struct fault *f)
{
	int err = set_target(k, pid, follow_children);

	if (!err)
		err = kernel_walk_add(k, follow_children ? 0 : pid);
	if (!err)
		err = seed(k, pid);
	if (!err)
		err = kernel_edges_add_process(&k->edges, k->skel, pid, f);
	if (!err && k->edges.kind != EDGES_SCHED)
		kernel_sampling_add(&k->sampling, k->skel->progs.ls_sample, pid);
	if (err)
		return fault(f, err, EXIT_FAILED, "process %d can't be added to those watched: %s", pid, strerror(-err));
	return 0;
}

static int attach_programs(struct kernel_source *k, struct fault *f)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, k->skel->obj) {
		struct bpf_link *link;

		if (!bpf_program__autoload(prog) || bpf_program__expected_attach_type(prog) != BPF_TRACE_RAW_TP)
			continue;
		if (k->n_links == MAX_PROGRAMS) /* never silently without one */
			return fault(f, -E2BIG, EXIT_FAILED, "more than %d programs to attach: raise MAX_PROGRAMS", MAX_PROGRAMS);
		link = bpf_program__attach(prog);
		if (!link)
			return fault(f, -errno, EXIT_IMPOSSIBLE, "%s can't be attached: %s", bpf_program__name(prog),
				     strerror(errno));
		k->links[k->n_links++] = link;
	}
	return 0;
}

static int open_rings(struct kernel_source *k, struct fault *f)
{
	k->ended = ring_buffer__new(bpf_map__fd(k->skel->maps.ls_ended), on_ended, k, NULL);
	k->events = ring_buffer__new(bpf_map__fd(k->skel->maps.ls_events), on_event, k, NULL);
	if (!k->ended || !k->events)
		return fault(f, -errno, EXIT_FAILED, "the ring buffers can't be mapped: %s", strerror(errno));
	return 0;
}

/* Those to watch from the start: their threads are walked, and what is asleep already is found. */
static int begin_watching(struct kernel_source *k, const struct kernel_source_options *o, struct fault *f)
{
	int err = 0;

	if (o->n_pids && !o->follow_children) {
		for (size_t i = 0; i < o->n_pids && !err; i++)
			err = kernel_walk_add(k, o->pids[i]);
	} else if (o->follow_children || !o->only_pids) {
		err = kernel_walk_add(k, 0);
	}
	if (!err && (o->n_pids || !o->only_pids))
		err = seed(k, o->n_pids == 1 ? o->pids[0] : 0);
	if (err)
		return fault(f, err, EXIT_IMPOSSIBLE, "the task iterator can't be used: %s", strerror(-err));
	for (size_t i = 0; i < o->n_pids && !err; i++) {
		err = kernel_edges_add_process(&k->edges, k->skel, o->pids[i], f);
		if (!err && k->edges.kind != EDGES_SCHED)
			kernel_sampling_add(&k->sampling, k->skel->progs.ls_sample, o->pids[i]);
		if (!err)
			err = kernel_phases_add_process(&k->phases, o->pids[i], f);
	}
	return err;
}

static int start(struct kernel_source *k, const struct kernel_source_options *o, struct fault *f)
{
	int err = open_rings(k, f);

	if (err)
		return err;
	k->ticks.slow = o->slow;
	k->ticks.arg = o->arg;
	k->stream.fn = o->turn;
	k->stream.arg = o->arg;
	k->ticks.histograms = o->histograms;
	k->ticks.stacks_fd = bpf_map__fd(k->skel->maps.ls_stacks);
	for (size_t i = 0; i < o->n_pids; i++) {
		err = set_target(k, o->pids[i], o->follow_children);
		if (err)
			return fault(f, err, EXIT_FAILED, "more than %u processes can't be watched at once",
				     bpf_map__max_entries(k->skel->maps.ls_targets));
	}
	kernel_cost_start(&k->cost);
	err = attach_programs(k, f);
	if (!err)
		kernel_sampling_look(&k->sampling, k->skel->progs.ls_look);
	if (!err)
		err = begin_watching(k, o, f);
	return err;
}

static ssize_t count_events(void *arg, const char *data, size_t n)
{
	struct kernel_source *k = arg;
	size_t used = 0, size;
	struct ls_phases phases;
	struct ls_snap snap;

	for (; (size = kernel_read_snap(data + used, n - used, &snap, &phases)); used += size)
		k->cost.events_live += snap.t.events;
	return (ssize_t)used;
}

static int walk_events(struct kernel_source *k)
{
	k->cost.events_live = 0;
	return kernel_walk(k, WALK_SNAPSHOT, count_events, k);
}

bool kernel_source_calibrates(const struct kernel_source *k)
{
	return kernel_cost_calibrates(&k->cost);
}

bool kernel_source_calibrate(struct kernel_source *k)
{
	enum cost_kind kind;

	if (!kernel_cost_calibrates(&k->cost))
		return false;
	if (!walk_events(k))
		kernel_cost_per_event(&k->cost, &kind);
	return kernel_cost_calibrates(&k->cost);
}

static bool begins_edges(const struct kernel_source *k)
{
	return k->edges.kind != EDGES_SCHED && !k->measuring;
}

bool kernel_source_begins_to_measure(const struct kernel_source *k)
{
	return begins_edges(k) || (k->phases.wanted && !k->phases.begun);
}

/* What a wait's edges cost is measured without the statistics, whose own cost is as much. */
int kernel_source_measure(struct kernel_source *k, struct fault *f)
{
	bool calibrates = kernel_cost_calibrates(&k->cost);
	int err = 0;

	if (!kernel_source_begins_to_measure(k))
		return 0;
	kernel_cost_stop(&k->cost);
	if (begins_edges(k)) {
		k->measuring = true;
		kernel_edges_calibrate(&k->edges, k->skel);
		err = kernel_edges_attach(&k->edges, k->skel, f);
	}
	if (!err)
		err = kernel_phases_begin(&k->phases, k->skel, k->o.find_phases, k->o.arg, f);
	if (!err && calibrates && !walk_events(k))
		kernel_cost_again(&k->cost);
	return err;
}

int kernel_source_open(const struct kernel_source_options *o, struct kernel_source **ret, struct fault *f)
{
	struct kernel_source *k;
	int err = kernel_source_check(f);

	if (err)
		return err;
	k = calloc(1, sizeof(*k));
	if (!k)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	k->o = *o;
	kernel_log_capture();
	err = prepare(k, f);
	if (!err) {
		err = loopscope_bpf__load(k->skel);
		if (err)
			fault(f, err, EXIT_IMPOSSIBLE, "the kernel refuses the BPF programs (%s): %s; 'loopscope doctor' tells more",
			      strerror(-err), kernel_log_last());
	}
	if (!err)
		err = start(k, o, f);
	k->o.pids = NULL;
	if (err) {
		kernel_source_close(k);
		return err;
	}
	kernel_cost_programs(&k->cost, (int[]){ bpf_program__fd(k->skel->progs.ls_sched_switch),
						bpf_program__fd(k->skel->progs.ls_sched_switch_5_15),
						bpf_program__fd(k->skel->progs.ls_sched_wakeup) }, 3);
	*ret = k;
	return 0;
}

void kernel_source_close(struct kernel_source *k)
{
	if (!k)
		return;
	if (k->skel)
		kernel_edges_detach(&k->edges, k->skel);
	if (k->skel)
		kernel_phases_detach(&k->phases, k->skel);
	kernel_sampling_close(&k->sampling);
	for (size_t i = 0; i < k->n_links; i++)
		bpf_link__destroy(k->links[i]);
	kernel_walk_close(k);
	ring_buffer__free(k->ended);
	kernel_ended_free(&k->kept);
	ring_buffer__free(k->events);
	kernel_ticks_free(&k->ticks);
	kernel_stream_free(&k->stream);
	kernel_budget_free(&k->budget);
	kernel_budget_free(&k->phase_budget);
	loopscope_bpf__destroy(k->skel);
	kernel_cost_stop(&k->cost);
	free(k);
}

int kernel_source_take_ended(struct kernel_source *k, struct fault *f)
{
	int n = ring_buffer__consume(k->ended);

	return n < 0 ? fault(f, n, EXIT_FAILED, "the threads that ended can't be read: %s", strerror(-n)) : 0;
}

int kernel_source_fd(struct kernel_source *k)
{
	return k->edges.kind == EDGES_SCHED ? -1 : ring_buffer__epoll_fd(k->events);
}

int kernel_source_poll(struct kernel_source *k, struct fault *f)
{
	int n;

	k->taken = 0;
	n = ring_buffer__consume(k->events);
	return n < 0 && n != BATCH_FULL ? fault(f, n, EXIT_FAILED, "the events can't be read: %s", strerror(-n)) : 0;
}

bool kernel_source_measures(const struct kernel_source *k)
{
	return k->edges.kind != EDGES_SCHED;
}

static ssize_t take_pulses(void *arg, const char *data, size_t n)
{
	struct kernel_source *k = arg;
	size_t used = 0;

	while (n - used >= sizeof(struct ls_pulse)) {
		struct ls_pulse pulse;
		struct ls_slow slow;
		size_t size = sizeof(pulse);
		int err;

		memcpy(&pulse, data + used, sizeof(pulse));
		if (pulse.stalled)
			size += sizeof(slow);
		if (n - used < size)
			break;
		kernel_budget_pulse(&k->budget, &pulse, k->edges.wait_cost_ns);
		if (k->o.stream) {
			err = kernel_stream_pulse(&k->stream, &pulse, k->draining);
			if (err)
				return err;
		}
		if (pulse.stalled) {
			memcpy(&slow, data + used + sizeof(pulse), sizeof(slow));
			err = kernel_ticks_slow(&k->ticks, &slow);
			if (err)
				return err;
		}
		used += size;
	}
	return (ssize_t)used;
}

static ssize_t take_entries(void *arg, const char *data, size_t n)
{
	struct kernel_source *k = arg;
	struct ls_pulse pulse;
	size_t used = 0;

	for (; n - used >= sizeof(pulse); used += sizeof(pulse)) {
		memcpy(&pulse, data + used, sizeof(pulse));
		kernel_budget_pulse(&k->phase_budget, &pulse, k->phases.entry_cost_ns);
	}
	return (ssize_t)used;
}

static int pulse_phases(struct kernel_source *k, struct fault *f)
{
	int err;

	if (!k->phases.begun)
		return 0;
	kernel_budget_begin(&k->phase_budget, k->o.budget, now_ns());
	err = kernel_walk(k, WALK_PHASES, take_entries, k);
	if (err)
		return fault(f, err, EXIT_FAILED, "the observed threads can't be read: %s", strerror(-err));
	switch (kernel_budget_end(&k->phase_budget, k->phases.attached)) {
	case BUDGET_LET_GO:
		kernel_phases_let_go(&k->phases, k->skel);
		return 0;
	case BUDGET_TRY_AGAIN:
		return kernel_phases_attach(&k->phases, k->skel, f);
	default:
		return 0;
	}
}

int kernel_source_pulse(struct kernel_source *k, struct fault *f)
{
	int err = pulse_phases(k, f);

	if (err || !k->measuring)
		return err;
	kernel_budget_begin(&k->budget, k->o.budget, now_ns());
	err = kernel_walk(k, WALK_PULSE, take_pulses, k);
	kernel_stream_pulsed(&k->stream);
	if (err)
		return fault(f, err, EXIT_FAILED, "the observed threads can't be read: %s", strerror(-err));
	switch (kernel_budget_end(&k->budget, k->edges.attached)) {
	case BUDGET_LET_GO:
		kernel_edges_let_go(&k->edges, k->skel);
		kernel_sampling_rest(&k->sampling, true);
		return 0;
	case BUDGET_TRY_AGAIN:
		kernel_sampling_rest(&k->sampling, false);
		return kernel_edges_attach(&k->edges, k->skel, f);
	default:
		return 0;
	}
}

int kernel_source_drain(struct kernel_source *k, struct fault *f)
{
	struct kernel_losses lost;
	int err = 0;

	if (k->o.stream)
		k->skel->bss->ls_edges = 0;
	do
		err = kernel_source_poll(k, f);
	while (!err && k->taken >= BATCH);
	if (err || !k->o.stream || !k->measuring)
		return err;
	k->draining = true;
	err = kernel_walk(k, WALK_PULSE, take_pulses, k);
	if (!err)
		err = kernel_source_losses(k, &lost);
	if (!err)
		err = kernel_stream_rest(&k->stream, k->counters[LS_C_EVENTS_LOST], now_ns());
	return err ? fault(f, err, EXIT_FAILED, "the observed threads can't be read: %s", strerror(-err)) : 0;
}

double kernel_source_event_cost(struct kernel_source *k, enum cost_kind *ret_kind)
{
	return kernel_cost_per_event(&k->cost, ret_kind);
}

double kernel_source_entry_cost(const struct kernel_source *k)
{
	return k->phases.attached ? k->phases.entry_cost_ns : 0;
}

double kernel_source_wait_cost(const struct kernel_source *k)
{
	return k->edges.attached ? k->edges.wait_cost_ns : 0;
}
