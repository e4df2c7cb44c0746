/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.c - one process's identity, cgroup and fds; stolen time. Formats: proc(5), proc_stat(5), cgroups(7).
 */
#include "registry/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/cleanup.h"
#include "registry/proc_file.h"

int proc_file_read(char *buf, size_t size, const char *fmt, ...)
{
	char path[64];
	va_list ap;
	size_t len = 0;
	_cleanup_close_ int fd = -1;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (len < size - 1) {
		ssize_t n = read(fd, buf + len, size - 1 - len);

		if (n < 0)
			return -errno; /* ESRCH where the process ended meanwhile */
		if (n == 0)
			break;
		len += (size_t)n;
	}
	buf[len] = '\0';
	return (int)len;
}

int proc_stat_parse(const char *stat, struct proc_stat *ret)
{
	const char *after = strrchr(stat, ')'); /* comm may hold anything, also " )" */
	struct proc_stat s;

	if (!after ||
	    sscanf(after + 1, " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
		   &s.state, &s.flags, &s.start_ticks) != 3)
		return -EPROTO;
	*ret = s;
	return 0;
}

/* --- identity -------------------------------------------------------------------------------------------------------
 */

static int comm_read(char ret[16], const char *buf, int len)
{
	memset(ret, 0, 16);
	if (len > 0 && buf[len - 1] == '\n')
		len--;
	memcpy(ret, buf, len < 15 ? (size_t)len : 15);
	return 0;
}

/* "Name:\tvalue\n": the value, or NULL. Name in status has its newlines escaped, so that no comm can fake a line. */
static const char *status_value(const char *status, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ':')
			return line + len + 1;
	}
	return NULL;
}

/* "NSpid:\t123\t1": one per namespace, innermost last. Kernels without CONFIG_PID_NS have none. */
static pid_t last_nspid(const char *status, pid_t otherwise)
{
	const char *at = status_value(status, "NSpid");
	int pid = otherwise, n;

	if (!at)
		return otherwise;
	while (sscanf(at, "%*[ \t]%d%n", &pid, &n) == 1)
		at += n;
	return pid;
}

int proc_info_read(pid_t pid, struct proc_info *ret)
{
	struct proc_info info = {};
	struct proc_stat stat;
	const char *tgid;
	char buf[4096];
	int n, value;

	n = proc_file_read(buf, sizeof(buf), "/proc/%d/status", pid);
	if (n < 0)
		return n;
	tgid = status_value(buf, "Tgid");
	if (!tgid || sscanf(tgid, "%d", &value) != 1)
		return -EPROTO;
	info.tgid = value;
	if (info.tgid != pid) {
		n = proc_file_read(buf, sizeof(buf), "/proc/%d/status", info.tgid);
		if (n < 0)
			return n;
	}
	info.nspid = last_nspid(buf, info.tgid);

	n = proc_file_read(buf, sizeof(buf), "/proc/%d/stat", info.tgid);
	if (n < 0)
		return n;
	n = proc_stat_parse(buf, &stat);
	if (n < 0)
		return n;
	info.kernel_thread = stat.flags & PROC_PF_KTHREAD;
	info.start_ticks = stat.start_ticks;

	n = proc_file_read(buf, sizeof(buf), "/proc/%d/comm", info.tgid);
	if (n < 0)
		return n;
	comm_read(info.comm, buf, n);
	*ret = info;
	return 0;
}

int proc_thread_comm_read(pid_t pid, pid_t tid, char ret[16])
{
	char buf[64];
	int n = proc_file_read(buf, sizeof(buf), "/proc/%d/task/%d/comm", pid, tid);

	return n < 0 ? n : comm_read(ret, buf, n);
}

/* --- cgroup ---------------------------------------------------------------------------------------------------------
 */

/* Is "cpu" one of the comma-separated controllers? */
static bool has_cpu(const char *controllers)
{
	size_t len;

	for (;; controllers += len + 1) {
		len = strcspn(controllers, ",");
		if (len == 3 && !strncmp(controllers, "cpu", 3))
			return true;
		if (!controllers[len])
			return false;
	}
}

/* Lines are "ID:CONTROLLERS:PATH"; the unified hierarchy's is "0::PATH". Cuts text in place. */
static const char *choose_cgroup(char *text)
{
	const char *unified = NULL, *cpu = NULL;

	for (char *line; (line = strsep(&text, "\n"));) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		if (!controllers[1])
			unified = path;
		else if (has_cpu(controllers + 1))
			cpu = path;
	}
	if (unified && (strcmp(unified, "/") || !cpu))
		return unified;
	return cpu ? cpu : "";
}

int proc_cgroup_read(pid_t pid, char **ret)
{
	static const char deleted[] = " (deleted)";
	char buf[16384], *path;
	int n = proc_file_read(buf, sizeof(buf), "/proc/%d/cgroup", pid);
	size_t len;

	if (n == -ESRCH)
		return n;
	path = strdup(n < 0 ? "" : choose_cgroup(buf));
	if (!path)
		return -ENOMEM;
	len = strlen(path);
	if (len >= sizeof(deleted) && !strcmp(path + len - (sizeof(deleted) - 1), deleted))
		path[len - (sizeof(deleted) - 1)] = '\0';
	*ret = path;
	return 0;
}

/* --- terminals ------------------------------------------------------------------------------------------------------
 */

/* Fixed majors of Documentation/admin-guide/devices.txt: 4 consoles and ttyS, 5 /dev/tty and /dev/console, 136 to 143
 * Unix98 pseudo-terminals, which have no entry in sysfs. */
static bool is_tty_device(dev_t dev)
{
	unsigned maj = major(dev);
	char link[64], to[256];
	ssize_t n;

	if (maj == 4 || maj == 5 || (maj >= 136 && maj <= 143))
		return true;
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/subsystem", maj, minor(dev));
	n = readlink(link, to, sizeof(to) - 1);
	if (n < 4)
		return false;
	to[n] = '\0';
	return !strcmp(to + n - 4, "/tty");
}

bool proc_fd_is_tty(pid_t pid, int fd)
{
	char link[64];
	struct stat st;

	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, fd);
	return stat(link, &st) == 0 && S_ISCHR(st.st_mode) && is_tty_device(st.st_rdev);
}

/* --- steal ----------------------------------------------------------------------------------------------------------
 */

double steal_meter_step(struct steal_meter *m)
{
	uint64_t v[8],
		total = 0; /* user nice system idle iowait irq softirq steal; guest time is within user and nice */
	struct steal_meter last = *m;
	char buf[512];

	if (proc_file_read(buf, sizeof(buf), "/proc/stat") < 0 ||
	    sscanf(buf,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
		return NAN;
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		total += v[i];
	*m = (struct steal_meter){.steal = v[7], .total = total};
	/* iowait may step back a little (proc(5)); steal may too after a migration. */
	if (!last.total || total <= last.total || v[7] < last.steal)
		return NAN;
	return (double)(v[7] - last.steal) / (double)(total - last.total);
}
