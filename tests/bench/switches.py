# SPDX-License-Identifier: BSD-2-Clause
"""
switches.py - nanoseconds that one switch and one wake-up cost, for observed and for unobserved threads.

Two processes on one CPU hand a byte to and fro (pingpong.c), with a real-time priority so that next to every switch of
that CPU is one between these two. An empty program on the same tracepoint, at the same time, shows what of each figure are
the statistics' own clock reads.
"""

import os
import subprocess
import time

import measure

WINDOW_S = 0.4
LEAST_RUNS = 5000
AIM_NS = {"read": 60, "poll": 200}
WORDS = {"read": "unobserved", "poll": "observed"}


def real_time():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def window(mode, cpu, ids):
    argv = [measure.tool("pingpong"), mode, str(cpu), "30"]
    with measure.program(argv, ready="ready", preexec_fn=real_time):
        time.sleep(0.1)  # loops become known, caches warm; no condition depends on it
        before = measure.run_times(ids)
        time.sleep(WINDOW_S)
        after = measure.run_times(ids)
    return {n: ns / runs for n, (ns, runs) in measure.difference(before, after).items() if runs > LEAST_RUNS}


def run(report, rounds):
    cpu = max(os.sched_getaffinity(0))
    figures = {}
    empty = [measure.tool("attach"), measure.tool("empty.bpf.o")]
    with measure.bpf_statistics(), measure.loopscope("scan", "-d", "10m") as ls, \
            measure.program(empty, ready="ready", stdin=subprocess.PIPE) as e:
        ids = measure.program_ids(ls.pid) | measure.program_ids(e.pid)
        for _ in range(rounds):
            for mode in ("read", "poll"):
                for name, ns in window(mode, cpu, ids).items():
                    figures.setdefault((mode, name), []).append(ns)
    if ("read", "empty_switch") not in figures:
        raise measure.Unable("fewer than %d switches a window" % LEAST_RUNS)
    report.head("One run of our programs, by the kernel's BPF statistics")
    report.figure("an empty program", figures["read", "empty_switch"] + figures["poll", "empty_switch"], "ns",
                  beside="the statistics' own share of every figure here")
    for mode in ("read", "poll"):
        report.figure("a switch, %s" % WORDS[mode], figures[mode, "ls_sched_switch"], "ns", aim=AIM_NS[mode])
    for mode in ("read", "poll"):
        report.figure("a wake-up, %s" % WORDS[mode], figures[mode, "ls_sched_wakeup"], "ns")
