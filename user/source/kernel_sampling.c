/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_sampling.c - see kernel_sampling.h. */
#include "source/kernel_sampling.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "lib/cleanup.h"

/* The copies that threads have inherited follow. */
static void switch_event(int event, bool on)
{
	ioctl(event, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static void add(struct kernel_sampling *s, struct bpf_program *prog, struct perf_event_attr *attr, pid_t tid, int cpu)
{
	struct bpf_link *link;
	int fd;

	if (s->n == KERNEL_SAMPLING_MAX) {
		s->refused++;
		return;
	}
	fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		s->refused++;
		return;
	}
	link = bpf_program__attach_perf_event(prog, fd);
	if (!link) {
		close(fd);
		s->refused++;
		return;
	}
	s->v[s->n].link = link;
	s->v[s->n].event = fd;
	s->v[s->n++].of_thread = tid >= 0;
	if (tid >= 0 && s->rests) /* attaching has switched it on */
		switch_event(fd, false);
}

static void add_thread(struct kernel_sampling *s, struct bpf_program *prog, pid_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = KERNEL_SAMPLE_PERIOD_NS,
		.inherit = 1,
	};

	add(s, prog, &attr, tid, -1);
}

void kernel_sampling_look(struct kernel_sampling *s, struct bpf_program *prog)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = KERNEL_LOOK_HZ,
		.freq = 1,
	};
	int cpus = libbpf_num_possible_cpus();

	for (int cpu = 0; cpu < cpus; cpu++) /* one that is offline is refused */
		add(s, prog, &attr, -1, cpu);
}

void kernel_sampling_add(struct kernel_sampling *s, struct bpf_program *prog, pid_t pid)
{
	_cleanup_closedir_ DIR *d = NULL;
	struct dirent *e;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			add_thread(s, prog, (pid_t)atoi(e->d_name));
}

void kernel_sampling_rest(struct kernel_sampling *s, bool rests)
{
	s->rests = rests;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].of_thread)
			switch_event(s->v[i].event, !rests);
}

void kernel_sampling_close(struct kernel_sampling *s)
{
	for (size_t i = 0; i < s->n; i++)
		bpf_link__destroy(s->v[i].link);
	s->n = 0;
}
