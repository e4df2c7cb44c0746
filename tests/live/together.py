# SPDX-License-Identifier: BSD-2-Clause
"""Everything that can be recorded at once, for test_together.py: redis, node and asyncio beside a hog, and two boards: MicroPython's
unix port and the C firmware in an emulator, both on ptys that the test carries on. All of them say what they did and when, on the
host's monotonic clock; times are its nanoseconds.
"""
import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

import test_firmware
from board_line import Line
from harness import LOOPERS, LOOPSCOPE, PYTHON, READY, ROOT, SOURCES, Observer, require_program, until
from test_ticks import sleeps_in_its_loop

sys.path.insert(0, os.path.join(ROOT, "tests", "micropython"))
import boards  # noqa: E402 # pylint: disable=wrong-import-position
import test_micropython  # noqa: E402 # pylint: disable=wrong-import-position

PATIENCE = 60              # seconds that a busy machine may take for anything
REQUEST_S = 0.003          # between two requests to redis
STIMULUS_S = 0.7           # between two stimuli
REDIS_SLEEPS_S = 0.08
NODE_MS, ASYNCIO_S = (200, 60), (0.25, 0.06)  # period, and work that is a slow tick
HOG = "greedy"


def seen(start, end):
    return {"start": start, "end": end}


class Redis:
    """A server, and a client whose requests and answers frame the ticks that served them."""

    def __init__(self, start, folder):
        self.server = start([require_program("redis-server"), "--port", "0", "--unixsocket", "redis.sock", "--save", "", "--appendonly", "no",
                             "--enable-debug-command", "local"], r"[Rr]eady to accept connections")
        self.path, self.pid = os.path.join(folder, "redis.sock"), self.server.pid
        self.served, self.slept, self.over = [], [], threading.Event()
        self.client = threading.Thread(target=self._serve, daemon=True)

    def _connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(PATIENCE)
        s.connect(self.path)
        return s

    @staticmethod
    def _ask(connection, words):
        begun = time.monotonic_ns()
        connection.sendall(words + b"\r\n")
        answer = connection.recv(4096)
        if not answer.startswith(b"+"):
            raise AssertionError("redis answers %r with %r" % (words, answer))
        return seen(begun, time.monotonic_ns())

    def _serve(self):
        with self._connect() as s:
            while not self.over.wait(REQUEST_S):
                self.served.append(self._ask(s, b"PING"))

    def sleep(self):
        """It stands still in a callback."""
        with self._connect() as s:
            self.slept.append(self._ask(s, b"DEBUG SLEEP %g" % REDIS_SLEEPS_S))

    def stop(self):
        self.over.set()
        self.client.join(PATIENCE)


class Cortex:
    """The C firmware. A key begins a step of its task `hold`, another ends it: each edge lies between two moments that are known here."""

    def __init__(self, line, add_cleanup):
        self.line, self.held = line, []
        self.board = test_firmware.Board(test_firmware.Firmware.elf, 2, icount=None)
        add_cleanup(self.board.close)
        line.connect(self.board.fds.pop())  # the console stays

    def _told(self, kind):
        """When what tells of `hold` arrived."""
        stream = self.line.pump()
        names = stream.names()[0]
        return [arrival for arrival, _, _, f in stream.of(kind) if names.get(f["id"]) == ("hold", 0)]

    def begin_to_hold(self):
        n = len(self._told("OPEN"))
        began = time.monotonic_ns()
        self.board.type(b"h")
        return began, n

    def end_hold(self, began, n):
        until(lambda: len(self._told("OPEN")) > n, PATIENCE, "a step that lasts is told")
        told, ended, runs = self._told("OPEN")[n], time.monotonic_ns(), len(self._told("RUN"))
        self.board.type(b"x")
        until(lambda: len(self._told("RUN")) > runs, PATIENCE, "its end is told")
        self.held.append({"start": (began, int(told * 1e9)), "end": (ended, int(self._told("RUN")[runs] * 1e9))})

    def finish(self):
        """{(task, instance): runs}, as it counted them itself, once the sums of all have come."""
        self.board.type(b"q")
        self.board.until(lambda: "truth end" in self.board.console, "the tasks' truth", PATIENCE)
        truth = {(name, int(inst)): int(runs)
                 for name, inst, runs in re.findall(r"truth task=(\w+) inst=(\d+) runs=(\d+)", self.board.console)}

        def told():
            self.line.pump()
            totals = self.line.last_totals()
            return all(task in totals and totals[task]["runs"] == runs for task, runs in truth.items())
        self.board.until(told, "the sums of all steps", PATIENCE)
        return truth


class Together:
    """The recording, and what everybody did meanwhile: .file, .redis, .moments (pid: moments within ticks), .hogs and .runs of the
    boards, .held, .window."""

    def __init__(self, cls, seconds):
        self.file = os.path.join(cls.tmp, "together.lsr")
        firmware = test_micropython.firmware("unix")
        test_firmware.Firmware.setUpClass()
        shared = {max(os.sched_getaffinity(0))}
        cls.class_start([os.path.join(LOOPERS, "hog"), "-n", HOG], READY, cpus=shared)
        self.redis = Redis(cls.class_start, cls.tmp)
        self.node = cls.class_start([require_program("node"), os.path.join(SOURCES, "openloop.js"), *NODE_MS], READY, cpus=shared)
        self.asyncio = cls.class_start([PYTHON, os.path.join(SOURCES, "openloop.py"), "-p", ASYNCIO_S[0], "-w", ASYNCIO_S[1]], READY)
        self.pids = {"redis": self.redis.pid, "libuv": self.node.pid, "asyncio": self.asyncio.pid}
        self.lines = {name: Line(cls.addClassCleanup, name) for name in ("cortex", "python")}
        recorder = self._record(cls)
        begin = time.monotonic_ns()
        unix = boards.Unix(firmware)
        cls.addClassCleanup(unix.close)
        self._life_of_boards(cls, unix, seconds)
        self._until_all_is_recorded()
        self.redis.stop()
        self.window = seen(begin, time.monotonic_ns())
        if recorder.stop(signal.SIGINT, timeout=PATIENCE):
            raise AssertionError("record: %s" % recorder.errors)
        self._ask_the_loops()

    def _record(self, cls):
        """Once it watches, and has the boards' lines open."""
        recorder = cls.class_start([LOOPSCOPE, "record", self.file, "-q", "--ticks", "--budget", "100%", "-i", "500ms",
                                    *("-p%d" % pid for pid in self.pids.values()),
                                    *("--serial=%s=%s" % (name, line.pty.path) for name, line in self.lines.items())], kind=Observer)
        until(lambda: recorder.process.poll() is not None or sleeps_in_its_loop(recorder.pid), PATIENCE, "loopscope records")
        return recorder

    def _life_of_boards(self, cls, unix, seconds):
        """As long as MicroPython's program lasts."""
        cortex = Cortex(self.lines["cortex"], cls.addClassCleanup)
        unix.program("tasks.py", str(seconds))
        self.lines["python"].connect(unix.fd)
        self.redis.client.start()
        over, failed = threading.Event(), []

        def stimulate():
            try:
                while not over.wait(STIMULUS_S):
                    began = cortex.begin_to_hold()
                    self.redis.sleep()
                    cortex.end_hold(*began)
            except Exception as e:  # pylint: disable=broad-exception-caught # it is raised where the test is
                failed.append(e)
        stimuli = threading.Thread(target=stimulate, daemon=True)
        stimuli.start()
        said = test_micropython.Truth(unix.child.stdout.read().decode())
        over.set()
        stimuli.join(4 * PATIENCE)
        if failed:
            raise failed[0]
        self.hogs = [seen((said.start + a) * 1000, (said.start + b) * 1000) for a, b in said.hogs]
        self.runs = {"python": {task: runs for task, (runs, _) in said.tasks.items() if task[0] != "flash"}, "cortex": cortex.finish()}
        self.held = cortex.held
        self.lines["python"].cable.finish(unix.fd)
        self.lines["cortex"].cable.close()

    def _until_all_is_recorded(self):
        """All bytes of the boards are read, and in a report."""
        sent = {name: len(line.cable.bytes[line.board]) for name, line in self.lines.items()}

        def told():
            with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % self.file, uri=True)) as db:
                return sent == dict(db.execute("SELECT s.name, max(t.bytes) FROM state t JOIN interval i ON i.id = t.interval "
                                               "JOIN source s ON s.id = i.source GROUP BY s.id"))
        until(told, PATIENCE, "all that the boards sent is recorded")

    def _ask_the_loops(self):
        node, python = self.node.truth(), self.asyncio.truth()
        self.moments = {self.node.pid: [int(at * 1e9) for at, _, _ in node["elu"]],
                        self.asyncio.pid: [int(at * 1e9) for at in python["served_at"]]}

    def report(self, form, *args):
        done = subprocess.run([LOOPSCOPE, "report", self.file, "-o", form, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                              check=False)
        if done.returncode or done.stderr:
            raise AssertionError("report -o %s: %d, %s" % (form, done.returncode, done.stderr.decode()))
        return done.stdout

    def objects(self):
        return [json.loads(line) for line in self.report("json").splitlines()]
