# SPDX-License-Identifier: BSD-2-Clause
"""
edges.py - what exact edges cost, kind by kind: nanoseconds an IO wait beside bpftrace, what system calls of another process pay,
redis' throughput, and a polling loop with and without the budget.

All ways take turns in every round and are compared with the same round's bare run. A figure of waits.c is a low percentile, so what
else runs on the machine hardly moves it.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time

import measure
import throughput

OF_BPFTRACE = 0.45
BUDGET = 0.02
GOVERNED_S = 3.0  # two looks, and then the kernel closes one probe after the other
MODES = ("poll", "event", "call")
SAME_JOB = "bpftrace, ticks and waits"
LEAST = "tracepoints, two clock reads"


class Meter:
    """waits.c, asked for a figure at a time."""

    def __init__(self, process):
        self.process, self.pid = process, process.pid

    def ns(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


@contextlib.contextmanager
def meters():
    cpu = str(max(os.sched_getaffinity(0)))
    with contextlib.ExitStack() as stack:
        yield {m: Meter(stack.enter_context(measure.program([measure.tool("waits"), m, cpu], ready="ready",
                                                            stdin=subprocess.PIPE))) for m in MODES}


@contextlib.contextmanager
def nobody(pids):
    yield


def edges(kind, *more):
    @contextlib.contextmanager
    def way(pids):
        which = [a for p in pids for a in ("-p", str(p))]
        with measure.loopscope("attach", *which, "-i", "1s", "-o", "json", "--edges", kind, "--budget", "100%", *more,
                               end=signal.SIGINT) as p:
            measure.until(lambda: measure.measures_edges(p.pid), "loopscope measures edges")
            yield
    return way


def script(name):
    @contextlib.contextmanager
    def way(pids):
        with contextlib.ExitStack() as stack:
            for pid in pids:
                stack.enter_context(throughput.bpftrace(pid, name))
            yield
    return way


@contextlib.contextmanager
def clock_alone(pids):
    """What tracepoints and a clock cost by themselves, on every epoll_wait: no measurement by them can be had for less."""
    argv = throughput.seeing_tracefs([measure.tool("attach"), measure.tool("clock.bpf.o")])
    with measure.program(argv, ready="ready", stdin=subprocess.PIPE):
        yield


def ways():
    found = {"bare": nobody, LEAST: clock_alone, "sched": edges("sched"), "tracepoint": edges("tracepoint"), "uprobe": edges("uprobe"),
             "tracepoint, --events": edges("tracepoint", "--events")}
    if measure.fentry_works():
        found["fentry"] = edges("fentry")
    if shutil.which("bpftrace"):
        found["bpftrace, waits alone"] = script("epoll_hist.bt")
        found[SAME_JOB] = script("turns.bt")
    return found


def one_round(meter, found, first):
    """{way: {mode: ns}}. bpftrace watches one process at a time: two scripts would pay for each other."""
    names, figures = list(found), {}
    for name in names[first:] + names[:first]:
        figures[name] = {}
        groups = [("poll",), ("event", "call")] if name.startswith("bpftrace") else [MODES]
        for group in groups:
            with found[name]([meter[m].pid for m in group if m != "call"]):
                for m in group:
                    figures[name][m] = min(meter[m].ns() for _ in range(2))
    return figures


def per_wait(report, rounds):
    found = ways()
    with meters() as meter:
        figures = [one_round(meter, found, i % len(found)) for i in range(rounds)]
    for mode, title in (("event", "One IO wait that returns an event"), ("poll", "One poll that finds nothing"),
                        ("call", "One system call of a process that nobody observes (getppid)")):
        report.head(title + ": nanoseconds that each way adds")
        report.figure("bare", [f["bare"][mode] for f in figures], "ns")
        for name in list(found)[1:]:
            report.figure(name, [f[name][mode] - f["bare"][mode] for f in figures], "ns")
        if mode == "call" or SAME_JOB not in found:
            continue
        for name, aim in ((LEAST, None), ("tracepoint", OF_BPFTRACE)):
            report.figure("%s / bpftrace, same job" % name, [
                (f[name][mode] - f["bare"][mode]) / (f[SAME_JOB][mode] - f["bare"][mode]) for f in figures],
                "x", aim=aim, fmt="%.2f")


def phase_entry(report, rounds):
    """--phases on waits.c, whose phase does nothing."""
    cpu, added = str(max(os.sched_getaffinity(0))), []
    os.environ["LOOPSCOPE_PROBES"] = os.path.join(measure.ROOT, "tests", "bench", "probes")
    try:
        with measure.program([measure.tool("waits"), "phase", cpu], ready="ready", stdin=subprocess.PIPE) as process:
            meter = Meter(process)
            for _ in range(rounds):
                bare = min(meter.ns() for _ in range(2))
                with edges("tracepoint", "--phases")([meter.pid]):
                    added.append(min(meter.ns() for _ in range(2)) - bare)
    finally:
        del os.environ["LOOPSCOPE_PROBES"]
    report.head("One entry of a phase (--phases): nanoseconds that it adds")
    report.figure("entry", added, "ns")


def redis_throughput(report, rounds):
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        raise measure.Unable("redis is not installed")
    report.head("redis (GET, %d clients) with exact edges, as a share of the same round's bare runs" % throughput.CLIENTS)
    kinds = {"tracepoint": edges("tracepoint"), "tracepoint, --events": edges("tracepoint", "--events"), "uprobe": edges("uprobe")}
    ratios = {k: ([], []) for k in kinds}
    with throughput.redis() as server:
        requests = int(server.throughput(50000)[0] * throughput.RUN_S)
        for i in range(rounds):
            bare = server.throughput(requests)
            for kind, way in list(kinds.items())[i % 3:] + list(kinds.items())[:i % 3]:
                with way([server.pid]):
                    with_edges = server.throughput(requests)
                ratios[kind][0].append(with_edges[0] / bare[0])
                ratios[kind][1].append(bare[1] / with_edges[1])
    for kind, (by_rate, by_cpu) in ratios.items():
        report.figure("%s: throughput" % kind, by_rate, "x", fmt="%.3f")
        report.figure("%s: CPU a request" % kind, by_cpu, "x", fmt="%.3f")


def governor(report, rounds):
    report.head("A polling loop under the governor: nanoseconds a poll, as a multiple of bare")
    figures = {"--budget 2%": [], "--budget 100%": []}
    with meters() as meter:
        poll = meter["poll"]
        for _ in range(rounds):
            bare = min(poll.ns() for _ in range(3))
            for name, ratios in figures.items():
                with measure.loopscope("attach", "-p", str(poll.pid), "-i", "1s", "-o", "json", "--edges", "tracepoint",
                                       *name.split(), end=signal.SIGINT):
                    end = time.monotonic() + GOVERNED_S
                    while time.monotonic() < end:  # it spins: only then there is something to govern
                        poll.ns()
                    ratios.append(min(poll.ns() for _ in range(3)) / bare)
    report.figure("--budget 2%", figures["--budget 2%"], "x", aim=1 + BUDGET, fmt="%.3f")
    report.figure("--budget 100%", figures["--budget 100%"], "x", fmt="%.3f")
