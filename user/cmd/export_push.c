/* SPDX-License-Identifier: BSD-2-Clause */
/* export_push.c - see export_push.h. */
#include "cmd/export_push.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>

#include "cmd/trouble.h"
#include "lib/cleanup.h"
#include "lib/now.h"
#include "sink/openmetrics.h"
#include "sink/otlp.h"
#include "sink/textfile.h"

#define FILE_NAME "loopscope.prom"
#define MIB (UINT64_C(1) << 20)
#define RETRY_FIRST_NS 1000000000ull
#define RETRY_MAX_NS 60000000000ull

struct export_push {
	struct export_push_options o;
	const struct export_config *c;
	struct evloop *loop;
	struct ev_source *timer;
	struct metrics_text text;
	uint64_t files_written, files_failed;
	struct trouble file_trouble, otlp_trouble;
	struct otlp *otlp;      /* NULL: nobody to push to */
	struct otlp_stats past; /* of receivers before this one: counters go on */
	uint64_t lost_with_receiver; /* points that those had in their queues */
};

/* --- the text file ----------------------------------------------------------------------------------------------------------------- */

static void write_file(struct export_push *p)
{
	struct fault f = {};
	int err = openmetrics_render(p->o.metrics, now_ns(), METRICS_PROMETHEUS, &p->text);

	if (err)
		fault(&f, err, EXIT_FAILED, "out of memory for the text of --textfile");
	else
		err = textfile_write(p->c->textfile, FILE_NAME, p->text.p, p->text.len, &f);
	if (err) {
		p->files_failed++;
		trouble_is(&p->file_trouble, &f);
	} else {
		p->files_written++;
		trouble_is_over(&p->file_trouble);
	}
}

/* --- the receiver ------------------------------------------------------------------------------------------------------------------- */

static void on_otlp_trouble(void *arg, const struct fault *f)
{
	struct export_push *p = arg;

	if (f)
		trouble_is(&p->otlp_trouble, f);
	else
		trouble_is_over(&p->otlp_trouble);
}

static int open_otlp(struct export_push *p, const struct export_config *c, struct otlp **ret, struct fault *f)
{
	struct utsname u = {};
	struct otlp_options o = {
		.url = c->otlp, .headers = c->otlp_headers.v, .n_headers = c->otlp_headers.n, .resource = c->otlp_resource.v,
		.n_resource = c->otlp_resource.n, .version = LOOPSCOPE_VERSION, .host_name = u.nodename, .timeout_ns = c->otlp_timeout_ns,
		.retry_first_ns = RETRY_FIRST_NS, .retry_max_ns = RETRY_MAX_NS, .queue_max = (size_t)(c->otlp_queue_mib * MIB),
		.trouble = on_otlp_trouble, .arg = p,
	};

	*ret = NULL;
	if (!c->otlp)
		return 0;
	uname(&u);
	if (getrandom(&o.seed, sizeof(o.seed), GRND_NONBLOCK) < 0)
		o.seed = clock_ns(CLOCK_REALTIME);
	return otlp_new(&o, p->loop, ret, f);
}

/* What it still had in its queue is lost, and its counters go on in the next one's. */
static void close_otlp(struct export_push *p)
{
	struct otlp_stats s;

	if (!p->otlp)
		return;
	otlp_stats(p->otlp, &s);
	p->past.sent_points += s.sent_points;
	p->past.lost_full += s.lost_full;
	p->past.lost_refused += s.lost_refused;
	p->past.lost_memory += s.lost_memory;
	p->lost_with_receiver += s.queued_points;
	p->past.requests += s.requests;
	p->past.failures += s.failures;
	otlp_free(p->otlp);
	p->otlp = NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_texts(const struct opt_strings *a, const struct opt_strings *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]))
			return false;
	return true;
}

static bool same_receiver(const struct export_config *a, const struct export_config *b)
{
	return same_text(a->otlp, b->otlp) && same_texts(&a->otlp_headers, &b->otlp_headers) &&
	       same_texts(&a->otlp_resource, &b->otlp_resource) && a->otlp_timeout_ns == b->otlp_timeout_ns &&
	       a->otlp_queue_mib == b->otlp_queue_mib;
}

/* --- when ---------------------------------------------------------------------------------------------------------------------------- */

static void push_all(struct export_push *p)
{
	p->o.refresh(p->o.arg);
	if (p->c->textfile)
		write_file(p);
	if (p->otlp)
		otlp_push(p->otlp, p->o.metrics, now_ns(), clock_ns(CLOCK_REALTIME));
}

static int on_push(void *arg, uint64_t expirations)
{
	push_all(arg);
	return 0;
}

static int set_timer(struct export_push *p, const struct export_config *c, struct ev_source **ret)
{
	*ret = NULL;
	if (!c->textfile && !c->otlp)
		return 0;
	return evloop_add_timer(p->loop, c->push_ns, c->push_ns, on_push, p, ret);
}

static bool is_idle(void *otlp)
{
	return otlp_idle(otlp);
}

void export_push_last(struct export_push *p, uint64_t wait_ns)
{
	evloop_remove(p->loop, p->timer);
	p->timer = NULL;
	push_all(p);
	if (!p->otlp || otlp_idle(p->otlp) || p->otlp_trouble.told.text[0]) /* down before: why should it be up now */
		return;
	evloop_run_until(p->loop, wait_ns, is_idle, p->otlp);
}

/* --- life ----------------------------------------------------------------------------------------------------------------------------- */

int export_push_configure(struct export_push *p, const struct export_config *c, struct fault *f)
{
	bool same = p->c && same_receiver(p->c, c);
	struct ev_source *timer = NULL;
	struct otlp *otlp = NULL;
	int err = 0;

	if (c->textfile && !(p->c && same_text(p->c->textfile, c->textfile)))
		err = textfile_check(c->textfile, FILE_NAME, f);
	if (!err && !same)
		err = open_otlp(p, c, &otlp, f);
	if (!err)
		err = set_timer(p, c, &timer);
	if (err) {
		otlp_free(otlp);
		return fault(f, err, EXIT_FAILED, "nothing can be pushed: %s", strerror(-err));
	}
	evloop_remove(p->loop, p->timer);
	p->timer = timer;
	if (!same) {
		close_otlp(p);
		p->otlp = otlp;
	}
	p->c = c;
	return 0;
}

int export_push_new(const struct export_push_options *o, const struct export_config *c, struct evloop *loop, struct export_push **ret,
		    struct fault *f)
{
	struct export_push *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	*p = (struct export_push){ .o = *o, .loop = loop, .file_trouble = { .what = "--textfile" }, .otlp_trouble = { .what = "--otlp" } };
	err = export_push_configure(p, c, f);
	if (err) {
		export_push_free(p);
		return err;
	}
	*ret = p;
	return 0;
}

void export_push_free(struct export_push *p)
{
	if (!p)
		return;
	evloop_remove(p->loop, p->timer);
	otlp_free(p->otlp);
	free(p->text.p);
	free(p);
}

/* --- its own numbers ------------------------------------------------------------------------------------------------------------------ */

static void count_file(const struct export_push *p)
{
	static const struct metric_family writes = { "loopscope_textfile_writes", "", METRIC_COUNTER, "Times that --textfile wrote its file, or could not." };
	const struct metric_label ok = { "result", "ok" }, failed = { "result", "failed" };

	metrics_own(p->o.metrics, &writes, &ok, 1, (double)p->files_written);
	metrics_own(p->o.metrics, &writes, &failed, 1, (double)p->files_failed);
}

static void count_otlp(const struct export_push *p)
{
	static const struct metric_family sent = { "loopscope_otlp_sent_points", "", METRIC_COUNTER, "Data points that the receiver of --otlp has taken." },
		lost = { "loopscope_otlp_lost_points", "", METRIC_COUNTER, "Data points for the receiver of --otlp that were lost, and why." },
		requests = { "loopscope_otlp_requests", "", METRIC_COUNTER, "Requests to the receiver of --otlp, and how they ended." },
		points = { "loopscope_otlp_queued_points", "", METRIC_GAUGE, "Data points that wait to be sent." },
		bytes = { "loopscope_otlp_queued_bytes", "bytes", METRIC_GAUGE, "The same in bytes, compressed; --otlp-queue is their bound." };
	struct metrics *m = p->o.metrics;
	struct otlp_stats s = {};

	if (p->otlp)
		otlp_stats(p->otlp, &s);
#define LABEL(name, value) &(const struct metric_label){ name, value }, 1
	metrics_own(m, &sent, NULL, 0, (double)(p->past.sent_points + s.sent_points));
	metrics_own(m, &lost, LABEL("reason", "queue_full"), (double)(p->past.lost_full + s.lost_full));
	metrics_own(m, &lost, LABEL("reason", "refused"), (double)(p->past.lost_refused + s.lost_refused));
	metrics_own(m, &lost, LABEL("reason", "no_memory"), (double)(p->past.lost_memory + s.lost_memory));
	metrics_own(m, &lost, LABEL("reason", "receiver_changed"), (double)p->lost_with_receiver);
	metrics_own(m, &requests, LABEL("result", "ok"), (double)(p->past.requests + s.requests));
	metrics_own(m, &requests, LABEL("result", "failed"), (double)(p->past.failures + s.failures));
	metrics_own(m, &points, NULL, 0, (double)s.queued_points);
	metrics_own(m, &bytes, NULL, 0, (double)s.queued_bytes);
#undef LABEL
}

void export_push_count(struct export_push *p)
{
	if (p->c->textfile || p->files_written || p->files_failed)
		count_file(p);
	if (p->otlp || p->past.requests || p->past.failures)
		count_otlp(p);
}
