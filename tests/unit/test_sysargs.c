/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sysargs.c - what a system call is shown with: fds, peers and paths of another process. A forked child has this process's
 * fds and its memory at the same addresses, and does nothing but be there.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "registry/sysargs.h"

TestSuite(sysargs, .timeout = 20);

static pid_t other_process(void)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void assert_shown(pid_t pid, const char *call, uint64_t a0, uint64_t a1, const char *want)
{
	char got[256];

	sysargs_describe(pid, call, (uint64_t[4]){ a0, a1 }, got, sizeof(got));
	cr_assert_str_eq(got, want);
}

static int make_file(char *name)
{
	int fd = mkstemp(name);

	cr_assert_geq(fd, 0);
	return fd;
}

Test(sysargs, an_fd_is_its_file)
{
	char name[] = "/tmp/sysargs-XXXXXX", want[64];
	int fd = make_file(name), pipes[2], ep = epoll_create1(0);
	pid_t pid;

	cr_assert_eq(pipe(pipes), 0);
	pid = other_process();
	snprintf(want, sizeof(want), "fsync(%s)", name);
	assert_shown(pid, "fsync", (uint64_t)fd, 0, want);
	snprintf(want, sizeof(want), "flock(%s)", name);
	assert_shown(pid, "flock", (uint64_t)fd, 2, want);
	assert_shown(pid, "read", (uint64_t)pipes[0], 0, "read(pipe)");
	assert_shown(pid, "epoll_wait", (uint64_t)ep, 0, "epoll_wait(eventpoll)");
	assert_shown(pid, "read", 987, 0, "read(fd 987)");
	assert_shown(pid, "read", (uint64_t)-1, 0, "read(fd -1)");
	unlink(name);
	snprintf(want, sizeof(want), "fsync(%s (deleted))", name);
	assert_shown(pid, "fsync", (uint64_t)fd, 0, want);
	end_process(pid);
}

static int listening(int family, unsigned *ret_port)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *a = family == AF_INET ? (struct sockaddr *)&a4 : (struct sockaddr *)&a6;
	socklen_t size = family == AF_INET ? sizeof(a4) : sizeof(a6);
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, a, size) || listen(fd, 1) || getsockname(fd, a, &size)) {
		close(fd);
		return -1;
	}
	*ret_port = ntohs(family == AF_INET ? a4.sin_port : a6.sin6_port);
	return fd;
}

static int connected(int family, unsigned port)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port) };
	int fd = socket(family, SOCK_STREAM, 0);

	cr_assert_eq(family == AF_INET ? connect(fd, (struct sockaddr *)&a4, sizeof(a4)) :
					 connect(fd, (struct sockaddr *)&a6, sizeof(a6)), 0);
	return fd;
}

Test(sysargs, a_tcp_socket_is_its_peer)
{
	unsigned port = 0;
	int listener = listening(AF_INET, &port), fd = connected(AF_INET, port);
	pid_t pid = other_process();
	char want[80];

	snprintf(want, sizeof(want), "read(tcp 127.0.0.1:%u)", port);
	assert_shown(pid, "read", (uint64_t)fd, 0, want);
	snprintf(want, sizeof(want), "accept4(tcp on 127.0.0.1:%u)", port);
	assert_shown(pid, "accept4", (uint64_t)listener, 0, want);
	end_process(pid);
}

Test(sysargs, an_ipv6_socket_is_its_peer)
{
	unsigned port = 0;
	int listener = listening(AF_INET6, &port), fd;
	char want[80];
	pid_t pid;

	if (listener < 0)
		cr_skip_test("no IPv6 here");
	fd = connected(AF_INET6, port);
	pid = other_process();
	snprintf(want, sizeof(want), "recvfrom(tcp [::1]:%u)", port);
	assert_shown(pid, "recvfrom", (uint64_t)fd, 0, want);
	end_process(pid);
}

Test(sysargs, a_unix_socket_is_its_path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), pair[2];
	char want[160];
	pid_t pid;

	snprintf(a.sun_path, sizeof(a.sun_path), "/tmp/sysargs-%d.sock", getpid());
	cr_assert_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = other_process();
	snprintf(want, sizeof(want), "accept(unix %s)", a.sun_path);
	assert_shown(pid, "accept", (uint64_t)fd, 0, want);
	assert_shown(pid, "sendto", (uint64_t)pair[0], 0, "sendto(unix)");
	unlink(a.sun_path);
	end_process(pid);
}

Test(sysargs, a_poll_is_the_fds_it_asks_for)
{
	unsigned port = 0;
	int listener = listening(AF_INET, &port), pipes[2];
	struct pollfd fds[3];
	char want[128];
	pid_t pid;

	cr_assert_eq(pipe(pipes), 0);
	fds[0] = (struct pollfd){ .fd = connected(AF_INET, port), .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = listener, .events = POLLIN };
	pid = other_process();
	snprintf(want, sizeof(want), "poll(1 fd: tcp 127.0.0.1:%u)", port);
	assert_shown(pid, "poll", (uintptr_t)fds, 1, want);
	snprintf(want, sizeof(want), "ppoll(2 fds: tcp 127.0.0.1:%u, pipe)", port);
	assert_shown(pid, "ppoll", (uintptr_t)fds, 2, want);
	snprintf(want, sizeof(want), "poll(3 fds: tcp 127.0.0.1:%u, pipe, ...)", port);
	assert_shown(pid, "poll", (uintptr_t)fds, 3, want);
	assert_shown(pid, "poll", 0, 0, "poll(0 fds)");
	assert_shown(pid, "poll", 16, 2, "poll(2 fds)");
	end_process(pid);
}

/* When it is told, the array that was on the stack is something else. */
Test(sysargs, a_poll_whose_array_is_gone_is_its_first_fd)
{
	struct pollfd fds[2] = { { .fd = 12345, .events = POLLIN }, { .fd = 23456, .events = POLLIN } };
	char got[256];
	int pipes[2];
	pid_t pid;

	cr_assert_eq(pipe(pipes), 0);
	pid = other_process();
	sysargs_describe(pid, "poll", (uint64_t[4]){ (uintptr_t)fds, 1, 0, SYSARGS_POLLED_KNOWN | (uint32_t)pipes[0] }, got, sizeof(got));
	cr_assert_str_eq(got, "poll(1 fd: pipe)");
	sysargs_describe(pid, "poll", (uint64_t[4]){ 16, 2, 0, SYSARGS_POLLED_KNOWN | (uint32_t)pipes[0] }, got, sizeof(got));
	cr_assert_str_eq(got, "poll(2 fds: pipe, ...)");
	sysargs_describe(pid, "poll", (uint64_t[4]){ (uintptr_t)fds, 2, 0, SYSARGS_POLLED_KNOWN | 12345 }, got, sizeof(got));
	cr_assert_str_eq(got, "poll(2 fds: fd 12345, fd 23456)");
	end_process(pid);
}

Test(sysargs, paths_are_read_from_the_process)
{
	static char path[] = "/some/where";
	long page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, (size_t)page * 3, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *across, *last;
	pid_t pid;

	cr_assert_neq(map, MAP_FAILED);
	cr_assert_eq(munmap(map + 2 * page, (size_t)page), 0);
	across = strcpy(map + page - 5, "/across/two/pages");
	last = strcpy(map + 2 * page - 5, "/end");
	pid = other_process();
	assert_shown(pid, "openat", (uint64_t)-100, (uintptr_t)path, "openat(/some/where)");
	assert_shown(pid, "unlink", (uintptr_t)path, 0, "unlink(/some/where)");
	assert_shown(pid, "openat", (uint64_t)-100, (uintptr_t)across, "openat(/across/two/pages)");
	assert_shown(pid, "openat", (uint64_t)-100, (uintptr_t)last, "openat(/end)");
	assert_shown(pid, "openat", (uint64_t)-100, 16, "openat");
	assert_shown(pid, "openat", (uint64_t)-100, 0, "openat");
	end_process(pid);
}

Test(sysargs, other_calls)
{
	pid_t pid = other_process();

	assert_shown(pid, "futex", 0x7f0012345678, 0, "futex(0x7f0012345678)");
	assert_shown(pid, "wait4", (uint64_t)-1, 0, "wait4(-1)");
	assert_shown(pid, "clock_nanosleep", 1, 2, "clock_nanosleep");
	assert_shown(pid, "stopped", 1, 2, "stopped");
	end_process(pid);
	assert_shown(pid, "read", 3, 0, "read(fd 3)");
	assert_shown(pid, "futex", 0x10, 0, "futex(0x10)");
	assert_shown(pid, "poll", 4096, 1, "poll(1 fd)");
}

Test(sysargs, what_is_too_long_is_cut_at_the_size)
{
	char dir[600] = "/tmp/", guarded[64];
	pid_t pid;

	memset(dir + 5, 'x', sizeof(dir) - 6);
	dir[sizeof(dir) - 1] = '\0';
	pid = other_process();
	for (size_t size = 1; size < 40; size++) {
		memset(guarded, '#', sizeof(guarded));
		sysargs_describe(pid, "openat", (uint64_t[4]){ 0, (uintptr_t)dir }, guarded, size);
		cr_assert_lt(strlen(guarded), size);
		cr_assert_eq(guarded[size], '#');
	}
	end_process(pid);
}

Test(sysargs, a_page_fault_is_the_file_it_was_in)
{
	char name[] = "/tmp/sysargs-XXXXXX", want[64], got[256];
	long page = sysconf(_SC_PAGESIZE);
	int fd = make_file(name);
	char *file, *memory;
	pid_t pid;

	cr_assert_eq(ftruncate(fd, page), 0);
	file = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE, fd, 0);
	memory = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(file != MAP_FAILED && memory != MAP_FAILED);
	pid = other_process();
	snprintf(want, sizeof(want), "page fault in %s", name);
	sysargs_describe_fault(pid, (uintptr_t)file + 17, got, sizeof(got));
	cr_assert_str_eq(got, want);
	sysargs_describe_fault(pid, (uintptr_t)memory, got, sizeof(got));
	cr_assert_str_eq(got, "page fault in anonymous memory");
	sysargs_describe_fault(pid, 0, got, sizeof(got));
	cr_assert_str_eq(got, "page fault");
	sysargs_describe_fault(pid, 16, got, sizeof(got));
	cr_assert_str_eq(got, "page fault");
	unlink(name);
	end_process(pid);
}
