# SPDX-License-Identifier: BSD-2-Clause
"""The C agent in its example firmware, on a Cortex-M3 emulated by qemu, against what the firmware counts for itself.

The firmware says on its console how often each task ran and for how long, how long the timer's interrupt took and how
long it slept, by its own reading of the clock around the same stretches (targets/c/example/example.c). The trace is
decoded by tests/micropython/frames.py, which shares no code with the host or the agent. qemu counts 32 ns for each
instruction, so that what the firmware measures does not depend on this machine's speed.

Needs no root: gcc-arm-none-eabi and qemu-system-arm, else it is skipped.
"""
import contextlib
import os
import re
import select
import struct
import subprocess
import sys
import time
import tty
import unittest

from harness import BUILD, ROOT, Program, require_program

sys.path.insert(0, os.path.join(ROOT, "tests", "micropython"))
import frames  # noqa: E402

HZ = 25000000
MS = HZ // 1000
# The agent reads the clock outside of where the firmware does: its own instructions between, for each step or
# interrupt, at 32 ns each. About 100 instructions are 80 ticks.
EDGE_TICKS = 150
LOAD_BOUND = 0.01
KINDS = {"blink": 0, "sensor": 0, "report": 0, "crunch": 0, "hold": 0, "timer": 1, "uart": 1, "temperature": 2,
         "loopscope": 3}


class Trace(frames.Stream):
    """Also remembers where the board's clock stood at the first frame."""

    first_t0 = None

    def _frame(self, segment, arrival):
        super()._frame(segment, arrival)
        if self.first_t0 is None:
            self.first_t0, = struct.unpack_from("<I", frames.uncobs(segment), 2)


class Board:
    """qemu with its UARTs on ptys: .console is text, .trace a Trace. With one UART both come from it. icount None: its clock is
    the host's."""

    def __init__(self, elf, uarts, icount="shift=5,sleep=on"):
        argv = ["qemu-system-arm", "-machine", "mps2-an385", "-display", "none", "-monitor", "none", "-kernel", elf]
        argv += ["-serial", "pty"] * uarts + (["-icount", icount] if icount else [])
        self.stack = contextlib.ExitStack()
        self.qemu = Program(argv)
        self.stack.callback(self.qemu.kill)
        self.fds = [self._open(r"(/dev/pts/\d+) \(label serial%d\)" % n) for n in range(uarts)]
        self.trace, self.text = Trace(), b""

    def _open(self, pattern):
        fd = os.open(self.qemu.wait_line(pattern, 90).group(1), os.O_RDWR | os.O_NOCTTY)
        self.stack.callback(os.close, fd)
        tty.setraw(fd)
        return fd

    @property
    def console(self):
        if len(self.fds) == 1:
            return (self.trace.text + bytes(self.trace._segment)).decode("ascii", "replace")
        return self.text.decode("ascii", "replace")

    def type(self, data):
        os.write(self.fds[0], data)

    def command(self, line):
        os.write(self.fds[-1], line)

    def until(self, condition, what, seconds=90):
        """Reads what comes until condition() is true; returns its value. The deadline measures nothing: a busy machine
        may hardly let the emulator run."""
        deadline = time.monotonic() + seconds
        while True:
            result = condition()
            if result:
                return result
            if time.monotonic() > deadline:
                raise AssertionError("not within %gs: %s; the console says %r" % (seconds, what, self.console[-500:]))
            for fd in select.select(self.fds, [], [], 0.1)[0]:
                data = os.read(fd, 65536)
                if fd == self.fds[-1]:
                    self.trace.feed(data, time.monotonic())
                else:
                    self.text += data

    def seen(self, name, count=1, since=0):
        """Whether that many records of this name came after the event number `since`."""
        return lambda: sum(e[1] == name for e in self.trace.events[since:]) >= count

    def close(self):
        self.stack.close()


def figures(line):
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}


class Firmware(unittest.TestCase):
    longMessage = True

    @classmethod
    def setUpClass(cls):
        require_program("arm-none-eabi-gcc")
        require_program("qemu-system-arm")
        out = os.path.join(BUILD, "targets", "example")
        made = subprocess.run(["make", "-C", os.path.join(ROOT, "targets", "c", "example"), "OUT=" + out, "all"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if made.returncode:
            raise AssertionError("the example does not build:\n" + made.stdout)
        cls.elf = os.path.join(out, "example.elf")
        cls.shared_elf = os.path.join(out, "example-shared.elf")

    def setUp(self):
        self.notes = []

    def board(self, *args, **how):
        board = Board(*args, **how)
        self.addCleanup(board.close)
        return board

    # What must hold of every trace from a line that loses nothing.
    def check_trace_in_order(self, trace):
        self.assertEqual(trace.refused, [])
        self.assertEqual(trace.lost, 0)
        times = [e[2] for e in trace.events]
        self.assertEqual(times, sorted(times))

    def check_trace(self, trace):
        self.check_trace_in_order(trace)
        syncs = trace.of("SYNC")
        self.assertGreaterEqual(len(syncs), 2)
        first, last = syncs[0], syncs[-1]
        for one, other in zip(syncs, syncs[1:]):
            grown = sum(other[3][k] - one[3][k] for k in ("busy", "idle", "isr"))
            self.assertEqual(grown, other[2] - one[2], "busy + idle + isr is not the time between two SYNCs")
        self.assertEqual(first[3]["hz"], HZ)
        self.assertEqual(last[3]["dropped"], 0)

    def check_names(self, trace):
        names = {(text, inst): kind for text, inst, kind in trace.names()[1]}
        want = {(text, 0): kind for text, kind in KINDS.items()}
        want.update({("blink", 1): 0, ("mps2-an385", 0): 4})
        self.assertEqual(names, want)

    def check_tasks(self, board):
        """Totals after the last step against the console's."""
        names = {pair: ident for ident, pair in board.trace.names()[0].items()}
        truths = re.findall(r"truth task=(\w+) (inst=.*)", board.console)
        self.assertEqual(len(truths), 5)
        for name, line in truths:
            truth = figures(line)
            ident = names[(name, truth["inst"])]
            totals = [f for _, _, _, f in board.trace.of("TOTALS") if f["id"] == ident][-1]
            runs = [f["dur"] for _, _, _, f in board.trace.of("RUN") if f["id"] == ident]
            what = "%s %d" % (name, truth["inst"])
            self.assertEqual(totals["runs"], truth["runs"], what)
            self.assertEqual(len(runs), truth["runs"], what)
            self.assertEqual(sum(runs), totals["busy"], what + ": the steps' durations are not their total")
            self.assertEqual(max(runs), totals["max"], what)
            interrupts = truth["busy"] // MS + truth["runs"]
            more = totals["busy"] - truth["busy"]
            self.assertGreaterEqual(more, 0, what)
            self.assertLessEqual(more, EDGE_TICKS * (truth["runs"] + interrupts), what)
            self.notes.append("%s: %d runs, %d ticks, the firmware's own count %d" % (
                what, totals["runs"], totals["busy"], truth["busy"]))

    def check_shares(self, board):
        """Idle and interrupts since boot, at the moment of the last truth line, between the SYNCs around it. No task
        runs any more then, so that what lies between two SYNCs is even."""
        truth = figures(re.findall(r"truth (clock=.*)\n", board.console)[-1])
        t0 = board.trace.of("SYNC")[0]
        start = t0[3]["busy"] + t0[3]["idle"] + t0[3]["isr"]
        points = [(e[2] - t0[2] + start, e[3]) for e in board.trace.of("SYNC")]
        at = truth["clock"] - self.boot_clock(board)
        before = [p for p in points if p[0] <= at][-1]
        after = [p for p in points if p[0] > at][0]
        part = (at - before[0]) / (after[0] - before[0])
        for key in ("idle", "isr"):
            told = before[1][key] + part * (after[1][key] - before[1][key])
            self.assertAlmostEqual(told / at, truth[key] / at, delta=LOAD_BOUND, msg=key)
            self.notes.append("%s share %.4f, the firmware's own %.4f" % (key, told / at, truth[key] / at))
        self.assertGreater(truth["isr"] / at, 3 * LOAD_BOUND, "the interrupt must weigh enough to be missed")

    @staticmethod
    def boot_clock(board):
        """The counter when tracing began: the first frame's t0 less the time accounted for by then."""
        sync = board.trace.of("SYNC")[0]
        return board.trace.first_t0 + sync[2] - sum(sync[3][k] for k in ("busy", "idle", "isr"))

    def run_to_the_end(self, board):
        board.until(lambda: board.console.count("truth clock") >= 4, "three seconds of work")
        board.type(b"q")
        board.until(lambda: "truth end" in board.console, "the tasks' truth")
        done = len(board.trace.events)
        lines = board.console.count("truth clock")
        board.until(lambda: board.console.count("truth clock") > lines, "the truth of a second without tasks")
        board.until(board.seen("SYNC", 2, max(done, len(board.trace.events))), "two more SYNCs")

    def test_totals_are_the_firmwares_own(self):
        board = self.board(self.elf, 2)
        self.run_to_the_end(board)
        self.assertNotIn("\0", board.console)
        self.check_trace(board.trace)
        self.check_names(board.trace)
        self.check_tasks(board)
        self.check_shares(board)

    def test_shared_with_the_console(self):
        board = self.board(self.shared_elf, 1)
        board.until(lambda: board.console.count("truth clock") >= 2, "a second of work")
        board.command(b"~t4711\n")
        board.until(board.seen("TIME"), "the answer to ~t")
        self.run_to_the_end(board)
        self.check_trace(board.trace)
        self.check_names(board.trace)
        self.check_tasks(board)
        self.check_shares(board)

    def test_a_step_without_end_is_seen_while_it_runs(self):
        board = self.board(self.elf, 2)
        board.until(board.seen("SYNC", 2), "the first SYNCs")
        since = len(board.trace.events)
        hold = {pair: i for i, pair in board.trace.names()[0].items()}[("hold", 0)]
        mine = lambda name: [e for e in board.trace.events[since:] if e[1] == name and e[3]["id"] == hold]  # noqa: E731
        board.type(b"h")
        board.until(lambda: len(mine("OPEN")) >= 4, "four reports of a step that does not end")
        board.until(lambda: [e for e in mine("TOTALS") if e[3]["busy"] > HZ // 2], "its time so far in the totals")
        self.assertEqual(mine("RUN"), [])
        for n, opened in enumerate(mine("OPEN")[:4]):
            self.assertGreaterEqual(opened[3]["ran"], (50 << n) * MS, "at 50 ms and at each doubling")
        board.type(b"x")
        board.until(lambda: mine("RUN"), "its end")
        self.check_trace_in_order(board.trace)

    def test_a_hog_of_80_ms_is_told_before_its_end(self):
        board = self.board(self.elf, 2)
        board.until(board.seen("OPEN", 2), "two hogs")
        opens = board.trace.of("OPEN")
        crunch = {pair: i for i, pair in board.trace.names()[0].items()}[("crunch", 0)]
        board.until(lambda: [e for e in board.trace.of("RUN") if e[3]["id"] == crunch and e[2] > opens[-1][2]],
                    "the second hog's end")
        for opened in opens:
            self.assertEqual(opened[3]["id"], crunch)
            self.assertGreaterEqual(opened[3]["ran"], 50 * MS)
            end = [e for e in board.trace.of("RUN") if e[3]["id"] == crunch and e[2] > opened[2]][0]
            self.assertGreater(end[2] - opened[2], 25 * MS)

    def test_commands(self):
        board = self.board(self.elf, 2)
        board.until(board.seen("SYNC", 2), "the first SYNCs")

        def command(line, name, check):
            since = len(board.trace.events)
            board.command(line)
            return board.until(lambda: [e for e in board.trace.events[since:] if e[1] == name and check(e[3])],
                               "an answer to %r" % line)[0]

        answer = command(b"~t513\n", "TIME", lambda f: f["nonce"] == 513)
        self.assertLess((answer[3]["tx"] - answer[3]["rx"]) & 0xFFFFFFFF, 200 * MS)
        command(b"~r1\n", "SYNC", lambda f: f["rate"] == 1)
        since = len(board.trace.events)
        board.until(board.seen("SYNC", 2, since), "two more seconds")
        came = {e[1] for e in board.trace.events[since:]}
        self.assertLessEqual(came, {"SYNC", "TOTALS", "NAME", "OPEN", "ADVANCE"})
        command(b"~r3\n", "SYNC", lambda f: f["rate"] == 3)
        command(b"~f40000\n", "SYNC", lambda f: f["flags"] & 2)
        since = len(board.trace.events)
        board.until(board.seen("RUN", 1, since), "a long step")
        board.until(board.seen("SYNC", 3, since), "three more seconds")
        self.assertTrue(all(e[3]["dur"] >= 40 * MS for e in board.trace.events[since:] if e[1] == "RUN"))
        command(b"~f0\n", "SYNC", lambda f: not f["flags"] & 2)
        blink = {pair: i for i, pair in board.trace.names()[0].items()}[("blink", 1)]
        command(b"~i%d\n" % blink, "SYNC", lambda f: f["flags"] & 1)
        since = len(board.trace.events)
        board.until(board.seen("RUN", 20, since), "the filtered task")
        self.assertEqual({e[3]["id"] for e in board.trace.events[since:] if e[1] in ("RUN", "ISR_IN", "MARK")}, {blink})
        command(b"~i\n", "SYNC", lambda f: not f["flags"] & 1)
        board.command(b"~-\n")
        command(b"~t514\n", "TIME", lambda f: f["nonce"] == 514)
        silent = board.trace.frames
        command(b"~t515\n", "TIME", lambda f: f["nonce"] == 515)
        self.assertEqual(board.trace.frames, silent + 1, "a stopped board answers and says nothing else")
        command(b"~+\n", "NAME", lambda f: f["id"] == 0)
        self.assertEqual(board.trace.refused, [])
        self.assertEqual(board.trace.lost, 0)

    def test_reset_is_another_boot(self):
        board = self.board(self.elf, 2)
        board.until(board.seen("SYNC", 2), "the first SYNCs")
        board.type(b"r")
        board.until(lambda: "boot 2" in board.console, "the second boot")
        board.until(lambda: board.trace.boots == 2, "a frame of the second boot")
        since = len(board.trace.events)
        board.until(board.seen("SYNC", 2, since), "SYNCs of the second boot")
        self.assertLess(board.trace.of("SYNC")[-1][3]["frames"], board.trace.frames)

    def test_cost_of_the_calls(self):
        board = self.board(self.elf, 2, icount="shift=0,sleep=off")
        board.until(lambda: "boot" in board.console, "the boot")
        board.type(b"c")
        board.until(lambda: "cost end" in board.console, "the costs")
        ticks = {name: int(value) for name, value in re.findall(r"cost (\w+)=(\d+)", board.console)}
        # 1000 calls; an instruction is 1 ns, a tick 40 ns
        cost = {name: (value - ticks["empty"]) * 40 / 1000 for name, value in ticks.items() if name != "empty"}
        self.assertEqual(set(cost), {"clock", "begin_end", "idle_begin_end", "isr_enter_exit", "switch", "mark",
                                     "tick"})
        for name, instructions in cost.items():
            self.notes.append("%s: %.0f instructions" % (name, instructions))
            self.assertGreater(instructions, 0)
        self.assertLess(cost["begin_end"], 250, "a step's cost as README.md states it")


if __name__ == "__main__":
    unittest.main()
