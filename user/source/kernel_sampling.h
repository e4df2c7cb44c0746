/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_sampling.h - two samplers.
 * Stacks of long ticks: a perf event of each thread's own CPU time, each KERNEL_SAMPLE_PERIOD_NS of it, on the threads of observed
 * processes only. Threads that they start inherit it. A thread that is idle costs nothing.
 * Loops that never sleep: a look at each CPU, KERNEL_LOOK_HZ times a second, at what is running there.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_SAMPLING_H
#define LOOPSCOPE_SOURCE_KERNEL_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct bpf_program;
struct bpf_link;

#define KERNEL_SAMPLE_PERIOD_NS 2000000
#define KERNEL_LOOK_HZ 97 /* a prime: in step with nothing */
#define KERNEL_SAMPLING_MAX 1024

struct kernel_sampling {
	struct {
		struct bpf_link *link; /* owns the event */
		int event;
		bool of_thread;
	} v[KERNEL_SAMPLING_MAX];
	size_t n;
	bool rests;
	size_t refused; /* threads that could not be sampled: their slow ticks have no CPU stacks */
};

void kernel_sampling_add(struct kernel_sampling *s, struct bpf_program *prog, pid_t pid);
void kernel_sampling_look(struct kernel_sampling *s, struct bpf_program *prog);
/* While no ticks are measured there are no stacks to take: of all threads, those added meanwhile too. */
void kernel_sampling_rest(struct kernel_sampling *s, bool rests);
void kernel_sampling_close(struct kernel_sampling *s);

#endif
