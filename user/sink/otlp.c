/* SPDX-License-Identifier: BSD-2-Clause */
/* otlp.c - see otlp.h: the queue, the answers, the waits. */
#include "sink/otlp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/backoff.h"
#include "lib/cleanup.h"
#include "lib/http_post.h"
#include "lib/text.h"
#include "sink/otlp.pb-c.h"
#include "sink/otlp_encode.h"
#include "sink/otlp_queue.h"

#define PATH "/v1/metrics"
#define USERS_MAX   (OTLP_ATTRIBUTES_MAX - 3) /* attributes; three are ours */
#define GZIP_WINDOW (15 + 16) /* zlib's way to ask for gzip's framing */

struct otlp {
	struct evloop *loop;
	struct http_post *http;
	struct otlp_encoder *encoder;
	struct otlp_queue queue;
	struct backoff backoff;
	struct ev_source *wait; /* NULL: nothing is waited for */
	struct otlp_stats stats;
	struct fault told; /* the trouble that was told last; "" while all is well */
	void (*trouble)(void *arg, const struct fault *f);
	void *arg;
	size_t n_resource, n_strings;
	struct otlp_attribute resource[OTLP_ATTRIBUTES_MAX];
	char *strings[OTLP_ATTRIBUTES_MAX]; /* keys of the user's, each with its value behind the NUL */
	char *url, *host_name;
};

/* --- options --------------------------------------------------------------------------------------------------------
 */

int otlp_check_url(const char *value, char *sentence, size_t size)
{
	char *url = NULL;
	int err = http_post_url(value, PATH, &url, sentence, size);

	free(url);
	return err;
}

static int refuse(const char *value, const char *what, char *sentence, size_t size)
{
	char shown[64];

	text_quote(shown, sizeof(shown), value, SIZE_MAX);
	snprintf(sentence, size, "'%s' is no %s", shown, what);
	return -EINVAL;
}

int otlp_check_header(const char *value, char *sentence, size_t size)
{
	size_t name = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

	if (name && value[name] == ':' && !strpbrk(value, "\r\n"))
		return 0;
	return refuse(value, "header; write NAME: VALUE, for example 'Authorization: Bearer abc'", sentence, size);
}

int otlp_check_resource(const char *value, char *sentence, size_t size)
{
	const char *equals = strchr(value, '=');

	if (equals && equals != value && equals[1])
		return 0;
	return refuse(value, "attribute; write KEY=VALUE, for example deployment.environment=test", sentence, size);
}

/* --- what sends -----------------------------------------------------------------------------------------------------
 */

static bool has_attribute(const struct otlp *s, const char *key)
{
	for (size_t i = 0; i < s->n_resource; i++)
		if (!strcmp(s->resource[i].key, key))
			return true;
	return false;
}

static void add_attribute(struct otlp *s, const char *key, const char *value)
{
	if (value && *value && s->n_resource < OTLP_ATTRIBUTES_MAX && !has_attribute(s, key))
		s->resource[s->n_resource++] = (struct otlp_attribute){key, value};
}

static int users_attribute(struct otlp *s, const char *text, struct fault *f)
{
	char *copy, *value;

	if (s->n_strings == USERS_MAX)
		return fault(f, -E2BIG, EXIT_USAGE, "more than %d attributes of the resource; leave some out", USERS_MAX);
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	s->strings[s->n_strings++] = copy;
	value = strchr(copy, '=');
	*value++ = '\0';
	add_attribute(s, copy, value);
	return 0;
}

static int describe(struct otlp *s, const struct otlp_options *o, struct fault *f)
{
	for (size_t i = 0; i < o->n_resource; i++) {
		int err = users_attribute(s, o->resource[i], f);

		if (err)
			return err;
	}
	s->host_name = strdup(o->host_name);
	add_attribute(s, "service.name", "loopscope");
	add_attribute(s, "service.version", o->version);
	add_attribute(s, "host.name", s->host_name);
	return s->host_name ? 0 : -ENOMEM;
}

/* --- answers --------------------------------------------------------------------------------------------------------
 */

static void tell(struct otlp *s, const struct fault *f)
{
	if (!strcmp(s->told.text, f ? f->text : ""))
		return;
	s->told = f ? *f : (struct fault){0};
	if (s->trouble)
		s->trouble(s->arg, f);
}

/* Where that is not possible, the next push tries. */
static void send_next(struct otlp *s)
{
	if (s->queue.first && !s->queue.first_is_held && !s->wait)
		s->queue.first_is_held = !http_post_send(s->http, s->queue.first->bytes, s->queue.first->n);
}

static int on_wait_over(void *arg, uint64_t expirations)
{
	struct otlp *s = arg;

	evloop_remove(s->loop, s->wait);
	s->wait = NULL;
	send_next(s);
	return 0;
}

static bool is_worth_another_try(int status)
{
	return !status || status == 429 || status == 502 || status == 503 || status == 504;
}

static void try_again(struct otlp *s, const struct http_post_answer *a)
{
	uint64_t wait_ns = backoff_next(&s->backoff);
	struct fault f = {0};

	if (a->status)
		fault(&f, -EAGAIN, EXIT_FAILED, "%s answers with HTTP status %d: trying again", s->url, a->status);
	else
		fault(&f, -EAGAIN, EXIT_FAILED, "%s can't be reached (%s): trying again", s->url, a->why);
	tell(s, &f);
	s->queue.first_is_held = false;
	evloop_add_timer(s->loop, a->retry_after_ns > wait_ns ? a->retry_after_ns : wait_ns, 0, on_wait_over, s, &s->wait);
}

static void drop_refused(struct otlp *s, const struct http_post_answer *a)
{
	Otlp__Status *said = otlp__status__unpack(NULL, a->body_len, a->body);
	struct fault f = {0};

	fault(&f, -EPROTO, EXIT_FAILED, "%s refuses with HTTP status %d%s%.200s; what was sent is lost%s", s->url, a->status,
	      said && said->message ? ": " : "", said && said->message ? said->message : "",
	      a->status == 404 ? ": is the path right? " PATH " is usual" : "");
	if (said)
		otlp__status__free_unpacked(said, NULL);
	tell(s, &f);
	s->stats.lost_refused += otlp_queue_drop_first(&s->queue);
}

/* Also where it took only a part. */
static void drop_taken(struct otlp *s, const struct http_post_answer *a)
{
	Otlp__ExportMetricsServiceResponse *said = otlp__export_metrics_service_response__unpack(NULL, a->body_len, a->body);
	const Otlp__ExportMetricsPartialSuccess *part = said ? said->partial_success : NULL;
	size_t points = otlp_queue_drop_first(&s->queue), refused = 0;
	struct fault f = {0};

	if (part && part->rejected_data_points > 0)
		refused = (uint64_t)part->rejected_data_points < points ? (size_t)part->rejected_data_points : points;
	if (refused)
		fault(&f, -EPROTO, EXIT_FAILED, "%s takes only a part: %.200s", s->url, part->error_message ? part->error_message : "");
	tell(s, refused ? &f : NULL);
	s->stats.sent_points += points - refused;
	s->stats.lost_refused += refused;
	if (said)
		otlp__export_metrics_service_response__free_unpacked(said, NULL);
}

static int on_answer(void *arg, const struct http_post_answer *a)
{
	struct otlp *s = arg;

	if (a->status >= 200 && a->status < 300) {
		s->stats.requests++;
		drop_taken(s, a);
	} else {
		s->stats.failures++;
		if (is_worth_another_try(a->status)) {
			try_again(s, a);
			return 0;
		}
		drop_refused(s, a);
	}
	backoff_reset(&s->backoff);
	send_next(s);
	return 0;
}

/* --- what is pushed -------------------------------------------------------------------------------------------------
 */

/* NULL where there is no memory. Level 1: labels repeat so much that more effort brings little. */
static void *compress_body(const void *bytes, size_t n, size_t *ret_n)
{
	z_stream z = {.next_in = (Bytef *)bytes, .avail_in = (uInt)n};
	void *out = NULL;
	size_t room;

	if (deflateInit2(&z, 1, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	room = deflateBound(&z, (uLong)n);
	out = malloc(room);
	z.next_out = out;
	z.avail_out = (uInt)room;
	if (out && deflate(&z, Z_FINISH) != Z_STREAM_END) {
		free(out);
		out = NULL;
	}
	*ret_n = z.total_out;
	deflateEnd(&z);
	return out;
}

static int on_body(void *arg, void *bytes, size_t n, size_t points)
{
	_cleanup_free_ void *raw = bytes;
	struct otlp *s = arg;
	void *packed, *kept;
	size_t n_packed;

	packed = compress_body(raw, n, &n_packed);
	if (!packed) {
		s->stats.lost_memory += points;
		return 0;
	}
	kept = realloc(packed, n_packed); /* the bound is far above what it takes */
	s->stats.lost_full += otlp_queue_add(&s->queue, kept ? kept : packed, n_packed, points);
	return 0;
}

void otlp_push(struct otlp *s, struct metrics *m, uint64_t now_ns, uint64_t wall_ns)
{
	if (otlp_encode(s->encoder, m, now_ns, wall_ns, on_body, s))
		s->stats.lost_memory++; /* of how many points is not known: at least one */
	send_next(s);
}

bool otlp_idle(const struct otlp *s)
{
	return !s->queue.first;
}

void otlp_stats(const struct otlp *s, struct otlp_stats *ret)
{
	*ret = s->stats;
	ret->queued_points = s->queue.points;
	ret->queued_bytes = s->queue.bytes;
}

/* --- life -----------------------------------------------------------------------------------------------------------
 */

void otlp_free(struct otlp *s)
{
	if (!s)
		return;
	http_post_free(s->http);
	evloop_remove(s->loop, s->wait);
	otlp_encoder_free(s->encoder);
	otlp_queue_clear(&s->queue);
	for (size_t i = 0; i < s->n_strings; i++)
		free(s->strings[i]);
	free(s->host_name);
	free(s->url);
	free(s);
}
DEFINE_CLEANUP(struct otlp *, otlp_free);

static int open_http(struct otlp *s, const struct otlp_options *o, struct fault *f)
{
	static const char *const ours[] = {"Content-Type: application/x-protobuf", "Content-Encoding: gzip"};
	_cleanup_free_ const char **headers = calloc(o->n_headers + ARRAY_SIZE(ours), sizeof(*headers));
	struct http_post_options ho = {.headers = headers, .n_headers = o->n_headers + ARRAY_SIZE(ours), .timeout_ns = o->timeout_ns};
	char sentence[200];
	int err;

	if (!headers)
		return -ENOMEM;
	memcpy(headers, ours, sizeof(ours));
	if (o->n_headers)
		memcpy(headers + ARRAY_SIZE(ours), o->headers, o->n_headers * sizeof(*headers));
	err = http_post_url(o->url, PATH, &s->url, sentence, sizeof(sentence));
	if (err == -EINVAL)
		return fault(f, err, EXIT_USAGE, "%s", sentence);
	if (err)
		return err;
	ho.url = s->url;
	return http_post_new(&ho, s->loop, on_answer, s, &s->http, f);
}

int otlp_new(const struct otlp_options *o, struct evloop *loop, struct otlp **ret, struct fault *f)
{
	CLEANUP(otlp_free_ptr) struct otlp *s = calloc(1, sizeof(*s));
	struct otlp_encode_options eo = {.version = o->version};
	int err;

	if (!s)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	s->loop = loop;
	s->trouble = o->trouble;
	s->arg = o->arg;
	otlp_queue_init(&s->queue, o->queue_max);
	s->backoff = (struct backoff){.first_ns = o->retry_first_ns, .max_ns = o->retry_max_ns, .random = o->seed};
	err = describe(s, o, f);
	if (!err)
		err = open_http(s, o, f);
	if (!err) {
		eo.resource = s->resource;
		eo.n_resource = s->n_resource;
		err = otlp_encoder_new(&eo, &s->encoder);
	}
	if (err)
		return fault(f, err, EXIT_FAILED, "out of memory");
	*ret = TAKE_PTR(s);
	return 0;
}
