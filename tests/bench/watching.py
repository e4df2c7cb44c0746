# SPDX-License-Identifier: BSD-2-Clause
"""
watching.py - what the observer itself takes: CPU and memory while it reports on 1,000 loops each second, and the time of a
snapshot of 5,000 threads.
"""

import contextlib
import subprocess
import time

import measure

LOOPS = 1000
WATCH_S = 20
CPU_AIM = 0.01
RSS_AIM_MB = 20
THREADS = 5000
SNAPSHOT_AIM_MS = 10


@contextlib.contextmanager
def fleet(kind, n):
    with measure.program([measure.tool("fleet"), kind, str(n)], ready="ready", stdin=subprocess.PIPE) as p:
        yield p


def watch(report, pid, fmt, edges):
    with measure.loopscope("attach", "-p", str(pid), "-i", "1", "-o", fmt, "--edges", edges) as ls:
        start_ns = measure.cpu_ns(ls.pid)
        began = time.monotonic()
        time.sleep(WATCH_S)
        share = (measure.cpu_ns(ls.pid) - start_ns) / 1e9 / (time.monotonic() - began)
        rss = measure.peak_rss_bytes(ls.pid) / 1e6
    what = "%s, edges %s" % (fmt, edges)
    # The aims are those of load alone; single ticks of 1,000 loops are more work, and are told beside them.
    aims = (CPU_AIM * 100, RSS_AIM_MB) if edges == "sched" else (None, None)
    report.figure("CPU, %s" % what, [share * 100], "%", aim=aims[0], fmt="%.2f",
                  beside="(and %.0f ms of CPU to start)" % (start_ns / 1e6))
    report.figure("memory, %s" % what, [rss], "MB", aim=aims[1])


def own_cost(report, rounds):
    report.head("The observer: %d loops that wake every 100 ms, a report each second for %d s" % (LOOPS, WATCH_S))
    with fleet("loops", LOOPS) as p:
        for edges in ("sched", "auto"):
            for fmt in ("table", "json"):
                watch(report, p.pid, fmt, edges)


def snapshots(pid, rounds):
    """[(ms that the kernel side ran, ms of CPU that the whole report took)], one a report."""
    figures = []
    with measure.loopscope("attach", "-p", str(pid), "-i", "300ms", "--edges", "sched") as ls:
        ids = measure.program_ids(ls.pid)
        ns, runs = measure.run_times(ids)["ls_snapshot"]
        cpu = measure.cpu_ns(ls.pid)
        for _ in range(rounds + 1):
            measure.until(lambda: measure.run_times(ids)["ls_snapshot"][1] >= runs + THREADS, "the next snapshot")
            time.sleep(0.1)  # the rest of the report follows; the next one comes 200 ms later at the earliest
            now_ns, now_runs = measure.run_times(ids)["ls_snapshot"]
            now_cpu = measure.cpu_ns(ls.pid)
            n = (now_runs - runs) / (THREADS + 1.0)  # the process's first thread is one more
            figures.append(((now_ns - ns) / n / 1e6, (now_cpu - cpu) / n / 1e6))
            ns, runs, cpu = now_ns, now_runs, now_cpu
    return figures[1:]


def snapshot_time(report, rounds):
    report.head("A snapshot of %d threads" % THREADS)
    for kind, words in (("asleep", "observed"), ("idle", "not observed")):
        with measure.bpf_statistics(), fleet(kind, THREADS) as p:
            figures = snapshots(p.pid, rounds)
        report.figure("threads %s: iterator" % words, [f[0] for f in figures], "ms", aim=SNAPSHOT_AIM_MS, fmt="%.2f")
        report.figure("threads %s: whole report" % words, [f[1] for f in figures], "ms", fmt="%.2f",
                      beside="CPU of the observer: reading, accounting, output")
