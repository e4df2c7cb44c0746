# SPDX-License-Identifier: BSD-2-Clause
"""Redis 8 and Valkey 8 count and time their own cycles (INFO: eventloop_cycles, eventloop_duration_sum): ours are the same.

A count begins and ends within a tick that the test holds. Two commands that come in one write are run in one tick: INFO, which says n
when ticks 0 to n - 1 are over, and ACL LOAD, which opens a file. The file is a FIFO, so that the tick lasts until the test writes to
it. With the observer attached in tick a, which waited at last before it was, and stopped in tick b, which has not ended, exactly the
waits a + 1 to b and the ticks a + 1 to b - 1 are seen.

What they call a cycle begins at their look at the clock in afterSleep() and ends at the one in beforeSleep() (src/server.c, of redis
8.0.2 and valkey 8.1.1), in whole microseconds. The tick around it has besides: the way from the kernel, the copying of what epoll
returned, the bookkeeping of these figures, a look for the next timer, and the way back.
"""
import collections
import os
import shutil
import socket
import statistics
import subprocess
import time

import newer
from harness import cases, free_port, require_program, until
from test_phases import phases_of
from test_ticks import TickTest

MEAN_TICK = 0.05
SPARSE_RATE, SPARSE, SPARSE_BATCH = 40, 10, 1000  # batches a second, in a round, and commands in each: some 5 % of a CPU
SHORT_RATE, SHORT = 400, 50  # single requests a second, in a round: ticks of some 30 us
BATCH = 200  # commands that a client sends at once: no tick of a server that has them to run is short
ROUNDS = 5  # of each load, so that one moment at which the machine stands still decides nothing
RULE = "user default on nopass sanitize-payload ~* &* +@all\n"
OPENAT = "257"  # x86-64's, as is all that newer.py has

Cycles = collections.namedtuple("Cycles", "n us")


class Server:
    """Started in its own root, with one connection to it."""

    def __init__(self, test, name, *options):
        self.root, self.versions = newer.obtain()
        self.folder, inside = newer.folder(self.root)
        test.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.name, self.port = name, free_port()
        self.rules = os.path.join(self.folder, "rules")
        with open(self.rules, "w", encoding="ascii") as f:
            f.write(RULE)
        self.program = test.start([require_program("chroot"), self.root, "/usr/bin/%s-server" % name, "--bind", "127.0.0.1",
                                   "--port", self.port, "--save", "", "--appendonly", "no", "--aclfile", inside + "/rules",
                                   *options], r"[Rr]eady to accept connections", env=dict(os.environ, LC_ALL="C"))
        os.unlink(self.rules)
        os.mkfifo(self.rules)
        self.pid = self.program.pid
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        test.addCleanup(self.socket.close)
        self.answers = self.socket.makefile("rb")
        test.addCleanup(self.answers.close)

    def answer(self):
        head = self.answers.readline().rstrip(b"\r\n").decode()
        if head[:1] == "$":
            return self.answers.read(int(head[1:]) + 2).decode()
        if head[:1] != "+":
            raise AssertionError("%s says %r" % (self.name, head))
        return head[1:]

    def _cycles(self):
        said = dict(line.split(":", 1) for line in self.answer().splitlines() if ":" in line)
        return Cycles(int(said["eventloop_cycles"]), int(said["eventloop_duration_sum"]))

    def cycles(self):
        self.socket.sendall(b"INFO stats\r\n")
        return self._cycles()

    def ping(self):
        self.socket.sendall(b"PING\r\n")
        self.answer()

    def hold(self):
        """The tick in which it counts itself goes on until let_go(), which says what it counted."""
        self.socket.sendall(b"INFO stats\r\nACL LOAD\r\n")
        until(self._opens, 10, "%s opens its rules" % self.name)

    def _opens(self):
        with open("/proc/%d/syscall" % self.pid, encoding="ascii") as f:
            return f.read().split()[0] == OPENAT

    def let_go(self):
        with open(self.rules, "w", encoding="ascii") as f:
            f.write(RULE)
        counted = self._cycles()
        self.answer()
        return counted

    def light(self):
        for _ in range(SPARSE):
            self.socket.sendall(b"SET key value\r\n" * SPARSE_BATCH)
            for _ in range(SPARSE_BATCH):
                self.answer()
            time.sleep(1 / SPARSE_RATE)

    def short(self):
        for _ in range(SHORT):
            self.ping()
            time.sleep(1 / SHORT_RATE)

    def heavy(self):
        tool = os.path.join("/usr/bin", self.name + "-benchmark")
        subprocess.run(["chroot", self.root, tool, "-p", str(self.port), "-c", "50", "-P", str(BATCH), "-t", "set", "-n", "100000", "-q"],
                       check=True, stdout=subprocess.DEVNULL, timeout=20)


class Counted(TickTest):
    def observed(self, server, work, *args):
        """(the record, the cycles before and after, what work returned)"""
        server.hold()
        observer = self.attached(server.pid, "-i", "60s", "-o", "json", "--budget", "100%", *args)
        before = server.let_go()
        did = work()
        server.hold()
        self.end(observer)
        after = server.let_go()
        records = observer.loops(server.pid, server.pid)
        self.assertEqual(len(records), 1, "stderr %r" % observer.errors)
        r = records[0]
        self.assertEqual(r["runtime"], "redis")
        self.note("%s %s: %d waits, %d ticks by %s edges; %d cycles" % (
            server.name, server.versions[server.name + "-server"], r["io_waits"], r["ticks"], r["edges"], after.n - before.n))
        # The kernel leaves out a tracepoint's program now and then (bpf/account.h, acct_sleeps_at_home): each is told.
        self.assertAlmostEqual(r["io_waits"], after.n - before.n, delta=r["lost"])
        self.assertAlmostEqual(r["ticks"], after.n - before.n - 1, delta=r["lost"])
        return r, before, after, observer, did


@cases({"tracepoint": ("tracepoint",), "uprobe": ("uprobe",)})
class MeanTick(Counted):
    """The mean of the same ticks by both clocks. Ours is the longer one always, by what redis leaves out; with uprobes, also by their
    own time and, as the return of a wait is not seen, by the wait where it did not sleep. `../../bpf/README.md` has the figures: of a
    tick of one small request that is a large part, so that what is asserted is of such as have more to do, seldom and all the time."""

    def check(self, edges):
        server = Server(self, "redis")
        self.alone(server.program)

        def work():
            at = {server.short: [], server.light: [], server.heavy: []}
            for load, read in at.items():
                read.append(server.cycles())
                for _ in range(ROUNDS):
                    load()
                    read.append(server.cycles())
            return at

        r, before, _, observer, at = self.observed(server, work, "--events", "--edges", edges)
        self.assertEqual(r["edges"], edges)
        if r["lost"]:
            self.skipTest("the kernel left out %d of the events: which tick is which cycle is not known" % r["lost"])
        marks = [(o["type"], o["ns"]) for _, o in observer.objects() if o["type"] in ("tick_start", "tick_end") and o["tid"] == server.pid]
        ticks = [b[1] - a[1] for a, b in zip(marks, marks[1:]) if (a[0], b[0]) == ("tick_start", "tick_end")]
        self.assertEqual(len(ticks), r["ticks"])
        ticks = dict(enumerate(ticks, before.n + 1))  # by the cycle that each is
        for load, read in at.items():
            rounds = []
            for a, b in zip(read, read[1:]):
                ours = sum(ticks[n] for n in range(a.n, b.n)) / (b.n - a.n) / 1e3
                theirs = (b.us - a.us) / (b.n - a.n)
                rounds.append((ours - theirs, ours, theirs, b.n - a.n))
            beyond, ours, theirs, n = statistics.median_low(rounds)
            self.note("%s load: mean tick %.2f us, mean cycle %.2f in a round of %d: %.2f us more, %.1f %%" % (
                load.__name__, ours, theirs, n, beyond, 100 * beyond / theirs))
            self.assertGreater(beyond, 0, rounds)
            if load != server.short and edges == "tracepoint":
                self.assertLess(beyond, MEAN_TICK * theirs, rounds)


@cases({"redis": ("redis",), "valkey": ("valkey",)})
class Phases(Counted):
    """Both are called once a cycle: beforeSleep() before the wait, afterSleep() after it. A thread is observed from its first wait on:
    what came before that is not seen."""

    def check(self, name):
        server = Server(self, name)
        r, before, after, _, _ = self.observed(server, lambda: [server.ping() for _ in range(100)], "--phases")
        entries = {n: p["entries"] for n, p in phases_of(r).items()}
        self.assertEqual(entries, {"before": after.n - before.n - 1, "events": after.n - before.n})


class Threads(Counted):
    def test_redis(self):
        """Threads that read and write for it have loops of their own."""
        server = Server(self, "redis", "--io-threads", "3")
        *_, observer, _ = self.observed(server, server.heavy)
        others = [r for r in observer.loops(server.pid) if r["tid"] != server.pid]
        self.assertEqual(sorted(r["thread"] for r in others), ["io_thd_1", "io_thd_2"])
        self.assertEqual({r["runtime"] for r in others}, {"redis"})
        for r in others:
            self.note("%s: %d waits, %d ticks" % (r["thread"], r["io_waits"], r["ticks"]))
