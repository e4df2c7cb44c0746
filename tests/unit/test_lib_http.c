/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_lib_http.c - the HTTP server and its listening sockets, from the outside: a process of its own serves, the test is the
 * client. It ends when the test says so, with status 0 or the test fails: a sanitizer's report would change that.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/http.h"
#include "lib/listen.h"

#define MS 1000000ull
#define BIG (16u << 20)

TestSuite(lib_http, .timeout = 60);
TestSuite(lib_listen, .timeout = 30);

/* --- the server ------------------------------------------------------------------------------------------------------------------- */

struct served {
	struct listener where;
	pid_t pid;
	int end; /* closing it ends the server */
	struct http_stats *stats; /* shared: as of the last answer */
};

struct serving {
	struct http_server *server;
	struct evloop *loop;
	struct http_stats *stats;
};

static void answer(void *arg, const struct http_request *rq, struct http_answer *ret)
{
	struct serving *s = arg;
	size_t n = strcmp(rq->path, "/big") ? 256 : BIG;
	char *p = malloc(n);

	if (!p)
		return;
	memset(p, 'x', n);
	if (n == 256)
		n = (size_t)snprintf(p, n, "path=%s accept=%s\n", rq->path, rq->accept ? rq->accept : "-");
	*ret = (struct http_answer){ .status = strcmp(rq->path, "/none") ? 200 : 404, .content_type = "text/plain", .body = http_body_new(p, n) };
	http_server_stats(s->server, s->stats);
}

static int on_end(void *arg, int fd, uint32_t events)
{
	evloop_stop(((struct serving *)arg)->loop);
	return 0;
}

static int serve(struct served *s, const struct http_options *options, int end)
{
	struct serving serving = { .stats = s->stats };
	struct http_options o = *options;
	struct fault f = {};
	int err;

	signal(SIGPIPE, SIG_IGN);
	o.listen_fd = s->where.fd;
	o.answer = answer;
	o.arg = &serving;
	err = evloop_new(&serving.loop);
	if (!err)
		err = http_server_new(&o, serving.loop, &serving.server, &f);
	if (!err)
		err = evloop_add_fd(serving.loop, end, EPOLLIN, on_end, &serving, NULL);
	if (!err)
		err = evloop_run(serving.loop);
	http_server_free(serving.server);
	evloop_free(serving.loop);
	listen_close(&s->where);
	return err ? 1 : 0;
}

static struct served started(const char *where, struct http_options o)
{
	struct served s = {};
	struct fault f = {};
	int pipe_fds[2];

	cr_assert_eq(listen_open(where, &s.where, &f), 0, "%s", f.text);
	cr_assert_eq(pipe(pipe_fds), 0);
	s.stats = mmap(NULL, sizeof(*s.stats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(s.stats, MAP_FAILED);
	s.pid = fork();
	cr_assert_geq(s.pid, 0);
	if (!s.pid) {
		close(pipe_fds[1]);
		exit(serve(&s, &o, pipe_fds[0]));
	}
	close(pipe_fds[0]);
	s.end = pipe_fds[1];
	return s;
}

static void ended(struct served *s)
{
	int status;

	close(s->end);
	cr_assert_eq(waitpid(s->pid, &status, 0), s->pid);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "the server ended with %#x", status);
	close(s->where.fd);
}

/* --- the client --------------------------------------------------------------------------------------------------------------------- */

static int connected(const struct served *s)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	int fd;

	cr_assert_eq(getsockname(s->where.fd, (struct sockaddr *)&a, &len), 0);
	fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_geq(fd, 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&a, len), 0, "%s", strerror(errno));
	return fd;
}

static void say(int fd, const char *text)
{
	size_t n = strlen(text);

	while (n) {
		ssize_t w = send(fd, text, n, MSG_NOSIGNAL);

		if (w <= 0)
			return; /* it is closed: the reading tells */
		text += w;
		n -= (size_t)w;
	}
}

/* All that comes until the server closes, or until the whole of one answer is there; "" where it just closes. */
static char *heard(int fd, bool until_closed)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		char buf[4096];
		ssize_t n;

		cr_assert_eq(poll(&p, 1, 20000), 1, "nothing comes");
		n = recv(fd, buf, sizeof(buf), 0);
		if (n <= 0)
			break;
		fwrite(buf, 1, (size_t)n, out);
		fflush(out);
		if (!until_closed && strstr(text, "\r\n\r\n") && text[size - 1] == '\n')
			break;
	}
	fclose(out);
	return text;
}

static char *asked(const struct served *s, const char *request)
{
	int fd = connected(s);
	char *text;

	say(fd, request);
	text = heard(fd, true);
	close(fd);
	return text;
}

#define GET "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static void assert_serves(const struct served *s)
{
	_cleanup_free_ char *text = asked(s, GET);

	cr_assert(!strncmp(text, "HTTP/1.1 200 ", 13) && strstr(text, "path=/metrics"), "%s", text);
}

static void assert_status(const struct served *s, const char *request, const char *status, const char *part)
{
	_cleanup_free_ char *text = asked(s, request);

	cr_assert(!strncmp(text, "HTTP/1.1 ", 9) && !strncmp(text + 9, status, strlen(status)), "%.40s: %s", request, text);
	cr_assert(strstr(text, part), "%.40s: %s", request, text);
}

/* --- what is answered ---------------------------------------------------------------------------------------------------------------- */

Test(lib_http, get_and_head)
{
	struct served s = started("127.0.0.1:0", (struct http_options){});
	_cleanup_free_ char *head = asked(&s, "HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

	assert_status(&s, "GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept: text/plain\r\nConnection: close\r\n\r\n", "200", "path=/a accept=text/plain\n");
	assert_status(&s, "GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "404", "path=/none");
	assert_status(&s, GET, "200", "Content-Type: text/plain\r\n");
	cr_assert(strstr(head, "200") && strstr(head, "Content-Length: 23") && !strstr(head, "path="), "%s", head);
	ended(&s);
}

Test(lib_http, one_connection_many_requests)
{
	struct served s = started("127.0.0.1:0", (struct http_options){});
	int fd = connected(&s);

	for (int i = 0; i < 100; i++) {
		_cleanup_free_ char *text = NULL;

		say(fd, "GET /again HTTP/1.1\r\nHost: x\r\n\r\n");
		text = heard(fd, false);
		cr_assert(strstr(text, "path=/again"), "%s", text);
	}
	close(fd);
	ended(&s);
}

Test(lib_http, over_a_unix_socket)
{
	char where[64];
	struct served s;

	snprintf(where, sizeof(where), "unix:/tmp/loopscope-http-%d", getpid());
	s = started(where, (struct http_options){});
	assert_serves(&s);
	ended(&s);
	cr_assert_eq(access(where + 5, F_OK), -1, "the socket's path is left behind");
}

/* --- what is refused ------------------------------------------------------------------------------------------------------------------ */

Test(lib_http, other_methods_and_bodies)
{
	struct served s = started("127.0.0.1:0", (struct http_options){});

	assert_status(&s, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc", "405", "Allow: GET, HEAD\r\n");
	assert_status(&s, "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n", "405", "Allow:");
	assert_status(&s, "FROBNICATE / HTTP/1.1\r\nHost: x\r\n\r\n", "405", "Allow:");
	assert_status(&s, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde", "400", "close");
	assert_status(&s, "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", "400", "close");
	assert_serves(&s);
	cr_assert_eq(s.stats->refused, 5u);
	ended(&s);
}

Test(lib_http, rubbish_and_giant_heads)
{
	static const char *const rubbish[] = { "\r\n\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01\x02\x01", "GET / HTTP/9.9\r\n\r\n", "\xff\xfe\n\n",
					       "GET / HTTP/1.1\r\nno colon\r\n\r\n" };
	struct served s = started("127.0.0.1:0", (struct http_options){ .deadline_ns = 300 * MS, .idle_ns = 300 * MS });
	_cleanup_free_ char *giant = calloc(1, (1u << 20) + 1), *line = calloc(1, (1u << 20) + 1);
	_cleanup_free_ char *text = NULL, *other = NULL;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(rubbish); i++) {
		free(asked(&s, rubbish[i]));
		assert_serves(&s);
	}
	n = (size_t)sprintf(giant, "GET / HTTP/1.1\r\nHost: x\r\nX-Big: ");
	memset(giant + n, 'a', (1u << 20) - n);
	text = asked(&s, giant);
	cr_assert(!strstr(text, " 200 "), "%s", text);
	memset(line, 'G', 1u << 20);
	other = asked(&s, line);
	cr_assert(!strstr(other, " 200 "), "%s", other);
	assert_serves(&s);
	ended(&s);
}

/* --- who takes its time ----------------------------------------------------------------------------------------------------------------- */

static void assert_gets_closed(int fd)
{
	char buf[65536];
	ssize_t n;

	do {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		cr_assert_eq(poll(&p, 1, 20000), 1, "it stays open");
		n = recv(fd, buf, sizeof(buf), 0);
	} while (n > 0);
}

Test(lib_http, idle_connections_are_not_in_the_way)
{
	struct served s = started("127.0.0.1:0", (struct http_options){ .connections = 32 });
	int fds[500];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connected(&s);
	for (int i = 0; i < 10; i++)
		assert_serves(&s);
	cr_assert_leq(s.stats->connections, 40u);
	cr_assert_geq(s.stats->closed, 400u);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	ended(&s);
}

Test(lib_http, a_head_that_never_ends_is_given_up)
{
	struct served s = started("127.0.0.1:0", (struct http_options){ .deadline_ns = 200 * MS });
	int fd = connected(&s), quiet = connected(&s);

	say(fd, "GET / HTTP/1.1\r\nHost:");
	assert_gets_closed(fd);
	assert_gets_closed(quiet);
	assert_serves(&s);
	cr_assert_eq(s.stats->closed, 2u);
	close(fd);
	close(quiet);
	ended(&s);
}

Test(lib_http, an_answer_that_nobody_reads_is_given_up)
{
	struct served s = started("127.0.0.1:0", (struct http_options){ .deadline_ns = 300 * MS });
	int fd = connected(&s);

	say(fd, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
	while (assert_serves(&s), !s.stats->closed)
		poll(NULL, 0, 20);
	assert_gets_closed(fd);
	assert_serves(&s);
	cr_assert_eq(s.stats->bodies, 0u);
	close(fd);
	ended(&s);
}

Test(lib_http, bodies_that_slow_readers_hold_are_bounded)
{
	struct served s = started("127.0.0.1:0", (struct http_options){});
	int fds[20];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		char first;

		fds[i] = connected(&s);
		say(fds[i], "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
		cr_assert_eq(recv(fds[i], &first, 1, MSG_WAITALL), 1, "every answer begins");
	}
	assert_serves(&s);
	cr_assert_leq(s.stats->bodies, (unsigned)HTTP_BODIES);
	cr_assert_geq(s.stats->closed, ARRAY_SIZE(fds) - HTTP_BODIES);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	ended(&s);
}

/* --- where it listens ------------------------------------------------------------------------------------------------------------------- */

Test(lib_listen, addresses)
{
	static const char *const good[] = { "127.0.0.1:0", "localhost:0", "0.0.0.0:0", "[::1]:0" };
	static const char *const bad[] = { "", ":", "9464", ":9464", "localhost", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:1x",
					   "::1:0", "[::1:0", "::1]:0", "example.org:80", "127.0.0.1:9464 ", "[]:1", "unix:", "256.0.0.1:1" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct listener l = {};
		struct fault f = {};
		int err = listen_open(good[i], &l, &f);

		if (err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT)
			continue; /* a machine without IPv6 */
		cr_assert_eq(err, 0, "%s: %s", good[i], f.text);
		cr_assert(strchr(l.shown, ':') && !strstr(l.shown, ":0"), "%s", l.shown);
		listen_close(&l);
		listen_close(&l);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct listener l = {};
		struct fault f = {};

		cr_assert_eq(listen_open(bad[i], &l, &f), -EINVAL, "%s", bad[i]);
		cr_assert_eq(f.status, EXIT_USAGE, "%s", bad[i]);
	}
}

Test(lib_listen, a_port_in_use_is_said)
{
	struct listener l = {}, other = {};
	struct fault f = {};

	cr_assert_eq(listen_open("127.0.0.1:0", &l, &f), 0);
	cr_assert_eq(listen_open(l.shown, &other, &f), -EADDRINUSE);
	cr_assert(strstr(f.text, "another program") && f.status == EXIT_FAILED, "%s", f.text);
	listen_close(&l);
}

Test(lib_listen, unix_sockets)
{
	struct listener l = {}, other = {};
	struct fault f = {};
	char where[64], path[256] = "unix:";
	struct stat st;

	snprintf(where, sizeof(where), "unix:/tmp/loopscope-listen-%d", getpid());
	cr_assert_eq(listen_open(where, &l, &f), 0, "%s", f.text);
	cr_assert(!stat(where + 5, &st) && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0660, "%o", st.st_mode);
	cr_assert_eq(listen_open(where, &other, &f), -EADDRINUSE, "somebody listens there");
	close(l.fd); /* as when a process dies */
	f = (struct fault){};
	cr_assert_eq(listen_open(where, &other, &f), 0, "%s", f.text);
	l.fd = -1;
	listen_close(&l);
	cr_assert_eq(stat(where + 5, &st), 0, "it is not the first one's any more");
	listen_close(&other);
	cr_assert_eq(stat(where + 5, &st), -1);
	snprintf(where, sizeof(where), "unix:/dev/null");
	f = (struct fault){};
	cr_assert_eq(listen_open(where, &l, &f), -EADDRINUSE, "what is no socket stays");
	memset(path + 5, 'a', 200);
	f = (struct fault){};
	cr_assert_eq(listen_open(path, &l, &f), -EINVAL);
	cr_assert_eq(f.status, EXIT_USAGE);
}
