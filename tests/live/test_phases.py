# SPDX-License-Identifier: BSD-2-Clause
"""Ticks split by the runtime's phases: held against what Node's own callbacks logged, and what redis counted."""
import os
import signal

from harness import READY, SOURCES, cases, require_program
from test_edges import Counted
from test_ticks import TickTest

ROUNDS = 40
BURNS = {"timers": 5, "poll": 8, "check": 12}  # ms a round
SHARE = 0.06  # beside its callback a phase has some work of its own
# What a loop does before the first round and after the last, in any phase.
REST_S = 0.01


def phases_of(record):
    return {p["name"]: p for p in record["phases"] or []}


@cases({"beside_measured_edges": ("auto",), "from_the_scheduler_alone": ("sched",)})
class Node(TickTest):
    def check(self, edges):
        node = require_program("node")
        program = self.start([node, os.path.join(SOURCES, "phases.js"), ROUNDS, *BURNS.values()], READY, stdin=-1)
        self.alone(program)
        observer = self.attached(program.pid, "-i", "60s", "-o", "json", "--edges", edges, "--budget", "100%", "--phases")
        self.run_to_its_end(program, 30)
        self.end(observer)
        records = observer.loops(program.pid, program.pid)
        self.assertEqual(len(records), 1)
        r = records[0]
        self.check_record(r)
        missing = [l for l in observer.errors if "has no symbol" in l]
        if missing:
            self.skipTest("this Node is stripped: %s" % missing[0])
        phases, truth = phases_of(r), program.truth()["spent"]
        self.note("%s by %s edges; truth %s" % (["%s %.1f ms, %d" % (n, p["share"] * r["interval_s"] * 1e3, p["entries"])
                                                for n, p in phases.items()], r["edges"],
                                               {n: "%.1f ms" % (ns / 1e6) for n, ns in truth.items()}))
        for name, ns in truth.items():
            took = phases[name]["share"] * r["interval_s"]
            self.assertAlmostEqual(took, ns / 1e9, delta=SHARE * ns / 1e9 + REST_S, msg=name)
            self.assertGreaterEqual(took, 0.999 * ns / 1e9, "all that was computed in %s" % name)
            self.assertGreaterEqual(phases[name]["entries"], ROUNDS)
        ticks = r["parts"]["tick_cpu"] + r["parts"]["tick_blocked"] + r["parts"]["wait_tick"]
        self.assertLessEqual(sum(p["share"] for p in phases.values()), ticks + 1e-5)


@cases({"redis": ("redis", "3000", ("before", "events")), "nginx": ("nginx", "1s", ("events",))})
class Cycles(Counted):
    """A cycle of such a loop enters the phase once, and waits once."""

    def check(self, program, amount, once):
        pid, load = getattr(self, program)()
        r, truth = self.measure(pid, load + [amount], "tracepoint", "--phases")
        phases = phases_of(r)
        slack = 4 + 20 * self.idle
        self.note("%s; %d waits counted" % ({n: p["entries"] for n, p in phases.items()}, truth.calls))
        self.assertGreater(truth.calls, 500)
        for name in once:
            self.assertAlmostEqual(phases[name]["entries"], truth.calls, delta=slack, msg=name)
            self.assertGreater(phases[name]["share"], 0)


class Stripped(TickTest):
    def test_what_is_missing_is_said(self):
        """A program whose runtime is not known stays whole, and is watched all the same."""
        program = self.looper("epoll_wait")
        observer = self.observe("attach", "-p", program.pid, "-i", "300ms", "-c", "1", "-o", "json", "--phases")
        self.assertEqual(observer.wait_exit(30), 0, observer.errors)
        self.assertEqual(len([l for l in observer.errors if "--phases" in l]), 1, observer.errors)
        self.assertIsNone(observer.loops(program.pid)[0]["phases"])


class Governed(Counted):
    def test_let_go_beyond_the_budget(self):
        """Beyond it for two looks in a row, the breakpoints are gone for 5 s: longer than is looked here."""
        pid, load = self.redis()
        load = self.start(load + ["100000000"])
        observer = self.observe("attach", "-p", pid, "-i", "500ms", "-c", "6", "-o", "json", "--edges", "sched", "--phases",
                                "--budget", "0.1%")
        self.assertEqual(observer.wait_exit(30), 0, observer.errors)
        load.stop(signal.SIGINT)
        records = observer.loops(pid, pid)
        self.note("phases known: %s" % [r["phases"] is not None for r in records])
        self.assertIsNone(records[-1]["phases"])
