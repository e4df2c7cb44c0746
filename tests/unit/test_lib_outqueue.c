/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lib_outqueue.c - a reader that sleeps, comes back, is slow, goes: whole records or none, bounded, counted. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/evloop.h"
#include "lib/outqueue.h"

#define QUEUE_MAX (1u << 20)
#define LINE 1000u /* bytes, with its newline */

static struct evloop *loop; /* of the test that runs: criterion gives each its own process */
static struct outqueue *queue;
static int ends[2]; /* [0] reads */
static int failure;

static int on_failed(void *arg, int err)
{
	failure = err;
	return 0;
}

static void open_queue(void)
{
	struct outqueue_options o = {.fd = ends[1], .max = QUEUE_MAX, .failed = on_failed};

	cr_assert_eq(evloop_new(&loop), 0);
	cr_assert(outqueue_needed(ends[1]));
	cr_assert_eq(outqueue_new(&o, loop, &queue), 0);
}

static void set_up(void)
{
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(pipe(ends), 0);
	open_queue();
}

static void tear_down(void)
{
	outqueue_free(queue);
	evloop_free(loop);
}

TestSuite(lib_outqueue, .init = set_up, .fini = tear_down, .timeout = 60);

static int stop(void *arg, uint64_t expirations)
{
	evloop_stop(loop);
	return 0;
}

/* What is due now is done: a timer that is due at once comes when all that can be written has been. */
static void turn(void)
{
	struct ev_source *timer;

	cr_assert_eq(evloop_add_timer(loop, 1000000, 0, stop, NULL, &timer), 0);
	cr_assert_eq(evloop_run(loop), 0);
	evloop_remove(loop, timer);
}

static int put(unsigned record, unsigned lines, size_t line)
{
	FILE *out = outqueue_stream(queue);

	for (unsigned i = 0; i < lines; i++)
		fprintf(out, "%08u %08u %0*d\n", record, i, (int)line - 19, 0);
	return outqueue_commit(queue);
}

static struct outqueue_stats stats(void)
{
	struct outqueue_stats s;

	outqueue_stats(queue, &s);
	return s;
}

static size_t take(char *to, size_t room)
{
	ssize_t n;

	turn();
	n = recv(ends[0], to, room, MSG_DONTWAIT);
	if (n < 0 && errno == ENOTSOCK) {
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		n = read(ends[0], to, room);
	}
	return n > 0 ? (size_t)n : 0;
}

/* All that can be read, line after line: each whole, those of a record together and in their order. Returns the records. */
static unsigned read_records(unsigned lines, size_t line)
{
	char *text = malloc(4 * QUEUE_MAX);
	unsigned records = 0, record = 0, last = UINT_MAX;
	size_t len = 0, n, at = 0;

	while ((n = take(text + len, 4 * QUEUE_MAX - len)) > 0)
		len += n;
	for (unsigned i = 0; at < len; at += line, i = (i + 1) % lines) {
		unsigned of, number;

		cr_assert_leq(at + line, len, "half a line at the end");
		cr_assert_eq(text[at + line - 1], '\n');
		cr_assert_eq(sscanf(text + at, "%u %u", &of, &number), 2);
		cr_assert_eq(number, i);
		if (!i) {
			cr_assert(last == UINT_MAX || of > last, "%u after %u", of, last);
			record = last = of;
			records++;
		}
		cr_assert_eq(of, record);
	}
	free(text);
	return records;
}

Test(lib_outqueue, a_reader_that_is_stopped_costs_a_bounded_queue_and_whole_records)
{
	unsigned lost = 0, n = 0;

	for (; lost < 5; n++) {
		int err = put(n, 100, LINE);

		cr_assert(!err || err == -ENOBUFS);
		lost += err == -ENOBUFS;
		turn();
		cr_assert_leq(stats().bytes, QUEUE_MAX);
	}
	cr_assert_eq(stats().lost, lost);
	cr_assert_eq(read_records(100, LINE), n - lost);
	cr_assert_eq(stats().written, n - lost);
	cr_assert_eq(stats().bytes, 0);
	cr_assert_eq(put(n, 100, LINE), 0, "there is room again");
	cr_assert_eq(read_records(100, LINE), 1);
}

Test(lib_outqueue, lines_get_into_a_pipe_whole_or_not_at_all)
{
	for (unsigned i = 0; i < 10; i++)
		cr_assert_eq(put(i, 20, PIPE_BUF - 1), 0);
	turn();
	outqueue_free(queue); /* the reader never had a look */
	queue = NULL;
	close(ends[1]);
	cr_assert_gt(read_records(20, PIPE_BUF - 1), 0);
}

Test(lib_outqueue, lines_longer_than_a_pipe_come_through)
{
	cr_assert_eq(put(0, 3, 300000), 0);
	cr_assert_eq(read_records(3, 300000), 1);
}

Test(lib_outqueue, one_record_is_taken_whatever_its_size)
{
	cr_assert_eq(put(0, 3000, LINE), 0);
	cr_assert_eq(put(1, 1, LINE), -ENOBUFS);
	cr_assert_eq(read_records(3000, LINE), 1);
	cr_assert_eq(stats().lost, 1);
}

Test(lib_outqueue, what_is_taken_back_was_never_there)
{
	fputs("half a li", outqueue_stream(queue));
	outqueue_rollback(queue);
	cr_assert_eq(put(7, 1, LINE), 0);
	cr_assert_eq(read_records(1, LINE), 1);
	cr_assert_eq(stats().lost, 0);
}

Test(lib_outqueue, a_reader_that_goes_is_told_and_what_waited_is_lost)
{
	for (unsigned i = 0; i < 5; i++)
		cr_assert_eq(put(i, 100, LINE), 0);
	turn();
	close(ends[0]);
	turn();
	cr_assert_eq(failure, -EPIPE);
	cr_assert_eq(stats().written + stats().lost, 5);
	cr_assert_gt(stats().lost, 0);
	cr_assert_eq(stats().bytes, 0);
}

Test(lib_outqueue, others_who_share_the_pipe_still_wait)
{
	cr_assert_eq(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
}

Test(lib_outqueue, a_socket_and_its_flags)
{
	outqueue_free(queue);
	evloop_free(loop);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	open_queue();
	for (unsigned i = 0; i < 8; i++)
		cr_assert_eq(put(i, 100, LINE), 0);
	turn();
	cr_assert_gt(stats().bytes, 0);
	cr_assert_eq(read_records(100, LINE), 8);
	cr_assert_eq(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
}

Test(lib_outqueue, a_file_needs_none)
{
	_cleanup_close_ int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	cr_assert_not(outqueue_needed(fd));
}
