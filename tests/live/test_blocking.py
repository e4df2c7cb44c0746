# SPDX-License-Identifier: BSD-2-Clause
"""Blocking is not idling: what a callback sleeps in is tick_blocked and has its name, whatever it is.

The blocker logs every stretch in which it slept (tests/loopers/blocker.c); the truth is that log's share of exactly
the record's interval. What the hypervisor took from the machine while the blocker ran within a stretch is in neither of schedstat's
sums, and so counts as slept in the log alone: where it says so much more as the witness saw taken, that is
not judged.
"""
import unittest

from harness import LiveTest, blocked_truth, cases, span

BLOCKED = 0.01
TEN_POLLS = ("-b", "10ms", "-p", "20ms")


@cases({
    "none": ("none",),
    "nanosleep": ("sleep",),
    "futex": ("futex",),
    "fsync": ("fsync",),
    "socket_read": ("read",),
    "nested_poll": ("poll",),
    "ten_nested_polls": ("polls", *TEN_POLLS),
    "nested_epoll": ("epoll",),
    "nested_poll_at_several_depths": ("deep",),
    "page_fault_on_a_cold_file": ("fault",),
    "page_fault_resolved_by_a_thread": ("uffd",),
    "page_fault_with_the_number_of_poll": ("uffd-wp",),
    "nested_poll_in_a_poll_loop": ("poll", "-l", "poll"),
    "ten_nested_polls_in_a_poll_loop": ("polls", "-l", "poll", *TEN_POLLS),
    "nested_poll_at_several_depths_in_a_poll_loop": ("deep", "-l", "poll"),
    "page_fault_with_the_number_of_poll_in_a_poll_loop": ("uffd-wp", "-l", "poll"),
})
class Blocking(LiveTest):
    def check(self, kind, *options):
        blocker = self.looper("blocker", "-k", kind, *options)
        witness = self.witness((blocker.pid, blocker.pid))
        records = self.watch(blocker.pid, 1, 2)
        witness.finish()
        truth = blocker.truth()
        for r in records:
            blocked, taken = blocked_truth(truth, *span(r)), witness.taken_share(r)
            named = {b["syscall"]: b["share"] for b in r["blocked_by"]}
            self.note("tick_blocked %.4f, truth %.4f (taken from the machine %.4f); by %s" % (
                r["parts"]["tick_blocked"], blocked, taken, named))
            self.assertEqual(r["wait_point"]["syscall"], "poll" if "-l" in options else "epoll_wait")
            self.assert_blocked(r["parts"]["tick_blocked"], blocked, taken, "tick_blocked")
            if truth["in"]:
                self.assertGreater(blocked, 2 * BLOCKED, "it blocked long enough to tell")
                self.assert_blocked(named.get(truth["in"], 0), blocked, taken, "%s is what it blocked in: %r" % (truth["in"], named))

    def assert_blocked(self, said, truth, taken, what):
        if BLOCKED < truth - said <= BLOCKED + taken:
            raise unittest.SkipTest("%.4f and %.4f in truth can't be judged while the hypervisor takes %.4f of the machine" % (said, truth, taken))
        self.assertAlmostEqual(said, truth, delta=BLOCKED, msg=what)
