/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ticker.c - a loop whose ticks are known one by one, and callbacks that are slow in a known way and under a known name.
 *
 * It prints "ready PID", waits for a line on stdin, loops for -d (default 3s) or until SIGTERM, closes its epoll fd, prints "done"
 * and then lives on until SIGTERM, so that an observer reads its last sums. Truth: "log", each tick as [start, ns], from after
 * the wait's return to before the next entry; a last tick that no wait follows is left out; no more than -m. "waits", "returns": calls
 * of epoll_wait.
 *
 * -k      | a tick (one each -p, default 10 ms; one at once after another that was longer)
 * --------+-----------------------------------------------------------------------------------------------------------
 * uniform | burns 100 us to 4 ms
 * bimodal | burns 200 us, one in ten 20 ms
 * tail    | burns 100 us to 200 ms, uniform in the logarithm
 * rate    | burns -b; the wait returns at once, always
 * spin    | nothing; likewise. "log" is, of each 100 ms, [its end, picoseconds of CPU time a wait took]
 * many    | ten callbacks, each of its own fd, that burn a tenth of -b each
 * busy    | burns -b in burn_here(), called by on_busy()
 * sleep   | sleeps for -b in on_sleep(); likewise on_fsync, on_flock (held by a thread), on_futex (held by a thread)
 * resolve | on_resolve(): getaddrinfo() asks the name server at 127.0.0.1, port -r, once; gives up after a second
 * read    | on_read(): waits -b for the answer of the redis at 127.0.0.1, port -r; on_poll() likewise, by a nested poll
 *
 * Built with frame pointers. A call goes through a function of its own: libc's wrappers set up no frame, so that their caller's
 * return address is what an unwinder of frame pointers cannot see.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "epoll_common.h"
#include "looper.h"

#define MANY 10
#define NAMED __attribute__((noinline, noclone))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory") /* no tail call, nothing merged */

struct ticker {
	struct looper looper;
	const struct kind *kind;
	uint64_t slow_ns;
	unsigned port;
	int timer, ep, ask, fd, other_fd;
	int many[MANY];
	atomic_int held;
	uint64_t waits, returns;
	uint64_t (*log)[2];
	size_t n_log, cap_log, most_log;
};

struct kind {
	const char *name;
	void (*prepare)(struct ticker *t);
	void (*tick)(struct ticker *t);
};

static NAMED void burn_here(uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	do {
		for (volatile int i = 0; i < 2000; i++)
			;
	} while (now_ns() < until);
	KEEP_FRAME();
}

/* Exactly so long, as far as the clock tells. */
static void burn_exactly(uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		;
}

static double random_share(struct ticker *t)
{
	return (double)(looper_random(&t->looper) >> 11) / (double)(1ULL << 53);
}

static void tick_uniform(struct ticker *t)
{
	burn_exactly((uint64_t)(100e3 + random_share(t) * 3.9e6));
}

static void tick_bimodal(struct ticker *t)
{
	burn_exactly(looper_random(&t->looper) % 10 ? 200000 : 20000000);
}

static void tick_tail(struct ticker *t)
{
	burn_exactly((uint64_t)(100e3 * exp(random_share(t) * log(2000))));
}

static void tick_exact(struct ticker *t)
{
	burn_exactly(t->slow_ns);
}

static void nothing(struct ticker *t)
{
	(void)t;
}

static NAMED void on_busy(struct ticker *t)
{
	burn_here(t->slow_ns);
	KEEP_FRAME();
}

/* --- blocked -------------------------------------------------------------------------------------------------------- */

static NAMED void call_sleep(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / NSEC_PER_SEC), .tv_nsec = (long)(ns % NSEC_PER_SEC)};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	KEEP_FRAME();
}

static NAMED void on_sleep(struct ticker *t)
{
	call_sleep(t->slow_ns);
	KEEP_FRAME();
}

static void open_file(struct ticker *t)
{
	t->fd = open("ticker.data", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	t->other_fd = open("ticker.data", O_RDWR | O_CLOEXEC);
	if (t->fd < 0 || t->other_fd < 0)
		die("ticker.data: %s", strerror(errno));
}

static NAMED void call_fsync(int fd)
{
	if (fsync(fd))
		die("fsync: %s", strerror(errno));
	KEEP_FRAME();
}

static NAMED void on_fsync(struct ticker *t)
{
	uint64_t until = now_ns() + t->slow_ns;
	static char data[1 << 18];

	while (now_ns() < until) {
		memset(data, (int)until++, sizeof(data));
		if (pwrite(t->fd, data, sizeof(data), 0) != sizeof(data))
			die("write: %s", strerror(errno));
		call_fsync(t->fd);
	}
	KEEP_FRAME();
}

static void ask(const struct ticker *t)
{
	uint64_t one = 1;

	if (write(t->ask, &one, sizeof(one)) != sizeof(one))
		die("eventfd: %s", strerror(errno));
}

/* Takes what it is asked for, says so, and lets go after a while. */
static void *hold(void *arg)
{
	struct ticker *t = arg;
	uint64_t n;

	while (read(t->ask, &n, sizeof(n)) == sizeof(n)) {
		if (t->fd >= 0)
			flock(t->other_fd, LOCK_EX);
		atomic_store(&t->held, 1);
		sleep_ns(t->slow_ns);
		if (t->fd >= 0)
			flock(t->other_fd, LOCK_UN);
		atomic_store(&t->held, 0);
		syscall(SYS_futex, &t->held, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return NULL;
}

static void start_holder(struct ticker *t)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, hold, t);

	if (err)
		die("thread: %s", strerror(err));
}

static void wait_held(struct ticker *t)
{
	ask(t);
	while (!atomic_load(&t->held))
		;
}

static NAMED void call_futex(struct ticker *t)
{
	while (atomic_load(&t->held))
		syscall(SYS_futex, &t->held, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	KEEP_FRAME();
}

static NAMED void on_futex(struct ticker *t)
{
	wait_held(t);
	call_futex(t);
	KEEP_FRAME();
}

static void prepare_flock(struct ticker *t)
{
	open_file(t);
	start_holder(t);
}

static NAMED void call_flock(int fd)
{
	while (flock(fd, LOCK_EX) && errno == EINTR)
		;
	flock(fd, LOCK_UN);
	KEEP_FRAME();
}

static NAMED void on_flock(struct ticker *t)
{
	wait_held(t);
	call_flock(t->fd);
	KEEP_FRAME();
}

static void connect_redis(struct ticker *t)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)t->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	t->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->fd < 0 || connect(t->fd, (struct sockaddr *)&a, sizeof(a)))
		die("redis at port %u: %s", t->port, strerror(errno));
}

/* An answer that takes its time: there is no such list. */
static void send_query(struct ticker *t)
{
	char query[64];
	int n = snprintf(query, sizeof(query), "BLPOP none %.3f\r\n", (double)t->slow_ns / 1e9);

	if (write(t->fd, query, (size_t)n) != n)
		die("redis: %s", strerror(errno));
}

static NAMED void call_read(int fd)
{
	char answer[64];

	if (read(fd, answer, sizeof(answer)) <= 0 && errno != EINTR)
		die("redis: %s", strerror(errno));
	KEEP_FRAME();
}

static NAMED void on_read(struct ticker *t)
{
	send_query(t);
	call_read(t->fd);
	KEEP_FRAME();
}

static NAMED void call_poll(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	poll(&p, 1, 10000);
	KEEP_FRAME();
}

static NAMED void on_poll(struct ticker *t)
{
	send_query(t);
	call_poll(t->fd);
	call_read(t->fd);
	KEEP_FRAME();
}

/* The resolver of this thread is told whom to ask: what /etc/resolv.conf says is the machine's. */
static void set_resolver(struct ticker *t)
{
	if (res_init())
		die("res_init: %s", strerror(errno));
	_res.nsaddr_list[0] = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons((uint16_t)t->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_res.nscount = 1;
	_res.retrans = 1;
	_res.retry = 1;
}

static NAMED void call_getaddrinfo(void)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;

	if (!getaddrinfo("nobody.invalid.", "80", &hints, &found))
		die("a name was found that nobody has told");
	KEEP_FRAME();
}

static NAMED void on_resolve(struct ticker *t)
{
	(void)t;
	call_getaddrinfo();
	KEEP_FRAME();
}

/* --- the loop ------------------------------------------------------------------------------------------------------- */

static void watch_fd(struct ticker *t, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(t->ep, EPOLL_CTL_ADD, fd, &ev))
		die("epoll: %s", strerror(errno));
}

static void prepare_many(struct ticker *t)
{
	for (int i = 0; i < MANY; i++) {
		t->many[i] = eventfd(1, EFD_CLOEXEC);
		watch_fd(t, t->many[i]);
	}
	close(t->timer); /* they are always ready: it is sleep between the ticks that keeps the period */
	t->timer = -1;
}

static NAMED void on_event(struct ticker *t)
{
	burn_here(t->slow_ns / MANY);
	KEEP_FRAME();
}

static NAMED void tick_many(struct ticker *t)
{
	for (int i = 0; i < MANY; i++)
		on_event(t);
	KEEP_FRAME();
}

static void prepare_rate(struct ticker *t)
{
	close(t->timer);
	t->timer = -1;
	t->many[0] = eventfd(1, EFD_CLOEXEC);
	watch_fd(t, t->many[0]);
}

static const struct kind kinds[] = {
	{"uniform", NULL, tick_uniform},    {"bimodal", NULL, tick_bimodal},	 {"tail", NULL, tick_tail},
	{"rate", prepare_rate, tick_exact}, {"many", prepare_many, tick_many},	 {"busy", NULL, on_busy},
	{"sleep", NULL, on_sleep},	    {"fsync", open_file, on_fsync},	 {"flock", prepare_flock, on_flock},
	{"resolve", set_resolver, on_resolve},
	{"spin", NULL, nothing},	    {"futex", start_holder, on_futex},  {"read", connect_redis, on_read},	 {"poll", connect_redis, on_poll},
};

static void note_tick(struct ticker *t, uint64_t from, uint64_t to)
{
	if (t->n_log == t->most_log)
		return;
	if (t->n_log == t->cap_log) {
		t->cap_log = t->cap_log ? 2 * t->cap_log : 1 << 17;
		t->log = realloc(t->log, t->cap_log * sizeof(t->log[0]));
		if (!t->log)
			die("out of memory");
	}
	t->log[t->n_log][0] = from;
	t->log[t->n_log++][1] = to - from;
}

static void run_spin(struct ticker *t)
{
	struct epoll_event ev;
	uint64_t cpu = thread_cpu_ns();

	while (!looper_over(&t->looper)) {
		uint64_t until = now_ns() + 100 * NSEC_PER_MSEC, now, n = 0, used;

		do {
			for (int i = 0; i < 1000; i++)
				epoll_wait(t->ep, &ev, 1, 0);
			n += 1000;
			now = now_ns();
		} while (now < until);
		t->waits += n;
		used = thread_cpu_ns() - cpu;
		cpu += used;
		note_tick(t, now, now + used * 1000 / n);
	}
}

static void run(struct ticker *t)
{
	struct epoll_event ev[MANY];
	uint64_t began = 0;

	while (!looper_over(&t->looper)) {
		uint64_t now = now_ns();
		int n;

		if (began)
			note_tick(t, began, now);
		t->waits++;
		n = epoll_wait(t->ep, ev, MANY, -1);
		began = now_ns();
		t->returns++;
		if (n <= 0 || (t->timer >= 0 && !looper_take_timer(&t->looper, t->timer)))
			continue;
		t->looper.ticks++;
		t->kind->tick(t);
	}
}

static void take_kind(void *arg, const char *value)
{
	struct ticker *t = arg;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(kinds[i].name, value)) {
			t->kind = &kinds[i];
			return;
		}
	}
	die("'%s' is no kind of tick", value);
}

static void take_slow(void *arg, const char *value)
{
	((struct ticker *)arg)->slow_ns = duration_arg(value);
}

static void take_port(void *arg, const char *value)
{
	((struct ticker *)arg)->port = (unsigned)number_arg(value, 65535);
}

static void take_most(void *arg, const char *value)
{
	((struct ticker *)arg)->most_log = number_arg(value, UINT32_MAX);
}

static void wait_for_go(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		die("no line on stdin to begin with");
}

static void print_truth(struct ticker *t)
{
	printf("{\"looper\":\"ticker\",\"pid\":%d,\"kind\":\"%s\",\"waits\":%" PRIu64 ",\"returns\":%" PRIu64 ",\"log\":[", getpid(),
	       t->kind->name, t->waits, t->returns);
	for (size_t i = 0; i < t->n_log; i++)
		printf("%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", t->log[i][0], t->log[i][1]);
	printf("]}\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct looper_option extra[] = {{'k', "KIND", take_kind}, {'b', "TIME", take_slow}, {'r', "PORT", take_port},
						     {'m', "COUNT", take_most}, {0}};
	struct ticker t = {.kind = &kinds[0], .slow_ns = 100 * NSEC_PER_MSEC, .fd = -1, .other_fd = -1, .most_log = SIZE_MAX};

	looper_init(&t.looper, "ticker", argc, argv, extra, &t);
	if (!t.looper.duration_ns)
		t.looper.duration_ns = 3 * NSEC_PER_SEC;
	t.ask = eventfd(0, EFD_CLOEXEC);
	looper_ready();
	wait_for_go();
	t.timer = looper_timerfd(&t.looper, true);
	t.ep = epoll_watching(t.timer);
	if (t.kind->prepare)
		t.kind->prepare(&t);
	looper_start(&t.looper);
	if (t.kind->tick == nothing)
		run_spin(&t);
	else
		run(&t);
	close(t.ep);
	puts("done");
	fflush(stdout);
	while (!looper_stopping)
		pause();
	print_truth(&t);
	_exit(0); /* the other thread may stand anywhere */
}
