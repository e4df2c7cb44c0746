# SPDX-License-Identifier: BSD-2-Clause
"""What the live tests share: programs that clean up after themselves, the observer, witnesses, requirements.

Times are seconds; points in time are of CLOCK_MONOTONIC, because the wall clock may be slewed or set while a test runs (a
slew of 0.5 % has been seen): a record's "ts" is turned into it at its arrival. Nothing waits in hope: a program is waited
for by a line that it prints, a condition by looking at it until a deadline. A test that cannot run here skips with its
reason. No test is tried twice. Files are made below the build directory only.
"""
import bisect
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.path.join(ROOT, os.environ.get("BUILD") or "build"))
LOOPSCOPE = os.path.join(BUILD, "loopscope")
LOOPERS = os.path.join(BUILD, "tests", "loopers")
SOURCES = os.path.join(ROOT, "tests", "loopers")
PYTHON = "/usr/bin/python3"  # the distribution's: it alone sees the packages that the tests install

READY = r"^ready (\d+)$"

# The modules that measure no shares of a CPU: what else the machine does meanwhile makes them slower, and nothing more. tests/run
# lets other parts run beside them.
CALM = frozenset("test_" + name for name in (
    "boards", "deploy", "errors", "export_boards", "export_native", "export_push", "firmware", "privilege", "record", "serial", "together", "traces"))


class Program:
    """A child process whose lines are read as they come. stop() or the test's end ends it, by its PID."""

    def __init__(self, argv, cpus=None, stdin=subprocess.DEVNULL, **popen):
        self.argv = [str(a) for a in argv]
        self.lines = []       # (unix seconds of arrival, monotonic seconds, text)
        self.errors = []
        self.changed = threading.Condition()
        self.started = time.monotonic()
        pin = popen.pop("preexec_fn", None)
        if cpus is not None:
            pin = lambda: os.sched_setaffinity(0, cpus)  # noqa: E731
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        self.process = subprocess.Popen(self.argv, stdin=stdin, preexec_fn=pin, **popen)
        self.pid = self.process.pid
        self.readers = []
        for stream, take in ((self.process.stdout, self._take_line), (self.process.stderr, self._take_error)):
            if stream is not None:
                reader = threading.Thread(target=self._read, args=(stream, take), daemon=True)
                reader.start()
                self.readers.append(reader)

    def _read(self, stream, take):
        with stream:
            for raw in stream:
                take(raw.decode("utf-8", "replace").rstrip("\n"))
        with self.changed:
            self.changed.notify_all()

    def _take_line(self, text):
        with self.changed:
            self.lines.append((time.time(), time.monotonic(), text))
            self.changed.notify_all()

    def _take_error(self, text):
        with self.changed:
            self.errors.append(text)
            self.changed.notify_all()

    def wait_for(self, condition, timeout, what):
        """condition(self) is looked at after every line; returns what it returned."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while True:
                result = condition(self)
                if result:
                    return result
                over = not any(r.is_alive() for r in self.readers)
                left = deadline - time.monotonic()
                if over or left <= 0:
                    raise AssertionError("%s: %s %s; stdout ends %r, stderr ends %r" % (
                        " ".join(self.argv), "ended without" if over else "took too long for", what,
                        [l[2][:200] for l in self.lines[-3:]], self.errors[-3:]))
                self.changed.wait(min(left, 0.5))

    def wait_line(self, pattern=READY, timeout=20):
        def matching(program):
            for line in [l[2] for l in program.lines] + program.errors:
                found = re.search(pattern, line)
                if found:
                    return found
            return None
        return self.wait_for(matching, timeout, "a line like %r" % pattern)

    def wait_exit(self, timeout):
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s did not end within %gs; it has said %r and %r, and is in %s" % (
                " ".join(self.argv), timeout, self.lines[-2:], self.errors, self._whereabouts())) from None
        for reader in self.readers:
            reader.join(10)
        return status

    def _whereabouts(self):
        """Where in the kernel its threads are."""
        where = []
        for path in glob.glob("/proc/%d/task/*/wchan" % self.pid):
            with contextlib.suppress(OSError), open(path, encoding="ascii") as f:
                where.append(f.read() or "running")
        return where

    def stop(self, signo=signal.SIGTERM, timeout=10):
        if self.process.poll() is None:
            self.process.send_signal(signo)
        return self.wait_exit(timeout)

    def truth(self):
        """Ends a looper and returns what it says of itself."""
        status = self.stop()
        if status != 0 or not self.lines or not self.lines[-1][2].startswith("{"):
            raise AssertionError("%s left no truth: status %d, stderr %r" % (self.argv, status, self.errors[-3:]))
        return json.loads(self.lines[-1][2])

    def kill(self):
        """Ends the program for certain, with what it started: a server whose master is killed leaves its workers."""
        started = descendants_of(self.pid) if self.process.poll() is None else []
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(2)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pid, begun in started:
            if start_time(pid) == begun:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for reader in self.readers:
            reader.join(5)


class Observer(Program):
    """loopscope itself, with its NDJSON parsed. A line that is no JSON object fails the test that asks for it."""

    def objects(self):
        """[(monotonic seconds of arrival, object)]; a loop record's end in monotonic seconds is added as "end"."""
        found = []
        for unix, mono, text in self.lines:
            o = json.loads(text)
            if "ts" in o:
                o["end"] = mono - (unix - o["ts"])
            found.append((mono, o))
        return found

    def loops(self, pid=None, tid=None):
        return [o for _, o in self.objects() if o.get("type") == "loop" and
                (pid is None or o["pid"] == pid) and (tid is None or o["tid"] == tid)]

    def first_loop_after(self, pid):
        """Seconds from the observer's start until the first record of this process came."""
        for mono, o in self.objects():
            if o.get("type") == "loop" and o["pid"] == pid:
                return mono - self.started
        return None


class Witness:
    """What the scheduler says of a thread between any two points in time (see tests/loopers/witness.c)."""

    def __init__(self, program):
        self.program = program
        self.series = {}

    def finish(self):
        self.program.stop(timeout=30)
        for _, _, text in self.program.lines:
            if text.startswith("ready"):
                continue
            tid, at, cpu, runq = (int(n) for n in text.split())
            times, cpus, runqs = self.series.setdefault(tid, ([], [], []))
            times.append(at / 1e9)
            cpus.append(cpu / 1e9)
            runqs.append(runq / 1e9)
        return self

    def shares(self, tid, begin, end):
        """(on CPU, waiting for a CPU) as shares of [begin, end]."""
        times, cpus, runqs = self.series[tid]
        if begin < times[0] - 0.01 or end > times[-1] + 0.01:
            raise AssertionError("the witness saw %.3f to %.3f, not all of %.3f to %.3f" % (
                times[0], times[-1], begin, end))
        return tuple(grown(times, column, begin, end) / (end - begin) for column in (cpus, runqs))

    def record_shares(self, record):
        return self.shares(record["tid"], *span(record))

    def taken_share(self, record):
        """What the hypervisor and interrupts had of the machine meanwhile, as a share of one CPU: schedstat leaves it out."""
        return self.shares(0, *span(record))[0]


class CpuQuota:
    """A CPU cgroup of its own with a CFS quota, in the first hierarchy (v2 or v1) that has a cpu controller. Its statistics
    are sampled from begin to end."""

    def __init__(self, quota, period):
        self.quota, self.period = int(quota * 1e6), int(period * 1e6)
        self.path = self.is_v2 = None
        self.over = threading.Event()
        self.times, self.throttled, self.periods = [], [], 0
        self.sampler = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self):
        self.is_v2, parent = self._hierarchy()
        self.path = os.path.join(parent, "loopscope-test-%d" % os.getpid())
        try:
            os.mkdir(self.path)
            if self.is_v2:
                self._write("cpu.max", "%d %d" % (self.quota, self.period))
                self._write("cpu.weight", 10000)  # nothing but the quota is to hold it back
            else:
                self._write("cpu.shares", 262144)
                self._write("cpu.cfs_period_us", self.period)
                self._write("cpu.cfs_quota_us", self.quota)
        except OSError as e:
            self.__exit__()
            raise unittest.SkipTest("no CPU quota can be set here: %s" % e) from e
        self.sampler.start()
        return self

    def __exit__(self, *exc):
        self.over.set()
        if self.sampler.is_alive():
            self.sampler.join()
        with contextlib.suppress(OSError):
            os.rmdir(self.path)

    @staticmethod
    def _hierarchy():
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            mounts = [line.split(" - ") for line in f]
        for mount, rest in mounts:
            where, (kind, _, options) = mount.split()[4], rest.split()[:3]
            if kind == "cgroup" and "cpu" in options.split(","):
                return False, where
            if kind == "cgroup2":
                with open(os.path.join(where, "cgroup.controllers"), encoding="utf-8") as f:
                    if "cpu" not in f.read().split():
                        continue
                with open(os.path.join(where, "cgroup.subtree_control"), "r+", encoding="utf-8") as f:
                    if "cpu" not in f.read().split():
                        f.write("+cpu")
                return True, where
        raise unittest.SkipTest("no cgroup hierarchy with a cpu controller is mounted")

    def _write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as f:
            f.write(str(value))

    def add(self, pid):
        self._write("cgroup.procs", pid)

    def _sample(self):
        while not self.over.wait(0.002):
            with open(os.path.join(self.path, "cpu.stat"), encoding="utf-8") as f:
                stat = dict(line.split() for line in f)
            self.times.append(time.monotonic())
            self.throttled.append(int(stat["throttled_usec"]) / 1e6 if self.is_v2 else int(stat["throttled_time"]) / 1e9)
            self.periods = int(stat["nr_throttled"])

    def throttled_share(self, begin, end):
        """Of [begin, end], for a group of one thread."""
        return grown(self.times, self.throttled, begin, end) / (end - begin)


def grown(times, sums, begin, end):
    """How much of a sum of seconds belongs to [begin, end]. A wait is added to such a sum when it is over, so a step of d
    seen at t stands for the stretch from t - d to t."""
    total = 0.0
    for i in range(1, len(times)):
        step = sums[i] - sums[i - 1]
        if step > 0:
            total += max(0.0, min(times[i], end) - max(times[i] - step, begin))
    return total


def interpolate(times, values, at):
    i = bisect.bisect_right(times, at)
    if i == 0:
        return values[0]
    if i == len(times):
        return values[-1]
    part = (at - times[i - 1]) / (times[i] - times[i - 1])
    return values[i - 1] + part * (values[i] - values[i - 1])


def span(record):
    """The points in time between which a record counts."""
    return record["end"] - record["interval_s"], record["end"]


def blocked_truth(truth, begin, end):
    """Share of [begin, end] that a blocker slept in its callbacks, by its own log."""
    slept = 0.0
    for start, stop, cpu, runq in truth.get("blocks", ()):
        inside = min(stop, end) - max(start, begin)
        if inside > 0:
            slept += (stop - start - cpu - runq) * inside / (stop - start)
    return slept / (end - begin)


def on_cpu(record):
    """io_cpu is null where a source cannot tell it from tick_cpu, which then holds both."""
    return (record["parts"]["io_cpu"] or 0) + record["parts"]["tick_cpu"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(condition, timeout, what):
    """Looks until condition() is true. For states of the system that nothing announces."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError("%s: not within %gs" % (what, timeout))
        time.sleep(0.01)


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as f:
        return [int(p) for p in f.read().split()]


def stat_fields(pid):
    """/proc/PID/stat from the state on: state is [0], the start time [19]. None for a process that is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def start_time(pid):
    fields = stat_fields(pid)
    return fields and fields[19]


def descendants_of(pid):
    """[(pid, start time)]: a PID alone may be another process's by the time it is used."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for child in children_of(pid):
            found += [(child, start_time(child)), *descendants_of(child)]
    return found


def cpu_seconds(pid):
    """CPU time of a process so far."""
    fields = stat_fields(pid)
    if fields is None:
        raise AssertionError("process %d is gone" % pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until_working(pid, seconds=0.1, timeout=20):
    """A server under load has said nothing for itself: it works when it uses CPU time."""
    begin = cpu_seconds(pid)
    until(lambda: cpu_seconds(pid) - begin >= seconds, timeout, "process %d gets work" % pid)


def require_program(name):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin")
    if not found:
        raise unittest.SkipTest("%s is not installed" % name)
    return found


def require_python_module(name):
    if subprocess.run([PYTHON, "-c", "import " + name], stderr=subprocess.DEVNULL, check=False).returncode:
        raise unittest.SkipTest("%s has no module %s" % (PYTHON, name))


def cases(table):
    """Class decorator: makes test_NAME(self) of check(self, *arguments) for every NAME: arguments of the table."""
    def decorate(cls):
        for name, arguments in table.items():
            def method(self, arguments=arguments):
                self.check(*arguments)
            setattr(cls, "test_" + name, method)
        return cls
    return decorate


class AheadOfOthers:
    """While it is entered, this process and what it starts get most of the CPU that somebody else wants, too: among the
    tests' own programs nothing changes. A session's processes share by the session's own niceness where the kernel has
    autogroups (sched(7)), so that is set as well, and set back."""

    NICE = -15
    AUTOGROUP = "/proc/self/autogroup"

    def __enter__(self):
        self.nice = os.getpriority(os.PRIO_PROCESS, 0)
        self.session_nice = None
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, self.NICE)
            with open(self.AUTOGROUP, encoding="ascii") as f:
                said = f.read().split()
            if said:  # empty for what never was in a session of its own: there is no niceness but the process's then
                self.session_nice = said[-1]
                self._set_session(self.NICE)
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, self.nice)
            if self.session_nice is not None:
                self._set_session(self.session_nice)

    def _set_session(self, nice):
        with open(self.AUTOGROUP, "w", encoding="ascii") as f:
            f.write(str(nice))


class LiveTest(unittest.TestCase):
    """Every live test needs root, BTF and the built programs; it starts things through the methods here."""

    longMessage = True

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root")
        if not os.path.exists("/sys/kernel/btf/vmlinux"):
            raise unittest.SkipTest("this kernel has no BTF")
        for path in (LOOPSCOPE, os.path.join(LOOPERS, "poll")):
            if not os.access(path, os.X_OK):
                raise AssertionError("%s is not built: run make all loopers" % path)
        cls._stack = contextlib.ExitStack()
        cls.addClassCleanup(cls._stack.close)
        if cls.__module__ not in CALM:
            cls._stack.enter_context(AheadOfOthers())
        cls.tmp = tempfile.mkdtemp(prefix="live-", dir=os.path.join(BUILD, "tests"))
        cls._stack.callback(shutil.rmtree, cls.tmp, ignore_errors=True)

    def setUp(self):
        self.notes = []

    def note(self, text):
        """A figure worth seeing also when the test passes."""
        self.notes.append(text)

    # Programs: the class methods are for setUpClass, and end with the class.
    @staticmethod
    def _start(add_cleanup, cls, argv, ready=None, kind=Program, **how):
        how.setdefault("cwd", cls.tmp)
        program = kind(argv, **how)
        add_cleanup(program.kill)
        if ready:
            program.wait_line(ready)
        return program

    def start(self, argv, ready=None, **how):
        return self._start(self.addCleanup, type(self), argv, ready, **how)

    @classmethod
    def class_start(cls, argv, ready=None, **how):
        return cls._start(cls.addClassCleanup, cls, argv, ready, **how)

    def looper(self, name, *args, **how):
        return self.start([os.path.join(LOOPERS, name), *args], READY, **how)

    def looper_as(self, comm, name, *args, **how):
        """Under a name of its own, where other tests may run the same looper meanwhile."""
        link = os.path.join(self.tmp, comm)
        os.symlink(os.path.join(LOOPERS, name), link)
        return self.start([link, *args], READY, **how)

    def asyncio(self, period, work, loop="asyncio", **how):
        return self.start([PYTHON, os.path.join(SOURCES, "openloop.py"), "--loop", loop, "-p", period, "-w", work],
                          READY, **how)

    def node(self, period, work, **how):
        """Seconds, as everywhere here."""
        return self.start([require_program("node"), os.path.join(SOURCES, "openloop.js"), period * 1e3, work * 1e3],
                          READY, **how)

    def hogs(self, n, **how):
        """Returns the names under which they burn."""
        names = ["hog-%d" % i for i in range(1, n + 1)]
        for name in names:
            self.looper("hog", "-n", name, **how)
        return names

    def require_mounts(self):
        """A mount namespace in which the test can mount what nobody else sees."""
        done = subprocess.run([require_program("unshare"), "-m", "true"], capture_output=True, text=True, check=False)
        if done.returncode:
            self.skipTest("no file system can be mounted here: %s" % done.stderr.strip())

    def alone(self, program):
        """From now on no ordinary process can take the CPU from the program: the nearest to a machine of its own."""
        self._schedule(program, os.SCHED_FIFO, 1)

    def no_longer_alone(self, program):
        self._schedule(program, os.SCHED_OTHER, 0)

    @staticmethod
    def _schedule(program, policy, priority):
        for tid in os.listdir("/proc/%d/task" % program.pid):
            try:
                os.sched_setscheduler(int(tid), policy, os.sched_param(priority))
            except ProcessLookupError:
                pass  # a thread that has ended
            except PermissionError as e:
                raise unittest.SkipTest("no real-time priority can be had here: %s" % e) from e

    def witness(self, *pid_tids):
        return Witness(self.looper("witness", *["%d/%d" % p for p in pid_tids]))

    def observe(self, *args, **how):
        """Starts loopscope; the caller waits."""
        return self.start([LOOPSCOPE, *args], kind=Observer, **how)

    def watch(self, pid, interval, count):
        """attach for count intervals, to the end: the records of the main thread."""
        observer = self.observe("attach", "-p", pid, "-i", "%gs" % interval, "-c", count, "-o", "json")
        return self.watched(observer, pid, interval, count)

    def watched(self, observer, pid, interval, count):
        status = observer.wait_exit(interval * count + 15)
        self.assertEqual(status, 0, "attach: %s" % observer.errors)
        records = observer.loops(pid, pid)
        self.assertEqual(len(records), count, "one record an interval; stderr %r" % observer.errors)
        for record in records:
            self.check_record(record)
        return records

    # What holds for every record.
    def check_record(self, r):
        self.assertEqual(r["v"], 1)
        self.assertEqual(r["source"], "kernel")
        for key in ("ts", "interval_s", "pid", "tid", "nspid", "comm", "thread", "cgroup", "runtime", "wait_point", "load",
                    "busy", "wait", "idle", "spin", "naive_load", "parts", "io_waits", "ticks", "tick_us", "io_us",
                    "blocked_by", "waited_for", "lost", "observer_cost"):
            self.assertIn(key, r)
        p = r["parts"]
        for key in ("io_cpu", "tick_cpu", "tick_blocked", "wait_io", "wait_tick", "throttled"):
            self.assertIn(key, p)
        self.assertAlmostEqual(r["busy"] + r["wait"] + r["idle"], 1, delta=1e-6)
        self.assertAlmostEqual(r["busy"] + r["wait"], r["load"], delta=1e-6)
        self.assertAlmostEqual(on_cpu(r) + p["tick_blocked"], r["busy"], delta=1e-6)
        self.assertAlmostEqual(p["wait_io"] + p["wait_tick"], r["wait"], delta=1e-6)
        self.assertAlmostEqual(on_cpu(r) + p["tick_blocked"] + p["wait_io"] + p["wait_tick"] + r["idle"], 1, delta=1e-6)
        self.assertLessEqual(p["throttled"] or 0, r["wait"] + 1e-6)
        for share in (r["load"], r["busy"], r["wait"], r["idle"], *(v for v in p.values() if v is not None)):
            self.assertGreaterEqual(share, 0)
            self.assertLessEqual(share, 1 + 1e-6)
        for entry in r["blocked_by"] + r["waited_for"]:
            self.assertGreaterEqual(entry["share"], 0)
        self.assertLessEqual(sum(e["share"] for e in r["blocked_by"]), p["tick_blocked"] + 1e-5)  # each rounded by itself
        self.assertLessEqual(sum(e["share"] for e in r["waited_for"]), r["wait"] + 1e-5)
        self.assertGreaterEqual(r["lost"], 0)
        if r["lost"]:
            # some kernels leave out a scheduler event now and then: it must be said, and the figures hold nonetheless
            self.note("the record says that %d events contradict each other" % r["lost"])
