# SPDX-License-Identifier: BSD-2-Clause
"""Whatever happens to a watched thread, its time is told as what it was: stopped, frozen, traced, moved, replaced by exec.

The scheduler's own sums are the truth, over exactly each record's interval (tests/loopers/witness.c); what a test does to a program
it times itself.
"""
import contextlib
import os
import signal
import subprocess
import time
import unittest

from harness import PYTHON, READY, LiveTest, cases, on_cpu, stat_fields, until
from test_ticks import TickTest
from test_truth import Truth

BLOCKED = 0.02
TORMENT = int(os.environ.get("TORMENT") or 0)  # so many rounds of each kind, of a few seconds each

# Its polls last long: each of them is stopped.
POLLS = """
import os, select
readable, _ = os.pipe()
poll = select.poll()
poll.register(readable)
print("ready", os.getpid(), flush=True)
while True:
    poll.poll(300)
"""

# The first thread is nearly idle, the second one busy until it execs.
EXECS = """
import os, select, sys, threading, time
def polls(timeout_ms, work_s, until_s):
    end = time.monotonic() + until_s
    while time.monotonic() < end:
        select.poll().poll(timeout_ms)
        done = time.thread_time() + work_s
        while time.thread_time() < done:
            pass
def second():
    print("ready", threading.get_native_id(), flush=True)
    sys.stdin.readline()
    polls(1, 0.003, 1.2)
    os.execv(sys.executable, [sys.executable, "-c", "import select\\nprint('replaced', flush=True)\\nwhile True: select.poll().poll(20)"])
threading.Thread(target=second).start()
polls(20, 0, 60)
"""


class Tormented(Truth):
    """Loops that are moved between CPUs, stopped and traced at random, while threads and processes come and go around them."""

    # What none of them does, though a stop makes another system call of a poll and of a sleep.
    LOOPERS = ((("poll",), "restart_syscall"), (("epoll_wait",), "restart_syscall"), (("select",), "restart_syscall"),
               (("epoll_pwait2",), "restart_syscall"), (("blocker", "-k", "sleep"), "poll"), (("blocker", "-k", "poll"), "restart_syscall"))

    def torment(self, *command):
        programs = [self.looper(name, "-p", "7ms", *more) for (name, *more), _ in self.LOOPERS]
        pids = [p.pid for p in programs]
        for seed in range(TORMENT or 1):
            witness = self.witness(*((pid, pid) for pid in pids))
            torment = self.looper("torment", "-d", "20s", "-s", seed, *pids)
            observer = self.observe(*command, *(a for pid in pids for a in (("-p", pid) if command[0] == "attach" else ())), "-o", "json")
            status = observer.wait_exit(60)
            self.assertEqual(torment.stop(), 0, torment.errors)
            witness.finish()
            self.assertEqual(status, 0, observer.errors)
            self.note(torment.lines[-1][2])
            for pid, (_, never) in zip(pids, self.LOOPERS):
                records = observer.loops(pid, pid)
                self.assertTrue(records, "process %d is told of; stderr %r" % (pid, observer.errors))
                for r in records:
                    self.check_record(r)
                    self.assertNotIn(never, [b["syscall"] for b in r["blocked_by"]])
                self.check_against_witness(witness, records)

    @unittest.skipUnless(TORMENT, "for longer runs: TORMENT=ROUNDS")
    def test_by_the_scheduler_alone(self):
        self.torment("scan", "-d", "2s")

    def test_with_edges(self):
        self.torment("attach", "-i", "2s", "-c", "1")


class Stopped(TickTest):
    def told(self, during, *more):
        """(the record, what during(program) returned: for how many seconds the program could not go on)"""
        program = self.start([PYTHON, "-c", POLLS], READY)
        observer = self.attached(program.pid, "-i", "60s", "-o", "json", *more)
        seconds = during(program)
        self.end(observer)
        records = observer.loops(program.pid, program.pid)
        self.assertEqual(len(records), 1)
        self.check_record(records[0])
        return records[0], seconds

    def check_stopped(self, record, seconds, lost=0):
        by = {b["syscall"]: b["share"] for b in record["blocked_by"]}
        share = seconds / record["interval_s"]
        self.note("stopped for %.4f of it, told %.4f; idle %.4f; by %s" % (share, record["parts"]["tick_blocked"], record["idle"], by))
        self.assertAlmostEqual(by.get("stopped", 0), share, delta=BLOCKED)
        self.assertAlmostEqual(record["idle"], 1 - share - record["wait"] - on_cpu(record), delta=BLOCKED)
        self.assertEqual(record["lost"], lost)


@cases({"by_the_scheduler_alone": ("sched",), "with_edges": ("auto",)})
class StoppedPoll(Stopped):
    """A poll that was stopped goes on as another system call."""

    def check(self, edges):
        def stop_each(program):
            total = 0.0
            for _ in range(5):
                begin = time.monotonic()
                os.kill(program.pid, signal.SIGSTOP)
                until(lambda: stat_fields(program.pid)[0] == "T", 5, "it stops")
                time.sleep(0.03)
                os.kill(program.pid, signal.SIGCONT)
                total += time.monotonic() - begin
                until(lambda: stat_fields(program.pid)[0] == "S", 5, "it polls again")
                time.sleep(0.1)
            return total
        self.check_stopped(*self.told(stop_each, "--edges", edges))


class Freezer:
    """A control group of its own that can be frozen."""

    def __init__(self, v2):
        kind = "cgroup2" if v2 else "cgroup"
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            mounts = [line.split(" - ") for line in f]
        found = [m.split()[4] for m, rest in mounts if rest.split()[0] == kind and (v2 or "freezer" in rest.split()[2].split(","))]
        if not found:
            raise unittest.SkipTest("no freezer of this kind is mounted")
        self.path = os.path.join(found[0], "loopscope-test-%d" % os.getpid())
        self.switch, self.on, self.off = ("cgroup.freeze", "1", "0") if v2 else ("freezer.state", "FROZEN", "THAWED")
        self.state, self.is_frozen = ("cgroup.events", "frozen 1") if v2 else ("freezer.state", "FROZEN")

    def __enter__(self):
        try:
            os.mkdir(self.path)
        except OSError as e:
            raise unittest.SkipTest("no control group can be made here: %s" % e) from e
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(OSError):
            os.rmdir(self.path)

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as f:
            f.write(str(value))

    def frozen(self):
        with open(os.path.join(self.path, self.state), encoding="ascii") as f:
            return self.is_frozen in f.read()


@cases({"v1": (False, "sched"), "v2": (True, "auto" if TORMENT else "sched")})
class Frozen(Stopped):
    """Frozen while it waits, a loop has no headroom."""

    def check(self, v2, edges):
        with Freezer(v2) as freezer:
            def freeze(program):
                freezer.write("cgroup.procs", program.pid)
                begin = time.monotonic()
                freezer.write(freezer.switch, freezer.on)
                until(freezer.frozen, 5, "it is frozen")
                time.sleep(0.4)
                freezer.write(freezer.switch, freezer.off)
                self.frozen_s = time.monotonic() - begin
                time.sleep(0.3)
                return self.frozen_s
            try:
                told = self.told(freeze, "--edges", edges)
            finally:
                self.doCleanups()  # before its group goes
        self.check_stopped(*told)


class Replaced(TickTest):
    def test_by_a_thread_that_is_not_the_first(self):
        """It takes the first one's place; what both had done until then is told as what each had done."""
        program = self.start([PYTHON, "-c", EXECS], stdin=subprocess.PIPE)
        second = int(program.wait_line(READY).group(1))
        observer = self.attached(program.pid, "-i", "60s", "-o", "json", "--edges", "sched")
        self.go(program)
        program.wait_line("^replaced$", timeout=20)
        time.sleep(0.3)
        self.end(observer)
        records = observer.loops(program.pid)
        self.note("; ".join("%d: load %.3f of %.2f s%s" % (r["tid"], r["load"], r["interval_s"], ", ended" if r["ended"] else "") for r in records))
        of_second = [r for r in records if r["tid"] == second]
        self.assertEqual(len(of_second), 1)
        self.assertGreater(of_second[0]["busy"], 0.4)
        of_first = [r for r in records if r["tid"] == program.pid]
        self.assertEqual(sorted(r["generation"] for r in of_first), [0, 1], "before and after")
        self.assertEqual([r["busy"] < 0.3 for r in of_first if r["ended"]], [True])
