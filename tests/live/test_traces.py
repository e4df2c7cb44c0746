# SPDX-License-Identifier: BSD-2-Clause
"""Traces for other programs' viewers, read by those programs: Perfetto traces by protoc and the published field numbers, value
change dumps by sigrok and by GTKWave's converter. The golden files are the unit tests' (test_sink_perfetto.c, test_sink_vcd.c).
"""
import contextlib
import fcntl
import json
import os
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

import serial_frames as sf
from harness import BUILD, LOOPERS, LOOPSCOPE, READY, ROOT, LiveTest, until
from test_ticks import TickTest, sleeps_in_its_loop
from trace_files import MONOTONIC, REALTIME, PerfettoTrace, read_dump, through_sigrok, through_vcd2fst

GOLDEN = os.path.join(ROOT, "tests", "golden", "sink")
GRID_NS = 64
START = 1764554400000000000
HOSTILE = "<img src=x onerror=alert(1)>"


def as_sigrok(changes):
    """x reads as 0 there."""
    told = []
    for time, value in changes:
        value = "0" if value == "x" else value
        if not told or told[-1][1] != value:
            told.append((time, value))
    return told


class Golden(unittest.TestCase):
    """Needs no root and no build."""

    maxDiff = None

    def setUp(self):
        self.vcd = os.path.join(GOLDEN, "recording.vcd")

    def trace(self):
        return PerfettoTrace(os.path.join(GOLDEN, "recording.perfetto-trace"))

    def test_perfetto_fields_are_the_published_ones(self):
        trace = self.trace()
        self.assertEqual({pid: t.name for pid, t in trace.processes().items()}, {100: "node", 101: HOSTILE})
        self.assertEqual({tid: [(b - START, e - START, n) for b, e, n, _, _ in t.slices] for tid, t in trace.threads().items()},
                         {100: [(100000, 350000, "tick"), (350000, 900000, "io wait"), (900000, 1200000, "tick")],
                          101: [(400000, 90400000, "slow tick")]})
        board = trace.tracks["board0",]
        self.assertIsNone(board.process)
        self.assertEqual([(b - START, e - START, n) for b, e, n, _, _ in trace.tracks["board0", "blink"].slices],
                         [(200000, 300000, "blink"), (800000, 900000, "blink")])
        self.assertEqual(trace.tracks["board0", "temperature"].instants, [(START + 450000, "temperature", {"value": 21})])
        self.assertEqual(trace.tracks["board0", "gaps of loop"].slices, [[START + 600000, START + 800000, "gap", 0, {"lost": 5}]])

    def test_perfetto_slow_ticks_have_their_causes(self):
        path = (HOSTILE + " 101", HOSTILE, "slow ticks of " + HOSTILE)
        tick, cpu, fsync = self.trace().tracks[path].slices
        self.assertEqual(tick[:4], [START + 400000, START + 90400000, "slow tick", 0])
        self.assertEqual(tick[4]["causes"], [{"kind": "cpu", "us": 60000}, {"kind": "syscall", "us": 30000, "what": fsync[2]}])
        self.assertEqual(cpu[4]["stack"], [HOSTILE, "main"])
        self.assertEqual([s[3] for s in (cpu, fsync)], [1, 1])
        self.assertEqual(fsync[2], "fsync(/var/lib/%s)" % HOSTILE)

    def test_perfetto_counters(self):
        trace = self.trace()
        for name, value in (("load", 33.10234567), ("busy", 33.06234567), ("wait", 0.04)):
            (time, got), = trace.tracks["node 100", "node", name + " of node"].values
            self.assertEqual(time, START)
            self.assertAlmostEqual(got, value)

    def test_vcd_is_what_gtkwave_reads(self):
        with tempfile.TemporaryDirectory(prefix="traces-", dir=BUILD if os.path.isdir(BUILD) else None) as folder:
            theirs = through_vcd2fst(self.vcd, folder)
        ours = read_dump(self.vcd)
        self.assertEqual(theirs.changes, ours.changes)
        self.assertEqual(theirs.end, ours.end)

    def test_vcd_is_what_sigrok_reads(self):
        ours, theirs = read_dump(self.vcd), through_sigrok(self.vcd, 1000)
        self.assertEqual(theirs.changes, {"libsigrok." + n.partition(".")[2]: as_sigrok(c) for n, c in ours.changes.items()})

    def test_both_tell_the_same(self):
        trace, dump = self.trace(), read_dump(self.vcd)
        self.assertEqual(dump.start_ns, START)
        self.assertEqual([(b - START, e - START) for b, e, *_ in trace.tracks["board0", "blink"].slices],
                         dump.highs("board0.blink"))
        self.assertEqual([(b - START, e - START) for b, e, n, *_ in trace.threads()[100].slices if n == "tick"],
                         dump.highs("node-100.node-100"))
        self.assertEqual([(b - START, e - START) for b, e, *_ in trace.tracks["board0", "gaps of loop"].slices],
                         dump.highs("board0.idle", "x")[1:2])


class Recorded(LiveTest):
    """One recording of two programs and two boards, through both reports. What programs logged of themselves and what the boards
    sent is the truth; times are compared on the recording's one line."""

    maxDiff = None
    BOARDS = ("left", "right")
    BEAT = 0.01

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.quick = cls.ticker("-k", "bimodal", "-d", "2s")
        cls.slow = cls.ticker("-k", "sleep", "-b", "80ms", "-p", "100ms", "-d", "2s")
        cls.file = os.path.join(cls.tmp, "run.lsr")
        ptys = {name: sf.Pty() for name in cls.BOARDS}
        for pty in ptys.values():
            cls.addClassCleanup(pty.close)
        recorder = cls.class_start([LOOPSCOPE, "record", cls.file, "--ticks", "--budget", "100%", "-p", cls.quick.pid, "-p", cls.slow.pid,
                                    *(a for n in cls.BOARDS for a in ("--serial", "%s=%s" % (n, ptys[n].path)))])
        until(lambda: recorder.process.poll() is not None or sleeps_in_its_loop(recorder.pid), 30, "loopscope records")
        for program in (cls.quick, cls.slow):
            TickTest.go(program)
        cls.work = {"left": [2000] * 150, "right": [3000] * 100 + [80000] + [3000] * 40}  # us of each beat
        senders = [threading.Thread(target=cls.play, args=(ptys[n], cls.work[n])) for n in cls.BOARDS]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        for program in (cls.quick, cls.slow):
            program.wait_line("^done$", timeout=30)
        if recorder.stop(signal.SIGINT, timeout=30):
            raise AssertionError("record: %s" % recorder.errors)
        cls.logs = {p.pid: p.truth()["log"] for p in (cls.quick, cls.slow)}
        cls.paths = {form: cls.report(form) for form in ("perfetto", "vcd", "json")}
        cls.trace, cls.dump = PerfettoTrace(cls.paths["perfetto"]), read_dump(cls.paths["vcd"])
        with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % cls.file, uri=True)) as db:
            # The host's one point: where CLOCK_MONOTONIC has its 0.
            cls.anchor, = db.execute("SELECT at_ns - ticks FROM clock JOIN source ON source.id = clock.source WHERE host_clock").fetchone()

    @classmethod
    def ticker(cls, *args):
        return cls.class_start([os.path.join(LOOPERS, "ticker"), *args], READY, stdin=subprocess.PIPE)

    @classmethod
    def play(cls, pty, work):
        """A board at its own pace: what it says arrives when it happens there."""
        board, begin = sf.FakeBoard(pty), time.monotonic()
        board.hello()
        for step in work:
            board.beat(work=step, rest=10000 - step % 10000)
            time.sleep(max(0, begin + board.t / sf.HZ - time.monotonic()))
        board.sums()

    @classmethod
    def report(cls, form, *args):
        path = os.path.join(cls.tmp, "%s.%d" % (form, len(args)))
        with open(path, "wb") as f:
            done = subprocess.run([LOOPSCOPE, "report", cls.file, "-o", form, *args], stdout=f, stderr=subprocess.PIPE, timeout=60,
                                  check=False)
        if done.returncode:
            raise AssertionError("report -o %s: %s" % (form, done.stderr.decode()))
        return path

    def ticks(self, pid):
        return [(b, e) for b, e, name, *_ in self.trace.threads()[pid].slices if name in ("tick", "slow tick")]

    def test_ticks_are_what_the_programs_logged(self):
        """A tick begins when the wait has returned and ends when the next is entered; the program's own times lie within."""
        for pid, log in self.logs.items():
            ticks = self.ticks(pid)
            outer = [(b - self.anchor, e - self.anchor) for b, e in ticks]
            within = [any(b <= start and start + length <= e for b, e in outer) for start, length in log]
            self.note("%d ticks logged, %d recorded, %d of those logged lie in one" % (len(log), len(outer), sum(within)))
            self.assertGreater(len(log), 10)
            self.assertTrue(all(within))
            self.assertLessEqual(len(log), len(outer))
            self.assertLessEqual(len(outer), len(log) + 2, "before the first and after the last that it logs")

    def test_clocks_are_laid_on_each_other(self):
        self.assertEqual(self.trace.clocks[REALTIME] - self.trace.clocks[MONOTONIC], self.anchor)
        self.assertEqual(self.trace.clocks[REALTIME], self.dump.start_ns)

    def test_slow_ticks_say_what_blocked_them(self):
        thread = self.trace.threads()[self.slow.pid]
        track = next(t for t in self.trace.by_uuid.values() if t.above is thread and t.name.startswith("slow ticks"))
        ticks = [s for s in track.slices if s[3] == 0]
        own = self.ticks(self.slow.pid)
        self.assertGreater(len(ticks), 3)
        for begin, end, _, _, args in ticks:
            self.assertTrue(any(0 <= begin - b <= GRID_NS and 0 <= end - e <= GRID_NS for b, e in own),
                            "the same tick is on the loop's own track, whose edges lie on a grid (docs/recording.md)")
            self.assertEqual(args["causes"][0]["kind"], "syscall")
            self.assertRegex(args["causes"][0]["what"], "^clock_nanosleep")
        causes = [s for s in track.slices if s[3] == 1 and s[4]["kind"] == "syscall"]
        self.assertTrue(any("on_sleep" in str(s[4].get("stack")) for s in causes), causes[:1])

    def test_boards_steps_are_those_sent(self):
        """How long they read depends on how well a board's clock is known after so short a time: that is the recording's matter."""
        for board in self.BOARDS:
            steps = self.trace.tracks[board, "work"].slices
            self.assertEqual(len(steps), len(self.work[board]))
            self.assertEqual([s[2] == "slow work" for s in steps], [us >= 50000 for us in self.work[board]])
            for (begin, end, *_), (following, *_) in zip(steps, steps[1:]):
                self.assertLess(begin, end, board)
                self.assertLess(end, following, "there is idle time between any two steps of %s" % board)
            self.assertGreater(steps[0][0], self.anchor)
            self.assertLess(steps[-1][1], self.dump.start_ns + self.dump.end)

    def test_counters_are_the_records(self):
        with open(self.paths["json"], encoding="utf-8") as f:
            loops = [o for o in map(json.loads, f) if o["type"] == "loop" and o["pid"] == self.quick.pid]
        thread = self.trace.threads()[self.quick.pid]
        for name in ("load", "busy", "wait"):
            track = next(t for t in self.trace.by_uuid.values() if t.above is thread and t.name.startswith(name + " of"))
            values = [v for _, v in track.values][:len(loops)]
            self.assertEqual(len(values), len(loops))
            for value, loop in zip(values, loops):
                self.assertAlmostEqual(value, 100 * loop[name], delta=0.0002)

    def test_both_tell_the_same(self):
        start, seen = self.dump.start_ns, 0
        at = lambda slices: [(b - start, e - start) for b, e, *_ in slices if e > b]  # noqa: E731
        for pid, thread in self.trace.threads().items():
            name = "ticker-%d.ticker-%d" % (pid, pid)
            self.assertEqual(self.dump.highs(name), at(s for s in thread.slices if "tick" in s[2]))
            self.assertEqual(self.dump.highs(name, "0"), at(s for s in thread.slices if s[2] == "io wait"))
            seen += len(thread.slices)
        for board in self.BOARDS:
            self.assertEqual(self.dump.highs("%s.%s/work" % (board, board)), at(self.trace.tracks[board, "work"].slices))
        self.note("%d slices, %d wires" % (seen, len(self.dump.changes)))

    def test_vcd_is_what_gtkwave_reads(self):
        theirs = through_vcd2fst(self.paths["vcd"], self.tmp)
        self.assertEqual(theirs.changes, self.dump.changes)

    def test_vcd_is_what_sigrok_reads(self):
        theirs = through_sigrok(self.paths["vcd"], 1000)
        for name, changes in self.dump.changes.items():
            sampled = {}
            for moment, value in changes:
                sampled[moment // 1000 * 1000] = value
            self.assertEqual(theirs.changes["libsigrok." + name.partition(".")[2]], as_sigrok(sampled.items()), name)

    def test_a_part_of_it(self):
        part = PerfettoTrace(self.report("perfetto", "--from", "1s", "-p", str(self.quick.pid)))
        self.assertEqual(list(part.processes()), [self.quick.pid])
        slices = part.threads()[self.quick.pid].slices
        self.assertEqual(slices, self.trace.threads()[self.quick.pid].slices[-len(slices):])
        self.assertGreater(slices[0][1], self.dump.start_ns + 1000000000)

    def test_interrupted_it_is_whole(self):
        """Nobody reads, so it stands still in a write when it is interrupted. Whether it looks for signals once more before all is
        written depends on the length: what comes out is whole in any case."""
        for form, read in (("perfetto", PerfettoTrace), ("vcd", read_dump)):
            path = os.path.join(self.tmp, "cut." + form)
            with subprocess.Popen([LOOPSCOPE, "report", self.file, "-o", form], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as report:
                fcntl.fcntl(report.stdout, fcntl.F_SETPIPE_SZ, 4096)
                first = report.stdout.read(1)
                report.send_signal(signal.SIGINT)
                with open(path, "wb") as f:
                    f.write(first + report.stdout.read())
                said = report.stderr.read().decode()
            self.note("-o %s: %d, %d bytes %s" % (form, report.returncode, os.path.getsize(path), said.strip()))
            self.assertIn(report.returncode, (0, 1), "done before it looked, or interrupted")
            self.assertEqual(bool(said), report.returncode == 1)
            read(path)
