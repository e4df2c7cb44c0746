/* SPDX-License-Identifier: BSD-2-Clause */
/* http_post.c - see http_post.h. libcurl's "multi socket" interface: it names sockets and one timer, and is told what happens. */
#include "lib/http_post.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "lib/cleanup.h"
#include "lib/text.h"

#define CONNECT_MS 5000

struct watched {
	struct watched *next;
	struct ev_source *source;
};

struct http_post {
	struct evloop *loop;
	http_answer_fn fn;
	void *arg;
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	struct watched *watched; /* one a socket */
	struct ev_source *timer; /* NULL: none is due */
	bool global, under_way; /* global: curl_global_init() is to be undone */
	char *answer; /* HTTP_POST_ANSWER_MAX */
	size_t answer_len;
};

static size_t on_answer(char *bytes, size_t one, size_t n, void *arg)
{
	struct http_post *p = arg;
	size_t room = HTTP_POST_ANSWER_MAX - p->answer_len, taken = n < room ? n : room;

	memcpy(p->answer + p->answer_len, bytes, taken);
	p->answer_len += taken;
	return n;
}

/* --- the end of a request -------------------------------------------------------------------------------------------
 */

static void fill_answer(struct http_post *p, CURLcode result, struct http_post_answer *a)
{
	curl_off_t retry_after = 0;
	long status = 0, os_errno = 0;

	*a = (struct http_post_answer){.body = p->answer, .body_len = p->answer_len};
	if (result != CURLE_OK) {
		curl_easy_getinfo(p->easy, CURLINFO_OS_ERRNO, &os_errno);
		snprintf(a->why, sizeof(a->why), "%s%s%s", curl_easy_strerror(result), os_errno ? ": " : "",
			 os_errno ? strerror((int)os_errno) : "");
		return;
	}
	curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(p->easy, CURLINFO_RETRY_AFTER, &retry_after);
	a->status = (int)status;
	if (retry_after > 0)
		a->retry_after_ns = (uint64_t)(retry_after < 86400 ? retry_after : 86400) * 1000000000;
}

/* The answer is told last: the callback may send the next one. */
static int take_finished(struct http_post *p)
{
	struct http_post_answer a;
	CURLMsg *m;
	int left;

	m = curl_multi_info_read(p->multi, &left);
	if (!m || m->msg != CURLMSG_DONE)
		return 0;
	fill_answer(p, m->data.result, &a);
	curl_multi_remove_handle(p->multi, p->easy);
	p->under_way = false;
	return p->fn(p->arg, &a);
}

/* --- sockets and the timer ------------------------------------------------------------------------------------------
 */

static int on_socket_ready(void *arg, int fd, uint32_t events)
{
	struct http_post *p = arg;
	int running, what = 0;

	if (events & (EPOLLIN | EPOLLHUP))
		what |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		what |= CURL_CSELECT_OUT;
	if (events & EPOLLERR)
		what |= CURL_CSELECT_ERR;
	curl_multi_socket_action(p->multi, fd, what, &running);
	return take_finished(p);
}

static int on_timer(void *arg, uint64_t expirations)
{
	struct http_post *p = arg;
	int running;

	evloop_remove(p->loop, p->timer);
	p->timer = NULL;
	curl_multi_socket_action(p->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	return take_finished(p);
}

static int want_timer(CURLM *multi, long ms, void *arg)
{
	struct http_post *p = arg;

	evloop_remove(p->loop, p->timer);
	p->timer = NULL;
	if (ms < 0)
		return 0;
	return evloop_add_timer(p->loop, (uint64_t)ms * 1000000, 0, on_timer, p, &p->timer) ? -1 : 0;
}

static void unwatch(struct http_post *p, struct watched *w)
{
	struct watched **at = &p->watched;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	evloop_remove(p->loop, w->source);
	free(w);
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *per_socket)
{
	uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
	struct watched *w = per_socket;
	struct http_post *p = arg;

	if (what == CURL_POLL_REMOVE) {
		if (w)
			unwatch(p, w);
		return 0;
	}
	if (w) {
		evloop_remove(p->loop, w->source);
		w->source = NULL;
	} else {
		w = calloc(1, sizeof(*w));
		if (!w)
			return -1;
		w->next = p->watched;
		p->watched = w;
		curl_multi_assign(p->multi, fd, w);
	}
	return evloop_add_fd(p->loop, fd, events, on_socket_ready, p, &w->source) ? -1 : 0;
}

/* --- a client -------------------------------------------------------------------------------------------------------
 */

void http_post_free(struct http_post *p)
{
	if (!p)
		return;
	if (p->under_way)
		curl_multi_remove_handle(p->multi, p->easy);
	curl_easy_cleanup(p->easy);
	curl_multi_cleanup(p->multi); /* also closes kept connections, and tells want_socket() so */
	while (p->watched)
		unwatch(p, p->watched);
	evloop_remove(p->loop, p->timer);
	curl_slist_free_all(p->headers);
	if (p->global)
		curl_global_cleanup();
	free(p->answer);
	free(p);
}
DEFINE_CLEANUP(struct http_post *, http_post_free);

static int add_header(struct http_post *p, const char *header)
{
	struct curl_slist *more = curl_slist_append(p->headers, header);

	if (!more)
		return -ENOMEM;
	p->headers = more;
	return 0;
}

static int set_options(struct http_post *p, const struct http_post_options *o)
{
	int err = add_header(p, "Expect:"); /* no round trip to ask whether the body is welcome */

	for (size_t i = 0; i < o->n_headers && !err; i++)
		err = add_header(p, o->headers[i]);
	if (err)
		return err;
	curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
	curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
	curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, want_timer);
	curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
	curl_easy_setopt(p->easy, CURLOPT_HTTPHEADER, p->headers);
	curl_easy_setopt(p->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(p->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(p->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(p->easy, CURLOPT_TIMEOUT_MS, (long)(o->timeout_ns / 1000000));
	curl_easy_setopt(p->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(p->easy, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(p->easy, CURLOPT_WRITEDATA, p);
	return curl_easy_setopt(p->easy, CURLOPT_URL, o->url) == CURLE_OK ? 0 : -ENOMEM;
}

int http_post_new(const struct http_post_options *o, struct evloop *loop, http_answer_fn fn, void *arg, struct http_post **ret,
		  struct fault *f)
{
	CLEANUP(http_post_free_ptr) struct http_post *p = calloc(1, sizeof(*p));

	if (!p || curl_global_init(CURL_GLOBAL_DEFAULT))
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	p->global = true;
	p->loop = loop;
	p->fn = fn;
	p->arg = arg;
	p->answer = malloc(HTTP_POST_ANSWER_MAX);
	p->multi = curl_multi_init();
	p->easy = curl_easy_init();
	if (!p->answer || !p->multi || !p->easy || set_options(p, o))
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	*ret = TAKE_PTR(p);
	return 0;
}

int http_post_send(struct http_post *p, const void *body, size_t n)
{
	if (p->under_way)
		return -EBUSY;
	p->answer_len = 0;
	curl_easy_setopt(p->easy, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(p->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
	if (curl_multi_add_handle(p->multi, p->easy))
		return -EIO;
	p->under_way = true;
	return 0;
}

/* --- URLs -----------------------------------------------------------------------------------------------------------
 */

static int refuse(const char *text, char *sentence, size_t size)
{
	char shown[80];

	text_quote(shown, sizeof(shown), text, SIZE_MAX);
	snprintf(sentence, size, "'%s' is no URL to post to; write for example http://127.0.0.1:4318", shown);
	return -EINVAL;
}

static bool part_is(CURLU *u, CURLUPart part, const char *wanted)
{
	char *is = NULL;
	bool same = !curl_url_get(u, part, &is, 0) && !strcmp(is, wanted);

	curl_free(is);
	return same;
}

int http_post_url(const char *text, const char *path, char **ret, char *sentence, size_t size)
{
	CURLU *u = curl_url();
	char *whole = NULL;
	int err = 0;

	if (!u || curl_url_set(u, CURLUPART_URL, text, 0) ||
	    (!part_is(u, CURLUPART_SCHEME, "http") && !part_is(u, CURLUPART_SCHEME, "https")))
		err = refuse(text, sentence, size);
	if (!err && part_is(u, CURLUPART_PATH, "/") && curl_url_set(u, CURLUPART_PATH, path, 0))
		err = refuse(text, sentence, size);
	if (!err && curl_url_get(u, CURLUPART_URL, &whole, 0))
		err = refuse(text, sentence, size);
	if (!err) {
		*ret = strdup(whole);
		err = *ret ? 0 : -ENOMEM;
	}
	curl_free(whole);
	curl_url_cleanup(u);
	return err;
}
