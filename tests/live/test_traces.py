# SPDX-License-Identifier: BSD-2-Clause
"""Traces for other programs' viewers, read by those programs: Perfetto traces by protoc and the published field numbers, value
change dumps by sigrok and by GTKWave's converter. The golden files are the unit tests' (test_sink_perfetto.c, test_sink_vcd.c).
"""
import os
import tempfile
import unittest

from harness import BUILD, ROOT
from trace_files import PerfettoTrace, read_dump, through_sigrok, through_vcd2fst

GOLDEN = os.path.join(ROOT, "tests", "golden", "sink")
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
