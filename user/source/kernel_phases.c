/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_phases.c - see kernel_phases.h. */
#include "source/kernel_phases.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "loopscope.skel.h"
#include "source/kernel_cost.h"
#include "source/kernel_uprobe.h"

_Static_assert(LS_PHASES == LOOP_PHASES_MAX, "both sides count as many");

void kernel_phases_prepare(struct kernel_phases *p, struct loopscope_bpf *skel, bool wanted)
{
	p->wanted = wanted;
	skel->rodata->ls_phases_wanted = wanted;
	bpf_program__set_autoload(skel->progs.ls_up_phase, wanted);
	bpf_program__set_autoload(skel->progs.ls_phase_walk, wanted);
	p->multi = wanted && kernel_uprobe_multi_works();
	kernel_uprobe_prepare(skel->progs.ls_up_phase, p->multi);
}

int kernel_phases_add_process(struct kernel_phases *p, pid_t pid, struct fault *f)
{
	if (!p->wanted)
		return 0;
	if (p->n_processes == PHASED_MAX)
		return fault(f, -ENOSPC, EXIT_FAILED, "--phases: at most %d processes", PHASED_MAX);
	p->processes[p->n_processes++] = (struct phased){ .pid = pid };
	return 0;
}

/* --- what an entry costs -------------------------------------------------------------------------------------------------- */

/* Called for its cost alone; nothing of it may be left out or merged with another. */
static __attribute__((noinline)) void trial(void *arg)
{
	__asm__ volatile("" ::: "memory");
}

static double ns_per_call(void)
{
	return kernel_cost_least_ns(trial, NULL, 50);
}

struct place_of {
	uintptr_t addr;
	uint64_t offset;
};

/* The first object is the program itself. */
static int look_at_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place_of *p = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD && p->addr >= start && p->addr - start < h->p_filesz)
			p->offset = h->p_offset + (p->addr - start);
	}
	return 1;
}

/* We are not observed: what the program does for a thread that is comes on top, and is little beside the breakpoint. */
static void calibrate(struct kernel_phases *p, struct loopscope_bpf *skel)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct place_of here = { .addr = (uintptr_t)trial };
	struct kernel_links own = { .n = 0 };
	double bare = ns_per_call(), with;
	uint64_t cookie = 0;

	dl_iterate_phdr(look_at_program, &here);
	if (fd < 0 || !here.offset)
		return;
	if (!kernel_uprobe_attach(&own, skel->progs.ls_up_phase, p->multi, getpid(), fd, &here.offset, &cookie, 1)) {
		with = ns_per_call();
		p->entry_cost_ns = with > bare ? with - bare : 0;
	}
	kernel_links_let_go(&own);
	kernel_links_wait(&own);
}

/* --- attaching ------------------------------------------------------------------------------------------------------------- */

struct placing {
	struct kernel_phases *p;
	struct loopscope_bpf *skel;
	struct phased *to;
};

static int place(void *arg, int path_fd, const uint64_t *offset, const size_t *which, size_t n)
{
	struct placing *l = arg;
	uint64_t cookie[64];
	unsigned seen = 0;
	int err;

	if (n > ARRAY_SIZE(cookie))
		n = ARRAY_SIZE(cookie);
	for (size_t i = 0; i < n; i++) {
		cookie[i] = which[i];
		seen |= 1u << which[i];
	}
	err = kernel_uprobe_attach(&l->p->links, l->skel->progs.ls_up_phase, l->p->multi, l->to->pid, path_fd, offset, cookie, n);
	if (!err)
		l->to->seen |= seen;
	return err;
}

int kernel_phases_attach(struct kernel_phases *p, struct loopscope_bpf *skel, struct fault *f)
{
	kernel_links_wait(&p->links);
	skel->bss->ls_phases_attached = ++p->generation;
	for (size_t i = 0; i < p->n_processes; i++) {
		struct placing l = { p, skel, &p->processes[i] };
		int n = p->find(p->find_arg, l.to->pid, &l.to->names, place, &l);

		if (n >= 0 || (kill(l.to->pid, 0) && errno == ESRCH)) /* one that has ended is no error */
			continue;
		kernel_phases_detach(p, skel);
		return fault(f, n, EXIT_IMPOSSIBLE, "--phases: probes can't be placed in process %d: %s", l.to->pid, strerror(-n));
	}
	p->attached = true;
	return 0;
}

int kernel_phases_begin(struct kernel_phases *p, struct loopscope_bpf *skel, kernel_phases_fn find, void *arg, struct fault *f)
{
	if (!p->wanted || p->begun)
		return 0;
	p->begun = true;
	p->find = find;
	p->find_arg = arg;
	calibrate(p, skel);
	return kernel_phases_attach(p, skel, f);
}

void kernel_phases_let_go(struct kernel_phases *p, struct loopscope_bpf *skel)
{
	skel->bss->ls_phases_attached = 0;
	p->attached = false;
	kernel_links_let_go(&p->links);
}

void kernel_phases_detach(struct kernel_phases *p, struct loopscope_bpf *skel)
{
	kernel_phases_let_go(p, skel);
	kernel_links_wait(&p->links);
}

/* --- samples ---------------------------------------------------------------------------------------------------------------- */

static const struct phased *process_of(const struct kernel_phases *p, uint32_t pid)
{
	for (size_t i = 0; i < p->n_processes; i++)
		if ((uint32_t)p->processes[i].pid == pid)
			return p->processes[i].names ? &p->processes[i] : NULL;
	return NULL;
}

void kernel_phases_fill(const struct kernel_phases *p, const struct ls_phases *from, uint32_t attached, struct loop_sample *s)
{
	const struct phased *of = process_of(p, s->id.pid);

	if (!of)
		return;
	s->phases_known = attached && from->attached == attached;
	for (; s->n_phases < LOOP_PHASES_MAX && of->names[s->n_phases]; s->n_phases++)
		s->phases[s->n_phases] = (struct loop_phase){
			.name = of->names[s->n_phases],
			.ns = from->sum_ns[s->n_phases],
			.entries = from->entries[s->n_phases],
			.seen = of->seen >> s->n_phases & 1,
		};
}
