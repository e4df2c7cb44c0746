# SPDX-License-Identifier: BSD-2-Clause
"""One recording of all there can be at once: redis, node and asyncio beside a hog, and two boards: MicroPython's unix port and the C
firmware in an emulator, both on ptys. All of it on one time line, in every form that a report has.

LOOPSCOPE_TOGETHER=30 records so many seconds; LOOPSCOPE_KEEP=FILE leaves the recording there.
"""
import json
import os
import select
import shutil
import sqlite3
import statistics
import subprocess
import sys
import threading
import unittest

import programs
import serial_frames as sf
from harness import BUILD, LOOPSCOPE, READY, ROOT, SOURCES, LiveTest, require_program

sys.path.insert(0, os.path.join(ROOT, "tests", "micropython"))
import boards  # noqa: E402
from test_micropython import firmware  # noqa: E402

SECONDS = int(os.environ.get("LOOPSCOPE_TOGETHER") or 6)
KEEP = os.environ.get("LOOPSCOPE_KEEP")
NODE_SLOW_MS = 60
APART_NS = 20000000  # in the middle: single ones are off by as much as this machine lets the board wait between two looks at its clock
FORMS = ("table", "json", "folded", "html", "perfetto", "vcd")


class Relay:
    """Carries bytes between the pty that a board has and another, which can be opened by its name."""

    def __init__(self, board):
        self.board, self.pty, self.over = board, sf.Pty(), threading.Event()
        self.path = self.pty.path
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        ways = {self.board.fd: self.pty.master, self.pty.master: self.board.fd}
        while not self.over.is_set():
            for fd in select.select(list(ways), [], [], 0.05)[0]:
                os.write(ways[fd], os.read(fd, 4096))

    def stop(self):
        self.over.set()
        self.thread.join()
        self.pty.close()


def hogs_of(text):
    """When those of programs/tasks.py began, in ns of its clock: the host's monotonic one."""
    words = [line.split() for line in text.splitlines()]
    start = [int(w[2]) for w in words if w[:2] == ["truth", "start"]][0]
    return [(start + int(w[2])) * 1000 for w in words if w[:2] == ["truth", "hog"]]


class Together(LiveTest):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.tmp, "together.lsr")

    def start_micropython(self):
        """The board, which outlives the recording by some seconds, and the name of its line."""
        board = boards.Unix(firmware("unix"))
        self.addCleanup(board.close)
        board.program("tasks.py", str(SECONDS + 6))
        relay = Relay(board)
        self.addCleanup(relay.stop)
        return board, relay.path

    def start_firmware(self):
        require_program("arm-none-eabi-gcc")
        out = os.path.join(BUILD, "targets", "example")
        subprocess.run(["make", "-s", "-C", os.path.join(ROOT, "targets", "c", "example"), "OUT=" + out, "all"], check=True,
                       stdout=subprocess.DEVNULL)
        qemu = self.start([require_program("qemu-system-arm"), "-machine", "mps2-an385", "-display", "none", "-monitor", "none", "-icount",
                           "shift=5,sleep=on", "-kernel", os.path.join(out, "example.elf"), "-serial", "pty", "-serial", "pty"])
        return qemu.wait_line(r"(/dev/pts/\d+) \(label serial1\)", 60).group(1)

    def start_loops(self):
        """name -> pid. Node and the hog share a CPU."""
        cpu = {max(os.sched_getaffinity(0))}
        self.looper("hog", "-n", "greedy", cpus=cpu)
        node = self.start([require_program("node"), os.path.join(SOURCES, "openloop.js"), 200, NODE_SLOW_MS], READY, cpus=cpu)
        return {"redis": programs.start_redis(self.start).pid, "libuv": node.pid, "asyncio": programs.start_asyncio(self.start).pid}

    def report(self, form):
        done = subprocess.run([LOOPSCOPE, "report", self.path, "-o", form], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""), form)
        return done.stdout

    def test_on_one_time_line(self):
        pids = self.start_loops()
        ports = {"firmware": self.start_firmware()}
        board, ports["micropython"] = self.start_micropython()
        recorder = self.observe("record", self.path, "-q", "--ticks", "--budget", "100%", "-d", "%ds" % SECONDS,
                                *("--serial=%s=%s" % port for port in ports.items()), *("-p%d" % pid for pid in pids.values()))
        self.assertEqual(recorder.wait_exit(SECONDS + 60), 0, recorder.errors)
        if KEEP:
            shutil.copy(self.path, KEEP)
        said = {form: self.report(form) for form in FORMS}
        told = [json.loads(line) for line in said["json"].decode().splitlines()]
        self.check_loops(told, pids)
        self.check_boards(told)
        for form, text in said.items():
            for name in (b"node",) if form == "folded" else (b"node", b"redis-server", b"micropython", b"firmware", b"crunch", b"hog"):
                self.assertIn(name, text, form)
        self.check_line(hogs_of(board.child.stdout.read().decode()))

    def check_loops(self, told, pids):
        for runtime, pid in pids.items():
            mine = [o for o in told if o["type"] == "loop" and o["pid"] == pid and o["tid"] == pid]
            self.assertGreaterEqual(len(mine), SECONDS - 2, runtime)
            self.assertEqual({o["runtime"] for o in mine if not o["ended"]}, {runtime})
        slow = [o for o in told if o["type"] == "slow_tick" and o["pid"] == pids["libuv"] and not o["in_progress"]]
        self.assertGreaterEqual(len(slow), SECONDS, "of 5 a second")
        self.assertGreaterEqual(min(o["duration_us"] for o in slow), 50000)
        waited = {w["comm"] for o in told if o["type"] == "loop" and o["pid"] == pids["libuv"] for w in o["waited_for"]}
        self.assertIn("greedy", waited)

    def check_boards(self, told):
        for board, tasks in (("micropython", {"blink", "sensor", "control", "hog"}), ("firmware", {"blink", "sensor", "crunch"})):
            mine = {o["task"] for o in told if o["type"] == "task" and o["loop"] == board and o["runs"]}
            self.assertLessEqual(tasks, mine, board)
            hogs = [o for o in told if o["type"] == "slow_tick" and o["source"] == "serial" and o.get("loop") == board]
            self.assertTrue(hogs, "%s: its steps of 80 ms are told" % board)

    def check_line(self, began):
        """Where MicroPython's hogs stand on the time line, against where its own clock says, which is the host's."""
        with sqlite3.connect("file:%s?mode=ro" % self.path, uri=True) as db:
            anchor, = db.execute("SELECT c.at_ns - c.ticks FROM clock c JOIN source s ON s.id = c.source WHERE s.kind = 'kernel'").fetchone()
            rows = db.execute("SELECT t.at_ns FROM slow_tick t JOIN lane l ON l.id = t.lane JOIN source s ON s.id = l.source"
                              " WHERE s.name = 'micropython' AND l.name = 'hog' AND NOT t.in_progress").fetchall()
        off = [min((at - anchor - ns for ns in began), key=abs) for at, in rows]
        self.note("%d hogs of MicroPython: on the time line %.2f ms from where they were, in the middle; %.2f ms at most" % (
            len(off), statistics.median(off) / 1e6, max(map(abs, off)) / 1e6))
        self.assertGreaterEqual(len(off), SECONDS)
        self.assertLess(abs(statistics.median(off)), APART_NS)


if __name__ == "__main__":
    sys.exit(unittest.main())
