/* SPDX-License-Identifier: BSD-2-Clause */
/* test_kernel_sample.c - from the kernel side's record to the model's sample: nothing lost, nothing trusted. */
#include "source/kernel_sample.h"
#include "test_model_fixture.h"

TestSuite(kernel_sample, .timeout = 60);

static struct ls_snap snap(void)
{
	struct ls_snap s = {
		.now_ns = 999,
		.start_boottime_ns = 77,
		.tid = 11,
		.tgid = 10,
		.comm = "worker",
		.t = { .state = LS_IDLE,
		       .home = 2,
		       .generation = 3,
		       .birth_ns = 1000,
		       .last_ns = 1000 + 210,
		       .sum_ns = { 0, 10, 20, 30, 40, 50, 60 },
		       .throttled_ns = 5,
		       .naive_idle_ns = 6,
		       .io_sleeps = 7,
		       .outer_ns = 8,
		       .events = 9,
		       .lost = 10,
		       .repaired = 11,
		       .blocked_other_ns = 12,
		       .culprit_other_ns = 13 },
	};

	s.t.points[2] = (struct ls_point){ .sp = 1, .nr = 0, .count = 4, .fd = 5, .nfds = 6 };
	return s;
}

Test(kernel_sample, every_sum_arrives)
{
	struct ls_snap s = snap();
	struct loop_sample r;
	uint64_t sum = 0;

	memset(&r, 0xff, sizeof(r));
	kernel_sample(&s, &r);
	cr_assert_eq(r.id.pid, 10u);
	cr_assert_eq(r.id.tid, 11u);
	cr_assert_eq(r.id.start_ns, 77u);
	cr_assert_eq(r.id.generation, 3u);
	cr_assert_eq(r.source, SOURCE_KERNEL);
	cr_assert_eq(r.edges, EDGES_SCHED);
	cr_assert_eq(r.birth_ns, 1000u);
	cr_assert_eq(r.now_ns, 1210u, "the sums' own time, not the walk's");
	cr_assert_eq(r.state_ns[LOOP_IDLE], 10u);
	cr_assert_eq(r.state_ns[LOOP_IO_CPU], 20u);
	cr_assert_eq(r.state_ns[LOOP_TICK_CPU], 30u);
	cr_assert_eq(r.state_ns[LOOP_TICK_BLOCKED], 40u);
	cr_assert_eq(r.state_ns[LOOP_WAIT_IO], 50u);
	cr_assert_eq(r.state_ns[LOOP_WAIT_TICK], 60u);
	for (int i = 0; i < LOOP_NR_STATES; i++)
		sum += r.state_ns[i];
	cr_assert_eq(sum, r.now_ns - r.birth_ns);
	cr_assert_eq(r.throttled_ns, 5u);
	cr_assert_eq(r.naive_idle_ns, 6u);
	cr_assert_eq(r.io_sleeps, 7u);
	cr_assert_eq(r.outer_ns, 8u);
	cr_assert_eq(r.events, 9u);
	cr_assert_eq(r.lost, 10u);
	cr_assert_eq(r.repaired, 11u);
	cr_assert_eq(r.blocked_other_ns, 12u);
	cr_assert_eq(r.waited_other_ns, 13u);
	cr_assert_str_eq(r.thread, "worker");
	for (int i = 0; i < LOOP_BLOCKED_MAX; i++)
		cr_assert_eq(r.blocked[i].ns, 0u);
	for (int i = 0; i < LOOP_WAITED_MAX; i++)
		cr_assert_eq(r.waited[i].ns, 0u);
}

Test(kernel_sample, the_wait_point_is_the_home_row)
{
	struct ls_snap s = snap();
	struct loop_sample r;
	static const int8_t none[] = { -1, LS_POINTS, 127, -128 };

#if defined(__x86_64__)
	s.t.points[2].nr = 232;
	kernel_sample(&s, &r);
	cr_assert_str_eq(r.wait_syscall, "epoll_wait");
	s.t.points[2].abi = LS_ABI_IA32;
	s.t.points[2].nr = 168;
	kernel_sample(&s, &r);
	cr_assert_str_eq(r.wait_syscall, "poll");
#else
	s.t.points[2].nr = 22;
	kernel_sample(&s, &r);
	cr_assert_str_eq(r.wait_syscall, "epoll_pwait");
#endif
	cr_assert_eq(r.wait_fd, 5);
	cr_assert_eq(r.wait_nfds, 6);
	cr_assert_eq(r.wait_repeats, 4u);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		s.t.home = none[i];
		kernel_sample(&s, &r);
		cr_assert_str_eq(r.wait_syscall, "");
		cr_assert_eq(r.wait_fd, -1);
		cr_assert_eq(r.wait_nfds, -1);
		cr_assert_eq(r.wait_repeats, 0u);
	}
}

Test(kernel_sample, ended_and_in_progress)
{
	struct ls_snap s = snap();
	struct loop_sample r;

	kernel_sample(&s, &r);
	cr_assert(!r.ended && !r.in_progress_only);
	s.reason = LS_SNAP_EXIT;
	s.t.flags = LS_F_SEEDED | LS_F_DEAD;
	kernel_sample(&s, &r);
	cr_assert(r.ended && r.in_progress_only);
	s.reason = LS_SNAP_EXEC;
	s.t.flags = LS_F_DEAD;
	kernel_sample(&s, &r);
	cr_assert(r.ended && !r.in_progress_only);
}

Test(kernel_sample, blocked_rows_are_named)
{
	static const struct {
		uint32_t nr;
		const char *name;
	} rows[] = {
		{ LS_NR_PAGE_FAULT, "page_fault" }, { LS_NR_STOPPED, "stopped" },    { LS_NR_UNKNOWN, "unknown" },
#if defined(__x86_64__)
		{ 0, "read" },			    { 202, "futex" },		     { 74, "fsync" },
#else
		{ 63, "read" },			    { 98, "futex" },		     { 82, "fsync" },
#endif
		{ 1000, "syscall_1000" },	    { 12345678, "syscall_unknown" },
	};
	struct ls_snap s = snap();
	struct loop_sample r;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		s.t.blocked[i] = (struct ls_blocked){ .ns = 100 + i, .nr = rows[i].nr, .used = 1 };
	kernel_sample(&s, &r);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cr_assert_str_eq(r.blocked[i].what, rows[i].name);
		cr_assert_eq(r.blocked[i].ns, 100u + i);
	}
	s.t.blocked[0].used = 0;
	s.t.blocked[1].abi = 200; /* no such table */
	s.t.blocked[1].nr = 1;
	kernel_sample(&s, &r);
	cr_assert_eq(r.blocked[0].ns, 0u);
	cr_assert_str_eq(r.blocked[1].what, "syscall_unknown");
}

Test(kernel_sample, culprits_are_processes_and_the_idle_cpu)
{
	struct ls_snap s = snap();
	struct loop_sample r;
	char padded[LOOP_COMM_LEN] = "(idle)";

	s.t.culprits[0] = (struct ls_culprit){ .ns = 5, .tgid = 9, .used = 1, .comm = "ffmpeg" };
	s.t.culprits[1] = (struct ls_culprit){ .ns = 6, .tgid = 0, .used = 1, .comm = "swapper/10" };
	s.t.culprits[2] = (struct ls_culprit){ .ns = 7, .tgid = 8, .used = 0, .comm = "left over" };
	kernel_sample(&s, &r);
	cr_assert_str_eq(r.waited[0].comm, "ffmpeg");
	cr_assert_eq(r.waited[0].pid, 9);
	cr_assert_eq(r.waited[0].ns, 5u);
	/* Names are compared as a whole: nothing of the CPU's own may remain behind it. */
	cr_assert_arr_eq(r.waited[1].comm, padded, LOOP_COMM_LEN);
	cr_assert_eq(r.waited[1].pid, 0);
	cr_assert_eq(r.waited[1].ns, 6u);
	cr_assert_eq(r.waited[2].ns, 0u);
}

/* The kernel ends a comm with a NUL; here nothing depends on it. */
Test(kernel_sample, names_always_end)
{
	struct ls_snap s = snap();
	struct loop_sample r;

	memset(s.comm, 'x', sizeof(s.comm));
	s.t.culprits[0] = (struct ls_culprit){ .ns = 5, .tgid = 9, .used = 1 };
	memset(s.t.culprits[0].comm, 0xff, LS_COMM_LEN);
	kernel_sample(&s, &r);
	cr_assert_eq(strlen(r.thread), (size_t)LOOP_COMM_LEN - 1);
	cr_assert_eq(strlen(r.waited[0].comm), (size_t)LOOP_COMM_LEN - 1);
}
