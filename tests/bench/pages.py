# SPDX-License-Identifier: BSD-2-Clause
"""
pages.py - the page of `report -o html`: how large it is and how long the sink takes for it, and how fast a browser shows it, for an
invented recording of one and of five million ticks. What inventing takes is left out of the sink's time.
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile

import measure

TICKS = (1e6, 5e6)
SIZE_AIM_MB = 15
WRITE_AIM_S = 10
PAINT_AIM_MS = 2000
LIMIT_S = 300

HTML = os.path.join(measure.ROOT, "tests", "html")


def write(folder, name, ticks):
    """(bytes, seconds of the sink)"""
    invent = os.path.join(measure.BUILD, "tests", "html", "invent")
    page, truth = (os.path.join(folder, name + end) for end in (".html", ".json"))
    with open(page, "wb") as out, open(truth, "wb") as err:
        subprocess.run([invent, "--plain", "--ticks", str(ticks)], stdout=out, stderr=err, check=True, timeout=LIMIT_S)
    with open(truth, encoding="utf-8") as f:
        return os.path.getsize(page), json.load(f)["sink_s"]


def show(folder, name, chromium):
    done = subprocess.run(["node", os.path.join(HTML, "speed.js"), folder, name, chromium], stdout=subprocess.PIPE, check=True, timeout=LIMIT_S)
    return json.loads(done.stdout)


def browser(report):
    """Chromium, where it and what drives it are there; else None, and that is said."""
    chromium = shutil.which("chromium")
    if chromium and os.path.isdir(os.path.join(HTML, "node_modules", "playwright-core")):
        return chromium
    report.note("Chromium or playwright-core is not there: .ci/deps page")
    return None


def run(report, rounds):
    subprocess.run([os.path.join(measure.ROOT, ".ci", "deps"), "page"], check=False)
    subprocess.run(["make", "-s", "-C", measure.ROOT, "BUILD=" + measure.BUILD, "html-tests"], check=True)
    chromium = browser(report)
    with tempfile.TemporaryDirectory() as folder:
        for ticks in TICKS:
            report.head("The HTML report of %.0f million ticks" % (ticks / 1e6))
            size, seconds = write(folder, "page", ticks)
            report.figure("size", [size / 1e6], "MB", aim=SIZE_AIM_MB)
            report.figure("CPU to write it", [seconds], "s", aim=WRITE_AIM_S, fmt="%.2f")
            if not chromium:
                continue
            shown = [show(folder, "page", chromium) for _ in range(3)]
            report.figure("first paint", [s["paint"] for s in shown], "ms", aim=PAINT_AIM_MS, fmt="%.0f")
            report.figure("loops and load are there", [s["drawn"] for s in shown], "ms", fmt="%.0f")
            report.figure("the last tick is there", [s["ready"] for s in shown], "ms", fmt="%.0f")
            report.figure("a frame, zooming and moving", [statistics.median(s["frames"]) for s in shown], "ms", fmt="%.1f")
