# SPDX-License-Identifier: BSD-2-Clause
"""Makes frames of the loopscope wire, written from targets/PROTOCOL.md alone: what a board would send.

A FakeBoard sits on the far end of a pty and keeps sums that agree with the steps it tells, as a real one does.
"""
import binascii
import contextlib
import os
import select
import struct
import threading
import time
import tty

HZ = 1000000


def frame(seq, t0, boot, records):
    body = struct.pack("<BBIH", 0xE1, seq & 0xFF, t0 & 0xFFFFFFFF, boot) + records
    body += struct.pack("<I", binascii.crc32(body))
    return b"\0" + b"".join(bytes([len(p) + 1]) + p for p in body.split(b"\0")) + b"\0"


def name(ident, text, kind=0, inst=0):
    return struct.pack("<BHBHB", 0xF0, ident, kind, inst, len(text)) + text


def run(ident, dt, dur):
    return struct.pack("<BHII", 0xF1, ident, dt, dur)


def idle(dt, slept):
    return struct.pack("<BIHI", 0xF5, dt, 0xFFFF, slept)


def opened(ident, dt, ran):
    return struct.pack("<BHII", 0xF7, ident, dt, ran)


def totals(ident, runs, busy, longest):
    return struct.pack("<BHIQI", 0xF9, ident, runs, busy, longest)


STOPS = 8  # SYNC's flag: the clock stops in sleep


def sync(frames, busy, idle_ticks, dt=0, rate=3, flags=0, dropped=0, bits=32):
    return struct.pack("<BIBBBBIIIQQQ", 0xFA, dt, 1, bits, rate, flags, HZ, frames, dropped, busy, idle_ticks, 0)


def answer(nonce, rx, tx):
    return struct.pack("<BHII", 0xFB, nonce, rx & 0xFFFFFFFF, tx & 0xFFFFFFFF)


class Pty:
    """.path is for the program under test; .heard is all that it said. The slave stays open here, so that nothing is lost
    while nobody else has it open; hang_up() is what an unplugged adapter looks like."""

    def __init__(self):
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.path = os.ttyname(self.slave)
        self.heard, self.sent = b"", 0

    def send(self, data):
        """All of it, listening meanwhile: neither side may wait for the other."""
        deadline = time.monotonic() + 60
        while data:
            readable, writable, _ = select.select([self.master], [self.master], [], 1)
            if readable:
                self.listen(0)
            if writable:
                written = os.write(self.master, data[:1024])
                self.sent += written
                data = data[written:]
            if time.monotonic() > deadline:
                raise AssertionError("nobody reads from %s" % self.path)

    def listen(self, seconds):
        while select.select([self.master], [], [], seconds)[0]:
            self.heard += os.read(self.master, 4096)
            seconds = 0
        return self.heard

    def hang_up(self):
        for fd in (self.slave, self.master):
            if fd is not None:
                os.close(fd)
        self.master = self.slave = None

    close = hang_up


class FakeBoard:
    """A life of beats: task 3 works, then there is idle time. line.send() takes its frames."""

    def __init__(self, line, boot=1, bits=32, flags=0):
        self.line, self.boot, self.bits, self.flags = line, boot, bits, flags
        self.t, self.seq, self.busy, self.idle, self.runs = 0, 0, 0, 0, 0

    def records(self, records, lose=False):
        data = frame(self.seq, self.t % (1 << self.bits), self.boot, records)
        self.seq += 1
        if not lose:
            self.line.send(data)

    def sync(self):
        return sync(self.seq, self.busy, self.idle, bits=self.bits, flags=self.flags)

    def hello(self):
        self.records(self.sync() + name(0, b"testboard", 4) + name(3, b"work"))

    def beat(self, lose=False, work=2000, rest=8000):
        self.records(run(3, work, work) + idle(rest, rest), lose)
        self.t += work + rest
        self.runs += 1
        self.busy += work
        self.idle += rest

    def sums(self):
        self.records(self.sync() + totals(3, self.runs, self.busy, 2000))

    def load(self):
        return self.busy / (self.busy + self.idle)


class Cable:
    """Joins two ptys, for two programs that both want to open a port. .bytes: what came from each end; .pieces: the same as
    (monotonic seconds when it was there to be carried, bytes)."""

    def __init__(self, one, other):
        self.ends, self.over, self.bytes = (one, other), threading.Event(), {one: b"", other: b""}
        self.pieces = {one: [], other: []}
        self.thread = threading.Thread(target=self._carry, daemon=True)
        self.thread.start()

    def _carry(self):
        to = dict(zip(self.ends, reversed(self.ends)))
        while not self.over.is_set():
            for fd in select.select(self.ends, [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    data = os.read(fd, 4096)
                    self.pieces[fd].append((time.monotonic(), data))
                    self.bytes[fd] += data
                    while data and select.select([], [to[fd]], [], 5)[1]:
                        data = data[os.write(to[fd], data):]

    def finish(self, end):
        """Whoever wrote to that end has ended: carries what is left and closes. Looking makes the kernel hand over what it holds."""
        deadline = time.monotonic() + 60
        while select.select([end], [], [], 0)[0]:
            if time.monotonic() > deadline:
                raise AssertionError("the cable does not come to its end")
            time.sleep(0.001)
        self.close()

    def close(self):
        """.bytes stay as they are, and have gone to the other end."""
        self.over.set()
        self.thread.join()
