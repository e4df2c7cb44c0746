/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blocker.c - a loop whose callbacks block, in a way given by -k, for about -b (default 4 ms) a tick.
 *
 * The loop's own wait point is epoll_wait, or poll with -l poll, where a nested poll differs from it by the stack alone.
 * Truth: "blocks", each [start, end, cpu_s, runq_s]; "in" is the name under which it should be seen.
 *
 * -k      | blocks in
 * --------+---------------------------------------------------------------------------------------------------
 * none    | nothing
 * sleep   | clock_nanosleep
 * futex   | FUTEX_WAIT with a timeout, on a word that another thread holds for the time
 * fsync   | fsyncs of a file in the working directory, one after the other until the time is over
 * read    | read of a socket whose peer thread answers after the time
 * poll    | one nested poll
 * polls   | ten nested polls, each a tenth of the time
 * epoll   | a nested epoll_wait
 * deep    | a nested poll, from a stack depth that changes from tick to tick
 * fault   | page faults on a file that was dropped from the page cache, until the time is over
 * uffd    | a page fault that another thread resolves after the time (userfaultfd)
 * uffd-wp | the same for a write-protected page: on x86 the error code of that fault is 7, also the number of poll
 *
 * A userfaultfd sleep is interruptible, which a fault's sleep is otherwise not (kernel: fs/userfaultfd.c,
 * userfaultfd_get_blocking_state): an observer that tells faults from system calls by that alone is caught here.
 */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "epoll_common.h"
#include "looper.h"

#define FILE_SIZE (64UL << 20)
#define DEPTHS 8
#define NESTED_POLLS 10

struct blocker {
	struct looper looper;
	const struct kind *kind;
	bool loop_is_poll;
	uint64_t block_ns;
	/* The other thread: it is asked through an eventfd, and lets go after block_ns. */
	int ask;
	atomic_int held;
	int peer[2];
	/* Files and memory. */
	int fd;
	char *map;
	size_t page;
	int uffd;
};

struct kind {
	const char *name;
	const char *in;
	void (*prepare)(struct blocker *b);
	void (*block)(struct blocker *b);
};

static int ms_of(uint64_t ns)
{
	if (ns < NSEC_PER_MSEC)
		die("a poll cannot block for less than 1ms: give a longer -b");
	return (int)(ns / NSEC_PER_MSEC);
}

static void start_thread(void *(*main_fn)(void *), struct blocker *b)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, main_fn, b);

	if (err)
		die("thread: %s", strerror(err));
}

static void ask_other(const struct blocker *b)
{
	uint64_t one = 1;

	if (write(b->ask, &one, sizeof(one)) != sizeof(one))
		die("eventfd: %s", strerror(errno));
}

static void wait_asked(const struct blocker *b)
{
	uint64_t n;

	while (read(b->ask, &n, sizeof(n)) != sizeof(n))
		if (errno != EINTR)
			die("eventfd: %s", strerror(errno));
}

static void prepare_ask(struct blocker *b)
{
	b->ask = eventfd(0, EFD_CLOEXEC);
	if (b->ask < 0)
		die("eventfd: %s", strerror(errno));
}

static void block_none(struct blocker *b)
{
	(void)b;
}

static void block_sleep(struct blocker *b)
{
	block_begin(&b->looper);
	sleep_ns(b->block_ns);
	block_end(&b->looper);
}

static void *hold_word(void *arg)
{
	struct blocker *b = arg;

	for (;;) {
		wait_asked(b);
		sleep_ns(b->block_ns);
		atomic_store(&b->held, 0);
		syscall(SYS_futex, &b->held, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return NULL;
}

static void prepare_futex(struct blocker *b)
{
	prepare_ask(b);
	start_thread(hold_word, b);
}

static void block_futex(struct blocker *b)
{
	struct timespec limit = {.tv_sec = 5};

	atomic_store(&b->held, 1);
	ask_other(b);
	block_begin(&b->looper);
	while (atomic_load(&b->held))
		syscall(SYS_futex, &b->held, FUTEX_WAIT_PRIVATE, 1, &limit, NULL, 0);
	block_end(&b->looper);
}

/* A file in the working directory that nobody else sees and that needs no removal. */
static int unnamed_file(void)
{
	char name[] = "blocker-XXXXXX";
	int fd = mkstemp(name);

	if (fd < 0)
		die("a file in the working directory: %s", strerror(errno));
	unlink(name);
	return fd;
}

static void prepare_fsync(struct blocker *b)
{
	b->fd = unnamed_file();
}

static void block_fsync(struct blocker *b)
{
	uint64_t until = now_ns() + b->block_ns;
	char data[4096];

	memset(data, (int)b->looper.ticks, sizeof(data));
	while (now_ns() < until) {
		for (off_t at = 0; at < 16; at++)
			if (pwrite(b->fd, data, sizeof(data), at * (off_t)sizeof(data)) != sizeof(data))
				die("write: %s", strerror(errno));
		block_begin(&b->looper);
		if (fsync(b->fd))
			die("fsync: %s", strerror(errno));
		block_end(&b->looper);
	}
}

static void *answer(void *arg)
{
	struct blocker *b = arg;

	for (;;) {
		wait_asked(b);
		sleep_ns(b->block_ns);
		if (write(b->peer[1], "x", 1) != 1)
			die("socket: %s", strerror(errno));
	}
	return NULL;
}

static void prepare_read(struct blocker *b)
{
	prepare_ask(b);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b->peer))
		die("socketpair: %s", strerror(errno));
	start_thread(answer, b);
}

static void block_read(struct blocker *b)
{
	char c;

	ask_other(b);
	block_begin(&b->looper);
	while (read(b->peer[0], &c, 1) < 0 && errno == EINTR)
		;
	block_end(&b->looper);
}

static void nested_poll(struct blocker *b, uint64_t ns)
{
	struct pollfd p = {.fd = b->peer[0], .events = POLLIN};

	block_begin(&b->looper);
	poll(&p, 1, ms_of(ns));
	block_end(&b->looper);
}

/* A socket on which nothing arrives: the nested poll's timeout ends it. */
static void prepare_poll(struct blocker *b)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b->peer))
		die("socketpair: %s", strerror(errno));
}

static void block_poll(struct blocker *b)
{
	nested_poll(b, b->block_ns);
}

static void block_polls(struct blocker *b)
{
	for (int i = 0; i < NESTED_POLLS; i++)
		nested_poll(b, b->block_ns / NESTED_POLLS);
}

static void prepare_epoll(struct blocker *b)
{
	prepare_poll(b);
	b->fd = epoll_watching(b->peer[0]);
}

static void block_epoll(struct blocker *b)
{
	struct epoll_event ev;

	block_begin(&b->looper);
	epoll_wait(b->fd, &ev, 1, ms_of(b->block_ns));
	block_end(&b->looper);
}

/* Every level takes its own piece of stack; the compiler must neither flatten nor drop it. */
__attribute__((noinline)) static void descend(struct blocker *b, unsigned depth)
{
	volatile char *frame = alloca(128 * (depth + 1));

	frame[0] = 1;
	if (depth)
		descend(b, depth - 1);
	else
		nested_poll(b, b->block_ns);
	frame[0] = 0;
}

static void block_deep(struct blocker *b)
{
	descend(b, (unsigned)(looper_random(&b->looper) % DEPTHS));
}

static void prepare_fault(struct blocker *b)
{
	b->fd = unnamed_file();
	b->page = (size_t)sysconf(_SC_PAGESIZE);
	if (ftruncate(b->fd, FILE_SIZE))
		die("a file of 64 MiB: %s", strerror(errno));
	b->map = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	if (b->map == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	memset(b->map, 1, FILE_SIZE); /* real blocks: a hole would be filled with zeros and never sleep */
	if (msync(b->map, FILE_SIZE, MS_SYNC) || fsync(b->fd))
		die("msync: %s", strerror(errno));
	madvise(b->map, FILE_SIZE, MADV_RANDOM); /* no read-ahead: a page read is a page slept for */
}

static void block_fault(struct blocker *b)
{
	uint64_t until;

	madvise(b->map, FILE_SIZE, MADV_DONTNEED);
	posix_fadvise(b->fd, 0, 0, POSIX_FADV_DONTNEED);
	block_begin(&b->looper);
	until = now_ns() + b->block_ns;
	while (now_ns() < until)
		(void)*(volatile char *)(b->map + looper_random(&b->looper) % (FILE_SIZE / b->page) * b->page);
	block_end(&b->looper);
}

static void resolve_fault(const struct blocker *b, const struct uffd_msg *msg)
{
	unsigned long at = msg->arg.pagefault.address & ~(b->page - 1);
	struct uffdio_zeropage zero = {.range = {at, b->page}};
	struct uffdio_writeprotect unprotect = {.range = {at, b->page}};
	bool wp = msg->arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP;

	if (wp ? ioctl(b->uffd, UFFDIO_WRITEPROTECT, &unprotect) : ioctl(b->uffd, UFFDIO_ZEROPAGE, &zero))
		die("userfaultfd: %s", strerror(errno));
}

static void *resolve_faults(void *arg)
{
	struct blocker *b = arg;
	struct uffd_msg msg;

	for (;;) {
		if (read(b->uffd, &msg, sizeof(msg)) != sizeof(msg)) {
			if (errno == EINTR)
				continue;
			die("userfaultfd: %s", strerror(errno));
		}
		if (msg.event != UFFD_EVENT_PAGEFAULT)
			continue;
		sleep_ns(b->block_ns);
		resolve_fault(b, &msg);
	}
	return NULL;
}

static void prepare_userfault(struct blocker *b, uint64_t mode, uint64_t features)
{
	struct uffdio_api api = {.api = UFFD_API, .features = features};
	struct uffdio_register reg;

	b->page = (size_t)sysconf(_SC_PAGESIZE);
	b->map = mmap(NULL, b->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	b->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	reg = (struct uffdio_register){.range = {(unsigned long)b->map, b->page}, .mode = mode};
	if (b->map == MAP_FAILED || b->uffd < 0 || ioctl(b->uffd, UFFDIO_API, &api) ||
	    ioctl(b->uffd, UFFDIO_REGISTER, &reg))
		die("userfaultfd: %s", strerror(errno));
	start_thread(resolve_faults, b);
}

static void prepare_uffd(struct blocker *b)
{
	prepare_userfault(b, UFFDIO_REGISTER_MODE_MISSING, 0);
}

static void block_uffd(struct blocker *b)
{
	madvise(b->map, b->page, MADV_DONTNEED);
	block_begin(&b->looper);
	*(volatile char *)b->map = 1;
	block_end(&b->looper);
}

static void prepare_uffd_wp(struct blocker *b)
{
	prepare_userfault(b, UFFDIO_REGISTER_MODE_WP, UFFD_FEATURE_PAGEFAULT_FLAG_WP);
	*(volatile char *)b->map = 1; /* only a page that is there can be write-protected */
}

static void block_uffd_wp(struct blocker *b)
{
	struct uffdio_writeprotect protect = {.range = {(unsigned long)b->map, b->page}, .mode = UFFDIO_WRITEPROTECT_MODE_WP};

	if (ioctl(b->uffd, UFFDIO_WRITEPROTECT, &protect))
		die("userfaultfd: %s", strerror(errno));
	block_begin(&b->looper);
	*(volatile char *)b->map = 1;
	block_end(&b->looper);
}

static const struct kind kinds[] = {
	{"none", "", NULL, block_none},
	{"sleep", "clock_nanosleep", NULL, block_sleep},
	{"futex", "futex", prepare_futex, block_futex},
	{"fsync", "fsync", prepare_fsync, block_fsync},
	{"read", "read", prepare_read, block_read},
	{"poll", "poll", prepare_poll, block_poll},
	{"polls", "poll", prepare_poll, block_polls},
	{"epoll", "epoll_wait", prepare_epoll, block_epoll},
	{"deep", "poll", prepare_poll, block_deep},
	{"fault", "page_fault", prepare_fault, block_fault},
	{"uffd", "page_fault", prepare_uffd, block_uffd},
	{"uffd-wp", "page_fault", prepare_uffd_wp, block_uffd_wp},
};

static void take_kind(void *arg, const char *value)
{
	struct blocker *b = arg;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(kinds[i].name, value)) {
			b->kind = &kinds[i];
			return;
		}
	}
	die("'%s' is no kind of blocking", value);
}

static void take_block(void *arg, const char *value)
{
	((struct blocker *)arg)->block_ns = duration_arg(value);
}

static void take_loop(void *arg, const char *value)
{
	struct blocker *b = arg;

	if (strcmp(value, "poll") && strcmp(value, "epoll"))
		die("'%s' is neither poll nor epoll", value);
	b->loop_is_poll = !strcmp(value, "poll");
}

int main(int argc, char **argv)
{
	static const struct looper_option extra[] = {{'k', "KIND", take_kind},
						     {'b', "TIME", take_block},
						     {'l', "poll|epoll", take_loop},
						     {0}};
	struct blocker b = {.kind = &kinds[0], .block_ns = 4 * NSEC_PER_MSEC, .fd = -1, .uffd = -1};
	struct pollfd timer_poll = {.events = POLLIN};
	struct epoll_event ev;
	char more[128];
	int timer, ep;

	looper_init(&b.looper, "blocker", argc, argv, extra, &b);
	if (b.kind->prepare)
		b.kind->prepare(&b);
	timer = looper_timerfd(&b.looper, true);
	ep = epoll_watching(timer);
	timer_poll.fd = timer;
	looper_start(&b.looper);
	while (!looper_over(&b.looper)) {
		/* Here and not in a function: a loop waits in its own frame, and what its callbacks call is deeper. */
		if (b.loop_is_poll)
			poll(&timer_poll, 1, -1);
		else
			epoll_wait(ep, &ev, 1, -1);
		if (!looper_take_timer(&b.looper, timer))
			continue;
		looper_work(&b.looper);
		b.kind->block(&b);
		if (b.looper.ticks == 2)
			looper_ready();
	}
	snprintf(more, sizeof(more), ",\"kind\":\"%s\",\"in\":\"%s\"", b.kind->name, b.kind->in);
	looper_truth(&b.looper, more);
	_exit(0); /* the other thread may stand anywhere */
}
