# SPDX-License-Identifier: BSD-2-Clause
"""Recordings of real programs: every tick as the program logged it, nothing lost but the last two seconds whatever happens, reports
that say what was recorded, and queries of docs/recording.md that work.
"""
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

from harness import LOOPSCOPE, PYTHON, READY, ROOT, until
from test_ticks import TickTest

LOST_SECONDS = 2.0
HOSTILE = "<img src=x onerror=alert(1)>"[:15]  # what a comm holds


def report(path, *args, **how):
    return subprocess.run([LOOPSCOPE, "report", path, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                          check=False, **how)


def objects(path, *args):
    done = report(path, "-o", "json", *args)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def connect(path):
    return sqlite3.connect("file:%s?mode=ro" % path, uri=True)


class RecordTest(TickTest):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.tmp, self.id().rpartition(".")[2] + ".lsr")

    def record(self, *args, **how):
        """loopscope record, once it writes."""
        recorder = self.observe("record", self.path, *args, **how)
        until(lambda: recorder.process.poll() is not None or self.intervals() is not None, 30, "loopscope records")
        return recorder

    def intervals(self):
        """How many there are; None while there is no recording."""
        try:
            with connect(self.path) as db:
                return db.execute("SELECT count(*) FROM interval").fetchone()[0]
        except sqlite3.OperationalError:
            return None

    def check_whole(self, path):
        with connect(path) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])


class Ticks(RecordTest):
    def test_every_tick_and_its_report(self):
        """The wire of the value change dump is 1 in a tick: each of its pulses is one that the program logged."""
        program = self.ticker("-k", "uniform", "-d", "2s")
        recorder = self.record("-p", program.pid, "--ticks", "--budget", "100%", "-i", "500ms")
        until(lambda: recorder.process.poll() is not None or self.intervals(), 30, "the first interval")
        self.run_to_its_end(program, 20)
        self.assertEqual(recorder.stop(signal.SIGINT, timeout=30), 0, recorder.errors)
        truth = program.truth()
        self.check_whole(self.path)
        with connect(self.path) as db:
            spans, n_bytes = db.execute("SELECT sum(spans), sum(length(bytes)) FROM chunk").fetchone()
            self.assertEqual(db.execute("SELECT complete FROM recording").fetchone(), (1,))
        self.assertGreaterEqual(spans, len(truth["log"]))
        self.note("%d turns, %.2f bytes each" % (spans, n_bytes / spans))
        ticks = self.ticks_of_dump(report(self.path, "-o", "vcd", "-p", str(program.pid)).stdout.decode())
        logged = [ns for _, ns in truth["log"]]
        whole = ticks[-len(logged) - 1:]
        self.assertLessEqual(abs(len(ticks) - len(logged)), 2, "the first and last may be cut off")
        self.assertAlmostEqual(sum(whole[-len(logged):]) / sum(logged), 1, delta=0.05)
        said = objects(self.path)
        self.assertEqual([o["type"] for o in said][-1], "slow_summary")
        self.assertTrue(all(o["pid"] == program.pid for o in said if o["type"] == "loop"))

    @staticmethod
    def ticks_of_dump(text):
        """Lengths of the pulses of the first wire, which is the loop's."""
        wire = re.search(r"\$var wire 1 (\S+) ", text).group(1)
        lengths, now, since = [], 0, None
        for line in text.splitlines():
            if line.startswith("#"):
                now = int(line[1:])
            elif line[1:] == wire and line[0] in "01x":
                if line[0] == "1":
                    since = now
                elif since is not None:
                    if line[0] == "0":
                        lengths.append(now - since)
                    since = None
        return lengths

    def test_a_command_and_its_status(self):
        done = subprocess.run([LOOPSCOPE, "record", self.path, "-q", "--ticks", "--", PYTHON, "-c",
                               "import asyncio, sys\nasync def main():\n for _ in range(40): await asyncio.sleep(0.05)\nasyncio.run(main())\nsys.exit(7)"], timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(done.stderr, b"")
        loops = [o for o in objects(self.path) if o["type"] == "loop"]
        self.assertTrue(any(o["runtime"] == "asyncio" for o in loops), loops)


class Queries(RecordTest):
    def test_queries_of_the_documentation(self):
        slow = self.ticker("-k", "busy", "-b", "60ms", "-p", "200ms", "-d", "20s")
        recorder = self.record("-p", slow.pid, "--ticks")
        self.go(slow)
        until(lambda: (self.intervals() or 0) >= 3, 30, "three intervals")
        self.assertEqual(recorder.stop(signal.SIGINT, timeout=30), 0, recorder.errors)
        with open(os.path.join(ROOT, "docs", "recording.md"), encoding="utf-8") as f:
            queries = re.findall(r"```sql\n(.*?)```", f.read(), re.S)
        self.assertGreaterEqual(len(queries), 5)
        with connect(self.path) as db:
            answers = [db.execute(q).fetchall() for q in queries]
        self.assertEqual(answers[0][0][0], "ticker")
        self.assertGreater(answers[2][0][2], 50, "ms of the longest tick")
        stacks = [row[0] for row in answers[3]]
        self.assertTrue(any(re.match(r"cpu;.*on_busy;burn_here", s) for s in stacks), stacks)
        folded = report(self.path, "-o", "folded").stdout.decode()
        self.assertIn("on_busy;burn_here", folded)

    def test_a_hostile_name_is_inert(self):
        loop = self.start([PYTHON, "-c", "import asyncio, os, sys\nopen('/proc/self/comm', 'w').write(%r)\nprint('ready', os.getpid(), flush=True)\n"
                           "async def main():\n for _ in range(400): await asyncio.sleep(0.01)\nasyncio.run(main())" % HOSTILE], READY)
        recorder = self.record("-p", loop.pid, "--ticks", "--no-slow")
        until(lambda: (self.intervals() or 0) >= 2, 30, "two intervals")
        self.assertEqual(recorder.stop(signal.SIGINT, timeout=30), 0, recorder.errors)
        folded = report(self.path, "-o", "folded")
        self.assertEqual((folded.returncode, folded.stdout, len(folded.stderr.splitlines())), (0, b"", 1), "nothing to fold, and that is said")
        self.assertIn(HOSTILE, {o["comm"] for o in objects(self.path) if o["type"] == "loop"})
        page = report(self.path, "-o", "html").stdout.decode()
        self.assertNotIn("<img", page)
        self.assertIn("img src=x", page)
        for line in report(self.path, "-o", "vcd").stdout.decode().splitlines():
            if line.startswith("$var"):
                self.assertRegex(line, r"^\$var wire 1 \S+ \S+ \$end$")


class Differences(RecordTest):
    def made(self, name, burn):
        self.path = os.path.join(self.tmp, name + ".lsr")
        program = self.ticker("-k", "busy", "-b", burn, "-p", "150ms", "-d", "60s")
        self.alone(program)
        self.go(program)
        recorder = self.record("-p", program.pid, "-i", "450ms", "--slow", "10ms", "-d", "4s")
        self.assertEqual(recorder.wait_exit(40), 0, recorder.errors)
        program.kill()
        return self.path

    def test_a_callback_three_times_slower_is_at_the_top(self):
        before, same, after = self.made("before", "30ms"), self.made("same", "30ms"), self.made("after", "90ms")
        self.assertEqual(report(before, "--diff", same).stdout, b"no difference beyond noise\n")
        said = report(before, "--diff", after).stdout.decode().splitlines()
        self.note("; ".join(" ".join(line.split()) for line in said))
        self.assertRegex(said[0], "^ticker ")
        self.assertRegex(said[1], r"load +(1|2)\d\.\d\d% -> +(5|6)\d\.\d\d%")
        functions = [line for line in said if " in " in line]
        self.assertRegex(functions[0], "in (burn_here|on_busy)$")


class Abrupt(RecordTest):
    REPETITIONS = int(os.environ.get("LOOPSCOPE_KILLS") or 4)

    def test_killed_at_any_moment(self):
        """What was on the time line two seconds before the end is in the file, and the file is whole."""
        program = self.ticker("-k", "rate", "-b", "20us", "-d", "600s")
        self.go(program)
        worst = 0
        dice = random.Random(1)
        for n in range(self.REPETITIONS):
            path = os.path.join(self.tmp, "killed-%d.lsr" % n)
            recorder = self.observe("record", path, "-p", program.pid, "--ticks", "--budget", "100%", "-q")
            until(lambda: os.path.exists(path), 30, "the recording begins")
            began = time.monotonic()
            time.sleep(dice.uniform(0.0, 6.0))  # any moment is one to be killed at
            wall = time.time()
            recorder.process.kill()
            recorder.wait_exit(10)
            lived = time.monotonic() - began
            opened = report(path, "-o", "vcd")
            if lived < LOST_SECONDS and opened.returncode:
                self.assertRegex(opened.stderr.decode(), "no recording|damaged", "killed before its first commit")
                continue
            self.assertEqual(opened.returncode, 0, opened.stderr)
            self.check_whole(path)
            with connect(path) as db:
                end, complete = db.execute("SELECT end_ns, complete FROM recording").fetchone()
            self.assertEqual(complete, 0)
            lost = wall - end / 1e9
            worst = max(worst, lost)
            self.assertLessEqual(lost, LOST_SECONDS, "after %.1f s" % lived)
        self.note("%d times, lost at most %.2f s" % (self.REPETITIONS, worst))

    def test_full_disk(self):
        """One sentence, and what was written before is there."""
        self.require_mounts()
        disk = os.path.join(self.tmp, "disk")
        os.mkdir(disk)
        script = ("mount -t tmpfs -o size=2m tmpfs %s || exit 99; %s record %s/full.lsr --ticks --budget 100%% -p $1; s=$?; "
                  "cp %s/full.lsr* %s; exit $s" % (disk, LOOPSCOPE, disk, disk, self.tmp))
        program = self.ticker("-k", "rate", "-b", "2us", "-d", "600s")
        self.go(program)
        done = subprocess.run(["unshare", "-m", "/bin/sh", "-c", script, "sh", str(program.pid)], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, check=False)
        if done.returncode == 99:
            raise unittest.SkipTest("no file system can be mounted here: %s" % done.stderr.decode())
        said = done.stderr.decode().splitlines()
        self.assertEqual(done.returncode, 1, said)
        self.assertEqual(len([line for line in said if "no room" in line]), 1, said)
        path = os.path.join(self.tmp, "full.lsr")
        self.check_whole(path)
        self.assertEqual(report(path).returncode, 0)
        with connect(path) as db:
            self.assertGreater(db.execute("SELECT sum(spans) FROM chunk").fetchone()[0], 10000)


class Refused(RecordTest):
    def test_usage(self):
        for args in (["record"], ["record", self.path, "word"], ["record", self.path, "--max-size", "1M"], ["record", self.path, "--ticks"],
                     ["record", self.path, "--no-kernel"], ["report"], ["report", "a", "b"]):
            done = subprocess.run([LOOPSCOPE, *args], capture_output=True, timeout=20, check=False)
            self.assertEqual(done.returncode, 2, args)
            self.assertEqual(len(done.stderr.decode().splitlines()), 1, args)

    def test_what_is_no_recording(self):
        for path in ("/etc/passwd", LOOPSCOPE, self.tmp, "/dev/null", os.path.join(self.tmp, "none")):
            done = report(path)
            self.assertEqual(done.returncode, 1, path)
            self.assertEqual(len(done.stderr.decode().splitlines()), 1, path)


if __name__ == "__main__":
    sys.exit(unittest.main())
