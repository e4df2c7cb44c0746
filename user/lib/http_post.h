/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http_post.h - one POST after the other to one URL, on the program's own event loop: nothing here ever waits.
 *
 * libcurl does the talking, also TLS, proxies (http_proxy, https_proxy, no_proxy) and connections that are kept. A name is
 * resolved by a thread of libcurl's own. Redirects are not followed.
 *
 * Ownership: a body stays the caller's until its answer has come; http_post_free() ends what is under way without an answer. Free it
 * before its event loop. Not for several threads at once.
 */
#ifndef LOOPSCOPE_LIB_HTTP_POST_H
#define LOOPSCOPE_LIB_HTTP_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/evloop.h"
#include "lib/fault.h"

#define HTTP_POST_ANSWER_MAX (64 * 1024) /* of a body; what is more is not kept */

struct http_post_answer {
	int status;              /* 0: none came */
	char why[160];           /* where none came: the same words for the same reason */
	uint64_t retry_after_ns; /* what the server asks for; 0: nothing */
	const void *body;        /* until the callback returns */
	size_t body_len;
};

struct http_post_options {
	const char *url;            /* http or https */
	const char *const *headers; /* "Name: value"; those that http_post sets itself are Host and Content-Length */
	size_t n_headers;
	uint64_t timeout_ns; /* of a whole request; at least 1 ms */
};

/* A negative return ends the event loop's run. May send the next one. */
typedef int (*http_answer_fn)(void *arg, const struct http_post_answer *a);

struct http_post;

int http_post_new(const struct http_post_options *o, struct evloop *loop, http_answer_fn fn, void *arg, struct http_post **ret,
		  struct fault *f);
void http_post_free(struct http_post *p); /* accepts NULL; not from the callback */

/* -EBUSY while one is under way. The answer comes from the event loop, never from in here. */
int http_post_send(struct http_post *p, const void *body, size_t n);

/* A URL that http_post takes, in whose place `path` is put where it has none but "/"; to be freed. -EINVAL with what is wrong and the
 * remedy in sentence. */
int http_post_url(const char *text, const char *path, char **ret, char *sentence, size_t size);

#endif
