# SPDX-License-Identifier: BSD-2-Clause
"""One recording of all there can be at once (together.py): five loops on one time line, and the same in every form that a report has.

What programs and boards did is known by the host's monotonic clock, so each loop's place on the line is judged by it, and none by how
busy the machine was: an edge lies between two moments, or a step around one. The short run of `make test` leaves boards' places out.

LOOPSCOPE_TOGETHER=30 records so many seconds and has a browser look at the page; LOOPSCOPE_KEEP=FOLDER leaves recording, page and
pictures there.
"""
import collections
import contextlib
import json
import math
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import unittest

from harness import ROOT, LiveTest
from together import HOG, PATIENCE, REDIS_SLEEPS_S, Together
from trace_files import PerfettoTrace, read_dump

LONG = os.environ.get("LOOPSCOPE_TOGETHER")
KEEP = os.environ.get("LOOPSCOPE_KEEP")
SECONDS = int(LONG or 2)
GRID_NS = 64               # docs/recording.md: how much earlier than it was an edge may be kept
READ_NS = 1000000          # of a board's clock, beyond what is said of its error and drift
SLOW_NS = 50000000
SHARE = 0.005              # shares by the kernel's sums, beside those of single ticks


needs_clocks = unittest.skipUnless(SECONDS >= 15, "what is known of a board's clock in its first seconds is no measure of its place: LOOPSCOPE_TOGETHER=30")


class OnOneLine(LiveTest):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.all = Together(cls, SECONDS)
        cls.told = cls.all.objects()
        cls.paths = {}
        for form in ("perfetto", "vcd", "html", "folded"):
            cls.paths[form] = os.path.join(cls.tmp, "together." + form)
            with open(cls.paths[form], "wb") as f:
                f.write(cls.all.report(form))
        if KEEP:
            shutil.copytree(cls.tmp, KEEP, dirs_exist_ok=True, ignore=lambda folder, names: [n for n in names if not n.startswith("together")])
        cls.trace, cls.dump = PerfettoTrace(cls.paths["perfetto"]), read_dump(cls.paths["vcd"])
        with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % cls.all.file, uri=True)) as db:
            cls.anchor, = db.execute("SELECT c.at_ns - c.ticks FROM clock c JOIN source s ON s.id = c.source WHERE s.host_clock").fetchone()

    # On the host's monotonic clock.
    def slices(self, track):
        return [(b - self.anchor, e - self.anchor) for b, e, _, depth, _ in track.slices if depth == 0]

    def ticks(self, pid):
        return [(b - self.anchor, e - self.anchor) for b, e, name, *_ in self.trace.threads()[pid].slices if "tick" in name]

    def watched(self, pid):
        """From its first edge on: when a tick began in which the recording began nobody knows."""
        spans = self.slices(self.trace.threads()[pid])
        return spans[0][0], spans[-1][1]

    def steps(self, board, task):
        return [s for track in self.trace.by_uuid.values() if track.path() == (board, task) for s in self.slices(track)]

    def of(self, kind, **what):
        return [o for o in self.told if o["type"] == kind and all(o[k] == v for k, v in what.items())]

    def clock_off_ns(self, board):
        """How far its clock may be off, as it is said."""
        clock = [o["clock"] for o in self.of("source", loop=board) if o["clock"] and o["clock"]["error_us"] is not None][-1]
        lasted = self.all.window["end"] - self.all.window["start"]
        return clock["error_us"] * 1000 + max(abs(clock["drift_ppm"] or 0), clock["drift_error_ppm"] or 0) * 1e-6 * lasted + READ_NS

    def lost(self, board):
        """What did not fit the board's ring, where it was not let run for long; the line loses nothing."""
        lost = self.of("source", loop=board)[-1]["lost"]
        self.assertEqual((lost["frames"], lost["bytes"]), (0, 0), board)
        return lost["events"]

    # --- where they are ---
    def test_what_redis_answered_lies_between_question_and_answer(self):
        begins = [b for b, _ in self.ticks(self.all.redis.pid)]
        at = 0
        for asked in self.all.redis.served:
            while at < len(begins) and begins[at] < asked["start"] - GRID_NS:
                at += 1
            self.assertTrue(at < len(begins) and begins[at] <= asked["end"], "a tick begins while it is asked: %r" % asked)
        self.note("%d requests, %d ticks" % (len(self.all.redis.served), len(begins)))

    def test_moments_that_programs_told_lie_in_their_ticks(self):
        for pid, moments in self.all.moments.items():
            ticks, at, (begin, end) = self.ticks(pid), 0, self.watched(pid)
            within = [m for m in moments if begin < m < end]
            self.assertGreaterEqual(len(within), SECONDS)
            for moment in within:
                while at < len(ticks) and ticks[at][1] < moment:
                    at += 1
                self.assertTrue(at < len(ticks) and ticks[at][0] <= moment, "%d of process %d is in no tick" % (moment, pid))
            self.note("process %d: %d moments in %d ticks" % (pid, len(within), len(ticks)))

    @needs_clocks
    def test_boards_are_there_while_they_talk(self):
        for name, line in self.all.lines.items():
            pieces, off = line.cable.pieces[line.board], self.clock_off_ns(name)
            last = pieces[-1][0] * 1e9
            spans = [s for track in self.trace.by_uuid.values() if track.path()[0] == name for s in self.slices(track)]
            self.assertGreater(min(b for b, _ in spans), self.all.window["start"] - off, name)
            self.assertLess(max(e for _, e in spans), last + off, name)
            self.note("%s: %d spans, clock known to %.3f ms" % (name, len(spans), (off - READ_NS) / 1e6))

    @needs_clocks
    def test_micropythons_hogs_are_where_its_program_was_busy(self):
        """The step encloses what the program measured within it. A clock that were off would let one of both ends out."""
        off, steps = self.clock_off_ns("python"), [s for s in self.steps("python", "hog") if s[1] - s[0] > SLOW_NS]
        hogs = [h for h in self.all.hogs if any(b < h["end"] and h["start"] < e for b, e in steps)]
        self.assertLessEqual(len(self.all.hogs) - len(hogs), self.lost("python"))
        self.assertEqual(len(steps), len(hogs))
        early, late = [h["start"] - b for h, (b, _) in zip(hogs, steps)], [e - h["end"] for h, (_, e) in zip(hogs, steps)]
        self.note("%d hogs: begin %.3f ms before and end %.3f ms after what the program saw, in the middle; at least %.3f and %.3f" % (
            len(hogs), statistics.median(early) / 1e6, statistics.median(late) / 1e6, min(early) / 1e6, min(late) / 1e6))
        self.assertGreaterEqual(min(early), -off)
        self.assertGreaterEqual(min(late), -off)

    @needs_clocks
    def test_one_stimulus_at_one_time_on_two_loops(self):
        """A key for the C firmware and a command for redis, one behind the other."""
        off, held = self.clock_off_ns("cortex"), self.steps("cortex", "hold")
        self.assertEqual(len(held), len(self.all.held))
        self.assertGreaterEqual(len(held), 2)
        slow = [(b, e) for b, e in self.ticks(self.all.redis.pid) if e - b >= REDIS_SLEEPS_S * 1e9]
        apart = []
        for (begin, end), true, slept in zip(held, self.all.held, self.all.redis.slept):
            for edge, (least, most) in ((begin, true["start"]), (end, true["end"])):
                self.assertGreaterEqual(edge, least - off)
                self.assertLessEqual(edge, most + off)
            stood = [b for b, _ in slow if slept["start"] - GRID_NS <= b <= slept["end"]]
            self.assertEqual(len(stood), 1, "redis stands still while it is told to sleep")
            apart.append((stood[0] - begin) / 1e6)
        self.note("redis after the firmware, of %d stimuli: %s ms; clock known to %.3f ms" % (
            len(apart), ", ".join("%.2f" % a for a in apart), (off - READ_NS) / 1e6))

    # --- why they were slow ---
    def causes(self, pid):
        return [{c["kind"]: c for c in reversed(o["causes"])} for o in self.of("slow_tick", pid=pid, in_progress=False)]

    def test_slow_ticks_say_why(self):
        pids = self.all.pids
        redis = self.causes(pids["redis"])
        slept = [c for c in redis if "syscall" in c and "nanosleep" in c["syscall"]["what"]]
        self.assertEqual(len(slept), len(self.all.redis.slept))
        node = self.causes(pids["libuv"])
        self.assertGreaterEqual(len(node), SECONDS)
        beside = [o for o in self.of("slow_tick", pid=pids["libuv"], in_progress=False)
                  if any(c["kind"] == "wait" and c["what"].startswith(HOG) for c in o["causes"])]
        self.assertGreater(len(beside), len(node) / 2, "beside a hog on its CPU most of node's slow ticks waited for it: %r" % node[:3])
        asyncio = self.causes(pids["asyncio"])
        self.assertGreaterEqual(len(asyncio), SECONDS)
        self.assertTrue(all("cpu" in c for c in asyncio), "60 ms of work each")
        waited = collections.Counter()
        for o in self.of("loop", pid=pids["libuv"]):
            for w in o["waited_for"]:
                waited[w["comm"]] += w["share"] * o["interval_s"]
        self.note("node waited for %s" % ", ".join("%s %.2f s" % w for w in waited.most_common(4)))
        self.assertGreater(waited[HOG], 0.05 * sum(waited.values()), waited)

    def test_boards_hogs_are_named_and_stand_where_their_steps_do(self):
        for board, task in (("python", "hog"), ("cortex", "crunch"), ("cortex", "hold")):
            hogs = [o for o in self.of("slow_tick", comm=board, in_progress=False) if o["causes"][0]["what"] == task]
            self.assertTrue(hogs, "%s/%s" % (board, task))
            marks = {s for track in self.trace.by_uuid.values() if track.path()[0] == board and track.name.startswith("slow ticks")
                     for s in self.slices(track)}
            for step in self.steps(board, task):
                self.assertTrue(step[1] - step[0] < SLOW_NS or step in marks, "%s/%s: %r of %r" % (board, task, step, sorted(marks)))

    # --- all forms say the same ---
    def element(self, name):
        with open(self.paths["html"], encoding="utf-8") as f:
            return json.loads(re.search(r'<script type="application/json" id="data-%s">\n(.*?)</script>' % name, f.read(), re.S).group(1))

    def rows(self, name):
        element = self.element(name)
        return [dict(zip(element["columns"], row)) for row in element["rows"]]

    def test_ticks_are_as_many_in_all_forms(self):
        lanes = {lane["tid"]: lane for lane in self.element("facts")["lanes"] if lane["kind"] == "loop"}
        zero = self.dump.start_ns - self.anchor
        for pid in self.all.pids.values():
            ticks, records, lane = self.ticks(pid), self.of("loop", pid=pid, tid=pid), lanes[pid]
            wire = self.dump.highs("%s-%d.%s-%d" % (lane["process"], pid, lane["name"], pid))
            self.assertEqual([(b + zero, e + zero) for b, e in wire], [t for t in ticks if t[1] > t[0]])
            self.assertEqual(lane["sums"]["spans"], len(ticks))
            self.assertEqual(lane["sums"]["high"], sum(e - b for b, e in ticks))
            begin, end = (round(records[0]["ts"] * 1e9 - records[0]["interval_s"] * 1e9), round(records[-1]["ts"] * 1e9))
            ended = sum(begin < e + self.anchor <= end for _, e in ticks)
            self.note("process %d: %d ticks on the line, of %d in the records' time, %d by the records" % (
                pid, len(ticks), ended, sum(o["ticks"] for o in records)))
            self.assertLessEqual(abs(sum(o["ticks"] for o in records) - ended), 2)

    def test_load_is_the_ticks_time(self):
        """What records say of the time in ticks, by the kernel's sums, is how long the wire was high."""
        for pid in self.all.pids.values():
            ticks, first = self.ticks(pid), self.watched(pid)[0] + self.anchor
            records = [o for o in self.of("loop", pid=pid, tid=pid) if (o["ts"] - o["interval_s"]) * 1e9 > first]
            said = high = lasted = 0
            for o in records:
                parts, end = o["parts"], o["ts"] * 1e9 - self.anchor
                begin = end - o["interval_s"] * 1e9
                said += (parts["tick_cpu"] + parts["tick_blocked"] + parts["wait_tick"]) * o["interval_s"]
                high += sum(max(0, min(e, end) - max(b, begin)) for b, e in ticks) / 1e9
                lasted += o["interval_s"]
            self.note("process %d: in ticks for %.4f of the time by the records, %.4f by the time line" % (pid, said / lasted, high / lasted))
            self.assertAlmostEqual(said / lasted, high / lasted, delta=SHARE)

    def test_table_page_and_counters_show_the_records_load(self):
        told = self.of("loop", source="kernel")
        table = self.all.report("table", "--columns", "pid,load", *("-p%d" % pid for pid in self.all.pids.values())).decode()
        shown = [(int(pid), float(load)) for pid, load in re.findall(r"^[\d:.]+ +(\d+) +([\d.]+)%", table, re.M)]
        self.assertEqual([p for p, _ in shown], [o["pid"] for o in told])
        for (_, percent), o in zip(shown, told):
            self.assertAlmostEqual(percent, 100 * o["load"], delta=0.0501)
        lanes = self.element("facts")["lanes"]
        for pid in self.all.pids.values():
            want = [(o["load"], o["interval_s"]) for o in told if o["tid"] == pid]
            thread = self.trace.threads()[pid]
            counter = next(t for t in self.trace.by_uuid.values() if t.above is thread and t.name.startswith("load of"))
            for in_trace, (load, _) in zip([v for _, v in counter.values], want, strict=True):
                self.assertAlmostEqual(in_trace, 100 * load, delta=0.0002)
            at = 0
            for r in (r for r in self.rows("loops") if lanes[r["lane"]]["tid"] == pid):
                merged = want[at:at + r["merged"]]
                self.assertAlmostEqual((r["busy"] + r["wait"]) * 1e-5, math.fsum(la * s for la, s in merged) / math.fsum(s for _, s in merged), delta=2e-5)
                at += r["merged"]
            self.assertEqual(at, len(want), "all records are on the page, some as one")

    def test_boards_steps_are_as_many_in_all_forms(self):
        lanes = self.element("facts")["lanes"]
        for board, tasks in self.all.runs.items():
            lost = self.lost(board)
            self.note("%s: %d steps, %d events lost on the board" % (board, sum(tasks.values()), lost))
            for (task, instance), runs in tasks.items():
                said = sum(o["runs"] or 0 for o in self.of("task", loop=board, task=task, instance=instance))
                lane = next(la for la in lanes if la["kind"] == "task" and (la["process"], la["name"], la["instance"]) == (board, task, instance))
                self.assertEqual(said, runs, "%s/%s %d, by the board's sums" % (board, task, instance))
                self.assertLessEqual(lane["sums"]["spans"], runs)
                self.assertGreaterEqual(lane["sums"]["spans"] + lost, runs)
                if sum(t == task for t, _ in tasks) == 1:
                    self.assertEqual(len(self.steps(board, task)), lane["sums"]["spans"], "%s/%s" % (board, task))

    def test_folded_stacks_are_the_causes(self):
        with open(self.paths["folded"], encoding="utf-8") as f:
            lines = [line.rsplit(" ", 1) for line in f.read().splitlines()]
        want = math.fsum(c["us"] for o in self.of("slow_tick", in_progress=False) for c in o["causes"])
        self.assertAlmostEqual(sum(int(us) for _, us in lines), want, delta=len(lines))
        for root in ("cpu;crunch", "cpu;hog", "wait;%s (pid" % HOG):
            self.assertTrue(any(stack.startswith(root) for stack, _ in lines), "%s: %r" % (root, [s for s, _ in lines][:20]))

    # --- the page in a browser ---
    @unittest.skipUnless(LONG, "a long run alone has a browser look at its page: LOOPSCOPE_TOGETHER=30")
    def test_page(self):
        chromium, node = shutil.which("chromium"), shutil.which("node")
        look = os.path.join(ROOT, "tests", "html")
        if not (chromium and node and os.path.isdir(os.path.join(look, "node_modules", "playwright-core"))):
            self.skipTest("no browser here: .ci/deps page")
        done = subprocess.run([node, os.path.join(look, "look.js"), self.paths["html"], KEEP or self.tmp, chromium], capture_output=True, text=True,
                              timeout=2 * PATIENCE, check=False, env=dict(os.environ, HOME=self.tmp, XDG_CONFIG_HOME=self.tmp, XDG_CACHE_HOME=self.tmp))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for line in done.stdout.splitlines():
            self.note(line)


if __name__ == "__main__":
    unittest.main()
