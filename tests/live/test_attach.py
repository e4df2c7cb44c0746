# SPDX-License-Identifier: BSD-2-Clause
"""attach and scan find and name the loops of real programs, soon, and nothing that is no loop."""
import os
import unittest

import programs
from harness import LOOPSCOPE, LiveTest, Observer, cases, on_cpu, until
from test_ticks import sleeps_in_its_loop

FIRST_RECORD = 0.3  # seconds beyond the first interval


def check_target(test, target, record):
    test.assertEqual(record["runtime"], target.runtime)
    test.assertIn(record["wait_point"]["syscall"], target.syscalls)
    test.assertGreaterEqual(record["load"], target.min_load)


@cases({name: (start,) for name, start in programs.REAL.items()})
class Attach(LiveTest):
    """attach -i 1 -c 5 to real programs."""

    def check(self, start):
        target = start(self.start)
        observer = self.observe("attach", "-p", target.pid, "-i", "1", "-c", "5", "-o", "json")
        self.assertEqual(observer.wait_exit(15), 0, observer.errors)
        records = observer.loops(target.pid, target.pid)
        self.assertEqual(len(records), 5, observer.errors)
        for record in records:
            self.check_record(record)
            check_target(self, target, record)
        self.assertLess(observer.first_loop_after(target.pid), 1 + FIRST_RECORD)
        self.note("load %.3f busy %.3f wait %.3f, first record after %.3f s" % (
            records[-1]["load"], records[-1]["busy"], records[-1]["wait"], observer.first_loop_after(target.pid)))


@cases({name: (name,) for name in programs.SMALL})
class AttachSmall(LiveTest):
    """attach -i 1 -c 5 to a small looper of each kind. They run side by side, each with its own observer: one begins when the one
    before it watches, so that none waits for another's start, and the last before the first ends, so that none waits for an end."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seen = {}
        for name in programs.SMALL:
            target = programs.start_small(cls.class_start, name, work_us=400)  # ten of them leave the CPUs half idle
            observer = cls.class_start([LOOPSCOPE, "attach", "-p", target.pid, "-i", "1", "-c", "5", "-o", "json"],
                                       kind=Observer)
            cls.seen[name] = (target, observer)
            until(lambda o=observer: o.process.poll() is not None or sleeps_in_its_loop(o.pid), 30, "loopscope attaches")
        for _, observer in cls.seen.values():
            observer.wait_exit(15)

    def check(self, name):
        target, observer = self.seen[name]
        self.assertEqual(observer.process.returncode, 0, observer.errors)
        records = observer.loops(target.pid)
        self.assertEqual(len(records), 5, observer.errors)
        for record in records:
            self.check_record(record)
            check_target(self, target, record)
            self.assertEqual(record["comm"], name[:15])
        self.assertLess(observer.first_loop_after(target.pid), 1 + FIRST_RECORD)


class Scan(LiveTest):
    """All of them at once in one scan, among 2,000 idle threads and things that are no loops."""

    def test_all_at_once(self):
        shell = programs.Shell(self.start)  # first: a terminal's text is a kernel thread's work, which the loads below keep waiting
        targets = []
        for start in programs.REAL.values():
            try:
                targets.append(start(self.start, work=0.0004))
            except unittest.SkipTest as e:
                self.note("without one: %s" % e)
        targets += [programs.start_small(self.start, name, work_us=200) for name in programs.SMALL]
        others = {
            "idle threads": self.looper("threads", "-n", "2000").pid,
            "a process that polled once": self.looper("pollonce").pid,
            "a shell at its prompt": shell.pid,
        }
        observer = self.observe("scan", "-d", "5", "-o", "json")
        self.assertEqual(observer.wait_exit(20), 0, observer.errors)
        records = observer.loops()
        by_tid = {r["tid"]: r for r in records}
        self.assertEqual(len(by_tid), len(records), "each thread once")
        for target in targets:
            with self.subTest(target.name):
                self.assertTrue(target.pid in by_tid, "not found")
                self.check_record(by_tid[target.pid])
                check_target(self, target._replace(min_load=0.02), by_tid[target.pid])
        for what, pid in others.items():
            with self.subTest(what):
                self.assertEqual([r for r in records if r["pid"] == pid], [], what + " is listed as a loop")
        loads = [r["load"] for r in records]
        self.assertEqual(loads, sorted(loads, reverse=True), "sorted by load")
        self.note("%d loops of %d started" % (len(records), len(targets)))

    def test_loops_off_the_main_thread(self):
        multi = self.looper("multi", "-n", "3")
        tids = [int(t) for t in os.listdir("/proc/%d/task" % multi.pid) if int(t) != multi.pid]
        witness = self.witness(*((multi.pid, tid) for tid in tids))
        observer = self.observe("attach", "-p", multi.pid, "-i", "2", "-c", "1", "-o", "json")
        self.assertEqual(observer.wait_exit(10), 0, observer.errors)
        witness.finish()
        truth = {l["tid"]: l for l in multi.truth()["loops"]}
        records = observer.loops(multi.pid)
        self.assertEqual(sorted(r["tid"] for r in records), sorted(truth), "each loop, and not the main thread")
        for r in records:
            self.check_record(r)
            self.assertEqual(r["wait_point"]["syscall"], truth[r["tid"]]["looper"])
            more = on_cpu(r) - witness.record_shares(r)[0]
            self.assertLessEqual(more, 0.005 + witness.taken_share(r), "schedstat stands still while the hypervisor has the CPU")
            self.assertLessEqual(-more, 0.005)
            self.assertRegex(r["thread"], r"^multi-[123]$")

    def test_loops_that_come_and_go(self):
        """Threads that begin and end while watched; the process's own loop stays right, and sums always hold."""
        churn = self.looper("churn")
        observer = self.observe("attach", "-p", churn.pid, "-i", "1", "-c", "3", "-o", "json")
        self.assertEqual(observer.wait_exit(15), 0, observer.errors)
        records = observer.loops(churn.pid)
        for r in records:
            self.check_record(r)
        self.assertEqual(len([r for r in records if r["tid"] == churn.pid]), 3)
        threads = {r["tid"] for r in records if r["thread"] == "churn-thread"}
        self.assertGreaterEqual(len(threads), 6, "a new thread loops each 300 ms")
