/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_uprobe.c - see kernel_uprobe.h. */
#include "source/kernel_uprobe.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "lib/cleanup.h"

#define PLACES_MAX 64

/* From include/uapi/linux/bpf.h of 6.6: libbpf 1.1 and the headers that come with it are older. */
#define ATTACH_UPROBE_MULTI 48

struct uprobe_multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, uprobe_flags;
	int32_t pid;
	uint32_t pad;
};

static int link_create(int prog_fd, const char *path, const uint64_t *offset, const uint64_t *cookie, size_t n, pid_t pid)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offset,
		.cookies = (uintptr_t)cookie,
		.cnt = (uint32_t)n,
		.pid = pid,
	};

	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

static int refusal(int prog_fd, pid_t pid)
{
	uint64_t nowhere = 0;
	int fd = link_create(prog_fd, "/", &nowhere, NULL, 1, pid);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* A kernel that knows such links says of a folder that it is no file to probe (EBADF). The first of them took the process for a
 * thread and left all its other threads out; those that don't, refuse a negative PID (EINVAL). */
bool kernel_uprobe_multi_works(void)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = ATTACH_UPROBE_MULTI);
	_cleanup_close_ int prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "ls_trial", "GPL", nothing, ARRAY_SIZE(nothing), &o);

	return prog >= 0 && refusal(prog, 0) == EBADF && refusal(prog, -1) == EINVAL;
}

void kernel_uprobe_prepare(struct bpf_program *prog, bool multi)
{
	if (multi)
		bpf_program__set_expected_attach_type(prog, ATTACH_UPROBE_MULTI);
}

int kernel_uprobe_attach(struct kernel_links *l, const struct bpf_program *prog, bool multi, pid_t pid, int path_fd,
			 const uint64_t *offset, const uint64_t *cookie, size_t n)
{
	char path[64];
	int err = 0;

	/* Leads to the very file, also from another mount namespace, and after it was replaced. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	if (multi)
		return kernel_links_add_fd(l, link_create(bpf_program__fd(prog), path, offset, cookie, n, pid));
	for (size_t i = 0; i < n && !err; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, o, .bpf_cookie = cookie[i]);

		err = kernel_links_add(l, bpf_program__attach_uprobe_opts(prog, pid, path, offset[i], &o));
	}
	return err;
}

/* --- the IO waits ------------------------------------------------------------------------------------------------------- */

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* libc's names, and the number of the call that each makes: an architecture may lack those that others replace. */
static const char *const wait_names[] = { "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect" };
static const uint64_t wait_numbers[] = {
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#else
	SYS_epoll_pwait,
#endif
	SYS_epoll_pwait,
	SYS_epoll_pwait2,
#ifdef SYS_poll
	SYS_poll,
#else
	SYS_ppoll,
#endif
	SYS_ppoll,
#ifdef SYS_select
	SYS_select,
#else
	SYS_pselect6,
#endif
	SYS_pselect6,
};
_Static_assert(ARRAY_SIZE(wait_names) == ARRAY_SIZE(wait_numbers), "a number each");

struct placing {
	struct kernel_links *links;
	const struct bpf_program *prog;
	bool multi;
	pid_t pid;
};

static int place_waits(void *arg, int path_fd, const uint64_t *offset, const size_t *which, size_t n)
{
	const struct placing *p = arg;
	uint64_t cookie[PLACES_MAX];

	if (n > PLACES_MAX)
		n = PLACES_MAX;
	for (size_t i = 0; i < n; i++)
		cookie[i] = wait_numbers[which[i]];
	return kernel_uprobe_attach(p->links, p->prog, p->multi, p->pid, path_fd, offset, cookie, n);
}

int kernel_uprobe_attach_waits(struct kernel_links *l, const struct bpf_program *prog, bool multi, pid_t pid,
			       kernel_find_fn find, void *find_arg)
{
	struct placing p = { .links = l, .prog = prog, .multi = multi, .pid = pid };
	int n = find(find_arg, pid, wait_names, ARRAY_SIZE(wait_names), place_waits, &p);

	return n < 0 ? n : n ? 0 : -ENOENT;
}
