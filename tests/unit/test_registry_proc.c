/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_registry_proc.c - /proc's readers, on this process, its children and threads.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/cleanup.h"
#include "registry/proc.h"
#include "registry/proc_file.h"

TestSuite(registry_proc, .timeout = 60);

#define NO_SUCH_PID 0x3fffff

Test(registry_proc, ourselves)
{
	struct proc_info info;

	cr_assert_eq(prctl(PR_SET_NAME, "od) (d\n 1 2"), 0);
	cr_assert_eq(proc_info_read(getpid(), &info), 0);
	cr_expect_str_eq(info.comm, "od) (d\n 1 2");
	cr_expect_eq(info.tgid, getpid());
	cr_expect(!info.kernel_thread);
	cr_expect_gt(info.start_ticks, 0u);
	cr_expect_gt(info.nspid, 0);
}

Test(registry_proc, nobody)
{
	struct proc_info info = {.tgid = 7};
	char *cgroup = NULL, comm[16];

	cr_expect_eq(proc_info_read(NO_SUCH_PID, &info), -ESRCH);
	cr_expect_eq(info.tgid, 7); /* untouched */
	cr_expect_eq(proc_cgroup_read(NO_SUCH_PID, &cgroup), -ESRCH);
	cr_expect_null(cgroup);
	cr_expect_eq(proc_thread_comm_read(NO_SUCH_PID, NO_SUCH_PID, comm), -ESRCH);
	cr_expect(!proc_fd_is_tty(NO_SUCH_PID, 0));
}

Test(registry_proc, a_kernel_thread)
{
	struct proc_info info;

	if (proc_info_read(2, &info) < 0 || strcmp(info.comm, "kthreadd"))
		cr_skip_test("PID 2 is not kthreadd: a PID namespace");
	cr_expect(info.kernel_thread);
}

struct thread_id {
	int ready[2], done[2];
	pid_t tid;
};

static void *thread_main(void *arg)
{
	struct thread_id *t = arg;
	char byte = 0;

	pthread_setname_np(pthread_self(), "worker-thread");
	t->tid = (pid_t)syscall(SYS_gettid);
	if (write(t->ready[1], &byte, 1) == 1 && read(t->done[0], &byte, 1) == 0)
		return t;
	return NULL;
}

Test(registry_proc, a_thread_is_no_process)
{
	struct proc_info own, of_thread;
	struct thread_id t = {};
	char comm[16], byte;
	pthread_t thread;

	cr_assert(!pipe(t.ready) && !pipe(t.done));
	cr_assert_eq(pthread_create(&thread, NULL, thread_main, &t), 0);
	cr_assert_eq(read(t.ready[0], &byte, 1), 1);
	cr_assert_eq(proc_info_read(t.tid, &of_thread), 0);
	cr_assert_eq(proc_info_read(getpid(), &own), 0);
	cr_expect_eq(of_thread.tgid, getpid());
	cr_expect_eq(of_thread.start_ticks, own.start_ticks);
	cr_expect_str_eq(of_thread.comm, own.comm);
	cr_assert_eq(proc_thread_comm_read(getpid(), t.tid, comm), 0);
	cr_expect_str_eq(comm, "worker-thread");
	close(t.done[1]);
	pthread_join(thread, NULL);
}

/* Runs in a child: forks the first process of a new namespace, tells its PID, waits for the word to go. */
static void namespace_child(int tell, int go)
{
	char byte;
	pid_t inner;

	if (unshare(CLONE_NEWPID) < 0)
		_exit(77);
	inner = fork();
	if (!inner) {
		while (read(go, &byte, 1) > 0)
			;
		_exit(0);
	}
	if (write(tell, &inner, sizeof(inner)) != sizeof(inner))
		_exit(1);
	waitpid(inner, NULL, 0);
	_exit(0);
}

Test(registry_proc, pid_in_the_innermost_namespace)
{
	int tell[2], go[2];
	struct proc_info info;
	pid_t child, inner;

	cr_assert(!pipe(tell) && !pipe(go));
	child = fork();
	if (!child) {
		close(go[1]);
		namespace_child(tell[1], go[0]);
	}
	close(tell[1]);
	if (read(tell[0], &inner, sizeof(inner)) != sizeof(inner)) {
		waitpid(child, NULL, 0);
		cr_skip_test("no PID namespace can be made here");
	}
	cr_assert_eq(proc_info_read(inner, &info), 0);
	cr_expect_eq(info.tgid, inner);
	cr_expect_eq(info.nspid, 1);
	close(go[1]);
	waitpid(child, NULL, 0);
}

Test(registry_proc, cgroup)
{
	char *path = NULL;

	cr_assert_eq(proc_cgroup_read(getpid(), &path), 0);
	cr_assert_not_null(path);
	cr_expect(path[0] == '/' || path[0] == '\0', "%s", path);
	free(path);
}

static bool found(const char *pattern, pid_t pid)
{
	_cleanup_free_ pid_t *pids = NULL;
	bool there = false;
	size_t n;

	cr_assert_eq(proc_find_by_name(pattern, &pids, &n), 0);
	for (size_t i = 0; i < n; i++) {
		there |= pids[i] == pid;
		cr_assert(i == 0 || pids[i] > pids[i - 1]);
	}
	return there;
}

Test(registry_proc, find_by_name)
{
	int ends[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		execl("/bin/sleep", "/some/where/registry-proc-test-name", "60", NULL);
		_exit(127);
	}
	close(ends[1]);
	cr_assert_eq(read(ends[0], &byte, 1), 0);         /* closed by the exec */
	cr_expect(found("registry-proc-test-name", pid)); /* argv[0] */
	cr_expect(found("registry-proc-test-*", pid));
	cr_expect(found("sleep", pid)); /* comm and executable */
	cr_expect(!found("slee", pid));
	cr_expect(!found("kthreadd", 2));
	kill(pid, SIGKILL);
	/* Until it is waited for it is a zombie, which no longer can be a loop. */
	cr_assert_eq(waitid(P_PID, (id_t)pid, &(siginfo_t){}, WEXITED | WNOWAIT), 0);
	cr_expect(!found("sleep", pid));
	waitpid(pid, NULL, 0);
	cr_assert_eq(prctl(PR_SET_NAME, "reg-proc-self"), 0);
	cr_expect(!found("reg-proc-self", getpid()));
}

Test(registry_proc, terminals)
{
	_cleanup_close_ int pty = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	_cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int side = -1;
	int ends[2];

	if (pty < 0)
		cr_skip_test("no pseudo-terminals here (devpts is not mounted)");
	cr_assert(!grantpt(pty) && !unlockpt(pty));
	side = open(ptsname(pty), O_RDWR | O_NOCTTY | O_CLOEXEC);
	cr_assert_geq(side, 0);
	cr_assert_eq(pipe(ends), 0);
	cr_expect(proc_fd_is_tty(getpid(), side));
	cr_expect(!proc_fd_is_tty(getpid(), ends[0]));
	cr_expect(!proc_fd_is_tty(getpid(), null));
	cr_expect(!proc_fd_is_tty(getpid(), -1));
	cr_expect(!proc_fd_is_tty(getpid(), 12345));
}

Test(registry_proc, stat_is_parsed_after_the_last_parenthesis)
{
	struct proc_stat s;

	cr_assert_eq(
		proc_stat_parse("5 (a) R 1 (x)) S 1 2 3 4 -1 2097216 7 8 9 10 11 12 13 14 15 16 17 18 987654 20", &s),
		0);
	cr_expect_eq(s.state, 'S');
	cr_expect_eq(s.flags, 2097216u);
	cr_expect_eq(s.start_ticks, 987654u);
	cr_expect_eq(proc_stat_parse("", &s), -EPROTO);
	cr_expect_eq(proc_stat_parse("5 (a) S 1 2", &s), -EPROTO);
}

Test(registry_proc, steal)
{
	struct steal_meter m = {};
	double share = steal_meter_step(&m);

	cr_expect(isnan(share));
	cr_expect_gt(m.total, 0u);
	/* Ticks pass: wait for one, not for a time. */
	do {
		share = steal_meter_step(&m);
	} while (isnan(share));
	cr_expect(share >= 0 && share <= 1, "%g", share);
}
