/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_walk.c - running the task iterators: see kernel_internal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "lib/cleanup.h"
#include "source/kernel_internal.h"

int kernel_walk_link(struct bpf_link *link, kernel_bytes_fn each, void *arg)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(link));
	_cleanup_free_ char *buf = NULL;
	const size_t cap = 64 * 1024;
	size_t have = 0;

	if (fd < 0)
		return -errno;
	buf = malloc(cap);
	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, buf + have, cap - have), used;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		have += (size_t)n;
		used = each(arg, buf, have);
		if (used < 0)
			return (int)used;
		memmove(buf, buf + used, have - (size_t)used);
		have -= (size_t)used;
	}
}

static struct bpf_program *walk_program(struct kernel_source *k, enum kernel_walk which)
{
	switch (which) {
	case WALK_TICKS:
		return k->skel->progs.ls_tick_walk;
	case WALK_PULSE:
		return k->skel->progs.ls_pulse_walk;
	case WALK_PHASES:
		return k->skel->progs.ls_phase_walk;
	default:
		return k->skel->progs.ls_snapshot;
	}
}

int kernel_walk(struct kernel_source *k, enum kernel_walk which, kernel_bytes_fn each, void *arg)
{
	int err = 0;

	for (size_t i = 0; i < k->n_walks && !err; i++)
		if (k->walks[which][i])
			err = kernel_walk_link(k->walks[which][i], each, arg);
	return err;
}

struct bpf_link *kernel_walk_attach(struct bpf_program *prog, pid_t pid)
{
	LIBBPF_OPTS(bpf_iter_attach_opts, opts);
	union bpf_iter_link_info info = {};

	info.task.pid = (__u32)pid;
	opts.link_info = &info;
	opts.link_info_len = sizeof(info);
	return bpf_program__attach_iter(prog, pid ? &opts : NULL);
}

/* One link of each kind of walk that is in use, or none. */
static int attach_all(struct kernel_source *k, pid_t pid, struct bpf_link *ret[N_WALKS])
{
	for (int w = 0; w < N_WALKS; w++) {
		struct bpf_program *prog = walk_program(k, w);

		ret[w] = NULL;
		if (!bpf_program__autoload(prog))
			continue;
		ret[w] = kernel_walk_attach(prog, pid);
		if (!ret[w]) {
			int err = -errno;

			while (--w >= 0)
				bpf_link__destroy(ret[w]);
			return err;
		}
	}
	return 0;
}

/* The kernel can walk one process's threads since f0d74c4da1f0 (6.1); before it, all of them are walked. */
int kernel_walk_add(struct kernel_source *k, pid_t pid)
{
	struct bpf_link *links[N_WALKS] = { NULL };
	int err = -ENOSPC;

	if (k->walk_all)
		return 0;
	if (pid && k->n_walks < MAX_PID_LINKS)
		err = attach_all(k, pid, links);
	if (err) {
		err = attach_all(k, 0, links);
		if (err)
			return err;
		kernel_walk_close(k);
		k->walk_all = true;
	}
	for (int w = 0; w < N_WALKS; w++)
		k->walks[w][k->n_walks] = links[w];
	k->n_walks++;
	return 0;
}

void kernel_walk_close(struct kernel_source *k)
{
	for (int w = 0; w < N_WALKS; w++)
		for (size_t i = 0; i < k->n_walks; i++) {
			bpf_link__destroy(k->walks[w][i]);
			k->walks[w][i] = NULL;
		}
	k->n_walks = 0;
}
