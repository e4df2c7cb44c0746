/* SPDX-License-Identifier: BSD-2-Clause */
/* test_metrics.c - what is counted, and in whose name: groups, states, culprits, slow ticks, stalls. */
#include <errno.h>

#include "model/container.h"
#include "test_metrics_fixture.h"

TestSuite(metrics, .timeout = 60);

/* --- sums --------------------------------------------------------------------------------------------------------------------- */

Test(metrics, seconds_by_state_add_up_to_the_time)
{
	struct metrics *m = new_metrics((struct metrics_options){});
	struct loop_record r = a_record("redis", 10);

	take(m, &r, 1, 1 * METRICS_SEC);
	take(m, &r, 1, 2 * METRICS_SEC);
	assert_value(value_of(m, 0, "loopscope_loop_seconds", "state=\"idle\""), 1.2);
	assert_value(value_of(m, 0, "loopscope_loop_seconds", "state=\"tick_cpu\""), .5);
	assert_value(value_of(m, 0, "loopscope_loop_seconds", "state=\"tick_blocked\""), .1);
	assert_value(value_of(m, 0, "loopscope_loop_seconds", "state=\"wait_io\""), .08);
	assert_value(value_of(m, 0, "loopscope_loop_seconds", "state=\"wait_tick\""), .12);
	assert_value(value_of(m, 0, "loopscope_loop_seconds", NULL), 2.0);
	cr_assert(isnan(value_of(m, 0, "loopscope_loop_seconds", "state=\"io_cpu\"")), "unknown is not 0");
	assert_value(value_of(m, 0, "loopscope_loop_throttled_seconds", NULL), .02);
	assert_value(value_of(m, 0, "loopscope_loop_observer_seconds", NULL), .002);
	assert_value(value_of(m, 0, "loopscope_loop_io_sleeps", NULL), 200.0);
	metrics_free(m);
}

Test(metrics, what_cannot_be_known_has_no_sample)
{
	static const char *const families[] = { "loopscope_loop_spin_seconds", "loopscope_loop_io_waits", "loopscope_loop_ticks",
						"loopscope_loop_tick_duration_seconds", "loopscope_loop_io_duration_seconds",
						"loopscope_loop_slow_ticks", "loopscope_loop_stall_seconds",
						"loopscope_host_steal_seconds", "loopscope_lost_events" };
	struct metrics *m = new_metrics((struct metrics_options){ .slow_ticks = true, .n_cpus = 2 });
	struct loop_record r = a_record("redis", 10);

	take(m, &r, 1, METRICS_SEC);
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		cr_assert(isnan(value_of(m, 0, families[i], NULL)), "%s", families[i]);
	metrics_free(m);
}

Test(metrics, measured_edges_bring_ticks_and_histograms)
{
	_cleanup_free_ struct hist *h = calloc(1, sizeof(*h));
	_cleanup_free_ struct hist_packed *p = NULL;
	struct metrics *m = new_metrics((struct metrics_options){ .slow_ticks = true });
	struct loop_record r = a_measured_record("node", 11, 50);

	hist_add_n(h, 1000, 30);
	hist_add_n(h, 5000000, 20);
	p = hist_pack(h);
	r.tick_hist = p;
	take(m, &r, 1, METRICS_SEC);
	take(m, &r, 1, 2 * METRICS_SEC);
	assert_value(value_of(m, 0, "loopscope_loop_ticks", NULL), 100.0);
	assert_value(value_of(m, 0, "loopscope_loop_io_waits", NULL), 100.0);
	assert_value(value_of(m, 0, "loopscope_loop_tick_duration_seconds", NULL), 100.0);
	assert_value(value_of(m, 0, "loopscope_loop_seconds", "state=\"io_cpu\""), .1);
	assert_value(value_of(m, 0, "loopscope_loop_seconds", NULL), 2.0);
	assert_value(value_of(m, 0, "loopscope_loop_slow_ticks", NULL), 0.0);
	assert_value(value_of(m, 0, "loopscope_loop_stall_seconds", NULL), 0.0);
	cr_assert(isnan(value_of(m, 0, "loopscope_loop_io_duration_seconds", NULL)));
	metrics_free(m);
}

struct bounds_seen {
	size_t histograms;
	const struct hist *all;
};

static int no_family(void *arg, const struct metric_family *f)
{
	return 0;
}

/* Each bound is the end of a bucket of the model: what is at most the bound is counted exactly. */
static int check_bounds(void *arg, const struct metric_family *f, const struct metric_sample *s)
{
	struct bounds_seen *seen = arg;
	uint64_t at_most = 0, n = 0;

	if (!s->histogram)
		return 0;
	seen->histograms++;
	for (size_t i = 0; i < s->histogram->n_bounds; i++) {
		uint64_t ns = (uint64_t)llround(s->histogram->bound[i] * 1e9), want = 0;

		cr_assert_eq(hist_bucket_high(hist_bucket(ns)), ns, "a bound cuts a bucket");
		for (unsigned b = 0; b < HIST_BUCKETS && hist_bucket_high(b) <= ns; b++)
			want += seen->all->bucket[b];
		at_most += s->histogram->count[i];
		cr_assert_eq(at_most, want, "bound %zu", i);
	}
	for (size_t i = 0; i <= s->histogram->n_bounds; i++)
		n += s->histogram->count[i];
	cr_assert_eq(n, s->histogram->n);
	cr_assert_eq(n, seen->all->n);
	return 0;
}

Test(metrics, no_duration_is_on_the_wrong_side_of_a_bound)
{
	static const struct metrics_visitor v = { no_family, check_bounds };
	_cleanup_free_ struct hist *h = calloc(1, sizeof(*h));
	_cleanup_free_ struct hist_packed *p = NULL;
	struct metrics *m = new_metrics((struct metrics_options){});
	struct loop_record r = a_measured_record("node", 11, 50);
	struct bounds_seen seen = { .all = h };

	for (unsigned bit = 0; bit < 44; bit++)
		for (int d = -1; d <= 1; d++)
			hist_add(h, (1ull << bit) + (uint64_t)d);
	p = hist_pack(h);
	r.tick_hist = r.io_hist = p;
	take(m, &r, 1, METRICS_SEC);
	cr_assert_eq(metrics_visit(m, 0, &v, &seen), 0);
	cr_assert_eq(seen.histograms, 2u);
	metrics_free(m);
}

Test(metrics, impossible_shares_move_no_counter_backwards)
{
	struct metrics *m = new_metrics((struct metrics_options){});
	struct loop_record r = a_record("broken", 10);

	r.idle = -5;
	r.tick_cpu = INFINITY;
	r.throttled = -1;
	r.wait = 7;
	take(m, &r, 1, METRICS_SEC);
	r.interval_s = -1;
	take(m, &r, 1, METRICS_SEC);
	r.interval_s = NAN;
	take(m, &r, 1, METRICS_SEC);
	r.interval_s = 1e300;
	take(m, &r, 1, METRICS_SEC);
	assert_value(value_of(m, 0, "loopscope_loop_seconds", "state=\"idle\""), 0.0);
	cr_assert_leq(value_of(m, 0, "loopscope_loop_seconds", NULL), 1.2);
	cr_assert_leq(value_of(m, 0, "loopscope_loop_waited_for_seconds", NULL), 1.0);
	metrics_free(m);
}

/* --- who it waited for -------------------------------------------------------------------------------------------------------- */

static void know_culprit(void *arg, int64_t pid, struct metrics_culprit *ret)
{
	(*(int *)arg)++;
	ret->kernel_thread = pid == 2;
	ret->cgroup = pid == 30 ? strdup("/a/b") : pid == 31 ? strdup("/") : NULL;
}

Test(metrics, waits_are_told_apart_by_who_had_the_cpu)
{
	static const int64_t pids[] = { 10, 30, 40, 2, 0, LOOP_WAITED_QUOTA, -1 };
	static const char *const classes[] = { "culprit=\"same_process\"",  "culprit=\"same_cgroup\"", "culprit=\"other_process\"",
					       "culprit=\"kernel_thread\"", "culprit=\"wake_up\"",     "culprit=\"quota\"" };
	int asked = 0;
	struct metrics *m = new_metrics((struct metrics_options){ .culprit = know_culprit, .arg = &asked });
	struct loop_record r[2] = { a_record("redis", 10), a_record("redis", 10) };

	r[0].cgroup = "/a/b";
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		r[0].waited_for[i].pid = pids[i];
		r[0].waited_for[i].share = .01;
	}
	r[0].n_waited_for = ARRAY_SIZE(pids);
	r[1] = r[0];
	r[1].id.tid = 11;
	take(m, r, 2, METRICS_SEC);
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		assert_value(value_of(m, 0, "loopscope_loop_waited_for_seconds", classes[i]), .02);
	assert_value(value_of(m, 0, "loopscope_loop_waited_for_seconds", "culprit=\"unknown\""), .08);
	assert_value(value_of(m, 0, "loopscope_loop_waited_for_seconds", NULL), .2);
	cr_assert_eq(asked, 3, "once a process and interval, and not for those that are known: %d", asked);
	metrics_free(m);
}

Test(metrics, the_root_cgroup_is_nobodys)
{
	int asked = 0;
	struct metrics *m = new_metrics((struct metrics_options){ .culprit = know_culprit, .arg = &asked });
	struct loop_record r = a_record("redis", 10);

	r.cgroup = "/";
	r.waited_for[0].pid = 31;
	r.waited_for[0].share = .1;
	r.n_waited_for = 1;
	take(m, &r, 1, METRICS_SEC);
	assert_value(value_of(m, 0, "loopscope_loop_waited_for_seconds", "culprit=\"other_process\""), .1);
	metrics_free(m);
}

/* --- slow ticks and stalls ---------------------------------------------------------------------------------------------------- */

static struct slow_tick a_slow_tick(uint32_t pid, uint64_t start_ns, double us, bool in_progress, const struct slow_cause *causes, size_t n)
{
	return (struct slow_tick){ .source = SOURCE_KERNEL, .id = { .pid = pid, .tid = pid, .start_ns = 1000 + pid }, .runtime = "",
				   .start_ns = start_ns, .duration_us = us, .in_progress = in_progress, .causes = causes, .n_causes = n };
}

Test(metrics, slow_ticks_are_counted_by_what_took_most)
{
	static const struct slow_cause causes[] = { { .kind = CAUSE_SYSCALL, .us = 81000, .what = "" },
						    { .kind = CAUSE_CPU, .us = 2000, .what = "" } };
	struct metrics *m = new_metrics((struct metrics_options){ .slow_ticks = true });
	struct loop_record r = a_measured_record("node", 10, 5);
	struct slow_tick t = a_slow_tick(10, 5, 83000, false, causes, 2);

	cr_assert_eq(metrics_slow_tick(m, METRICS_KERNEL, &t, METRICS_SEC), 0, "before its loop's first interval");
	take(m, &r, 1, METRICS_SEC);
	t.suppressed = 4;
	cr_assert_eq(metrics_slow_tick(m, METRICS_KERNEL, &t, METRICS_SEC), 0);
	t = a_slow_tick(10, 9, 70000, true, causes, 2);
	cr_assert_eq(metrics_slow_tick(m, METRICS_KERNEL, &t, METRICS_SEC), 0, "one that runs is counted when it ends");
	assert_value(value_of(m, 0, "loopscope_loop_slow_ticks", "cause=\"syscall\""), 2.0);
	assert_value(value_of(m, 0, "loopscope_loop_slow_ticks", "cause=\"untold\""), 4.0);
	assert_value(value_of(m, 0, "loopscope_loop_slow_ticks", NULL), 6.0);
	assert_value(value_of(m, 0, "loopscope_loop_slow_tick_seconds", "cause=\"syscall\""), .162);
	assert_value(value_of(m, 0, "loopscope_loop_slow_tick_seconds", "cause=\"cpu\""), .004);
	metrics_free(m);
}

Test(metrics, a_slow_tick_of_a_loop_that_never_comes_is_kept)
{
	struct metrics *m = new_metrics((struct metrics_options){ .slow_ticks = true });
	struct slow_tick t = a_slow_tick(10, 5, 83000, false, NULL, 0);

	cr_assert_eq(metrics_slow_tick(m, METRICS_KERNEL, &t, METRICS_SEC), 0);
	for (unsigned i = 1; i < 5; i++)
		take(m, NULL, 0, i * METRICS_SEC);
	assert_value(value_of(m, 0, "loopscope_loop_slow_ticks", "overflow=\"true\"", "cause=\"other\""), 1.0);
	metrics_free(m);
}

Test(metrics, a_stall_shows_its_age_until_it_is_over)
{
	struct metrics *m = new_metrics((struct metrics_options){ .slow_ticks = true });
	struct loop_record r = a_measured_record("node", 10, 5);
	struct slow_tick t = a_slow_tick(10, 9, 100000, true, NULL, 0);

	take(m, &r, 1, 1 * METRICS_SEC);
	cr_assert_eq(metrics_slow_tick(m, METRICS_KERNEL, &t, 1500000000), 0);
	assert_value(value_of(m, 3 * METRICS_SEC, "loopscope_loop_stall_seconds", NULL), 1.6);
	take(m, &r, 1, 2 * METRICS_SEC);
	assert_value(value_of(m, 3 * METRICS_SEC, "loopscope_loop_stall_seconds", NULL), 1.6);
	r.ticks = 0;
	take(m, &r, 1, 3 * METRICS_SEC);
	assert_value(value_of(m, 3 * METRICS_SEC, "loopscope_loop_stall_seconds", NULL), 1.6);
	r.ticks = 1;
	take(m, &r, 1, 4 * METRICS_SEC);
	assert_value(value_of(m, 4 * METRICS_SEC, "loopscope_loop_stall_seconds", NULL), 0.0);
	metrics_free(m);
}

Test(metrics, the_end_of_a_stall_is_told_too)
{
	struct metrics *m = new_metrics((struct metrics_options){ .slow_ticks = true });
	struct loop_record r = a_measured_record("node", 10, 5);
	struct slow_tick running = a_slow_tick(10, 900, 100000, true, NULL, 0), earlier = a_slow_tick(10, 100, 60000, false, NULL, 0);

	take(m, &r, 1, METRICS_SEC);
	metrics_slow_tick(m, METRICS_KERNEL, &running, METRICS_SEC);
	metrics_slow_tick(m, METRICS_KERNEL, &earlier, METRICS_SEC);
	assert_value(value_of(m, METRICS_SEC, "loopscope_loop_stall_seconds", NULL), .1);
	running.in_progress = false;
	metrics_slow_tick(m, METRICS_KERNEL, &running, METRICS_SEC);
	assert_value(value_of(m, METRICS_SEC, "loopscope_loop_stall_seconds", NULL), 0.0);
	metrics_free(m);
}

Test(metrics, a_stall_ends_with_its_loop)
{
	struct metrics *m = new_metrics((struct metrics_options){ .slow_ticks = true });
	struct loop_record r = a_measured_record("node", 10, 0);
	struct slow_tick t = a_slow_tick(10, 9, 100000, true, NULL, 0);

	take(m, &r, 1, METRICS_SEC);
	metrics_slow_tick(m, METRICS_KERNEL, &t, METRICS_SEC);
	r.ended = true;
	take(m, &r, 1, 2 * METRICS_SEC);
	assert_value(value_of(m, 2 * METRICS_SEC, "loopscope_loop_stall_seconds", NULL), 0.0);
	assert_value(value_of(m, 2 * METRICS_SEC, "loopscope_loops", NULL), 0.0);
	metrics_free(m);
}

/* --- the host ------------------------------------------------------------------------------------------------------------------- */

Test(metrics, steal_and_losses_are_summed)
{
	struct metrics *m = new_metrics((struct metrics_options){ .n_cpus = 4 });
	struct interval iv = { .ts = 1700000005, .interval_s = 5, .steal = .02, .lost = 3, .n_beyond = 7, .n_asleep = 40 };

	cr_assert_eq(metrics_interval(m, METRICS_KERNEL, &iv, METRICS_SEC), 0);
	cr_assert_eq(metrics_interval(m, METRICS_KERNEL, &iv, 2 * METRICS_SEC), 0);
	assert_value(value_of(m, 0, "loopscope_host_steal_seconds", NULL), .8);
	assert_value(value_of(m, 0, "loopscope_lost_events", NULL), 6.0);
	assert_value(value_of(m, 0, "loopscope_untracked_loops", NULL), 7.0);
	assert_value(value_of(m, 0, "loopscope_threads_asleep", NULL), 40.0);
	metrics_free(m);
}

Test(metrics, own_numbers_are_set_replaced_and_taken_away)
{
	static const struct metric_family sent = { "loopscope_sent_bytes", "bytes", METRIC_COUNTER, "x" };
	struct metrics *m = new_metrics((struct metrics_options){});
	const struct metric_label a = { "to", "a\nb" }, b = { "to", "b" };

	cr_assert_eq(metrics_own(m, &sent, &a, 1, 5), 0);
	cr_assert_eq(metrics_own(m, &sent, &b, 1, 1), 0);
	cr_assert_eq(metrics_own(m, &sent, &a, 1, 7), 0);
	assert_value(value_of(m, 0, "loopscope_sent_bytes", "to=\"a\\x0ab\""), 7.0);
	assert_value(value_of(m, 0, "loopscope_sent_bytes", NULL), 8.0);
	cr_assert_eq(metrics_own(m, &sent, &b, 1, NAN), 0);
	assert_value(value_of(m, 0, "loopscope_sent_bytes", NULL), 7.0);
	for (unsigned i = 0; i < METRICS_OWN_MAX - 2; i++) {
		char name[16];
		struct metric_label l = { "to", name };

		snprintf(name, sizeof(name), "n%u", i);
		cr_assert_eq(metrics_own(m, &sent, &l, 1, 1), 0);
	}
	cr_assert_eq(metrics_own(m, &sent, NULL, 0, 1), -ENOSPC);
	metrics_free(m);
}

/* --- containers ------------------------------------------------------------------------------------------------------------------- */

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define POD "9f3c1d2e-aaaa-4bbb-8ccc-1234567890ab"

Test(metrics, containers_and_pods_are_read_from_the_path)
{
	static const struct {
		const char *cgroup, *id, *pod;
	} cases[] = {
		{ "", "", "" },
		{ "/", "", "" },
		{ "/system.slice/redis.service", "", "" },
		{ "/docker/" ID, ID, "" },
		{ "/system.slice/docker-" ID ".scope", ID, "" },
		{ "/machine.slice/libpod-" ID ".scope/container", ID, "" },
		{ "/kubepods/burstable/pod" POD "/" ID, ID, POD },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod9f3c1d2e_aaaa_4bbb_8ccc_1234567890ab.slice/cri-containerd-" ID
		  ".scope", ID, POD },
		{ "/kubepods-besteffort-pod0123456789abcdef0123456789abcdef.slice/crio-" ID ".scope", ID, "0123456789abcdef0123456789abcdef" },
		{ "/system.slice/containerd.service/kubepods-pod9f3c1d2e_aaaa_4bbb_8ccc_1234567890ab.slice:cri-containerd:" ID, ID, POD },
		{ "/docker/" ID "/docker/" ID2, ID2, "" },
		{ "/docker/" ID "0", "", "" },
		{ "/x" ID, "", "" },
		{ "/pod9f3c1d2e-aaaa-4bbb-8ccc-1234567890abc", "", "" },
		{ "/tripod/pod", "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char id[CONTAINER_ID_LEN + 1], pod[POD_UID_LEN + 1];

		cr_assert_eq(container_id(cases[i].cgroup, id), cases[i].id[0] != '\0', "%s", cases[i].cgroup);
		cr_assert_str_eq(id, cases[i].id, "%s", cases[i].cgroup);
		cr_assert_eq(container_pod_uid(cases[i].cgroup, pod), cases[i].pod[0] != '\0', "%s", cases[i].cgroup);
		cr_assert_str_eq(pod, cases[i].pod, "%s", cases[i].cgroup);
	}
}
