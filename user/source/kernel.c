/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel.c - see kernel.h: loading, attaching, the walk over observed threads. */
#include "source/kernel.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/wire.h"
#include "lib/cleanup.h"
#include "loopscope.skel.h"
#include "source/kernel_check.h"
#include "source/kernel_cost.h"
#include "source/kernel_sample.h"

/* With at most so many processes, one iterator link each (the kernel then walks only their threads). */
#define MAX_PID_LINKS 16
#define MAX_PROGRAMS 16

struct kernel_source {
	struct loopscope_bpf *skel;
	struct ring_buffer *ended;
	struct bpf_link *links[MAX_PROGRAMS];
	size_t n_links;
	struct bpf_link *walks[MAX_PID_LINKS];
	size_t n_walks;
	bool walk_all; /* walks[0] goes over every thread of the machine */
	struct kernel_cost cost;
	uint64_t counters[LS_NR_COUNTERS]; /* as last read */
	/* for the time of a snapshot */
	kernel_sample_fn fn;
	void *arg;
	int fn_err;
};

/* Kernels before 5.18 don't hand prev_state to sched_switch: see bpf/core_fixes.h. */
static bool switch_has_prev_state(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	while (t && (btf_is_typedef(t) || btf_is_ptr(t)))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) && btf_vlen(t) >= 5; /* with the leading context pointer */
}

static int choose_programs(struct loopscope_bpf *skel, struct fault *f)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has_state;

	if (!btf)
		return fault(f, -errno, EXIT_IMPOSSIBLE,
			     "the kernel's type information (BTF) can't be read: use a kernel built with CONFIG_DEBUG_INFO_BTF");
	has_state = switch_has_prev_state(btf);
	btf__free(btf);
	bpf_program__set_autoload(skel->progs.ls_sched_switch, has_state);
	bpf_program__set_autoload(skel->progs.ls_sched_switch_5_15, !has_state);
	return 0;
}

static int prepare(struct kernel_source *k, const struct kernel_source_options *o, struct fault *f)
{
	int err, cpus = libbpf_num_possible_cpus();

	k->skel = loopscope_bpf__open();
	if (!k->skel)
		return fault(f, -errno, EXIT_FAILED, "the BPF programs can't be opened: %s", strerror(errno));
	err = choose_programs(k->skel, f);
	if (err)
		return err;
	if (cpus > 0)
		bpf_map__set_max_entries(k->skel->maps.ls_cpus, cpus);
	k->skel->rodata->ls_only_targets = o->only_pids || o->n_pids;
	k->skel->rodata->ls_self_tgid = getpid();
	return 0;
}

static int on_ended(void *arg, void *data, size_t size)
{
	struct kernel_source *k = arg;
	struct loop_sample s;

	if (size < sizeof(struct ls_snap) || !k->fn)
		return 0;
	kernel_sample(data, &s);
	k->cost.events_ended += s.events;
	if (!k->fn_err)
		k->fn_err = k->fn(k->arg, &s);
	return 0;
}

/* Runs an iterator program to its end; its output goes to `each`. */
static int walk(struct kernel_source *k, struct bpf_link *link, bool samples)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(link));
	_cleanup_free_ char *buf = NULL;
	size_t have = 0;
	const size_t cap = 64 * 1024;

	if (fd < 0)
		return -errno;
	buf = malloc(cap);
	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, buf + have, cap - have);
		size_t used = 0;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		have += n;
		for (; samples && have - used >= sizeof(struct ls_snap); used += sizeof(struct ls_snap)) {
			struct loop_sample s;
			struct ls_snap snap;

			memcpy(&snap, buf + used, sizeof(snap));
			kernel_sample(&snap, &s);
			k->cost.events_live += s.events;
			if (!k->fn_err)
				k->fn_err = k->fn(k->arg, &s);
		}
		if (!samples)
			used = have;
		memmove(buf, buf + used, have - used);
		have -= used;
	}
}

static struct bpf_link *attach_walk(struct bpf_program *prog, pid_t pid)
{
	LIBBPF_OPTS(bpf_iter_attach_opts, opts);
	union bpf_iter_link_info info = {};

	info.task.pid = pid;
	opts.link_info = &info;
	opts.link_info_len = sizeof(info);
	return bpf_program__attach_iter(prog, pid ? &opts : NULL);
}

/* The kernel can walk one process's threads since f0d74c4da1f0 (6.1); before it, all of them are walked. */
static int add_walk(struct kernel_source *k, pid_t pid)
{
	struct bpf_link *link = NULL;

	if (k->walk_all)
		return 0;
	if (pid && k->n_walks < MAX_PID_LINKS)
		link = attach_walk(k->skel->progs.ls_snapshot, pid);
	if (link) {
		k->walks[k->n_walks++] = link;
		return 0;
	}
	link = attach_walk(k->skel->progs.ls_snapshot, 0);
	if (!link)
		return -errno;
	for (size_t i = 0; i < k->n_walks; i++)
		bpf_link__destroy(k->walks[i]);
	k->walks[0] = link;
	k->n_walks = 1;
	k->walk_all = true;
	return 0;
}

/* Finds what is asleep in an IO wait already. */
static int seed(struct kernel_source *k, pid_t pid)
{
	struct bpf_link *link = attach_walk(k->skel->progs.ls_seed, pid);
	int err;

	if (!link && pid)
		link = attach_walk(k->skel->progs.ls_seed, 0);
	if (!link)
		return -errno;
	err = walk(k, link, false);
	bpf_link__destroy(link);
	return err;
}

static int set_target(struct kernel_source *k, pid_t pid, bool follow)
{
	__u32 key = pid;
	__u8 value = follow;

	return bpf_map__update_elem(k->skel->maps.ls_targets, &key, sizeof(key), &value, sizeof(value), BPF_ANY);
}

int kernel_source_watch(struct kernel_source *k, pid_t pid, bool follow_children, struct fault *f)
{
	int err = set_target(k, pid, follow_children);

	if (!err)
		err = add_walk(k, follow_children ? 0 : pid);
	if (!err)
		err = seed(k, pid);
	if (err)
		return fault(f, err, EXIT_FAILED, "process %d can't be added to those watched: %s", pid, strerror(-err));
	return 0;
}

static int attach_programs(struct kernel_source *k, struct fault *f)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, k->skel->obj) {
		struct bpf_link *link;

		if (k->n_links == MAX_PROGRAMS || !bpf_program__autoload(prog) || bpf_program__expected_attach_type(prog) != BPF_TRACE_RAW_TP)
			continue;
		link = bpf_program__attach(prog);
		if (!link)
			return fault(f, -errno, EXIT_IMPOSSIBLE, "%s can't be attached: %s", bpf_program__name(prog),
				     strerror(errno));
		k->links[k->n_links++] = link;
	}
	return 0;
}

static int start(struct kernel_source *k, const struct kernel_source_options *o, struct fault *f)
{
	int err;

	k->ended = ring_buffer__new(bpf_map__fd(k->skel->maps.ls_ended), on_ended, k, NULL);
	if (!k->ended)
		return fault(f, -errno, EXIT_FAILED, "the ring buffer can't be mapped: %s", strerror(errno));
	for (size_t i = 0; i < o->n_pids; i++) {
		err = set_target(k, o->pids[i], o->follow_children);
		if (err)
			return fault(f, err, EXIT_FAILED, "more than %u processes can't be watched at once",
				     bpf_map__max_entries(k->skel->maps.ls_targets));
	}
	kernel_cost_start(&k->cost);
	err = attach_programs(k, f);
	if (err)
		return err;
	if (o->n_pids && !o->follow_children) {
		for (size_t i = 0; i < o->n_pids && !err; i++)
			err = add_walk(k, o->pids[i]);
	} else if (o->follow_children || !o->only_pids) {
		err = add_walk(k, 0);
	}
	if (!err && (o->n_pids || !o->only_pids))
		err = seed(k, o->n_pids == 1 ? o->pids[0] : 0);
	if (err)
		return fault(f, err, EXIT_IMPOSSIBLE, "the task iterator can't be used: %s", strerror(-err));
	return 0;
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
	kernel_log_capture();
	err = prepare(k, o, f);
	if (!err) {
		err = loopscope_bpf__load(k->skel);
		if (err)
			fault(f, err, EXIT_IMPOSSIBLE, "the kernel refuses the BPF programs (%s): %s; 'loopscope doctor' tells more",
			      strerror(-err), kernel_log_last());
	}
	if (!err)
		err = start(k, o, f);
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
	for (size_t i = 0; i < k->n_links; i++)
		bpf_link__destroy(k->links[i]);
	for (size_t i = 0; i < k->n_walks; i++)
		bpf_link__destroy(k->walks[i]);
	ring_buffer__free(k->ended);
	loopscope_bpf__destroy(k->skel);
	kernel_cost_stop(&k->cost);
	free(k);
}

int kernel_source_snapshot(struct kernel_source *k, kernel_sample_fn fn, void *arg, struct fault *f)
{
	int err = 0;

	k->fn = fn;
	k->arg = arg;
	k->fn_err = 0;
	k->cost.events_live = 0;
	for (size_t i = 0; i < k->n_walks && !err; i++)
		err = walk(k, k->walks[i], true);
	if (!err) {
		int n = ring_buffer__consume(k->ended);

		err = n < 0 ? n : 0;
	}
	k->fn = NULL;
	if (err)
		return fault(f, err, EXIT_FAILED, "the observed threads can't be read: %s", strerror(-err));
	return k->fn_err;
}

int kernel_source_losses(struct kernel_source *k, struct kernel_losses *ret)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t d[LS_NR_COUNTERS] = {};
	_cleanup_free_ uint64_t *v = NULL;

	if (cpus < 0)
		return cpus;
	v = calloc(cpus, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (__u32 i = 0; i < LS_NR_COUNTERS; i++) {
		uint64_t sum = 0;

		if (bpf_map_lookup_elem(bpf_map__fd(k->skel->maps.ls_counters), &i, v))
			return -errno;
		for (int c = 0; c < cpus; c++)
			sum += v[c];
		d[i] = sum - k->counters[i];
		k->counters[i] = sum;
	}
	ret->ended_lost = d[LS_C_RING_FULL];
	ret->not_tracked = d[LS_C_NO_STORAGE];
	ret->torn = d[LS_C_TORN];
	return 0;
}

double kernel_source_event_cost(struct kernel_source *k, enum cost_kind *ret_kind)
{
	return kernel_cost_per_event(&k->cost, ret_kind);
}
