#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""targets/micropython/loopscope.py on real MicroPython: the unix port on a pty, and a Cortex-M3 in qemu whose UART has
the REPL, the program's output and the frames. What the programs measure about themselves is the truth; frames are
decoded by frames.py, which shares no code with the product.

usage: test_micropython.py [-v] [TEST...]      as unittest. Firmware comes from build.sh, which says why if it can't.
"""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import boards  # noqa: E402

MARGIN = 0.01      # of the truth
HOG_US = 40000     # loopscope.start's default threshold
EXIT_CANNOT = 3    # build.sh: not possible here


def firmware(which):
    run = subprocess.run([os.path.join(HERE, "build.sh"), which], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, timeout=900)
    if run.returncode == EXIT_CANNOT:
        raise unittest.SkipTest(run.stderr.strip().splitlines()[-1])
    if run.returncode:
        raise AssertionError("build.sh %s failed:\n%s" % (which, run.stderr[-2000:]))
    return run.stdout.strip()


class Truth:
    """What programs/tasks.py printed about itself."""

    def __init__(self, text):
        self.tasks, self.hogs, self.sleeps, self.ticks, self.start = {}, [], [], [], None
        for line in text.splitlines():
            words = line.split()
            if words[:2] == ["truth", "start"]:
                self.start = int(words[2])
            elif words[:2] == ["truth", "task"]:
                self.tasks[words[2], int(words[3])] = (int(words[4]), int(words[5]))
            elif words[:2] == ["truth", "hog"]:
                self.hogs.append((int(words[2]), int(words[3])))
            elif words[:2] == ["truth", "sleeps"]:
                edges = [int(word) for word in words[2:]]
                self.sleeps += zip(edges[::2], edges[1::2])
            elif words[:2] == ["truth", "ticks"]:
                self.ticks += [int(word) for word in words[2:]]
        if self.start is None:
            raise AssertionError("the program did not come to its end:\n" + text[-3000:])

    def asleep(self, begin, end):
        return sum(max(0, min(b, end) - max(a, begin)) for a, b in self.sleeps)

    def timer_came(self, begin, end):
        return not self.ticks or any(begin <= tick <= end for tick in self.ticks)


def note(format, *values):
    print("  " + format % values, flush=True)


class Firmware:
    """What must hold on both boards; a subclass says how to make one."""

    def board(self):
        board = self.make()
        self.addCleanup(board.close)
        return board

    def run_tasks(self, *options, seconds=6):
        board = self.board()
        board.program("tasks.py", str(seconds), *options)
        truth = Truth(board.result())
        stream = board.stream
        self.assertEqual(stream.refused, [])
        self.assertEqual(stream.lost, 0)
        self.assertEqual(stream.boots, 1)
        self.assertNotIn(b"\x03", board.sent)
        return board, stream, truth

    def test_tasks(self):
        _, stream, truth = self.run_tasks()
        self.check_names(stream, truth)
        self.check_totals(stream, truth)
        self.check_margin(stream, truth)
        self.check_hogs(stream, truth)
        said = truth.tasks["talker", 0][0] - 1
        for k in range(1, said + 1):
            self.assertIn(b"talk %d" % k, stream.text)

    def check_names(self, stream, truth):
        _, ever = stream.names()
        tasks = {(text, inst) for text, inst, kind in ever if kind == 0}
        self.assertEqual(tasks, set(truth.tasks) | {("main", 0)})
        self.assertGreaterEqual(tasks, {("sensor", 2), ("flash", 1)})
        self.assertEqual([text for text, _, kind in ever if kind == 3], ["loopscope"])
        self.assertEqual(len([text for text, _, kind in ever if kind == 4]), 1)
        # no id is spoken of before it is named, nor after its end until it is named anew
        known = set()
        for _, name, _, fields in stream.events:
            if name == "NAME":
                known.add(fields["id"])
            elif name in ("RUN", "TOTALS", "OPEN", "END"):
                self.assertIn(fields["id"], known, name)
            if name == "END":
                known.discard(fields["id"])
        note("%d tasks and instances, each named before its first step", len(tasks))

    def by_task(self, stream):
        """(name, instance) -> [runs, busy of the TOTALS, runs, busy of the RUNs], over all who had that name."""
        names, sums, last = {}, {}, {}
        for _, name, _, f in stream.events:
            if name == "NAME":
                names[f["id"]] = (f["text"], f["inst"])
                last[f["id"]] = last.get(f["id"], (0, 0))
            elif name == "END":
                last.pop(f["id"], None)
            elif name == "TOTALS":
                mine = sums.setdefault(names[f["id"]], [0, 0, 0, 0])
                runs, busy = last.get(f["id"], (0, 0))
                self.assertGreaterEqual(f["busy"], busy)
                mine[0] += f["runs"] - runs
                mine[1] += f["busy"] - busy
                last[f["id"]] = (f["runs"], f["busy"])
            elif name == "RUN":
                mine = sums.setdefault(names[f["id"]], [0, 0, 0, 0])
                mine[2] += 1
                mine[3] += f["dur"]
        return sums

    def hogs(self, stream):
        names, hogs = {}, set()
        for _, name, _, f in stream.events:
            if name == "NAME":
                names[f["id"]] = (f["text"], f["inst"])
            elif name == "OPEN":
                hogs.add(names[f["id"]])
        return hogs

    def check_totals(self, stream, truth):
        sums, hogs = self.by_task(stream), self.hogs(stream)
        for task, (steps, us) in truth.tasks.items():
            runs, busy, _, _ = sums[task]
            self.assertEqual(runs, steps, task)
            # The task cannot see what asyncio adds around its step, so the tracer sees more, never less; but OPEN is
            # sent within a step, and the tracer takes that time for its own while the program takes it for the step's. Any step
            # is a hog that a busy host makes one.
            self.assertGreaterEqual(busy, us - (self.agent(stream)[0] if task in hogs else 0), task)
            if self.AROUND_US:
                self.assertLess(busy - us, steps * self.AROUND_US, task)
        dropped = max(f["dropped"] for _, _, _, f in stream.of("SYNC"))
        sent = len(stream.of("RUN")) + len(stream.of("IDLE"))
        if dropped == 0:
            for task, (runs, busy, run_count, run_sum) in sums.items():
                if task not in (("loopscope", 0), ("main", 0)):
                    self.assertEqual((runs, busy), (run_count, run_sum), task)
        note("steps of every task as the program counted them; %d records sent, %d dropped and counted, %.1f bytes each",
             sent, dropped, stream.frame_bytes / sent)

    def agent(self, stream):
        """The tracer's last word on itself: its time in all, and its longest stretch."""
        return [(f["busy"], f["max"]) for _, _, _, f in stream.of("TOTALS") if f["id"] == 1][-1]

    def origin(self, stream, truth):
        """When the program's own clock began, in the stream's time."""
        mask = (1 << stream.of("SYNC")[0][3]["bits"]) - 1
        return (truth.start - stream.first_t0) & mask

    def check_margin(self, stream, truth):
        syncs = stream.of("SYNC")
        self.assertGreater(len(syncs), 4)
        worst = 0
        for before, after in zip(syncs, syncs[1:]):
            (_, _, t1, a), (_, _, t2, b) = before, after
            self.assertLessEqual(t2 - t1, self.SYNC_US)
            self.assertEqual(b["busy"] - a["busy"] + b["idle"] - a["idle"], t2 - t1)
        origin = self.origin(stream, truth)
        for (_, _, t1, a), (_, _, t2, b) in zip(syncs, syncs[1:]):
            true = truth.asleep(t1 - origin, t2 - origin) / (t2 - t1)
            worst = max(worst, abs((b["idle"] - a["idle"]) / (t2 - t1) - true))
        elapsed = syncs[-1][3]["busy"] + syncs[-1][3]["idle"]
        note("margin %.4f; worst difference from the program's own figure %.4f, over %d intervals; own cost %.2f %%",
             syncs[-1][3]["idle"] / elapsed, worst, len(syncs) - 1, 100 * self.agent(stream)[0] / elapsed)
        self.assertLessEqual(worst, MARGIN)

    def check_hogs(self, stream, truth):
        names, opens, origin = stream.names()[0], [], self.origin(stream, truth)
        hog_id = [ident for ident, name in names.items() if name == ("hog", 0)][0]
        for arrival, _, t, f in stream.of("OPEN"):
            if f["id"] == hog_id:
                opens.append((arrival, t - origin, f["ran"]))
        due = [(a, b) for a, b in truth.hogs if truth.timer_came(a + HOG_US + 5000, b - 5000)]
        self.assertGreaterEqual(len(due), 3)
        for a, b in due:
            mine = [(t, ran) for _, t, ran in opens if a <= t <= b]
            self.assertTrue(mine, "no OPEN in the hog from %d to %d us" % (a, b))
            for t, ran in mine:
                self.assertLess(abs(t - ran - a), self.OPEN_US)
        # in the table: its longest run
        longest = max(f["max"] for _, _, _, f in stream.of("TOTALS") if f["id"] == hog_id)
        self.assertGreaterEqual(longest, 80000 - 2 * self.agent(stream)[1])
        self.check_live(truth, opens)

    def test_a_name_is_free_when_its_task_has_ended(self):
        """Also where the tracer hears of the next one of that name first, because it is a hog."""
        board = self.board()
        board.program("reuse.py")
        self.assertIn("truth end", board.result())
        stream = board.stream
        self.assertEqual((stream.refused, stream.lost), ([], 0))
        hogs = [f["id"] for _, _, _, f in stream.of("OPEN")]
        self.assertGreaterEqual(len(set(hogs)), 2, "hogs are told while they run")
        named, known = set(), set()
        for _, name, _, f in stream.events:
            if name == "NAME":
                known.add(f["id"])
                named.add((f["text"], f["inst"]))
            elif name in ("RUN", "TOTALS", "OPEN", "END"):
                self.assertIn(f["id"], known, name)
        self.assertEqual({inst for text, inst in named if text == "brief"}, {0})

    def test_commands(self):
        board = self.board()
        board.program("tasks.py", str(self.COMMAND_SECONDS))
        stream = board.stream

        def ask(line, condition, what):
            at = len(stream.events)
            board.send(line)
            self.assertTrue(board.pump(30, lambda: any(condition(e) for e in stream.events[at:])), what)
            return stream.events[at:]

        self.assertTrue(board.pump(30, lambda: len(stream.of("RUN")) > 50), "frames stream")
        for nonce in (0, 1, 65535):
            ask(b"~t%d\n" % nonce, lambda e: e[1] == "TIME" and e[3]["nonce"] == nonce, "TIME")
        for _, _, _, f in stream.of("TIME"):
            self.assertLess((f["tx"] - f["rx"]) & 0x3fffffff, 50000)
        # none of these is a command
        board.send(b"hello\n~r9\n~t70000\n~t-1\n~x\n~r1x\n" + b"~n" + b"x" * 300 + b"\r\n")
        ask(b"~r1\r", lambda e: e[1] == "SYNC" and e[3]["rate"] == 1, "rate 1")
        after = ask(b"~t7\n", lambda e: e[1] == "TIME" and e[3]["nonce"] == 7, "TIME at rate 1")
        board.pump(1)
        tail = stream.events[stream.events.index(after[-1]):]
        self.assertFalse([e for e in tail if e[1] in ("RUN", "IDLE")])
        ask(b"~r2\n", lambda e: e[1] == "RUN", "RUN at rate 2")
        tail = ask(b"~t8\n", lambda e: e[1] == "TIME" and e[3]["nonce"] == 8, "TIME at rate 2")
        self.assertFalse([e for e in tail if e[1] == "IDLE"])
        ask(b"~r3\n", lambda e: e[1] == "IDLE", "IDLE at rate 3")
        ask(b"~f1800\n", lambda e: e[1] == "SYNC" and e[3]["flags"] & 2, "least step")
        tail = ask(b"~t9\n", lambda e: e[1] == "TIME" and e[3]["nonce"] == 9, "TIME") + stream.events[-1:]
        at = stream.events.index(tail[0])
        self.assertTrue(board.pump(30, lambda: len([e for e in stream.events[at:] if e[1] == "RUN"]) > 10))
        runs = [e[3] for e in stream.events[at:] if e[1] == "RUN"]
        self.assertGreaterEqual(min(f["dur"] for f in runs), 1800)
        ask(b"~f0\n", lambda e: e[1] == "SYNC" and not e[3]["flags"] & 2, "all steps")
        chosen = [ident for ident, name in stream.names()[0].items() if name[0] == "sensor"]
        ask(b"~i%s\n" % b",".join(b"%d" % ident for ident in chosen), lambda e: e[1] == "SYNC" and e[3]["flags"] & 1,
            "filter")
        at = len(stream.events)
        self.assertTrue(board.pump(30, lambda: len([e for e in stream.events[at:] if e[1] == "RUN"]) > 10))
        self.assertLessEqual({e[3]["id"] for e in stream.events[at:] if e[1] == "RUN"}, set(chosen))
        ask(b"~i\n", lambda e: e[1] == "SYNC" and not e[3]["flags"] & 1, "no filter")
        names = len(stream.of("NAME"))
        ask(b"~n\n", lambda e: len(stream.of("NAME")) >= names + 10, "names")
        board.send(b"~-\n")
        ask(b"~t10\n", lambda e: e[1] == "TIME" and e[3]["nonce"] == 10, "TIME while off")
        frames = stream.frames
        board.pump(0.5)
        self.assertEqual(stream.frames, frames)
        ask(b"~+\n", lambda e: e[1] == "RUN", "on again")
        self.assertEqual(stream.refused, [])
        self.assertEqual(stream.lost, 0)
        self.assertNotIn(b"\x03", board.sent)
        note("%d bytes of commands while %d frames came; 03 never sent", len(board.sent), stream.frames)
        # the proof that 03 would have been noticed: it ends the program
        board.send(b"\x03")
        self.assertIn("KeyboardInterrupt", board.result())

    def test_cost(self):
        board = self.board()
        board.program("cost.py", *map(str, self.COST_STEPS))
        figures = {}
        for line in board.result().splitlines():
            if "cost " in line:
                _, label, how, us = line[line.index("cost "):].split()
                figures[label, how] = float(us)
        for how, what in (("idle", "a loop that sleeps: hook, sums, frames"),
                          ("busy", "a loop that never sleeps: hook and sums, records dropped")):
            without, with_us = figures["without", how], figures["with", how]
            note("a step takes %.1f us, traced %.1f us: %.1f us added (%s)", without, with_us, with_us - without, what)
            self.assertGreater(with_us, without)
            self.assertLess(with_us - without, self.COST_US)


class Unix(Firmware, unittest.TestCase):
    AROUND_US = None     # asyncio's part of a step: none can be said where the host may take the CPU within it
    OPEN_US = 20000      # how far from the truth an OPEN may put a step's begin: a busy host as well
    SYNC_US = 1000000
    COMMAND_SECONDS = 25
    COST_STEPS, COST_US = (20000, 1000), 60

    @classmethod
    def setUpClass(cls):
        cls.micropython = firmware("unix")

    def make(self):
        return boards.Unix(self.micropython)

    def check_live(self, truth, opens):
        """ticks_us is the host's monotonic clock here: the OPEN must be read before the hog ends."""
        live = 0
        for a, b in truth.hogs:
            for arrival, t, _ in opens:
                at = (round(arrival * 1000000) - truth.start) & 0xffffffff
                live += a <= t <= b and a <= at <= b
        note("%d of %d hogs of 80 ms: OPEN was read while the hog still ran", live, len(truth.hogs))
        self.assertGreaterEqual(live, 1)


class CortexM3(Firmware, unittest.TestCase):
    AROUND_US = 1500     # 31 MIPS: asyncio alone takes 400 us a step
    OPEN_US = 1500
    SYNC_US = 1000000
    COMMAND_SECONDS = 600  # of its own clock, which is faster than the host's
    COST_STEPS, COST_US = (1000, 1000), 600

    @classmethod
    def setUpClass(cls):
        cls.elf = firmware("qemu")

    def make(self):
        return boards.CortexM3(self.elf)

    def check_live(self, truth, opens):
        """The board's clock is virtual: OPEN must have come in a frame before the step's RUN; both are in order."""
        note("%d hogs of 80 ms, %d OPEN sent while one ran", len(truth.hogs), len(opens))

    def test_wrap(self):
        """ticks_us has 30 bits here and wraps in the middle of the run."""
        _, stream, truth = self.run_tasks("skip=%d" % ((1 << 30) - 3000000))
        self.assertEqual({f["bits"] for _, _, _, f in stream.of("SYNC")}, {30})
        self.check_names(stream, truth)
        self.check_totals(stream, truth)
        self.check_margin(stream, truth)

    def test_rests_a_little_longer_than_a_sleep(self):
        board = self.board()
        board.program("rests.py", "8")
        self.assertIn("truth end", board.result())
        stream = board.stream
        self.assertEqual((stream.refused, stream.lost), ([], 0))
        times = [t for _, _, t, _ in stream.events]
        self.assertLessEqual(max(b - a for a, b in zip(times, times[1:])), 110000, "each rest is told, and time goes forward")
        self.assertGreaterEqual(len(stream.of("SYNC")), 8)


if __name__ == "__main__":
    unittest.main()
