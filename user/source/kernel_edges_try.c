/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_edges_try.c - see kernel_edges_try.h. */
#include "source/kernel_edges_try.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "lib/cleanup.h"
#include "lib/privilege.h"
#include "source/kernel_uprobe.h"

#if defined(__x86_64__)
#define TRIAL_FUNCTION "__x64_sys_ppoll"
#else
#define TRIAL_FUNCTION "__arm64_sys_ppoll"
#endif
#define TRACEFS "/sys/kernel/tracing"
#define UPROBE_PMU "/sys/bus/event_source/devices/uprobe/type"

static void works(struct edges_trial *t, const char *found)
{
	t->works = true;
	snprintf(t->found, sizeof(t->found), "%s", found);
	t->remedy[0] = '\0';
}

static void fails(struct edges_trial *t, const char *remedy, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void fails(struct edges_trial *t, const char *remedy, const char *fmt, ...)
{
	va_list ap;

	t->works = false;
	va_start(ap, fmt);
	vsnprintf(t->found, sizeof(t->found), fmt, ap);
	va_end(ap);
	snprintf(t->remedy, sizeof(t->remedy), "%s", remedy);
}

/* fentry is offered by BTF and refused by some platforms only when it is loaded or attached, so a program that does nothing is. */
static int attach_fexit(const struct btf *kernel)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = BPF_TRACE_FEXIT);
	_cleanup_close_ int prog = -1, link = -1;
	int id = btf__find_by_name_kind(kernel, TRIAL_FUNCTION, BTF_KIND_FUNC);

	if (id < 0)
		return -ENOENT;
	o.attach_btf_id = (__u32)id;
	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "ls_trial", "GPL", nothing, ARRAY_SIZE(nothing), &o);
	if (prog >= 0)
		link = bpf_raw_tracepoint_open(NULL, prog);
	return link < 0 ? -errno : 0;
}

static void try_fentry(const struct btf *kernel, struct edges_trial *t)
{
	int err = attach_fexit(kernel);

	if (!err)
		works(t, "costs no other system call anything");
	else
		fails(t, "use --edges auto, which takes what works; fentry needs a kernel built with CONFIG_FUNCTION_TRACER on a platform that lets it",
		      "this kernel refuses fentry (%s)", strerror(-err));
}

static bool tracefs_is_there(void)
{
	/* As an open would be judged: access(2) leaves out capabilities of who is not root. */
	return !eaccess(TRACEFS "/events/syscalls/sys_enter_ppoll/id", R_OK) ||
	       !eaccess("/sys/kernel/debug/tracing/events/syscalls/sys_enter_ppoll/id", R_OK);
}

/* What is mounted from now on is seen by nobody else. In a chroot "/" is mostly no mount of its own, but /sys is. */
static bool keep_mounts_to_ourselves(void)
{
	return !unshare(CLONE_NEWNS) && (!mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) || !mount(NULL, "/sys", NULL, MS_REC | MS_SLAVE, NULL));
}

/* Where tracefs isn't mounted, it is mounted for us alone: in a mount namespace of our own, which ends with us. */
static bool tracefs_make(void)
{
	if (tracefs_is_there())
		return true;
	if (!keep_mounts_to_ourselves())
		return false;
	if (mount("tracefs", TRACEFS, "tracefs", 0, NULL))
		return false;
	return tracefs_is_there();
}

static void try_tracepoint(struct edges_trial *t)
{
	if (tracefs_make())
		works(t, "while attached, each system call of every process is some 15 to 60 ns slower");
	else
		fails(t, "mount -t tracefs tracefs " TRACEFS, "no tracefs can be read here%s",
		      privilege_has(CAP_SYS_ADMIN) ? "" : ", and CAP_SYS_ADMIN is missing to mount one");
}

static void try_uprobe(struct edges_trial *t)
{
	if (kernel_uprobe_multi_works())
		works(t, "entries only, in the C library; one link for all of a process's probes");
	else if (!access(UPROBE_PMU, F_OK))
		works(t, "entries only, in the C library; a link for each probe, which takes longer to let go");
	else
		fails(t, "use a kernel built with CONFIG_UPROBE_EVENTS, or --edges auto", "this kernel has no uprobes");
}

void kernel_edges_try(enum edge_kind kind, const struct btf *kernel, struct edges_trial *ret)
{
	switch (kind) {
	case EDGES_FENTRY:
		try_fentry(kernel, ret);
		break;
	case EDGES_TRACEPOINT:
		try_tracepoint(ret);
		break;
	case EDGES_UPROBE:
		try_uprobe(ret);
		break;
	default:
		works(ret, "waits that do not sleep go unseen");
		break;
	}
}

enum edge_kind kernel_edges_auto(const struct btf *kernel)
{
	static const enum edge_kind best_first[] = { EDGES_FENTRY, EDGES_TRACEPOINT };
	struct edges_trial t;

	for (size_t i = 0; i < ARRAY_SIZE(best_first); i++) {
		kernel_edges_try(best_first[i], kernel, &t);
		if (t.works)
			return best_first[i];
	}
	return EDGES_SCHED;
}
