/* SPDX-License-Identifier: BSD-2-Clause */
/* sysargs.c - see sysargs.h. */
#include "registry/sysargs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/cleanup.h"

#define PATH_SHOWN 200
#define POLL_FDS_SHOWN 2

/* What the first argument is. Calls that are not here show no arguments. */
enum shape {
	SHAPE_FD,
	SHAPE_PATH,
	SHAPE_ADDRESS,
	SHAPE_POLL,
	SHAPE_PID,
};

static const struct {
	const char *name;
	enum shape shape;
} shapes[] = {
	{ "accept", SHAPE_FD },	    { "accept4", SHAPE_FD },	   { "connect", SHAPE_FD },    { "copy_file_range", SHAPE_FD },
	{ "epoll_pwait", SHAPE_FD }, { "epoll_pwait2", SHAPE_FD }, { "epoll_wait", SHAPE_FD }, { "fallocate", SHAPE_FD },
	{ "fcntl", SHAPE_FD },	    { "fdatasync", SHAPE_FD },	   { "flock", SHAPE_FD },      { "fsync", SHAPE_FD },
	{ "ftruncate", SHAPE_FD },  { "getdents64", SHAPE_FD },	   { "io_uring_enter", SHAPE_FD }, { "ioctl", SHAPE_FD },
	{ "pread64", SHAPE_FD },    { "preadv", SHAPE_FD },	   { "pwrite64", SHAPE_FD },   { "pwritev", SHAPE_FD },
	{ "read", SHAPE_FD },	    { "readv", SHAPE_FD },	   { "recvfrom", SHAPE_FD },   { "recvmmsg", SHAPE_FD },
	{ "recvmsg", SHAPE_FD },    { "sendfile", SHAPE_FD },	   { "sendmmsg", SHAPE_FD },   { "sendmsg", SHAPE_FD },
	{ "sendto", SHAPE_FD },	    { "splice", SHAPE_FD },	   { "sync_file_range", SHAPE_FD }, { "syncfs", SHAPE_FD },
	{ "write", SHAPE_FD },	    { "writev", SHAPE_FD },	   { "execve", SHAPE_PATH },   { "mkdir", SHAPE_PATH },
	{ "open", SHAPE_PATH },	    { "rename", SHAPE_PATH },	   { "rmdir", SHAPE_PATH },    { "stat", SHAPE_PATH },
	{ "truncate", SHAPE_PATH }, { "unlink", SHAPE_PATH },	   { "futex", SHAPE_ADDRESS }, { "poll", SHAPE_POLL },
	{ "ppoll", SHAPE_POLL },    { "wait4", SHAPE_PID },
};

/* Their second argument is the path; the first a directory. */
static const char *const at_calls[] = { "openat", "openat2", "newfstatat", "unlinkat", "mkdirat", "renameat2", "execveat", "statx" };

static ssize_t read_memory(pid_t pid, uint64_t addr, void *to, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)addr, n };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

/* A path in the target's memory. Page by page: the one after its end may not be mapped. */
static bool read_path(pid_t pid, uint64_t addr, char *ret, size_t size)
{
	size_t first = 4096 - (addr & 4095), want = size - 1;
	struct iovec local = { ret, want };
	struct iovec remote[2] = { { (void *)(uintptr_t)addr, first < want ? first : want },
				   { (void *)(uintptr_t)(addr + first), first < want ? want - first : 0 } };
	ssize_t got;

	if (!addr)
		return false;
	got = process_vm_readv(pid, &local, 1, remote, 2, 0);
	if (got <= 0)
		return false;
	ret[got] = '\0';
	return ret[0] != '\0';
}

/* --- sockets: /proc/PID/net names both ends of an inode ---------------------------------------------------------------------- */

static void print_end(char *ret, size_t size, int family, const char *hex, unsigned port)
{
	uint32_t words[4] = {};
	char text[INET6_ADDRSTRLEN] = "?";

	for (int i = 0; i < (family == AF_INET ? 1 : 4); i++) {
		char word[9];

		memcpy(word, hex + 8 * i, 8);
		word[8] = '\0';
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	inet_ntop(family, words, text, sizeof(text));
	if (family == AF_INET6 && !strncmp(text, "::ffff:", 7))
		snprintf(ret, size, "%s:%u", text + 7, port);
	else
		snprintf(ret, size, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
}

static bool find_inet(pid_t pid, const char *table, int family, unsigned long inode, char *ret, size_t size)
{
	_cleanup_fclose_ FILE *in = NULL;
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, table);
	in = fopen(path, "re");
	if (!in)
		return false;
	for (int n = 0; n < 200000 && fgets(line, sizeof(line), in); n++) {
		char local[33], remote[33], end[80];
		unsigned lport, rport, state;
		unsigned long found;

		if (sscanf(line, " %*d: %32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%x %x %*s %*s %*s %*s %*s %lu", local, &lport, remote, &rport,
			   &state, &found) != 6 ||
		    found != inode || strlen(local) != (family == AF_INET ? 8 : 32) || strlen(remote) != strlen(local))
			continue;
		/* A peer says more than our own end; a listener or an unconnected one has only that. */
		if (rport) {
			print_end(end, sizeof(end), family, remote, rport);
			snprintf(ret, size, "%.3s %s", table, end);
		} else {
			print_end(end, sizeof(end), family, local, lport);
			snprintf(ret, size, "%.3s on %s", table, end);
		}
		return true;
	}
	return false;
}

static bool find_unix(pid_t pid, unsigned long inode, char *ret, size_t size)
{
	_cleanup_fclose_ FILE *in = NULL;
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%d/net/unix", pid);
	in = fopen(path, "re");
	if (!in)
		return false;
	for (int n = 0; n < 200000 && fgets(line, sizeof(line), in); n++) {
		char name[256] = "";
		unsigned long found;

		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu %255[^\n]", &found, name) < 1 || found != inode)
			continue;
		snprintf(ret, size, "unix%s%s", name[0] ? " " : "", name);
		return true;
	}
	return false;
}

static void describe_socket(pid_t pid, unsigned long inode, char *ret, size_t size)
{
	static const struct {
		const char *table;
		int family;
	} tables[] = { { "tcp", AF_INET }, { "tcp6", AF_INET6 }, { "udp", AF_INET }, { "udp6", AF_INET6 } };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (find_inet(pid, tables[i].table, tables[i].family, inode, ret, size))
			return;
	if (!find_unix(pid, inode, ret, size))
		snprintf(ret, size, "socket");
}

/* A path, a peer, or what kind of thing it is. */
static void describe_fd(pid_t pid, int fd, char *ret, size_t size)
{
	char link[64], target[PATH_MAX];
	unsigned long inode;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, fd);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0) {
		snprintf(ret, size, "fd %d", fd);
		return;
	}
	target[n] = '\0';
	if (sscanf(target, "socket:[%lu]", &inode) == 1)
		describe_socket(pid, inode, ret, size);
	else if (!strncmp(target, "pipe:", 5))
		snprintf(ret, size, "pipe");
	else if (!strncmp(target, "anon_inode:", 11))
		snprintf(ret, size, "%.*s", (int)strcspn(target + 11 + (target[11] == '['), "]"), target + 11 + (target[11] == '['));
	else
		snprintf(ret, size, "%.*s", PATH_SHOWN, target);
}

/* How many of the fds that are polled can be told: all that are shown while their array still begins as it did. Else something else
 * is in its place by now, and the first is known alone. */
static uint64_t polled_fds(pid_t pid, const uint64_t args[4], int fd[POLL_FDS_SHOWN])
{
	struct pollfd fds[POLL_FDS_SHOWN];
	uint64_t n = args[1] < POLL_FDS_SHOWN ? args[1] : POLL_FDS_SHOWN;
	bool known = args[3] & SYSARGS_POLLED_KNOWN;
	ssize_t size = (ssize_t)(n * sizeof(fds[0]));

	if (!n)
		return 0;
	fd[0] = (int)(uint32_t)args[3];
	if (read_memory(pid, args[0], fds, (size_t)size) != size || (known && fds[0].fd != fd[0]))
		return known;
	for (uint64_t i = 0; i < n; i++)
		fd[i] = fds[i].fd;
	return n;
}

static void describe_poll(pid_t pid, const uint64_t args[4], char *ret, size_t size)
{
	int fd[POLL_FDS_SHOWN];
	uint64_t n = polled_fds(pid, args, fd);
	size_t used;

	snprintf(ret, size, "%" PRIu64 " fd%s", args[1], args[1] == 1 ? "" : "s");
	for (uint64_t i = 0; i < n; i++) {
		char what[PATH_SHOWN];

		describe_fd(pid, fd[i], what, sizeof(what));
		used = strlen(ret);
		snprintf(ret + used, size - used, "%s %s", i ? "," : ":", what);
	}
	used = strlen(ret);
	if (n && args[1] > n)
		snprintf(ret + used, size - used, ", ...");
}

static bool describe_argument(pid_t pid, const char *name, const uint64_t args[4], char *ret, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(at_calls); i++)
		if (!strcmp(name, at_calls[i]))
			return read_path(pid, args[1], ret, size);
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (strcmp(name, shapes[i].name))
			continue;
		switch (shapes[i].shape) {
		case SHAPE_FD:
			describe_fd(pid, (int)args[0], ret, size);
			return true;
		case SHAPE_PATH:
			return read_path(pid, args[0], ret, size);
		case SHAPE_ADDRESS:
			snprintf(ret, size, "0x%" PRIx64, args[0]);
			return true;
		case SHAPE_POLL:
			describe_poll(pid, args, ret, size);
			return true;
		case SHAPE_PID:
			snprintf(ret, size, "%d", (int)args[0]);
			return true;
		}
	}
	return false;
}

void sysargs_describe(pid_t pid, const char *name, const uint64_t args[4], char *ret, size_t size)
{
	char argument[PATH_SHOWN + 56];

	if (describe_argument(pid, name, args, argument, sizeof(argument)))
		snprintf(ret, size, "%s(%s)", name, argument);
	else
		snprintf(ret, size, "%s", name);
}

void sysargs_describe_fault(pid_t pid, uint64_t addr, char *ret, size_t size)
{
	_cleanup_fclose_ FILE *in = NULL;
	char path[64], line[4352];

	snprintf(ret, size, "page fault");
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	in = addr ? fopen(path, "re") : NULL;
	for (int n = 0; in && n < 65536 && fgets(line, sizeof(line), in); n++) {
		unsigned long long start, end;
		int at = 0;

		if (sscanf(line, "%llx-%llx %*4s %*x %*x:%*x %*u %n", &start, &end, &at) < 2 || addr < start || addr >= end)
			continue;
		line[strcspn(line, "\n")] = '\0';
		if (at && line[at])
			snprintf(ret, size, "page fault in %.*s", PATH_SHOWN, line + at);
		else
			snprintf(ret, size, "page fault in anonymous memory");
		return;
	}
}
