/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_check.c - see kernel_check.h. */
#include "source/kernel_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "lib/cleanup.h"
#include "lib/privilege.h"
#include "source/kernel.h"
#include "source/kernel_edges_try.h"
#include "source/kernel_privilege.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define ROOT_PID_NS_INODE 0xEFFFFFFCu /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

static bool kernel_version(unsigned *ret_major, unsigned *ret_minor, struct utsname *ret_uts)
{
	return !uname(ret_uts) && sscanf(ret_uts->release, "%u.%u", ret_major, ret_minor) == 2;
}

static void say(struct check_line *l, enum check_result result, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void say(struct check_line *l, enum check_result result, const char *remedy, const char *fmt, ...)
{
	va_list ap;

	l->result = result;
	va_start(ap, fmt);
	vsnprintf(l->found, sizeof(l->found), fmt, ap);
	va_end(ap);
	snprintf(l->remedy, sizeof(l->remedy), "%s", remedy);
}

static void name_it(struct check_line *l, const char *what)
{
	snprintf(l->what, sizeof(l->what), "%s", what);
}

static void check_version(struct check_line *l)
{
	struct utsname u;
	unsigned major, minor;

	name_it(l, "kernel");
	if (!kernel_version(&major, &minor, &u)) {
		say(l, CHECK_LIMITED, "", "its version can't be told");
		return;
	}
	if (major > 5 || (major == 5 && minor >= 15))
		say(l, CHECK_OK, "", "Linux %s on %s", u.release, u.machine);
	else
		say(l, CHECK_NO, "boot a kernel of 5.15 or later with CONFIG_DEBUG_INFO_BTF",
		    "Linux %s is too old: programs of this kind need 5.15", u.release);
}

static void check_capability(struct check_line *l, const struct kernel_privilege *p)
{
	struct privilege_name name = privilege_name(p->cap);
	char remedy[80];

	snprintf(l->what, sizeof(l->what), "%s", name.text);
	if (kernel_privilege_there(p)) {
		say(l, CHECK_OK, "", "for %s", p->what_for);
		return;
	}
	snprintf(remedy, sizeof(remedy), "run it as root (sudo loopscope ...), or give it %s", name.text);
	say(l, p->required ? CHECK_NO : CHECK_LIMITED, remedy, "missing: %s; it is for %s", p->without,
	    p->what_for);
}

static void check_pid_namespace(struct check_line *l)
{
	struct stat st;

	name_it(l, "PID namespace");
	if (stat("/proc/self/ns/pid", &st))
		say(l, CHECK_LIMITED, "mount /proc", "can't be told: /proc/self/ns/pid is missing");
	else if (st.st_ino == ROOT_PID_NS_INODE)
		say(l, CHECK_OK, "", "the host's");
	else
		say(l, CHECK_NO, "run it in the host's PID namespace (docker run --pid=host, hostPID: true)",
		    "a container's own: the kernel reports the host's PIDs, which mean nothing here");
}

static void check_btf(struct check_line *l)
{
	name_it(l, "type information");
	if (!access(BTF_PATH, R_OK))
		say(l, CHECK_OK, "", BTF_PATH);
	else
		say(l, CHECK_NO, "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, and mount sysfs on /sys",
		    BTF_PATH " can't be read (%s)", strerror(errno));
}

static void check_task_storage(struct check_line *l)
{
	int ok = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL);

	name_it(l, "task storage");
	if (ok == 1)
		say(l, CHECK_OK, "", "maps per task");
	else
		say(l, CHECK_NO, "boot a kernel of 5.15 or later", "this kernel offers no task storage to BPF");
}

static void check_statistics(struct check_line *l)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	name_it(l, "cost statistics");
	if (fd < 0) {
		say(l, CHECK_LIMITED, "give it CAP_SYS_ADMIN", "BPF run-time statistics can't be switched on (%s): cost shows as unknown",
		    strerror(errno));
		return;
	}
	close(fd);
	say(l, CHECK_OK, "", "BPF run-time statistics, used to calibrate");
}

static void check_programs(struct check_line *l)
{
	struct kernel_source_options o = { .only_pids = true };
	struct kernel_source *k = NULL;
	struct fault f = {};

	name_it(l, "programs");
	if (kernel_source_open(&o, &k, &f)) {
		say(l, CHECK_NO, "", "%s", f.text);
		return;
	}
	kernel_source_close(k);
	say(l, CHECK_OK, "", "load, attach and detach: scheduler tracepoints, task iterator");
}

static void check_steal(struct check_line *l)
{
	char line[256] = "";
	FILE *in = fopen("/proc/stat", "re");
	bool ok = in && fgets(line, sizeof(line), in) && !strncmp(line, "cpu ", 4);

	if (in)
		fclose(in);
	name_it(l, "steal");
	if (ok)
		say(l, CHECK_OK, "", "time taken by the hypervisor is reported, from /proc/stat");
	else
		say(l, CHECK_LIMITED, "mount /proc", "/proc/stat can't be read: steal shows as unknown");
}

/* Which kinds of --edges there are here. None of them is necessary. */
static size_t check_edges(struct check_line *lines)
{
	static const enum edge_kind kinds[] = { EDGES_FENTRY, EDGES_TRACEPOINT, EDGES_UPROBE };
	struct btf *kernel = btf__load_vmlinux_btf();
	enum edge_kind best = kernel ? kernel_edges_auto(kernel) : EDGES_SCHED;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct check_line *l = &lines[i];
		struct edges_trial t = {};

		snprintf(l->what, sizeof(l->what), "edges %s", edge_kind_name(kinds[i]));
		if (kernel)
			kernel_edges_try(kinds[i], kernel, &t);
		if (!kernel)
			say(l, CHECK_LIMITED, "", "not tried, because of the above");
		else
			say(l, t.works ? CHECK_OK : CHECK_LIMITED, t.remedy, "%s%s", t.found, kinds[i] == best ? "; what --edges auto takes" : "");
	}
	btf__free(kernel);
	return ARRAY_SIZE(kinds);
}

static bool stands_in_the_way(const struct check_line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lines[i].result == CHECK_NO)
			return true;
	return false;
}

size_t kernel_checks(struct check_line lines[KERNEL_CHECKS_MAX])
{
	static void (*const checks[])(struct check_line *) = {check_version, check_pid_namespace, check_btf};
	static const struct {
		const char *what;
		void (*check)(struct check_line *);
	} trials[] = {{"task storage", check_task_storage}, {"programs", check_programs}};
	size_t n = 0;

	memset(lines, 0, KERNEL_CHECKS_MAX * sizeof(*lines));
	kernel_log_capture();
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i](&lines[n++]);
	for (size_t i = 0; i < kernel_privileges_n; i++)
		check_capability(&lines[n++], &kernel_privileges[i]);
	for (size_t i = 0; i < ARRAY_SIZE(trials); i++, n++) {
		name_it(&lines[n], trials[i].what);
		if (stands_in_the_way(lines, n))
			say(&lines[n], CHECK_NO, "", "not tried, because of the above");
		else
			trials[i].check(&lines[n]);
	}
	n += check_edges(&lines[n]);
	check_statistics(&lines[n++]);
	check_steal(&lines[n++]);
	return n;
}

int kernel_source_check(struct fault *f)
{
	static void (*const checks[])(struct check_line *) = {check_pid_namespace, check_btf};
	struct check_line version = {};
	int err;

	check_version(&version);
	if (version.result == CHECK_NO)
		return fault(f, -ENOTSUP, EXIT_IMPOSSIBLE, "%s; %s", version.found, version.remedy);
	err = kernel_privilege_check(f);
	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct check_line l = {};

		checks[i](&l);
		if (l.result == CHECK_NO)
			return fault(f, -ENOTSUP, EXIT_IMPOSSIBLE, "%s; %s", l.found, l.remedy);
	}
	return 0;
}

/* libbpf has one printer for the whole process; this keeps its last warning. */
static char last_warning[200];

static int capture(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *end;

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(last_warning, sizeof(last_warning), fmt, ap);
	end = strchr(last_warning, '\n');
	if (end)
		*end = '\0';
	return 0;
}

void kernel_log_capture(void)
{
	last_warning[0] = '\0';
	libbpf_set_print(capture);
}

const char *kernel_log_last(void)
{
	return last_warning;
}
