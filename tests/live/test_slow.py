# SPDX-License-Identifier: BSD-2-Clause
"""A slow tick says what made it slow: the right part, the right call with its file or peer, the right functions on the stack."""
import os
import re
import socket
import subprocess

from harness import LOOPERS, PYTHON, READY, cases, free_port, require_program, require_python_module
from test_ticks import TickTest

THRESHOLD_MS = 50
TICK_MS = 100
IN_PROGRESS_S = 0.2  # after the threshold

BLOCKER = """
import asyncio, os, sys, time
def on_sleep():
    time.sleep(0.1)
    loop.call_later(0.05, on_sleep)
loop = asyncio.new_event_loop()
loop.call_soon(on_sleep)
loop.call_later(0.3, print, "ready", os.getpid())
sys.stdout.reconfigure(line_buffering=True)
loop.run_forever()
"""

# A client of a database that blocks, called from a loop that must not: with a timeout, it polls its socket.
CLIENT = """
import asyncio, os, sys, redis
client = redis.Redis(port=%d, socket_timeout=5)
client.ping()
def on_query():
    client.blpop("none", 0.1)
    loop.call_later(0.05, on_query)
loop = asyncio.new_event_loop()
loop.call_soon(on_query)
loop.call_later(0.3, print, "ready", os.getpid())
sys.stdout.reconfigure(line_buffering=True)
loop.run_forever()
"""

# The function is hot: only then it is compiled, and has a place of its own in the map.
PARSER = """
const text = JSON.stringify(Array.from({length: 20}, (_, i) => ({i, name: 'entry ' + i, list: [i, i + 1, i + 2]})));
function parseOne(text) { return JSON.parse(text).length; }
function parseTheReport(until) {
  let n = 0;
  while (performance.now() < until) n += parseOne(text);
  return n;
}
setInterval(() => parseTheReport(performance.now() + 100), 250);
setTimeout(() => console.log('ready', process.pid), 600);
"""


class SlowTest(TickTest):
    def slow_ticks(self, observer, pid, in_progress=False):
        return [(at, o) for at, o in observer.objects() if o.get("type") == "slow_tick" and o["pid"] == pid and
                o["in_progress"] == in_progress]

    def until_slow(self, observer, pid, n, timeout=20):
        """The first n slow ticks that ended."""
        observer.wait_for(lambda o: len(self.slow_ticks(o, pid)) >= n, timeout, "%d slow ticks" % n)
        ticks = [o for _, o in self.slow_ticks(observer, pid)][:n]
        for t in ticks:
            self.check_slow(t)
        return ticks

    def check_slow(self, t):
        """What holds for each."""
        parts = t["parts_us"]
        self.assertGreaterEqual(t["duration_us"], THRESHOLD_MS * 1e3)
        self.assertAlmostEqual(parts["cpu"] + parts["blocked"] + parts["wait"], t["duration_us"], delta=1, msg="the exact split")
        self.assertLessEqual(parts["throttled"], parts["wait"])
        causes = [c["us"] for c in t["causes"]]
        self.assertEqual(causes, sorted(causes, reverse=True), "largest first")
        self.assertAlmostEqual(sum(causes), t["duration_us"], delta=0.01 * t["duration_us"], msg="the causes are all of it")

    def slow_of(self, kind, *args, n=2, ready=READY, **how):
        program = self.ticker("-k", kind, "-p", "200ms", "-b", "%dms" % TICK_MS, "-d", "20s", *args, ready=ready, **how)
        observer = self.attached(program.pid, "-i", "60s", "-o", "json")
        self.go(program)
        ticks = self.until_slow(observer, program.pid, n)
        self.end(observer)
        program.kill()
        return ticks

    def find(self, tick, kind, what=""):
        found = [c for c in tick["causes"] if c["kind"] == kind and re.search(what, c["what"] or "")]
        self.assertTrue(found, "a cause %s %s in %r" % (kind, what, tick["causes"]))
        return found[0]


class Computed(SlowTest):
    def test_many_callbacks(self):
        """Ten callbacks of 10 ms: one tick, ten events."""
        for t in self.slow_of("many"):
            self.note("%.1f ms, %s events" % (t["duration_us"] / 1e3, t["events"]))
            self.assertGreaterEqual(t["events"], 10)
            self.assertGreaterEqual(t["duration_us"], TICK_MS * 1e3)

    def test_function(self):
        for t in self.slow_of("busy"):
            c = self.find(t, "cpu")
            self.note("%.1f ms of CPU, of it %.1f ms in %s" % (t["parts_us"]["cpu"] / 1e3, c["us"] / 1e3, " < ".join(c["stack"])))
            self.assertEqual(c["stack"][:2], ["burn_here", "on_busy"])
            self.assertIn("main", c["stack"])
            self.assertFalse(c["stack_incomplete"])
            self.assertGreater(c["us"], 0.8 * t["parts_us"]["cpu"])

    def test_node_function(self):
        """JIT code has its name by way of the map that Node writes."""
        node = self.start([require_program("node"), "--perf-basic-prof", "-e", PARSER], READY)
        self.addCleanup(lambda: os.path.exists("/tmp/perf-%d.map" % node.pid) and os.unlink("/tmp/perf-%d.map" % node.pid))
        observer = self.attached(node.pid, "-i", "60s", "-o", "json")
        ticks = self.until_slow(observer, node.pid, 2)
        self.end(observer)
        for t in ticks:
            frames = [f for c in t["causes"] if c["kind"] == "cpu" for f in c["stack"] or ()]
            self.assertTrue([f for f in frames if "parseTheReport" in f], "parseTheReport in %r" % set(frames))
        self.note(next(f for f in frames if "parseTheReport" in f))


class Waited(SlowTest):
    def test_hog(self):
        """Preempted by one that has a real-time priority and logs when: the cause is waiting, and it is named."""
        program = self.ticker("-k", "busy", "-p", "400ms", "-b", "150ms", "-d", "30s", cpus={0})
        hog = self.ticker("-k", "busy", "-p", "350ms", "-b", "150ms", "-d", "30s", cpus={0})
        self.alone(hog)
        observer = self.attached(program.pid, "-i", "60s", "-o", "json")
        self.go(hog)
        self.go(program)
        ticks = self.until_slow(observer, program.pid, 5)
        self.end(observer)
        hog_runs = [(at / 1e3, (at + ns) / 1e3) for at, ns in hog.truth()["log"] if ns > 1e8]
        preempted = 0
        for t in ticks:
            begin, end = t["start_ns"] / 1e3, t["start_ns"] / 1e3 + t["duration_us"]
            had = sum(max(0, min(end, b) - max(begin, a)) for a, b in hog_runs)
            named = sum(c["us"] for c in t["causes"] if c["kind"] == "wait" and c["what"] == "ticker (pid %d)" % hog.pid)
            self.note("%.1f ms: waited %.1f ms, named %.1f, the hog had the CPU for %.1f" % (
                t["duration_us"] / 1e3, t["parts_us"]["wait"] / 1e3, named / 1e3, had / 1e3))
            self.assertGreaterEqual(t["parts_us"]["wait"], had - 1e3)
            self.assertGreaterEqual(named, 0.9 * had - 1e3)
            preempted += had > 50e3
        self.assertTrue(preempted, "the hog took the CPU from one of the ticks")


# The call as it is shown, and the frames on top: libc's own, and the nearest caller that frame pointers can tell.
BLOCKED = {
    "sleep": (r"^clock_nanosleep$", "clock_nanosleep", "on_sleep"),
    "fsync": (r"^fsync\(.*/ticker\.data\)$", "fsync", "on_fsync"),
    "flock": (r"^flock\(.*/ticker\.data\)$", "flock", "on_flock"),
    "futex": (r"^futex\(0x[0-9a-f]+\)$", "syscall", "on_futex"),
    "read": (r"^read\(tcp 127\.0\.0\.1:%d\)$", "read", "on_read"),
    "poll": (r"^poll\(1 fd: tcp 127\.0\.0\.1:%d\)$", "poll", "on_poll"),
}


class BlockedTest(SlowTest):
    def redis(self):
        port = free_port()
        self.start([require_program("redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
                   r"[Rr]eady to accept connections")
        return port

    def pattern(self, kind, args):
        what = BLOCKED[kind][0]
        if "%d" not in what:
            return what
        port = self.redis()
        args += ["-r", port]
        return what % port


@cases({kind: (kind,) for kind in BLOCKED})
class Blocked(BlockedTest):
    def check(self, kind):
        args = []
        what = self.pattern(kind, args)
        for t in self.slow_of(kind, *args):
            c = self.find(t, "syscall", what)
            self.note("%s %.1f ms: %s" % (c["what"], c["us"] / 1e3, " < ".join(c["stack"])))
            self.assertIn(BLOCKED[kind][1], c["stack"][0])
            self.assertEqual(c["stack"][1], BLOCKED[kind][2])
            self.assertFalse(c["stack_incomplete"])
            if kind != "fsync":  # how long that takes is the disk's to say, and redis may answer late
                self.assertEqual(t["causes"][0], c, "it is the largest")
                self.assertGreaterEqual(c["us"], 0.95 * min(t["duration_us"], TICK_MS * 1e3))

    def test_python_sleep(self):
        program = self.start([PYTHON, "-c", BLOCKER], READY)
        observer = self.attached(program.pid, "-i", "60s", "-o", "json")
        for t in self.until_slow(observer, program.pid, 2):
            self.assertEqual(t["runtime"], "asyncio")
            self.assertEqual(t["causes"][0]["what"], "clock_nanosleep")
            self.assertAlmostEqual(t["causes"][0]["us"], 1e5, delta=1e4)
        self.end(observer)


class Asked(BlockedTest):
    """Libraries that ask others: the call below is their own, and who has not answered is named."""

    def check_asked(self, tick, what, us):
        c = tick["causes"][0]
        self.note("%s %.1f ms: %s%s" % (c["what"], c["us"] / 1e3, " < ".join(c["stack"]), " ..." if c["stack_incomplete"] else ""))
        self.assertEqual(c["kind"], "syscall")
        self.assertRegex(c["what"], what)
        self.assertIn("poll", c["stack"][0])
        self.assertGreaterEqual(c["us"], us)
        return c["what"]

    def test_getaddrinfo(self):
        """The C library's own resolver, whose name server never answers. When the tick is over its socket is closed."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("127.0.0.1", 0))
            port = server.getsockname()[1]
            for t in self.slow_of("resolve", "-r", port):
                self.check_asked(t, r"^poll\(1 fd: udp 127\.0\.0\.1:%d\)$" % port, 0.95e6)
            self.assertGreater(len(server.recv(512)), 12, "it was asked")

    def test_redis_client(self):
        require_python_module("redis")
        port = self.redis()
        program = self.start([PYTHON, "-c", CLIENT % port], READY)
        observer = self.attached(program.pid, "-i", "60s", "-o", "json")
        ticks = self.until_slow(observer, program.pid, 2)
        self.end(observer)
        for t in ticks:
            self.assertEqual(t["runtime"], "asyncio")  # told before the first interval, and mostly found in the client's poll
            self.check_asked(t, r"^poll\(1 fd: tcp 127\.0\.0\.1:%d\)$" % port, 0.095e6)


class Stripped(BlockedTest):
    def test_module_and_offset(self):
        """Without symbols: the module and an offset in it, never garbage."""
        bare = os.path.join(self.tmp, "bare-ticker")
        subprocess.run([require_program("strip"), "-o", bare, os.path.join(LOOPERS, "ticker")], check=True)
        program = self.start([bare, "-k", "flock", "-p", "200ms", "-d", "20s"], READY, stdin=subprocess.PIPE)
        observer = self.attached(program.pid, "-i", "60s", "-o", "json")
        self.go(program)
        for t in self.until_slow(observer, program.pid, 2):
            stack = self.find(t, "syscall", "^flock")["stack"]
            self.note(" < ".join(stack))
            self.assertEqual(stack[0], "flock")
            self.assertRegex(stack[1], r"^bare-ticker\+0x[0-9a-f]+$")
            for frame in stack:
                self.assertRegex(frame, r"^(bare-ticker\+0x[0-9a-f]+|[A-Za-z0-9_.@]+|lib[A-Za-z0-9_.+-]+\+0x[0-9a-f]+)$")
        self.end(observer)


STALLS = {"1.5s": ("1500ms", 1.5), "4s": ("4s", 4)}
if os.environ.get("SOAK"):
    STALLS["10s"] = ("10s", 10)


@cases(STALLS)
class Stalled(SlowTest):
    def check(self, length, seconds):
        """A stall is told while it lasts, and again at its end."""
        program = self.ticker("-k", "sleep", "-b", length, "-p", "300ms", "-d", "20s")
        observer = self.attached(program.pid, "-i", "60s", "-o", "json", "--slow", "%dms" % THRESHOLD_MS)
        self.go(program)
        ended = self.until_slow(observer, program.pid, 1, timeout=seconds + 10)[0]
        told = [(at, o) for at, o in self.slow_ticks(observer, program.pid, in_progress=True) if o["start_ns"] == ended["start_ns"]]
        self.end(observer)
        self.assertTrue(told, "it was reported in progress")
        at, first = told[0]
        late = at - first["start_ns"] / 1e9 - THRESHOLD_MS / 1e3
        self.note("told %.0f ms after the threshold, %d times in %s" % (late * 1e3, len(told), length))
        self.assertLess(late, IN_PROGRESS_S)
        self.assertLess(first["duration_us"], seconds * 1e6)
        self.assertEqual(first["causes"][0]["what"], "clock_nanosleep", "in progress: %r" % first)
        self.assertEqual(first["causes"][0]["stack"][1], "on_sleep")
        self.assertGreaterEqual(ended["duration_us"], seconds * 1e6)
        self.assertEqual(ended["causes"][0]["what"], "clock_nanosleep", "at its end: %r" % ended)
