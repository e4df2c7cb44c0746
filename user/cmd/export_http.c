/* SPDX-License-Identifier: BSD-2-Clause */
/* export_http.c - see export_http.h. */
#include "cmd/export_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/http.h"
#include "lib/listen.h"
#include "lib/now.h"
#include "sink/openmetrics.h"

/* One text for all who ask until something has changed. */
struct rendering {
	struct http_body *body; /* NULL: none yet */
	uint64_t version;
};

struct export_http {
	struct export_http_options o;
	struct listener listener;
	struct http_server *server;
	struct rendering renderings[METRICS_FORMATS];
	uint64_t scrapes, scrape_ns, last_scrape_ns;
};

/* --- bodies --------------------------------------------------------------------------------------------------------------------- */

static struct http_body *text_body(const char *text)
{
	char *p = strdup(text);
	struct http_body *b = p ? http_body_new(p, strlen(p)) : NULL;

	if (!b)
		free(p);
	return b;
}

static struct http_body *render(struct export_http *h, enum metrics_format format)
{
	struct rendering *r = &h->renderings[format];
	struct metrics_text text = {};
	struct http_body *body;

	if (r->body && r->version == metrics_version(h->o.metrics))
		return http_body_ref(r->body);
	if (openmetrics_render(h->o.metrics, now_ns(), format, &text)) {
		free(text.p);
		return NULL;
	}
	body = http_body_new(text.p, text.len);
	if (!body) {
		free(text.p);
		return NULL;
	}
	http_body_unref(r->body);
	*r = (struct rendering){ .body = body, .version = metrics_version(h->o.metrics) };
	return http_body_ref(body);
}

/* --- answers -------------------------------------------------------------------------------------------------------------------- */

static void answer_metrics(struct export_http *h, const struct http_request *rq, struct http_answer *ret)
{
	enum metrics_format format = openmetrics_negotiate(rq->accept);
	uint64_t from = now_ns();

	h->o.refresh(h->o.arg);
	ret->body = render(h, format);
	ret->content_type = openmetrics_content_type(format);
	h->last_scrape_ns = now_ns() - from;
	h->scrape_ns += h->last_scrape_ns;
	h->scrapes++;
}

static void answer(void *arg, const struct http_request *rq, struct http_answer *ret)
{
	struct export_http *h = arg;

	*ret = (struct http_answer){ .status = 200, .content_type = "text/plain; charset=utf-8" };
	if (!strcmp(rq->path, "/metrics")) {
		answer_metrics(h, rq, ret);
	} else if (!strcmp(rq->path, "/healthz")) {
		bool healthy = h->o.healthy(h->o.arg);

		ret->status = healthy ? 200 : 503;
		ret->body = text_body(healthy ? "ok\n" : "the loops have not been read for too long\n");
	} else if (!strcmp(rq->path, "/")) {
		ret->content_type = "text/html; charset=utf-8";
		ret->body = text_body("<!DOCTYPE html><title>loopscope</title><h1>loopscope " LOOPSCOPE_VERSION "</h1>"
				      "<p><a href=\"/metrics\">/metrics</a> for Prometheus and its kin, "
				      "<a href=\"/healthz\">/healthz</a> for those who watch this program.\n");
	} else {
		ret->status = 404;
		ret->body = text_body("there are /metrics and /healthz here\n");
	}
}

/* --- its own numbers -------------------------------------------------------------------------------------------------------------- */

void export_http_count(struct export_http *h)
{
	static const struct metric_family scrapes = { "loopscope_scrapes", "", METRIC_COUNTER, "Answers to /metrics." },
		scrape_seconds = { "loopscope_scrape_seconds", "seconds", METRIC_COUNTER,
				   "Time that answers to /metrics took to make, a reading of the loops included." },
		last = { "loopscope_last_scrape_seconds", "seconds", METRIC_GAUGE, "The same for the last answer before this one." },
		refused = { "loopscope_http_refused", "", METRIC_COUNTER, "Requests for what is not here, or not allowed." },
		closed = { "loopscope_http_closed", "", METRIC_COUNTER,
			   "Connections closed because they took too long, or were in the way of others." },
		connections = { "loopscope_http_connections", "", METRIC_GAUGE, "Connections that are open." };
	struct http_stats stats;

	http_server_stats(h->server, &stats);
	metrics_own(h->o.metrics, &scrapes, NULL, 0, (double)h->scrapes);
	metrics_own(h->o.metrics, &scrape_seconds, NULL, 0, (double)h->scrape_ns / 1e9);
	if (h->scrapes)
		metrics_own(h->o.metrics, &last, NULL, 0, (double)h->last_scrape_ns / 1e9);
	metrics_own(h->o.metrics, &refused, NULL, 0, (double)stats.refused);
	metrics_own(h->o.metrics, &closed, NULL, 0, (double)stats.closed);
	metrics_own(h->o.metrics, &connections, NULL, 0, (double)stats.connections);
}

/* --- life --------------------------------------------------------------------------------------------------------------------------- */

int export_http_new(const struct export_http_options *o, struct evloop *loop, struct export_http **ret, struct fault *f)
{
	struct export_http *h = calloc(1, sizeof(*h));
	struct http_options ho = { .answer = answer, .arg = h };
	int err;

	if (!h)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	h->o = *o;
	h->listener.fd = -1;
	err = listen_open(o->listen, &h->listener, f);
	ho.listen_fd = h->listener.fd;
	if (!err)
		err = http_server_new(&ho, loop, &h->server, f);
	if (err) {
		export_http_free(h);
		return err;
	}
	*ret = h;
	return 0;
}

void export_http_free(struct export_http *h)
{
	if (!h)
		return;
	http_server_free(h->server);
	listen_close(&h->listener);
	for (int i = 0; i < METRICS_FORMATS; i++)
		http_body_unref(h->renderings[i].body);
	free(h);
}

const char *export_http_address(const struct export_http *h)
{
	return h->listener.shown;
}
