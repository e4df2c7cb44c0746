# SPDX-License-Identifier: BSD-2-Clause
"""
recording.py - `record --ticks` beside a loop that makes 200,000 ticks a second: what is lost, by the loop's own count, what a tick
takes, what recording costs; how long the page of it takes, and how soon a browser shows it.

The loop's rate is found first: it burns less and less until it makes more than the aim says, or can't make more here.
"""

import contextlib
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import tempfile
import time

import measure
import pages

RATE_AIM = 200000
RATE_WANTED = 1.3 * RATE_AIM  # in a short run, for the long one to hold the aim
TICKS = 5000000
BYTES_AIM = 6
PAGE_AIM_S = 10
PAGE_AIM_MB = 15
PAINT_AIM_MS = 2000
BURNS_NS = (3500, 2500, 1500, 800, 100)

TICKER = os.path.join(measure.BUILD, "tests", "loopers", "ticker")


@contextlib.contextmanager
def ticking(burn_ns, seconds):
    with measure.program([TICKER, "-k", "rate", "-b", "%dns" % burn_ns, "-d", "%ds" % seconds, "-m", "0"], ready="ready", end=signal.SIGTERM,
                         stdin=subprocess.PIPE) as p:
        yield p


def go(p):
    p.stdin.write(b"go\n")
    p.stdin.flush()


def record(path, pid, *args):
    return measure.loopscope("record", path, "--overwrite", "-q", "--ticks", "--budget", "100%", "--no-slow", "-p", str(pid), *args,
                             end=signal.SIGINT)


def held(path):
    """(spans, bytes of chunks, seconds from first to last)"""
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % path, uri=True)) as db:
        spans, size, first, last = db.execute("SELECT sum(spans), sum(length(bytes)), min(at_ns), max(end_ns) FROM chunk").fetchone()
    return spans or 0, size or 0, ((last or 0) - (first or 0)) / 1e9


def one(path, burn_ns, seconds):
    """(spans, bytes, seconds, CPU seconds of loopscope, ticks by the loop's own count)"""
    with ticking(burn_ns, seconds) as p:
        with record(path, p.pid) as r:
            go(p)
            for line in p.stdout:
                if line.startswith(b"done"):
                    break
            cpu = measure.cpu_ns(r.pid) / 1e9
            r.send_signal(signal.SIGINT)
            r.wait(60)
        p.send_signal(signal.SIGTERM)
        truth = json.loads(p.stdout.read())
    return held(path) + (cpu, truth["returns"])


def find_burn(path):
    best = None
    for burn in BURNS_NS:
        spans, _, seconds, _, _ = one(path, burn, 3)
        rate = spans / seconds if seconds else 0
        if best is None or rate > best[1]:
            best = burn, rate
        if rate >= RATE_WANTED:
            break
    return best[0]


def look(report, path, folder):
    """The page of it: written, and shown."""
    begin = time.monotonic()
    with open(os.path.join(folder, "page.html"), "wb") as page:
        subprocess.run([measure.LOOPSCOPE, "report", path, "-o", "html"], stdout=page, check=True)
    report.figure("report -o html", [time.monotonic() - begin], "s", aim=PAGE_AIM_S, fmt="%.2f")
    report.figure("size of the page", [os.path.getsize(os.path.join(folder, "page.html")) / 1e6], "MB", aim=PAGE_AIM_MB)
    chromium = pages.browser(report)
    if not chromium:
        return
    with open(os.path.join(folder, "page.json"), "w", encoding="utf-8") as truth:
        truth.write("{}")
    shown = [pages.show(folder, "page", chromium) for _ in range(3)]
    report.figure("first paint", [s["paint"] for s in shown], "ms", aim=PAINT_AIM_MS, fmt="%.0f")
    report.figure("the last tick is there", [s["ready"] for s in shown], "ms", fmt="%.0f")
    report.figure("a frame, zooming and moving", [statistics.median(s["frames"]) for s in shown], "ms", fmt="%.1f")


def run(report, rounds):
    with tempfile.TemporaryDirectory(dir=measure.BUILD) as folder:
        path = os.path.join(folder, "bench.lsr")
        report.head("Recording every tick of a loop (record --ticks)")
        burn = find_burn(path)
        spans, size, seconds, cpu, made = one(path, burn, TICKS // RATE_AIM)
        report.figure("ticks that the loop counts", [made], "", aim=TICKS, at_least=True, fmt="%.0f")
        report.figure("of them not recorded", [made - spans], "", aim=0, fmt="%.0f")
        report.figure("ticks a second", [spans / seconds], "/s", aim=RATE_AIM, at_least=True, fmt="%.0f")
        report.figure("bytes a tick", [size / spans], "", aim=BYTES_AIM, fmt="%.2f")
        report.figure("the whole file, a tick", [os.path.getsize(path) / spans], "bytes", fmt="%.2f")
        report.figure("loopscope's share of a CPU", [100 * cpu / seconds], "%")
        look(report, path, folder)
