# SPDX-License-Identifier: BSD-2-Clause
"""Every tick is measured: the number, the quantiles and the maximum are those that the program itself logged.

A ticker waits for a line on stdin before it loops, and stays when it is done: the observer sees its whole life, from the first
wait on, in one interval that Ctrl-C ends. So counts are compared exactly.
"""
import math
import os
import signal
import subprocess

from harness import LOOPERS, READY, LiveTest, cases, until

QUANTILE = 0.03
MAX_US, MAX_SHARE = 20, 0.01

EPOLL_WAIT = {"x86_64": {"232", "281"}, "aarch64": {"22"}}[os.uname().machine]


def sleeps_in_its_loop(pid):
    with open("/proc/%d/syscall" % pid, encoding="ascii") as f:
        return f.read().split()[0] in EPOLL_WAIT


class TickTest(LiveTest):
    """Shared with the other tests of ticks."""

    def ticker(self, *args, ready=READY, **how):
        return self.start([os.path.join(LOOPERS, "ticker"), *args], ready, stdin=subprocess.PIPE, **how)

    def attached(self, pid, *args, **how):
        """loopscope, once it watches: what it sets up comes before its own loop."""
        observer = self.observe("attach", "-p", pid, *args, **how)
        until(lambda: observer.process.poll() is not None or sleeps_in_its_loop(observer.pid), 30, "loopscope attaches")
        self.assertIsNone(observer.process.poll(), "loopscope: %s" % observer.errors)
        return observer

    @staticmethod
    def go(program):
        program.process.stdin.write(b"go\n")
        program.process.stdin.flush()

    def run_to_its_end(self, program, seconds):
        self.go(program)
        program.wait_line("^done$", timeout=seconds)

    def end(self, observer):
        self.assertEqual(observer.stop(signal.SIGINT, timeout=30), 0, "attach: %s" % observer.errors)

    def whole_life(self, kind, *args, edges="auto"):
        """(the record, the ticker's truth)"""
        program = self.ticker("-k", kind, *args)
        self.alone(program)
        observer = self.attached(program.pid, "-i", "60s", "-o", "json", "--edges", edges, "--budget", "100%")
        self.run_to_its_end(program, 30)
        self.end(observer)
        records = observer.loops(program.pid, program.pid)
        self.assertEqual(len(records), 1)
        self.check_record(records[0])
        return records[0], program.truth()


def rank(ordered, q):
    """The smallest value that at least a share q of all do not exceed."""
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)]


@cases({"uniform": ("uniform", "-p", "5ms"), "bimodal": ("bimodal", "-p", "150us"), "tail": ("tail", "-p", "1ms", "-d", "5s")})
class KnownTicks(TickTest):
    def check(self, kind, *args):
        record, truth = self.whole_life(kind, *args)
        exact = sorted(ns / 1e3 for _, ns in truth["log"])
        self.note("%d ticks by %s edges" % (len(exact), record["edges"]))
        self.assertIn(record["edges"], ("tracepoint", "fentry"))
        self.assertEqual(record["ticks"], len(exact), "every tick is counted")
        self.assertEqual(record["io_waits"], truth["waits"])
        for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)):
            want = rank(exact, q)
            self.note("%s %.1f us, exact %.1f: %+.2f %%" % (name, record["tick_us"][name], want,
                                                           100 * (record["tick_us"][name] / want - 1)))
            self.assertAlmostEqual(record["tick_us"][name], want, delta=QUANTILE * want, msg=name)
        self.note("max %.1f us, exact %.1f" % (record["tick_us"]["max"], exact[-1]))
        self.assertAlmostEqual(record["tick_us"]["max"], exact[-1], delta=max(MAX_US, MAX_SHARE * exact[-1]))


class Rates(TickTest):
    def test_every_tick_of_many(self):
        """Ticks of 50 us without a pause."""
        record, truth = self.whole_life("rate", "-b", "50us", "-d", "2s")
        self.note("%d ticks in 2 s" % len(truth["log"]))
        self.assertGreater(len(truth["log"]), 10000)
        self.assertEqual(record["ticks"], len(truth["log"]))
        self.assertEqual(record["io_waits"], truth["waits"])
