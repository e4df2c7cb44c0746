# SPDX-License-Identifier: BSD-2-Clause
"""
throughput.py - what is left of redis' throughput while it is watched, by us and by others.

All ways take turns in every round, in an order that rotates, and are compared with the same round's bare runs: what slows
the whole machine down for a while cancels out. A second bare run shows how much two equal runs differ. The server's CPU time
a request tells the same from the other side, and also where neighbours take the CPU away: they change a throughput, but
hardly this.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess

import measure

CLIENTS = 50
RUN_S = 1.5
STRACE_FRACTION = 0.05  # of the requests: it takes about as long
NOISE = 0.1
TRACEFS = "/sys/kernel/tracing"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Redis:
    """A server on one CPU, its clients on another, where there are two."""

    def __init__(self, pid, port, cpus):
        self.pid, self.port, self.cpus = pid, port, cpus

    def throughput(self, requests):
        """Requests a second, and the server's CPU time for one, ns."""
        before = measure.cpu_ns(self.pid)
        argv = ["redis-benchmark", "-p", str(self.port), "-t", "get", "-c", str(CLIENTS), "-n", str(requests), "--csv"]
        out = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
                             preexec_fn=lambda: os.sched_setaffinity(0, self.cpus)).stdout
        return float(re.search(r'"GET","([0-9.]+)"', out).group(1)), (measure.cpu_ns(self.pid) - before) / requests


@contextlib.contextmanager
def redis():
    cpus = sorted(os.sched_getaffinity(0))
    port = free_port()
    argv = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with measure.program(argv, ready="Ready to accept connections",
                         preexec_fn=lambda: os.sched_setaffinity(0, {cpus[0]})) as p:
        yield Redis(p.pid, port, {cpus[-1]})


@contextlib.contextmanager
def bare(pid):
    yield


def scan(pid):
    return measure.loopscope("scan", "-d", "10m", end=signal.SIGINT)


def attach(pid):
    return measure.loopscope("attach", "-p", str(pid), "-i", "1", end=signal.SIGINT)


def seeing_tracefs(argv):
    """Where it isn't mounted, it is for this program alone: the machine's mounts stay as they are."""
    if os.path.exists(os.path.join(TRACEFS, "events")):
        return argv
    return ["unshare", "-m", "sh", "-c", 'mount -t tracefs tracefs "$0" && exec "$@"', TRACEFS, *argv]


def bpftrace(pid, script="epoll_hist.bt"):
    argv = seeing_tracefs(["bpftrace", os.path.join(measure.HERE, script), str(pid)])
    return measure.program(argv, ready="ready", end=signal.SIGINT)


def strace(pid):
    return measure.program(["strace", "-c", "-f", "-p", str(pid)], ready="attached", stream="stderr", end=signal.SIGINT)


# name: (who watches, needed program, the least ratio that we aim at)
WAYS = {
    "bare": (bare, None, None),
    "bare again": (bare, None, None),
    "loopscope scan": (scan, None, 0.98),
    "loopscope attach": (attach, None, 0.98),
    "bpftrace, epoll_wait alone": (bpftrace, "bpftrace", None),
    "strace -c -f": (strace, "strace", None),
}


def one_round(server, requests, ways, first):
    figures = {}
    for name in ways[first:] + ways[:first]:
        n = int(requests * STRACE_FRACTION) if name.startswith("strace") else requests
        with WAYS[name][0](server.pid):
            figures[name] = server.throughput(n)
    return figures


def tell(report, figures, ways):
    for which, title, unit, inverse in ((0, "Throughput of redis (GET, %d clients)" % CLIENTS, "req/s", False),
                                        (1, "The same by the server's CPU time a request", "ns", True)):
        def ratio(f, name, base):
            r = f[name][which] / base
            return 1 / r if inverse else r
        report.head(title + ", as a share of the same round's bare runs")
        report.figure("bare", [f["bare"][which] for f in figures], unit, fmt="%.0f")
        same = [ratio(f, "bare again", f["bare"][which]) for f in figures]
        report.figure("bare again", same, "x", fmt="%.3f", beside="what two equal runs differ by")
        for name in ways[2:]:
            ratios = [ratio(f, name, statistics.mean((f["bare"][which], f["bare again"][which]))) for f in figures]
            report.figure(name, ratios, "x", aim=WAYS[name][2], at_least=True, fmt="%.3f")
        if max(same) - min(same) > NOISE:
            report.note("Two equal runs differ by up to %.0f %%: this machine is busy, and smaller differences say nothing." %
                        (100 * max(abs(r - 1) for r in same)))


def run(report, rounds):
    for needed in ("redis-server", "redis-benchmark"):
        if not shutil.which(needed):
            raise measure.Unable("%s is not installed" % needed)
    ways = [n for n, (_, needed, _) in WAYS.items() if not needed or shutil.which(needed)]
    figures = []
    with redis() as server:
        requests = int(server.throughput(50000)[0] * RUN_S)
        for i in range(rounds):
            figures.append(one_round(server, requests, ways, i % len(ways)))
    tell(report, figures, ways)
    for name in WAYS:
        if name not in ways:
            report.note("%s: left out, %s is not installed" % (name, WAYS[name][1]))
