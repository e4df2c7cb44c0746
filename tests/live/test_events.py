# SPDX-License-Identifier: BSD-2-Clause
"""The event stream: each loop's events in their order, its start and stop, and as many as there were, the lost ones included."""
import bisect
import json
import os
import signal
import subprocess
import time

from harness import PYTHON, READY, require_program, until
from test_ticks import TickTest

KINDS = ("loop_start", "tick_start", "io_start", "io_end", "tick_end", "loop_stop", "gap")
AFTER = {None: ("loop_start",), "loop_start": ("io_start",), "io_start": ("io_end", "loop_stop"), "io_end": ("tick_start",),
         "tick_start": ("tick_end", "loop_stop"), "tick_end": ("io_start", "loop_stop"), "loop_stop": ("loop_start",)}

SOON = 0.05
TICK_SOON = 0.2  # of a tick that goes on

TWO_LOOPS = """
import asyncio, os, sys
async def main():
    for _ in range(20):
        await asyncio.sleep(0.005)
print("ready", os.getpid(), flush=True)
sys.stdin.readline()
asyncio.run(main())
asyncio.run(main())
print("done", flush=True)
sys.stdin.readline()
"""


# From the check phase on: before its first wait for IO, libuv may run timers that are due already.
TIMERS = """
const log = [], now = () => Number(process.hrtime.bigint());
setImmediate(() => {
  log.push(now());
  const timer = setInterval(() => { if (log.push(now()) > 20) clearInterval(timer); }, 5);
});
process.on('exit', () => console.log('truth ' + JSON.stringify([log, now()])));
"""


class EventTest(TickTest):
    def after_go(self, *argv):
        """A program whose whole life is seen, in a process that was something else before."""
        return self.start(["/bin/sh", "-c", 'echo ready $$; read line; exec "$@"', "sh", *argv], READY, stdin=subprocess.PIPE)

    def check_order(self, events):
        """Where nothing was lost."""
        last = None
        for e in events:
            self.assertIn(e["type"], AFTER[last], "after %s" % last)
            last = e["type"]
        times = [e["ns"] for e in events]
        self.assertEqual(times, sorted(times))

    def events(self, objects, pid):
        return [o for o in objects if o["type"] in KINDS and o["pid"] == o["tid"] == pid]


class Starts(EventTest):
    def test_two_loops_in_one_thread(self):
        program = self.start([PYTHON, "-c", TWO_LOOPS], READY, stdin=subprocess.PIPE)
        observer = self.attached(program.pid, "-i", "60s", "-o", "json", "--events")
        self.run_to_its_end(program, 20)
        self.end(observer)
        events = self.events([o for _, o in observer.objects()], program.pid)
        self.check_order(events)
        self.assertEqual([e["type"] for e in events if e["type"].startswith("loop")], ["loop_start", "loop_stop"] * 2)
        sleeps = [e["timeout_us"] for e in events if e["type"] == "io_start" and e["timeout_us"]]
        self.assertGreaterEqual(sum(4000 <= us <= 6000 for us in sleeps), 30, "5 ms, rounded by asyncio: %r" % sleeps)

    def test_redis(self):
        """From its start to its shutdown."""
        server, client = require_program("redis-server"), require_program("redis-cli")
        path = os.path.join(self.tmp, "events.sock")
        program = self.after_go(server, "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no")
        observer = self.attached(program.pid, "-i", "60s", "-o", "json", "--events")
        self.go(program)
        program.wait_line(r"[Rr]eady to accept connections")
        subprocess.run([client, "-s", path, "ping"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([client, "-s", path, "shutdown", "nosave"], check=True, stdout=subprocess.DEVNULL)
        program.wait_exit(10)
        observer.wait_exit(30)
        events = self.events([o for _, o in observer.objects()], program.pid)
        self.check_order(events)
        self.assertEqual([e["type"] for e in events if e["type"].startswith("loop")], ["loop_start", "loop_stop"])
        self.assertGreater(len(events), 10)

    def test_node(self):
        """libuv's loop, from Node's start to its exit: it says itself when its callbacks ran, and when it was over."""
        program = self.after_go(require_program("node"), "-e", TIMERS)
        observer = self.attached(program.pid, "-i", "60s", "-o", "json", "--events")
        self.go(program)
        log, over = json.loads(program.wait_line(r"^truth (.*)$").group(1))
        program.wait_exit(10)
        gone = time.monotonic_ns()
        observer.wait_exit(30)
        events = self.events([o for _, o in observer.objects()], program.pid)
        self.check_order(events)
        self.assertEqual([e["type"] for e in events if e["type"].startswith("loop")], ["loop_start", "loop_stop"])
        self.assertEqual({e["runtime"] for e in events}, {"libuv"})
        self.note("%d events of %d callbacks; stopped %.1f ms after it said so" % (
            len(events), len(log), (events[-1]["ns"] - over) / 1e6))
        self.assertLess(events[0]["ns"], log[0])
        self.assertLess(over, events[-1]["ns"])
        self.assertLess(events[-1]["ns"], gone)
        starts, ends = ([e["ns"] for e in events if e["type"] == kind] for kind in ("tick_start", "tick_end"))
        for at in log:
            tick = bisect.bisect(starts, at) - 1
            self.assertGreaterEqual(tick, 0)
            self.assertLess(at, ends[tick] if tick < len(ends) else events[-1]["ns"], "a callback runs in a tick")


class InProgress(EventTest):
    """Who reads the stream while it comes sees what goes on."""

    def lines_of(self, observer, pid):
        return [(o["type"], said - o["ns"] / 1e9) for said, o in observer.objects() if o["type"] in KINDS and o["pid"] == pid]

    def test_a_long_tick_and_a_long_wait(self):
        program = self.ticker("-k", "sleep", "-b", "600ms", "-p", "1200ms", "-d", "10s")
        observer = self.attached(program.pid, "-i", "60s", "-o", "json", "--events", "--no-slow")
        self.go(program)
        for kind, soon in (("tick_start", TICK_SOON), ("io_start", SOON)):
            late = until(lambda k=kind: [late for t, late in self.lines_of(observer, program.pid) if t == k], 10, kind)
            self.note("%s is told %.0f ms after it" % (kind, 1e3 * late[0]))
            self.assertLess(late[0], soon)
        self.end(observer)
        self.check_order(self.events([o for _, o in observer.objects()], program.pid))


class Losses(EventTest):
    """Into a file: 80,000 lines a second and more. What was lost is said where it was lost."""

    def stream(self, seconds, burn, while_it_runs=None):
        """(ticker's truth, [(type, ns, lost)] of its events)"""
        program = self.ticker("-k", "rate", "-b", burn, "-d", "%ds" % seconds)
        path = os.path.join(self.tmp, "events.ndjson")
        with open(path, "w", encoding="utf-8") as out:
            observer = self.attached(program.pid, "-i", "60s", "-o", "json", "--events", "--budget", "100%", stdout=out)
        self.go(program)
        if while_it_runs:
            while_it_runs(observer)
        program.wait_line("^done$", timeout=seconds + 20)
        self.end(observer)
        whose = ',"pid":%d,"tid":%d,' % (program.pid, program.pid)
        with open(path, encoding="ascii") as f:
            events = [self.parsed(line) for line in f if whose in line and '"type":"loop"' not in line]
        os.unlink(path)
        return program.truth(), events

    @staticmethod
    def parsed(line):
        """Of the few fields that are asked for here: there are a million lines."""
        kind = line[len('{"v":1,"type":"'):].partition('"')[0]
        ns = int(line.partition('"ns":')[2].partition(",")[0])
        return kind, ns, json.loads(line)["lost"] if kind == "gap" else 0

    def check_complete(self, truth, events):
        lost = sum(e[2] for e in events)
        seen = sum(1 for e in events if e[0] != "gap")
        # loop_start; each wait's io_start, io_end and tick_start; each tick_end; loop_stop
        want = 2 + truth["waits"] + 2 * truth["returns"] + len(truth["log"])
        self.note("%d ticks, %d events, %d lost" % (len(truth["log"]), seen, lost))
        self.assertEqual(seen + lost, want)
        last = None
        for kind, ns, _ in events:
            if last:
                self.assertGreaterEqual(ns, last[1])
                if "gap" not in (kind, last[0]):
                    self.assertIn(kind, AFTER[last[0]], "after %s" % last[0])
            last = kind, ns
        return lost

    def test_20000_ticks_a_second(self):
        truth, events = self.stream(10, "35us")
        lost = self.check_complete(truth, events)
        self.assertGreater(len(truth["log"]), 200000)
        self.assertEqual(lost, 0)

    def test_more_than_anybody_reads(self):
        """The observer stands still until its buffer is full."""
        def stand_still(observer):
            time.sleep(0.2)
            observer.process.send_signal(signal.SIGSTOP)
            time.sleep(1.8)
            observer.process.send_signal(signal.SIGCONT)
        truth, events = self.stream(3, "1us", stand_still)
        lost = self.check_complete(truth, events)
        self.assertGreater(lost, 0, "the test has filled the buffer")
        gaps = [i for i, e in enumerate(events) if e[0] == "gap"]
        self.assertLess(0, gaps[0])
        self.assertLess(gaps[-1], len(events) - 1, "in its place, with events after it")
