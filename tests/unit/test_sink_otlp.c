/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_otlp.c - what is sent, what is tried again, what is lost and counted: against a server that answers as it is told. */
#include <zlib.h>

#include "http_script.h"
#include "lib/evloop.h"
#include "sink/otlp.h"
#include "sink/otlp.pb-c.h"
#include "test_metrics_fixture.h"

TestSuite(sink_otlp, .timeout = 60);

#define MS UINT64_C(1000000)

struct rig {
	struct evloop *loop;
	struct metrics *m;
	struct otlp *otlp;
	unsigned troubles, recoveries;
	char told[512];
	bool (*until)(struct rig *r);
	struct script *script;
	uint64_t wanted, deadline_ns;
};

static void on_trouble(void *arg, const struct fault *f)
{
	struct rig *r = arg;

	if (f) {
		r->troubles++;
		snprintf(r->told, sizeof(r->told), "%s", f->text);
	} else {
		r->recoveries++;
	}
}

static void rig_open(struct rig *r, uint16_t port, size_t queue_max)
{
	static const char *const headers[] = {"Authorization: Bearer secret"};
	static const char *const resource[] = {"deployment.environment=test", "host.name=other"};
	struct loop_record loop = a_record("redis", 10);
	struct fault f = {0};
	char url[64];
	struct otlp_options o = {
		.url = url, .headers = headers, .n_headers = 1, .resource = resource, .n_resource = 2, .version = "1.0",
		.host_name = "host", .timeout_ns = 300 * MS, .retry_first_ns = 20 * MS, .retry_max_ns = 100 * MS,
		.queue_max = queue_max, .trouble = on_trouble, .arg = r,
	};

	*r = (struct rig){.m = new_metrics((struct metrics_options){0})};
	take(r->m, &loop, 1, METRICS_SEC);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	cr_assert_eq(evloop_new(&r->loop), 0);
	cr_assert_eq(otlp_new(&o, r->loop, &r->otlp, &f), 0, "%s", f.text);
}

static void rig_close(struct rig *r)
{
	otlp_free(r->otlp);
	evloop_free(r->loop);
	metrics_free(r->m);
}

static void push(struct rig *r)
{
	otlp_push(r->otlp, r->m, 2 * METRICS_SEC, UINT64_C(1700000002) * METRICS_SEC);
}

static struct otlp_stats stats_of(struct rig *r)
{
	struct otlp_stats s;

	otlp_stats(r->otlp, &s);
	return s;
}

static int look(void *arg, uint64_t expirations)
{
	struct rig *r = arg;

	if (r->until(r) || script_now() > r->deadline_ns)
		evloop_stop(r->loop);
	return 0;
}

static void run_until(struct rig *r, bool (*until)(struct rig *r))
{
	struct ev_source *timer;

	r->until = until;
	r->deadline_ns = script_now() + 20000 * MS;
	cr_assert_eq(evloop_add_timer(r->loop, 1, MS, look, r, &timer), 0);
	cr_assert_eq(evloop_run(r->loop), 0);
	evloop_remove(r->loop, timer);
	cr_assert(until(r), "not within 20 s");
}

static bool is_idle(struct rig *r)
{
	return otlp_idle(r->otlp);
}

static bool has_requests(struct rig *r)
{
	return atomic_load(&r->script->n) >= r->wanted;
}

static bool has_failed(struct rig *r)
{
	return stats_of(r).failures >= r->wanted;
}

static Otlp__ExportMetricsServiceRequest *decode(const struct script_request *q)
{
	static unsigned char out[4 << 20];
	z_stream z = {.next_in = q->body, .avail_in = (uInt)q->n, .next_out = out, .avail_out = sizeof(out)};
	Otlp__ExportMetricsServiceRequest *found;

	cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
	cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END, "no gzip");
	found = otlp__export_metrics_service_request__unpack(NULL, z.total_out, out);
	inflateEnd(&z);
	cr_assert(found);
	return found;
}

static const char *resource_attribute(const Otlp__ExportMetricsServiceRequest *q, const char *key)
{
	const Otlp__Resource *r = q->resource_metrics[0]->resource;

	for (size_t i = 0; i < r->n_attributes; i++)
		if (!strcmp(r->attributes[i]->key, key))
			return r->attributes[i]->value->string_value;
	return NULL;
}

Test(sink_otlp, delivers)
{
	static const char *const answers[] = {SCRIPT_OK};
	Otlp__ExportMetricsServiceRequest *q;
	struct script s;
	struct rig r;

	script_start(&s, 0, answers, 1);
	rig_open(&r, s.port, 1 << 20);
	push(&r);
	cr_assert_not(otlp_idle(r.otlp), "nothing is waited for in the push itself");
	run_until(&r, is_idle);
	push(&r);
	run_until(&r, is_idle);
	cr_assert_eq(atomic_load(&s.n), 2);
	cr_assert_eq(strncmp(s.requests[0].head, "POST /v1/metrics HTTP/1.1\r\n", 27), 0, "%s", s.requests[0].head);
	cr_assert(strstr(s.requests[0].head, "\r\nContent-Type: application/x-protobuf\r\n"), "%s", s.requests[0].head);
	cr_assert(strstr(s.requests[0].head, "\r\nContent-Encoding: gzip\r\n"), "%s", s.requests[0].head);
	cr_assert(strstr(s.requests[0].head, "\r\nAuthorization: Bearer secret\r\n"), "%s", s.requests[0].head);
	cr_assert_null(strstr(s.requests[0].head, "Expect:"), "%s", s.requests[0].head);
	q = decode(&s.requests[0]);
	cr_assert_str_eq(resource_attribute(q, "service.name"), "loopscope");
	cr_assert_str_eq(resource_attribute(q, "service.version"), "1.0");
	cr_assert_str_eq(resource_attribute(q, "deployment.environment"), "test");
	cr_assert_str_eq(resource_attribute(q, "host.name"), "other", "the user's wins");
	otlp__export_metrics_service_request__free_unpacked(q, NULL);
	cr_assert_gt(stats_of(&r).sent_points, 0);
	cr_assert_eq(stats_of(&r).requests, 2);
	cr_assert_eq(stats_of(&r).failures, 0);
	cr_assert_eq(r.troubles + r.recoveries, 0);
	rig_close(&r);
	script_stop(&s);
	script_free(&s);
}

Test(sink_otlp, tries_again_what_may_go_well_later)
{
	static const char *const answers[] = {
		"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", SCRIPT_CLOSES, SCRIPT_HANGS,
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n", SCRIPT_OK,
	};
	struct script s;
	struct rig r;

	script_start(&s, 0, answers, 7);
	rig_open(&r, s.port, 1 << 20);
	push(&r);
	run_until(&r, is_idle);
	cr_assert_geq(atomic_load(&s.n), 7, "(libcurl itself may repeat one on a fresh connection)");
	for (size_t i = 1; i < atomic_load(&s.n); i++) {
		cr_assert_eq(s.requests[i].n, s.requests[0].n);
		cr_assert_arr_eq(s.requests[i].body, s.requests[0].body, s.requests[0].n);
	}
	cr_assert_gt(stats_of(&r).sent_points, 0);
	cr_assert_eq(stats_of(&r).lost_refused + stats_of(&r).lost_full + stats_of(&r).lost_memory, 0);
	cr_assert_eq(stats_of(&r).requests, 1);
	cr_assert_geq(stats_of(&r).failures, 5);
	cr_assert_eq(r.recoveries, 1);
	rig_close(&r);
	script_stop(&s);
	script_free(&s);
}

Test(sink_otlp, waits_as_long_as_it_is_asked_to)
{
	static const char *const answers[] = {"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n", SCRIPT_OK};
	struct script s;
	struct rig r;

	script_start(&s, 0, answers, 2);
	rig_open(&r, s.port, 1 << 20);
	push(&r);
	run_until(&r, is_idle);
	cr_assert_eq(atomic_load(&s.n), 2);
	cr_assert_geq(s.requests[1].at_ns - s.requests[0].at_ns, 1000 * MS);
	cr_assert_eq(r.troubles, 1);
	cr_assert(strstr(r.told, "/v1/metrics answers with HTTP status 429: trying again"), "%s", r.told);
	rig_close(&r);
	script_stop(&s);
	script_free(&s);
}

/* A google.rpc.Status {message: "bad bytes"} in the body of a 400. */
Test(sink_otlp, what_is_refused_is_lost_and_not_tried_again)
{
	static const char *const answers[] = {
		"HTTP/1.1 400 Bad Request\r\nContent-Length: 11\r\n\r\n\x12\x09" "bad bytes", SCRIPT_OK};
	struct script s;
	struct rig r;

	script_start(&s, 0, answers, 2);
	rig_open(&r, s.port, 1 << 20);
	push(&r);
	run_until(&r, is_idle);
	cr_assert_eq(atomic_load(&s.n), 1);
	cr_assert_gt(stats_of(&r).lost_refused, 0);
	cr_assert_eq(stats_of(&r).sent_points, 0);
	cr_assert(strstr(r.told, "refuses with HTTP status 400: bad bytes; what was sent is lost"), "%s", r.told);
	push(&r);
	run_until(&r, is_idle);
	cr_assert_eq(atomic_load(&s.n), 2);
	cr_assert_gt(stats_of(&r).sent_points, 0);
	cr_assert_eq(r.recoveries, 1);
	rig_close(&r);
	script_stop(&s);
	script_free(&s);
}

/* ExportMetricsServiceResponse {partial_success {rejected_data_points: 3, error_message: "too old"}}. */
Test(sink_otlp, a_part_that_is_refused_is_counted)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n\x0a\x0b\x08\x03\x12\x07" "too old"};
	struct otlp_stats before;
	struct script s;
	struct rig r;

	script_start(&s, 0, answers, 1);
	rig_open(&r, s.port, 1 << 20);
	push(&r);
	before = stats_of(&r);
	run_until(&r, is_idle);
	cr_assert_eq(stats_of(&r).lost_refused, 3);
	cr_assert_eq(stats_of(&r).sent_points, before.queued_points - 3);
	cr_assert(strstr(r.told, "takes only a part: too old"), "%s", r.told);
	rig_close(&r);
	script_stop(&s);
	script_free(&s);
}

static uint16_t free_port(void)
{
	static const char *const answers[] = {SCRIPT_OK};
	struct script s;

	script_start(&s, 0, answers, 1);
	script_stop(&s);
	return s.port;
}

/* Nobody listens for a while: nothing waits, the queue stays within its bound, what is lost is counted; then it goes on. */
Test(sink_otlp, receiver_down_for_a_while)
{
	static const char *const answers[] = {SCRIPT_OK};
	uint16_t port = free_port();
	size_t one, pushes;
	struct otlp_stats down, up;
	struct script s;
	struct rig r;

	rig_open(&r, port, 1 << 20);
	push(&r);
	one = stats_of(&r).queued_points;
	r.wanted = 3;
	run_until(&r, has_failed);
	for (pushes = 1; stats_of(&r).queued_bytes < 1 << 19; pushes++)
		push(&r);
	cr_assert_eq(stats_of(&r).lost_full, 0);
	for (; pushes < 5000; pushes++) {
		push(&r);
		cr_assert_leq(stats_of(&r).queued_bytes, 1 << 20);
	}
	down = stats_of(&r);
	cr_assert_gt(down.lost_full, 0);
	cr_assert_eq(down.lost_full + down.queued_points, pushes * one, "each point is queued or counted as lost");
	cr_assert_eq(r.troubles, 1, "it is told once: %s", r.told);
	cr_assert(strstr(r.told, "can't be reached (") && strstr(r.told, "Connection refused"), "%s", r.told);

	script_start(&s, port, answers, 1);
	r.script = &s;
	r.wanted = 10;
	run_until(&r, has_requests);
	cr_assert_eq(r.recoveries, 1);
	up = stats_of(&r);
	cr_assert_eq(up.lost_full, down.lost_full);
	cr_assert_eq(up.sent_points + up.queued_points + up.lost_full, pushes * one);
	rig_close(&r);
	script_stop(&s);
	script_free(&s);
}

Test(sink_otlp, ends_in_the_middle_of_a_request)
{
	static const char *const answers[] = {SCRIPT_HANGS};
	struct script s;
	struct rig r;

	script_start(&s, 0, answers, 1);
	rig_open(&r, s.port, 1 << 20);
	r.script = &s;
	r.wanted = 1;
	push(&r);
	push(&r);
	run_until(&r, has_requests);
	rig_close(&r);
	script_stop(&s);
	script_free(&s);
}

Test(sink_otlp, checks)
{
	char sentence[200];

	cr_assert_eq(otlp_check_url("http://127.0.0.1:4318", sentence, sizeof(sentence)), 0);
	cr_assert_eq(otlp_check_url("https://collector.example/otlp/v1/metrics", sentence, sizeof(sentence)), 0);
	cr_assert_eq(otlp_check_url("ftp://x", sentence, sizeof(sentence)), -EINVAL);
	cr_assert(strstr(sentence, "'ftp://x' is no URL to post to; write for example http://127.0.0.1:4318"), "%s", sentence);
	cr_assert_eq(otlp_check_url("collector:4318", sentence, sizeof(sentence)), -EINVAL);
	cr_assert_eq(otlp_check_url("http://", sentence, sizeof(sentence)), -EINVAL);
	cr_assert_eq(otlp_check_header("X-Scope-OrgID: 1", sentence, sizeof(sentence)), 0);
	cr_assert_eq(otlp_check_header("no colon", sentence, sizeof(sentence)), -EINVAL);
	cr_assert_eq(otlp_check_header("A: b\r\nC: d", sentence, sizeof(sentence)), -EINVAL);
	cr_assert_eq(otlp_check_resource("a=b=c", sentence, sizeof(sentence)), 0);
	cr_assert_eq(otlp_check_resource("=c", sentence, sizeof(sentence)), -EINVAL);
	cr_assert_eq(otlp_check_resource("a=", sentence, sizeof(sentence)), -EINVAL);
}
