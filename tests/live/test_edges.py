# SPDX-License-Identifier: BSD-2-Clause
"""Edges of every kind: the same counts, within the budget, and nothing that a target would notice."""
import bisect
import collections
import os
import random
import re
import signal
import socket
import statistics
import struct
import subprocess
import time

from harness import LOOPERS, READY, SOURCES, LiveTest, cases, children_of, free_port, require_program, span, until
from programs import REAL
from test_ticks import TickTest

MEAN_TICK = 0.05
WAY = 0.15  # of a short tick: from the wait's return in the kernel to the program's own clock, and back; cold caches slow down both
LIGHT = 500  # requests
BARE_US = 3  # after an empty poll, shorter ticks are none
GONE = 0.1  # of what a wait paid for its edges, once they are let go; `make bench` has the exact figures
LET_GO_S = 1.0
CLOSED_S = 2.0  # until then the kernel, closing one probe after the other, still takes its slow path
# The kernel takes a grace period for each tracepoint that it lets go, one after the other: up to seconds while its CPUs are busy.
ATTACHES = {"sched": 8, "tracepoint": 3, "uprobe": 3}
SOAK = int(os.environ.get("SOAK") or 0)  # `make soak`: so many rounds of each kind
KILLS = SOAK // 4 if SOAK else 10
KINDS = ("tracepoint", "uprobe", "sched")
DETACHED_S = 90

Truth = collections.namedtuple("Truth", "calls ticks tick_ns tid")


class Counted(TickTest):
    """Real programs whose waits are counted by a preloaded library, under a load that has an end."""

    def preloaded(self):
        self.counts = os.path.join(self.tmp, "%s.counts" % self.id())
        return dict(os.environ, LD_PRELOAD=os.path.join(LOOPERS, "count_waits.so"), COUNT_WAITS=self.counts)

    def count(self):
        with open(self.counts, "rb") as f:
            return Truth(*struct.unpack("4Q", f.read(32)))

    def logged(self):
        """The first ticks by the program's own clock: (from, to)"""
        with open(self.counts, "rb") as f:
            ticks = struct.unpack("4Q", f.read(32))[1]
            return list(struct.iter_unpack("2Q", f.read(16 * ticks)))

    def redis(self):
        path = os.path.join(self.tmp, "edges.sock")
        redis = self.start([require_program("redis-server"), "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no"],
                           r"[Rr]eady to accept connections", env=self.preloaded())
        return redis.pid, [require_program("redis-benchmark"), "-s", path, "-c", "4", "-t", "set", "-n"]

    def nginx(self):
        port, path = free_port(), os.path.join(self.tmp, "edges.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write("daemon off; worker_processes 1; pid edges.pid; error_log stderr notice; env COUNT_WAITS;\n"
                    "events { worker_connections 64; }\n"
                    "http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;\n"
                    "  uwsgi_temp_path t4; scgi_temp_path t5; server { listen 127.0.0.1:%d; location / { return 200 'x'; } } }\n" % port)
        nginx = self.start([require_program("nginx"), "-p", self.tmp, "-e", "stderr", "-c", path], r"start worker process \d+",
                           env=self.preloaded())
        worker = until(lambda: children_of(nginx.pid), 5, "nginx has a worker")[0]
        return worker, [require_program("wrk"), "-t1", "-c4", "http://127.0.0.1:%d/" % port, "-d"]

    def measure(self, pid, load, edges, *more):
        """(record, what the program counted while it was attached)"""
        observer = self.attached(pid, "-i", "60s", "-o", "json", "--edges", edges, "--budget", "100%", *more)
        begin, began = self.count(), time.monotonic()
        subprocess.run(load, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        end, took = self.count(), time.monotonic() - began
        self.end(observer)
        records = observer.loops(pid, pid)
        self.assertEqual(len(records), 1)
        r = records[0]
        self.assertEqual(r["edges"], edges)
        self.idle = max(0.0, r["interval_s"] - took)
        return r, Truth(end.calls - begin.calls, end.ticks - begin.ticks, end.tick_ns - begin.tick_ns, 0)


@cases({"redis_tracepoint": ("redis", "tracepoint", "20000"), "redis_uprobe": ("redis", "uprobe", "3000"),
        "nginx_tracepoint": ("nginx", "tracepoint", "1s"), "nginx_uprobe": ("nginx", "uprobe", "1s")})
class Counts(Counted):
    def check(self, program, edges, amount):
        pid, load = getattr(self, program)()
        r, truth = self.measure(pid, load + [amount], edges)
        # Before and after the load the loop ticks ten times a second, and the client comes and goes.
        slack = 4 + 20 * self.idle
        self.note("%d waits, counted %d; %d ticks, counted %d" % (r["io_waits"], truth.calls, r["ticks"], truth.ticks))
        self.assertGreater(truth.calls, 500)
        self.assertAlmostEqual(r["io_waits"], truth.calls, delta=slack)
        self.assertAlmostEqual(r["ticks"], truth.ticks, delta=slack)


class Libcs(TickTest):
    """Uprobes are on the C library's functions, wherever a program has those from."""

    def looper_of(self, name, compiler, *flags):
        path = os.path.join(self.tmp, name)
        sources = [os.path.join(SOURCES, f) for f in ("epoll_wait.c", "looper.c")]
        subprocess.run([require_program(compiler), "-std=gnu11", "-D_GNU_SOURCE", "-O2", *flags, "-o", path, *sources], check=True)
        return path

    def test_each_wait_once(self):
        """musl's epoll_wait goes through its epoll_pwait: that is one wait."""
        paths = [self.looper_of("glibc-static", "gcc", "-static"), self.looper_of("musl", "musl-gcc"),
                 self.looper_of("musl-static", "musl-gcc", "-static")]
        programs = [self.start([path, "-p", "10ms", "-w", "100us"], READY) for path in paths]
        observer = self.observe("attach", *(a for p in programs for a in ("-p", p.pid)), "-i", "1s", "-c", "2", "-o", "json",
                                "--edges", "uprobe", "--budget", "100%")
        self.assertEqual(observer.wait_exit(DETACHED_S), 0, observer.errors)
        for path, program in zip(paths, programs):
            r = observer.loops(program.pid, program.pid)[-1]
            missed = program.truth()["missed"]
            self.note("%s: %d waits, %d ticks in %.2f s" % (os.path.basename(path), r["io_waits"], r["ticks"], r["interval_s"]))
            self.assertEqual(r["edges"], "uprobe")
            self.assertAlmostEqual(r["io_waits"], r["interval_s"] / 0.01, delta=2 + missed)
            self.assertAlmostEqual(r["ticks"], r["io_waits"], delta=1)

    def test_none(self):
        """Linked statically, and stripped: nothing tells where its waits begin."""
        program = self.start([self.looper_of("bare", "gcc", "-static", "-s")], READY)
        observer = self.observe("attach", "-p", program.pid, "-c", "1", "--edges", "uprobe")
        self.assertEqual(observer.wait_exit(DETACHED_S), 3)
        self.assertEqual(len(observer.errors), 1)
        self.assertRegex(observer.errors[0], "no libc.*--edges auto")
        self.assertEqual(observer.lines, [])


class MeanTick(Counted):
    def test_redis_heavily_loaded(self):
        pid, load = self.redis()
        r, truth = self.measure(pid, load[:3] + ["-t", "set", "-c", "50", "-P", "16", "-n", "300000"], "tracepoint")
        parts = r["parts"]
        mean = (parts["tick_cpu"] + parts["tick_blocked"] + parts["wait_tick"]) * r["interval_s"] / r["ticks"] * 1e6
        want = truth.tick_ns / truth.ticks / 1e3
        self.note("mean tick %.2f us, the program's own clock %.2f" % (mean, want))
        self.assertAlmostEqual(mean, want, delta=MEAN_TICK * want)

    def test_redis_lightly_loaded(self):
        """A request a millisecond. A tick is all that lies between the program's own look at the clock after a wait and the one
        before the next, and the way from the kernel and back to it: no more."""
        pid, load = self.redis()
        observer = self.attached(pid, "-i", "60s", "-o", "json", "--events", "--edges", "tracepoint", "--budget", "100%")
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(load[2])
            for _ in range(LIGHT):
                s.sendall(b"PING\r\n")
                s.recv(16)
                time.sleep(0.001)
        self.end(observer)
        edges = [(o["type"], o["ns"]) for _, o in observer.objects() if o["type"] in ("tick_start", "tick_end") and o["tid"] == pid]
        ticks = [(a[1], b[1]) for a, b in zip(edges, edges[1:]) if (a[0], b[0]) == ("tick_start", "tick_end")]
        own = [(a, b) for a, b in self.logged() if a > ticks[0][0] and b < ticks[-1][1] and b - a > BARE_US * 1e3]
        around = [ticks[bisect.bisect(ticks, (a, b)) - 1] for a, b in own]
        beyond = [(end - start - (b - a)) / 1e3 for (start, end), (a, b) in zip(around, own) if start <= a and b <= end]
        self.assertGreater(len(beyond), 0.9 * LIGHT)
        self.assertLessEqual(len(own) - len(beyond), observer.loops(pid, pid)[0]["lost"], "edges that nobody saw are counted")
        tick, way = statistics.median((b - a) / 1e3 for a, b in own), statistics.median(beyond)
        self.note("%d ticks, half of them below %.2f us by the program's own clock; the way takes %.2f us" % (len(own), tick, way))
        self.assertLess(way, WAY * tick)


class Governor(TickTest):
    def test_spinner(self):
        """A polling loop has its edges let go, the record says so, and a wait costs what it did before."""
        program = self.ticker("-k", "spin", "-d", "9s")
        self.go(program)
        time.sleep(1.5)  # the reference: it spins alone
        observer = self.attached(program.pid, "-i", "500ms", "-c", "11", "-o", "json")
        observer.wait_exit(30)
        records = observer.loops(program.pid)
        program.wait_line("^done$", timeout=20)
        log = [(at / 1e9, ps / 1e3) for at, ps in program.truth()["log"]]
        let_go = [r["end"] for r in records if r["edges"] == "sched" and r["over_budget"]]
        self.assertTrue(let_go, "the record says it: %r" % [r["edges"] for r in records])
        self.note("edges %s" % [r["edges"] for r in records])
        self.assertLess(let_go[0] - span(records[0])[0], LET_GO_S + 0.5, "an interval after they were let go at the latest")
        alone = min(ns for at, ns in log if at < observer.started)
        watched = min(ns for at, ns in log if let_go[0] + CLOSED_S < at < records[-1]["end"])
        measured = max(ns for at, ns in log if observer.started < at < let_go[0] + CLOSED_S)
        self.note("%.0f ns a wait alone, %.0f with its edges, %.0f since they were let go" % (alone, measured, watched))
        self.assertGreater(measured, 1.2 * alone, "the edges cost something")
        self.assertLess(watched - alone, GONE * (measured - alone))


class Survival(LiveTest):
    """Redis, nginx, Node and asyncio at once, under load, observed and left again and again."""

    def targets(self):
        self.loads = []

        def start(argv, ready=None, **how):
            program = LiveTest.start(self, argv, ready, **how)
            if re.search("redis-benchmark|wrk", argv[0]):
                self.loads.append(program)
            self.programs.append(program)
            return program

        self.programs = []
        start.__self__ = self  # some look where their files may be
        return [REAL[name](start).pid for name in ("redis", "nginx", "node", "asyncio")]

    def check_unharmed(self):
        for program in self.programs:
            self.assertIsNone(program.process.poll(), "%s: %s" % (program.argv, program.errors[-3:]))
            self.assertFalse([e for e in program.errors if re.search(r"(?i)error|signal|core", e)], program.argv)
        for load in self.loads:
            if "wrk" in load.argv[0]:
                load.stop(signal.SIGINT)
                said = "\n".join(l[2] for l in load.lines)
                self.assertIn("Requests/sec", said)
                self.assertNotRegex(said, "Socket errors|Non-2xx")

    def arguments(self, pids, kind):
        return ["attach", *(a for p in pids for a in ("-p", p)), "-o", "json", "--edges", kind]


@cases({kind: ({kind: SOAK},) for kind in ATTACHES} if SOAK else {"every_kind": (ATTACHES,)})
class SurvivalAttached(Survival):
    def check(self, rounds):
        pids = self.targets()
        for kind, times in rounds.items():
            begun = time.monotonic()
            for _ in range(times):
                observer = self.observe(*self.arguments(pids, kind), "-d", "20ms")
                self.assertEqual(observer.wait_exit(DETACHED_S), 0, observer.errors)
            self.note("%s: %d times, %.2f s each" % (kind, times, (time.monotonic() - begun) / times))
        self.check_unharmed()


class SurvivalKilled(Survival):
    def test_observer_killed(self):
        pids = self.targets()
        chance = random.Random(SOAK)
        for i in range(KILLS):
            observer = self.observe(*self.arguments(pids, KINDS[i % len(KINDS)]), "-i", "50ms")
            time.sleep(chance.uniform(0, 0.8))  # any moment: while it starts, too
            observer.process.kill()
            observer.wait_exit(DETACHED_S)  # the kernel lets go of the same links, as slowly
            time.sleep(0.02)
        self.note("killed %d times" % KILLS)
        self.check_unharmed()
