# SPDX-License-Identifier: BSD-2-Clause
"""The event stream: each loop's events in their order, its start and stop, and as many as there were, the lost ones included."""
import json
import os
import subprocess

from harness import PYTHON, READY, require_program
from test_ticks import TickTest

KINDS = ("loop_start", "tick_start", "io_start", "io_end", "tick_end", "loop_stop", "gap")
AFTER = {None: ("loop_start",), "loop_start": ("io_start",), "io_start": ("io_end", "loop_stop"), "io_end": ("tick_start",),
         "tick_start": ("tick_end", "loop_stop"), "tick_end": ("io_start", "loop_stop"), "loop_stop": ("loop_start",)}

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


class EventTest(TickTest):
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
        """From its start, in a process that was something else before, to its shutdown."""
        server, client = require_program("redis-server"), require_program("redis-cli")
        path = os.path.join(self.tmp, "events.sock")
        program = self.start(["/bin/sh", "-c", 'echo ready $$; read line; exec "$@"', "sh", server, "--port", "0", "--unixsocket",
                              path, "--save", "", "--appendonly", "no"], READY, stdin=subprocess.PIPE)
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


class Losses(EventTest):
    def test_20000_ticks_a_second(self):
        """Into a file: 80,000 lines a second. What was lost is said where it was lost."""
        program = self.ticker("-k", "rate", "-b", "45us", "-d", "3s")
        path = os.path.join(self.tmp, "events.ndjson")
        with open(path, "w", encoding="utf-8") as out:
            observer = self.attached(program.pid, "-i", "60s", "-o", "json", "--events", "--budget", "100%", stdout=out)
        self.run_to_its_end(program, 20)
        self.end(observer)
        truth = program.truth()
        with open(path, encoding="utf-8") as f:
            events = self.events([json.loads(line) for line in f], program.pid)
        lost = sum(e["lost"] for e in events if e["type"] == "gap")
        seen = len([e for e in events if e["type"] != "gap"])
        # loop_start; each wait's io_start, io_end and tick_start; each tick_end; loop_stop
        want = 2 + truth["waits"] + 2 * truth["returns"] + len(truth["log"])
        self.note("%d ticks, %d events, %d lost" % (len(truth["log"]), seen, lost))
        self.assertEqual(seen + lost, want)
        if not lost:
            self.check_order(events)
