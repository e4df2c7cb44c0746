# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of boards share: `loopscope serial` started and waited for, and the truth of recorded streams."""
import json
import os
import shutil
import tempfile
import unittest

import serial_frames as sf
from harness import BUILD, LOOPSCOPE, ROOT, Observer

DATA = os.path.join(ROOT, "tests", "data", "serial")
BUCKET = 1 / 64 + 1e-6     # of the histogram's quantiles
ROUNDED_US = 0.0055        # expect files round microseconds to two decimals
SECONDS = 60               # how long a busy machine may take for anything


def expect(name):
    with open(os.path.join(DATA, name + ".expect.json"), encoding="utf-8") as f:
        return json.load(f)


class SerialTest(unittest.TestCase):
    longMessage = True

    def setUp(self):
        self.notes = []
        os.makedirs(os.path.join(BUILD, "tests"), exist_ok=True)
        self.tmp = tempfile.mkdtemp(prefix="serial-", dir=os.path.join(BUILD, "tests"))
        self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)

    def start(self, *arguments, **how):
        observer = Observer([LOOPSCOPE, "serial", *arguments], cwd=self.tmp, **how)
        self.addCleanup(observer.kill)
        return observer

    def pty(self):
        pty = sf.Pty()
        self.addCleanup(pty.close)
        return pty

    def to_end(self, *arguments, status=0, **how):
        observer = self.start(*arguments, **how)
        self.assertEqual(observer.wait_exit(SECONDS), status, observer.errors)
        return observer

    @staticmethod
    def of(observer, kind):
        return [o for _, o in observer.objects() if o["type"] == kind]

    def wait(self, observer, condition, what):
        """condition(list of all objects so far); its value once it is true."""
        return observer.wait_for(lambda p: condition([o for _, o in p.objects()]), SECONDS, what)

    def wait_source(self, observer, condition, what):
        return self.wait(observer, lambda all_: ([o for o in all_ if o["type"] == "source" and condition(o)] or [None])[-1],
                         what)

    def taken(self, observer, pty):
        """Until it says itself that it has read all. For short intervals."""
        self.wait_source(observer, lambda o: o["bytes"] == pty.sent, "it has read %d bytes" % pty.sent)

    @staticmethod
    def tasks(observer):
        """(kind, id) -> all its records of the run as one: what intervals cut, added up."""
        found = {}
        for o in SerialTest.of(observer, "task"):
            t = found.setdefault((o["kind"], o["id"]), {"task": o["task"], "runs": 0, "n": 0, "total": 0, "min": 1e18, "max": 0,
                                                        "hogs": 0, "p50": None, "busy": o["busy"]})
            t["runs"] += o["runs"] or 0
            t["hogs"] += o["hogs"] or 0
            run = o["run_us"]
            if run and run["min"] is not None:
                t["n"] += run["n"]
                t["total"] += run["total"]
                t["min"], t["max"] = min(t["min"], run["min"]), max(t["max"], run["max"])
                t["p50"] = run["p50"]
        return found

    def check_figures(self, told, want, what, median=True):
        self.assertEqual(told["n"], want["n"], what)
        for key in ("min", "max"):
            self.assertAlmostEqual(told[key], want[key], delta=ROUNDED_US, msg="%s %s" % (what, key))
        self.assertAlmostEqual(told["total"], want["total"], delta=ROUNDED_US + 0.001 * want["n"], msg=what + " total")
        if median:
            # ours is the lower of the two in the middle, theirs lies between them
            self.assertLessEqual(told["p50"], want["median"] * (1 + BUCKET), what + " median")
            if want["n"] % 2:
                self.assertGreaterEqual(told["p50"], want["median"] * (1 - BUCKET), what + " median")

    def check_systemview(self, observer, want, median=True):
        tasks = self.tasks(observer)
        self.assertTrue(want["tasks"] and want["isrs"])
        for t in want["tasks"]:
            told = tasks["task", t["id"]]
            self.assertEqual(told["task"], t["name"])
            self.check_figures(told, t["net"]["us"] | {"n": t["net"]["n"]}, t["name"], median)
        for t in want["isrs"]:
            if t["net"]["n"]:
                self.check_figures(tasks["isr", t["id"]], t["net"]["us"] | {"n": t["net"]["n"]}, t["name"], median)
