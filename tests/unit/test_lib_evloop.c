/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lib_evloop.c - pipes, timers and signals through the loop; removal, stop and errors from inside callbacks. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/evloop.h"

#define MS UINT64_C(1000000)

struct fixture {
	struct evloop *loop;
	int calls;
	int remove_at;        /* how many calls until own removal; 0: never */
	int stop_at;          /* likewise for evloop_stop() */
	int result;           /* what the callback returns */
	uint64_t expirations; /* sum */
	int last_signal;
	struct ev_source *self, *other;
};

static struct evloop *loop; /* of the test that runs: criterion gives each its own process */

static void set_up(void)
{
	cr_assert_eq(evloop_new(&loop), 0);
}

static void tear_down(void)
{
	evloop_free(loop);
}

TestSuite(lib_evloop, .init = set_up, .fini = tear_down, .timeout = 30);

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int step(struct fixture *fx)
{
	fx->calls++;
	if (fx->calls == fx->remove_at) {
		evloop_remove(fx->loop, fx->self);
		fx->self = NULL;
	}
	if (fx->calls == fx->stop_at)
		evloop_stop(fx->loop);
	return fx->result;
}

static int on_fd(void *arg, int fd, uint32_t events)
{
	char byte;

	cr_assert(events & (EPOLLIN | EPOLLHUP));
	if (events & EPOLLIN)
		cr_assert_eq(read(fd, &byte, 1), 1);
	return step(arg);
}

static int on_timer(void *arg, uint64_t expirations)
{
	struct fixture *fx = arg;

	cr_assert_geq(expirations, 1);
	fx->expirations += expirations;
	return step(fx);
}

static int on_signal(void *arg, int signo)
{
	struct fixture *fx = arg;

	fx->last_signal = signo;
	return step(fx);
}

static int stop_loop(void *arg, uint64_t expirations)
{
	evloop_stop(arg);
	return 0;
}

static void make_pipe(int fds[2])
{
	cr_assert_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
}

Test(lib_evloop, pipe_calls_until_stopped)
{
	struct fixture fx = {.loop = loop, .stop_at = 3};
	int fds[2];

	make_pipe(fds);
	cr_assert_eq(write(fds[1], "abc", 3), 3);
	cr_assert_eq(evloop_add_fd(loop, fds[0], EPOLLIN, on_fd, &fx, NULL), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.calls, 3, "level-triggered: a call for each byte");
	cr_assert_eq(close(fds[0]) | close(fds[1]), 0, "the fd stayed ours");
}

Test(lib_evloop, end_of_file_is_seen)
{
	struct fixture fx = {.loop = loop, .stop_at = 1};
	int fds[2];

	make_pipe(fds);
	close(fds[1]);
	cr_assert_eq(evloop_add_fd(loop, fds[0], EPOLLIN, on_fd, &fx, NULL), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.calls, 1);
}

Test(lib_evloop, error_of_a_callback_ends_the_run_with_it)
{
	struct fixture fx = {.loop = loop, .result = -ENODATA, .stop_at = 1};

	cr_assert_eq(evloop_add_timer(loop, 0, 0, on_timer, &fx, NULL), 0);
	cr_assert_eq(evloop_run(loop), -ENODATA, "an error is stronger than a stop");
}

Test(lib_evloop, runs_again_after_a_stop_and_after_an_error)
{
	struct fixture fx = {.loop = loop, .result = -EIO};

	cr_assert_eq(evloop_add_timer(loop, 0, MS, on_timer, &fx, NULL), 0);
	cr_assert_eq(evloop_run(loop), -EIO);
	fx.result = 0;
	fx.stop_at = 2;
	cr_assert_eq(evloop_run(loop), 0);
	fx.stop_at = 3;
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.calls, 3);
}

Test(lib_evloop, stop_before_run_ends_that_run_only)
{
	struct fixture fx = {.loop = loop, .stop_at = 1};

	cr_assert_eq(evloop_add_timer(loop, 0, 0, on_timer, &fx, NULL), 0);
	evloop_stop(loop);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.calls, 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.calls, 1);
}

Test(lib_evloop, run_without_sources_does_not_hang)
{
	cr_assert_eq(evloop_run(loop), -ENOENT);
}

Test(lib_evloop, last_source_removed_ends_the_run)
{
	struct fixture fx = {.loop = loop, .remove_at = 1};

	cr_assert_eq(evloop_add_timer(loop, 0, MS, on_timer, &fx, &fx.self), 0);
	cr_assert_eq(evloop_run(loop), -ENOENT);
	cr_assert_eq(fx.calls, 1);
}

static int run_inside(void *arg, uint64_t expirations)
{
	struct fixture *fx = arg;

	fx->result = evloop_run(fx->loop);
	evloop_stop(fx->loop);
	return 0;
}

Test(lib_evloop, run_from_a_callback_is_refused)
{
	struct fixture fx = {.loop = loop};

	cr_assert_eq(evloop_add_timer(loop, 0, 0, run_inside, &fx, NULL), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.result, -EBUSY);
}

Test(lib_evloop, periodic_timer_keeps_its_time)
{
	struct fixture fx = {.loop = loop, .stop_at = 5};
	uint64_t start = now_ns(), elapsed;

	cr_assert_eq(evloop_add_timer(loop, 10 * MS, 20 * MS, on_timer, &fx, NULL), 0);
	cr_assert_eq(evloop_run(loop), 0);
	elapsed = now_ns() - start;
	cr_assert_eq(fx.calls, 5);
	/* However late the machine makes us, no period is lost and none comes early. */
	cr_assert_geq(elapsed, (10 + 20 * (fx.expirations - 1)) * MS);
}

static int be_late(void *arg, uint64_t expirations)
{
	struct fixture *fx = arg;
	const struct timespec four_periods = {.tv_nsec = 20 * (long)MS};

	fx->expirations = expirations;
	if (++fx->calls == 1)
		nanosleep(&four_periods, NULL);
	else
		evloop_stop(fx->loop);
	return 0;
}

Test(lib_evloop, late_timer_says_how_many_periods_passed)
{
	struct fixture fx = {.loop = loop};

	cr_assert_eq(evloop_add_timer(loop, 0, 5 * MS, be_late, &fx, NULL), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.calls, 2);
	cr_assert_geq(fx.expirations, 4);
}

Test(lib_evloop, one_shot_timer_fires_once)
{
	struct fixture fx = {.loop = loop};

	cr_assert_eq(evloop_add_timer(loop, 0, 0, on_timer, &fx, NULL), 0);
	cr_assert_eq(evloop_add_timer(loop, 30 * MS, 0, stop_loop, loop, NULL), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.calls, 1);
	cr_assert_eq(fx.expirations, 1);
}

/* --- removal -------------------------------------------------------------------------------------------------------
 */

Test(lib_evloop, source_removes_itself)
{
	struct fixture fx = {.loop = loop, .remove_at = 2};

	cr_assert_eq(evloop_add_timer(loop, 0, MS, on_timer, &fx, &fx.self), 0);
	cr_assert_eq(evloop_add_timer(loop, 30 * MS, 0, stop_loop, loop, NULL), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.calls, 2);
}

static int remove_the_other(void *arg, int fd, uint32_t events)
{
	struct fixture *fx = arg;

	fx->calls++;
	evloop_remove(fx->loop, fx->other);
	evloop_remove(fx->loop, fx->self);
	evloop_remove(fx->loop, fx->self); /* twice within one callback */
	return 0;
}

/* Both are ready in the same batch; whichever comes first removes both, and the other must not be called any more. */
Test(lib_evloop, source_removes_one_that_is_ready_too)
{
	int one[2], two[2];
	struct fixture a = {.loop = loop}, b = {.loop = loop};

	make_pipe(one);
	make_pipe(two);
	cr_assert_eq(write(one[1], "x", 1), 1);
	cr_assert_eq(write(two[1], "x", 1), 1);
	cr_assert_eq(evloop_add_fd(loop, one[0], EPOLLIN, remove_the_other, &a, &a.self), 0);
	cr_assert_eq(evloop_add_fd(loop, two[0], EPOLLIN, remove_the_other, &b, &b.self), 0);
	a.other = b.self;
	b.other = a.self;
	cr_assert_eq(evloop_add_timer(loop, 30 * MS, 0, stop_loop, loop, NULL), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(a.calls + b.calls, 1);
}

static int replace_self(void *arg, int fd, uint32_t events)
{
	struct fixture *fx = arg;
	int fds[2];

	/* The new pipe gets the old one's number: an event is for a source, not for a number. */
	evloop_remove(fx->loop, fx->self);
	close(fd);
	make_pipe(fds);
	cr_assert_eq(fds[0], fd);
	cr_assert_eq(write(fds[1], "y", 1), 1);
	return evloop_add_fd(fx->loop, fds[0], EPOLLIN, on_fd, fx, &fx->self);
}

Test(lib_evloop, source_replaces_itself_on_the_same_fd)
{
	struct fixture fx = {.loop = loop, .stop_at = 1};
	int fds[2];

	make_pipe(fds);
	cr_assert_eq(write(fds[1], "x", 1), 1);
	cr_assert_eq(evloop_add_fd(loop, fds[0], EPOLLIN, replace_self, &fx, &fx.self), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.calls, 1);
}

/* A caller that closes first, while a duplicate keeps the file alive: epoll goes on reporting the dead source. */
Test(lib_evloop, removed_after_close_is_not_called_and_not_freed_early)
{
	struct fixture fx = {.loop = loop};
	int fds[2], copy;

	make_pipe(fds);
	copy = dup(fds[0]);
	cr_assert_geq(copy, 0);
	cr_assert_eq(write(fds[1], "x", 1), 1);
	cr_assert_eq(evloop_add_fd(loop, fds[0], EPOLLIN, on_fd, &fx, &fx.self), 0);
	close(fds[0]);
	evloop_remove(loop, fx.self);
	cr_assert_eq(evloop_add_timer(loop, 5 * MS, 0, stop_loop, loop, NULL), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.calls, 0);
	close(copy);
}

Test(lib_evloop, remove_accepts_null_and_works_outside_a_run)
{
	struct fixture fx = {.loop = loop};

	evloop_remove(loop, NULL);
	cr_assert_eq(evloop_add_timer(loop, 0, 0, on_timer, &fx, &fx.self), 0);
	evloop_remove(loop, fx.self);
	cr_assert_eq(evloop_run(loop), -ENOENT);
	cr_assert_eq(fx.calls, 0);
}

/* Every source, in each turn, removes a random one and adds another: nothing dangles (see under ASan), none is lost. */
#define CHURN 64
static struct ev_source *churn[CHURN];
static int churn_turns;
static unsigned churn_seed = 1;

static int churn_timer(void *arg, uint64_t expirations)
{
	struct ev_source **victim = &churn[rand_r(&churn_seed) % CHURN];

	evloop_remove(loop, *victim);
	*victim = NULL;
	cr_assert_eq(evloop_add_timer(loop, 0, MS, churn_timer, NULL, victim), 0);
	if (++churn_turns == 3000)
		evloop_stop(loop);
	return 0;
}

Test(lib_evloop, sources_come_and_go)
{
	for (size_t i = 0; i < CHURN; i++)
		cr_assert_eq(evloop_add_timer(loop, 0, MS, churn_timer, NULL, &churn[i]), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(churn_turns, 3000);
}

/* --- signals -------------------------------------------------------------------------------------------------------
 */

Test(lib_evloop, signals_reach_their_callbacks)
{
	struct fixture one = {.loop = loop}, two = {.loop = loop, .stop_at = 1};

	cr_assert_eq(evloop_add_signal(loop, SIGUSR1, on_signal, &one), 0);
	cr_assert_eq(evloop_add_signal(loop, SIGTERM, on_signal, &two), 0);
	cr_assert_eq(raise(SIGUSR1), 0);
	cr_assert_eq(raise(SIGTERM), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(one.calls, 1);
	cr_assert_eq(one.last_signal, SIGUSR1);
	cr_assert_eq(two.last_signal, SIGTERM);
}

/* As the shell leaves SIGINT for its background jobs. */
Test(lib_evloop, ignored_signal_is_seen)
{
	struct fixture fx = {.loop = loop, .stop_at = 1};

	signal(SIGINT, SIG_IGN);
	cr_assert_eq(evloop_add_signal(loop, SIGINT, on_signal, &fx), 0);
	cr_assert_eq(raise(SIGINT), 0);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(fx.last_signal, SIGINT);
}

Test(lib_evloop, signal_from_a_child)
{
	struct fixture fx = {.loop = loop, .stop_at = 1};
	pid_t pid;
	int status;

	cr_assert_eq(evloop_add_signal(loop, SIGCHLD, on_signal, &fx), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0)
		_exit(7);
	cr_assert_eq(evloop_run(loop), 0);
	cr_assert_eq(waitpid(pid, &status, WNOHANG), pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

Test(lib_evloop, bad_signals_are_refused)
{
	struct fixture fx = {.loop = loop};

	cr_assert_eq(evloop_add_signal(loop, 0, on_signal, &fx), -EINVAL);
	cr_assert_eq(evloop_add_signal(loop, -1, on_signal, &fx), -EINVAL);
	cr_assert_eq(evloop_add_signal(loop, _NSIG, on_signal, &fx), -EINVAL);
	cr_assert_eq(evloop_add_signal(loop, 32, on_signal, &fx), -EINVAL, "libc's own");
	cr_assert_eq(evloop_add_signal(loop, SIGKILL, on_signal, &fx), -EINVAL);
	cr_assert_eq(evloop_add_signal(loop, SIGSTOP, on_signal, &fx), -EINVAL);
	cr_assert_eq(evloop_add_signal(loop, SIGUSR1, on_signal, &fx), 0);
	cr_assert_eq(evloop_add_signal(loop, SIGUSR1, on_signal, &fx), -EEXIST);
}

static bool is_blocked(int signo)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, signo) == 1;
}

Test(lib_evloop, free_restores_the_mask_and_drops_late_signals)
{
	struct fixture fx = {0};
	struct evloop *second;
	sigset_t hup;

	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &hup, NULL);
	cr_assert_eq(evloop_new(&second), 0);
	cr_assert_eq(evloop_add_signal(second, SIGHUP, on_signal, &fx), 0);
	cr_assert_eq(evloop_add_signal(second, SIGTERM, on_signal, &fx), 0);
	cr_assert(is_blocked(SIGHUP) && is_blocked(SIGTERM));
	cr_assert_eq(raise(SIGTERM), 0); /* would kill this test once unblocked */
	evloop_free(second);
	cr_assert(is_blocked(SIGHUP), "was blocked before");
	cr_assert_not(is_blocked(SIGTERM));
	cr_assert_eq(fx.calls, 0);
}

Test(lib_evloop, child_can_unblock)
{
	struct fixture fx = {.loop = loop};
	int status;
	pid_t pid;

	cr_assert_eq(evloop_add_signal(loop, SIGTERM, on_signal, &fx), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		evloop_unblock_signals(loop);
		raise(SIGTERM);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	cr_assert(is_blocked(SIGTERM), "the parent's mask is its own");
}

/* --- errors --------------------------------------------------------------------------------------------------------
 */

Test(lib_evloop, fds_that_cannot_be_polled_are_refused)
{
	struct ev_source *s = NULL;
	struct fixture fx = {.loop = loop};
	_cleanup_fclose_ FILE *file = tmpfile();
	int fds[2];

	cr_assert_not_null(file);
	cr_assert_eq(evloop_add_fd(loop, fileno(file), EPOLLIN, on_fd, &fx, &s), -EPERM);
	cr_assert_eq(evloop_add_fd(loop, -1, EPOLLIN, on_fd, &fx, &s), -EBADF);
	make_pipe(fds);
	cr_assert_eq(evloop_add_fd(loop, fds[0], EPOLLIN, on_fd, &fx, NULL), 0);
	cr_assert_eq(evloop_add_fd(loop, fds[0], EPOLLIN, on_fd, &fx, &s), -EEXIST);
	cr_assert_null(s, "untouched on failure");
}

static int first_free_fd(void)
{
	int fd = dup(STDERR_FILENO);

	cr_assert_geq(fd, 0);
	close(fd);
	return fd;
}

Test(lib_evloop, timers_leave_no_fd_behind)
{
	struct fixture fx = {.loop = loop};
	int before = first_free_fd();

	for (int i = 0; i < 100; i++) {
		struct ev_source *s;

		cr_assert_eq(evloop_add_timer(loop, MS, MS, on_timer, &fx, &s), 0);
		evloop_remove(loop, s);
		cr_assert_eq(evloop_add_timer(loop, UINT64_MAX, 0, on_timer, &fx, &s), 0, "600 years are a time too");
		evloop_remove(loop, s);
	}
	cr_assert_eq(first_free_fd(), before);
}

Test(lib_evloop, free_accepts_null)
{
	evloop_free(NULL);
}

static bool third_time(void *arg)
{
	return ++*(int *)arg == 3;
}

static bool never(void *arg)
{
	return false;
}

Test(lib_evloop, runs_until_it_is_done_or_time_is_over)
{
	int asked = 0;

	cr_assert_eq(evloop_run_until(loop, UINT64_C(60000000000), third_time, &asked), 0);
	cr_assert_eq(asked, 3);
	cr_assert_eq(evloop_run_until(loop, 20000000, never, NULL), 0);
	cr_assert_eq(evloop_run(loop), -ENOENT, "nothing of it is left in the loop");
}
