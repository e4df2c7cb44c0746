# SPDX-License-Identifier: BSD-2-Clause
"""
measure.py - what the benchmarks share: programs that end with the benchmark, figures from /proc and from the kernel's BPF
run-time statistics, and a line per figure with its spread and its aim.

Units      seconds and nanoseconds as the names say; ratios are 1.0 for "no different"
Errors     Unable: a benchmark can't run here; the message says why
"""

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))  # join() takes an absolute one as it is
LOOPSCOPE = os.path.join(BUILD, "loopscope")
STATS = "/proc/sys/kernel/bpf_stats_enabled"
START_TIMEOUT_S = 20


class Unable(Exception):
    pass


def tool(name):
    """A program of ours that bench.mk has built."""
    return os.path.join(BUILD, "tests", "bench", name)


def until(condition, what, timeout_s=START_TIMEOUT_S):
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            raise Unable("%s: not within %d s" % (what, timeout_s))
        time.sleep(0.005)


@contextlib.contextmanager
def program(argv, ready=None, stream="stdout", end=signal.SIGKILL, **options):
    """Runs argv; goes on once a line that contains `ready` came from the stream. Ends it by PID, whatever happens."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.DEVNULL)
    options.setdefault("stderr", subprocess.DEVNULL)
    if ready:
        options[stream] = subprocess.PIPE
    try:
        p = subprocess.Popen(argv, **options)
    except OSError as e:
        raise Unable("%s can't be started: %s" % (argv[0], e.strerror))
    try:
        for line in getattr(p, stream) if ready else ():
            if ready.encode() in line:
                break
        else:
            if ready:
                raise Unable("%s ended before it was ready" % argv[0])
        yield p
    finally:
        if p.poll() is None:
            p.send_signal(end)
        try:
            p.wait(START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
        for f in (p.stdin, p.stdout, p.stderr):
            if f:
                f.close()


def has_timer(pid):
    """loopscope arms its timer last, when everything is attached and the first snapshot taken."""
    for fd in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(OSError):
            if "timerfd" in os.readlink("/proc/%d/fd/%s" % (pid, fd)):
                return True
    return False


def calibrates(pid):
    """loopscope has the kernel's BPF statistics on, which cost as much as what they measure."""
    for fd in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(OSError):
            if "bpf-stats" in os.readlink("/proc/%d/fd/%s" % (pid, fd)):
                return True
    return False


EPOLL_WAIT = {"x86_64": {"232", "281"}, "aarch64": {"22"}}.get(os.uname().machine, set())


def measures_edges(pid):
    """It sleeps in its own loop, so what it sets up before is done, and the calibration that follows is over, too."""
    with open("/proc/%d/syscall" % pid) as f:
        return f.read().split()[0] in EPOLL_WAIT and not calibrates(pid)


def fentry_works():
    argv = [LOOPSCOPE, "attach", "-p", str(os.getpid()), "-d", "10ms", "--edges", "fentry"]
    return subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


@contextlib.contextmanager
def loopscope(*args, end=signal.SIGKILL):
    with program([LOOPSCOPE, *args], end=end) as p:
        def watching():
            if p.poll() is not None:
                raise Unable("loopscope %s ended with status %d" % (" ".join(args), p.returncode))
            return has_timer(p.pid)
        until(watching, "loopscope watches")
        yield p


# --- figures ----------------------------------------------------------------------------------------------------------

def cpu_ns(pid):
    """On-CPU time of all threads that there are."""
    total = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, tid)) as f:
            total += int(f.read().split()[0])
    return total


def peak_rss_bytes(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"^VmHWM:\s+(\d+) kB", f.read(), re.M).group(1)) * 1024


@contextlib.contextmanager
def bpf_statistics():
    """Switched on meanwhile, for all programs; put back as they were."""
    try:
        with open(STATS) as f:
            before = f.read()
        with open(STATS, "w") as f:
            f.write("1")
    except OSError as e:
        raise Unable("the kernel's BPF statistics can't be switched on: %s" % e)
    try:
        yield
    finally:
        with open(STATS, "w") as f:
            f.write(before)


def program_ids(pid):
    """Of the BPF programs that the process holds. Names alone won't do: others may run loopscope, too."""
    ids = set()
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        with contextlib.suppress(OSError), open("/proc/%d/fdinfo/%s" % (pid, fd)) as f:
            ids.update(int(i) for i in re.findall(r"^prog_id:\s*(\d+)", f.read(), re.M))
    return ids


def run_times(ids):
    """{program's name: (ns, runs)} since it was loaded."""
    out = subprocess.run(["bpftool", "-j", "prog", "show"], stdout=subprocess.PIPE, check=True).stdout
    return {p["name"]: (p.get("run_time_ns", 0), p.get("run_cnt", 0)) for p in json.loads(out) if p["id"] in ids}


def difference(before, after):
    return {n: (after[n][0] - before[n][0], after[n][1] - before[n][1]) for n in after if n in before}


# --- lines ------------------------------------------------------------------------------------------------------------

class Report:
    """Prints a line a figure and counts the aims that were missed."""

    def __init__(self):
        self.missed = []

    def head(self, text):
        print("\n" + text, flush=True)

    def note(self, text):
        print("  " + text, flush=True)

    def figure(self, name, values, unit, aim=None, at_least=False, fmt="%.1f", beside=""):
        """values: one a round. aim: what the median must not exceed, or must reach."""
        med = statistics.median(values)
        spread = "" if len(values) < 2 else "  (%s .. %s, %d rounds)" % (fmt % min(values), fmt % max(values), len(values))
        line = "%-34s %9s %-6s%-32s" % (name, fmt % med, unit, spread)
        if aim is not None:
            met = med >= aim if at_least else med <= aim
            line += "  aim %s %g: %s" % (">=" if at_least else "<=", aim, "met" if met else "MISSED")
            if not met:
                self.missed.append("%s: %s %s" % (name, fmt % med, unit))
        print("  " + (line + "  " + beside).rstrip(), flush=True)
        return med
