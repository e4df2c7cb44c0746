# SPDX-License-Identifier: BSD-2-Clause
"""
exporting.py - what `loopscope export` takes: an answer to a scrape with 2,000 live loops, its own CPU at 1,000 loops and a scrape
every 15 s, its memory while 5,000 loops come and go.
"""

import http.client
import os
import re
import subprocess
import time

import measure
from watching import fleet

SCRAPED, SCRAPE_AIM_MS = 2000, 100
WATCHED, SCRAPE_EVERY_S, WATCH_S, CPU_AIM = 1000, 15, 60, 0.01
SHORT, CHURNS, CHURN_AIM_MB = 5000, int(os.environ.get("CHURNS", "5")), 1
QUIET_S = 12  # two intervals, and what gives memory back looks each 10 s


class Export:
    def __init__(self, *args):
        self.args = ("export", "-l", "127.0.0.1:0", *args)

    def __enter__(self):
        self.running = measure.program([measure.LOOPSCOPE, *self.args], stderr=subprocess.PIPE)
        self.process = self.running.__enter__()
        for line in self.process.stderr:
            found = re.search(rb"served on 127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                return self
        raise measure.Unable("loopscope export does not serve")

    def __exit__(self, *exc):
        return self.running.__exit__(*exc)

    def scrape(self):
        """(seconds, body)"""
        begin = time.perf_counter()
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        c.request("GET", "/metrics")
        body = c.getresponse().read()
        c.close()
        return time.perf_counter() - begin, body.decode()

    def resident_mb(self):
        with open("/proc/%d/statm" % self.process.pid, encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def value(body, name):
    found = re.search(r"^%s (\S+)$" % name, body, re.M)
    return float(found.group(1)) if found else None


def scrape_time(report, rounds):
    report.head("A scrape of %d live loops with series of their own, read anew each time" % SCRAPED)
    with fleet("named", SCRAPED), Export("--include", "comm=fleet") as export:
        measure.until(lambda: (value(export.scrape()[1], "loopscope_groups") or 0) >= SCRAPED, "all loops are in the metrics")
        took, inside, sizes, lost = [], [], [], 0
        for _ in range(rounds):
            time.sleep(1)  # the last reading is not fresh any more
            seconds, body = export.scrape()
            took.append(seconds * 1e3)
            sizes.append(len(body) / 1e6)
        inside = [value(export.scrape()[1], "loopscope_last_scrape_seconds") * 1e3]
        lost = value(export.scrape()[1], "loopscope_lost_events_total")
    report.figure("until the answer has been read", took, "ms", aim=SCRAPE_AIM_MS)
    report.figure("of that, reading and rendering", inside, "ms", fmt="%.1f", beside="the event loop does nothing else meanwhile")
    report.figure("size", sizes, "MB", fmt="%.2f")
    report.figure("events lost", [lost], "", aim=0, fmt="%.0f")


def own_cost(report):
    report.head("The daemon: %d loops that wake every 100 ms, a scrape each %d s, for %d s" % (WATCHED, SCRAPE_EVERY_S, WATCH_S))
    for args, aim in (((), CPU_AIM), (("-i", "15s"), CPU_AIM)):
        with fleet("loops", WATCHED), Export(*args) as export:
            export.scrape()
            begin, cpu = time.monotonic(), measure.cpu_ns(export.process.pid)
            while time.monotonic() - begin < WATCH_S:
                time.sleep(SCRAPE_EVERY_S)
                export.scrape()
            share = (measure.cpu_ns(export.process.pid) - cpu) / 1e9 / (time.monotonic() - begin)
            words = " ".join(args) or "default interval"
            report.figure("CPU, %s" % words, [share * 100], "%", aim=aim * 100, fmt="%.2f")
            report.figure("memory, %s" % words, [export.resident_mb()], "MB")


def churn(report):
    """Loops that ended are held until the next reading, so while they come the room is what the fullest interval needs, which
    differs with where it falls. When they have been it is given back. CHURNS in the environment: how many times."""
    report.head("%d loops that live for 200 ms come and go, %d times" % (SHORT, CHURNS))
    with Export("--include", "comm=fleet") as export:
        memory = [export.resident_mb()]
        for _ in range(CHURNS):
            with fleet("short", SHORT):
                pass
            time.sleep(1)
            body = export.scrape()[1]
            memory.append(export.resident_mb())
        most = max(memory[1:])
        time.sleep(QUIET_S)
        export.scrape()
        report.figure("memory beyond the first half's most", [max(0, max(memory[len(memory) // 2 + 1:]) - max(memory[:len(memory) // 2 + 1]))],
                      "MB", aim=CHURN_AIM_MB, beside="MB at the start, then after each: " + " ".join("%.1f" % m for m in memory))
        report.figure("memory when it has been quiet for %d s" % QUIET_S, [export.resident_mb()], "MB", beside="%.1f at most" % most)
        report.figure("series", [len(re.findall(r"^[^#]", body, re.M))], "", fmt="%.0f")
        report.figure("last intervals of loops lost", [value(body, "loopscope_lost_events_total")], "", aim=0, fmt="%.0f")


def run(report, rounds):
    scrape_time(report, rounds)
    churn(report)
    own_cost(report)
