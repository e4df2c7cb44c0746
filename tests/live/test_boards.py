# SPDX-License-Identifier: BSD-2-Clause
"""Boards through `loopscope serial` as they are in life: streams at the pace at which they were recorded, clocks that drift, lines
that damage what they carry, silences.

Frames come from serial_frames.py, which shares no code with the product; other tracers' streams are their own bytes, and the
expect files hold their truth. Silences take no time: the program's clocks are set ahead (loopers/shift_clock.c), once it has
read what came before. Needs no root.

LOOPSCOPE_REPLAY=real sits the silences out and looks at clocks for a minute: make replay-serial.
"""
import concurrent.futures
import contextlib
import mmap
import os
import random
import re
import select
import struct
import threading
import time
import unittest

import serial_frames as sf
from harness import LOOPERS, until
from serial_harness import BUCKET, DATA, SECONDS, SerialTest, expect

REAL = os.environ.get("LOOPSCOPE_REPLAY") == "real"
LOAD = 0.005               # of the truth
PPM = 20
DRIFT_PPM = 200
CARRIED = 0.02             # seconds over a pty at most, for times of arrival to be judged
WHOLE = "600s"             # an interval longer than any of these runs: one report, at the end


def opened_by(pid):
    found = []
    for fd in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(OSError):
            found.append(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
    return found


def slept(pid):
    """How often it has given up its CPU, if it sleeps now; otherwise None."""
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        status = f.read()
    return re.findall(r"^\w*voluntary_ctxt_switches:\s*(\d+)$", status, re.M) if re.search(r"^State:\s+S", status, re.M) else None


def at_once():
    """This thread, or a program before it starts, runs when it wants to: what a busy machine does to times of arrival is
    not what is measured here. Needs root; without it that may well be seen."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


class Ahead:
    """A program's clocks, which jump() sets ahead. environ is for the program."""

    def __init__(self, folder):
        path = os.path.join(folder, "shift")
        with open(path, "w+b") as f:
            f.write(bytes(8))
            f.flush()
            self.map = mmap.mmap(f.fileno(), 8)
        self.environ = dict(os.environ, LD_PRELOAD=os.path.join(LOOPERS, "shift_clock.so"), SHIFT_CLOCK=path)
        self.ns = 0

    def jump(self, ns):
        self.ns += ns
        self.map[:] = struct.pack("=q", self.ns)


class Player:
    """Sends a recorded stream byte for byte, each when it is due; .late says by how many seconds that failed at worst. What
    is due at once goes in one write: at 1 Mbaud bytes are 10 us apart."""

    def __init__(self, pty, name, ahead=None):
        with open(os.path.join(DATA, name + ".bin"), "rb") as f:
            self.data = f.read()
        with open(os.path.join(DATA, name + ".times"), encoding="ascii") as f:
            self.times = [int(line) for line in f]
        self.pty, self.ahead, self.at, self.late, self.first = pty, ahead, 0, 0, None

    def now(self):
        return time.monotonic_ns() + (self.ahead.ns if self.ahead else 0)

    def play(self):
        """To the end, where False is returned, or with clocks that can be set ahead to a silence of half a second."""
        at_once()
        self.first = self.first or self.now()
        while self.at < len(self.data):
            due, now = self.first + self.times[self.at], self.now()
            if due > now + 500000000 and self.ahead and not REAL:
                return True
            if due > now:
                time.sleep((due - now) / 1e9)
                continue
            end = self.at + 1
            while end < len(self.data) and self.times[end] - self.times[self.at] < 50000:
                end += 1
            os.write(self.pty.master, self.data[self.at:end])
            self.late = max(self.late, (self.now() - due) / 1e9)
            self.at = end
        return False

    def skip(self):
        """The silence is over."""
        self.ahead.jump(self.first + self.times[self.at] - self.now())


class PtyWitness:
    """How long this machine takes to carry a byte over a pty at worst: the kernel leaves that to a thread of its own, which
    a busy machine lets wait."""

    def __init__(self):
        self.worst, self.pty, self.over = 0, sf.Pty(), threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        at_once()
        while not self.over.wait(0.005):
            begin = time.monotonic()
            os.write(self.pty.master, b"x")
            os.read(self.pty.slave, 1)
            self.worst = max(self.worst, time.monotonic() - begin)

    def stop(self):
        self.over.set()
        self.thread.join()
        self.pty.close()


class BoardTest(SerialTest):
    def begin(self, *arguments, **how):
        """An observer that has the pty open."""
        pty = self.pty()
        observer = self.start(pty.path, "-o", "json", *arguments, **how)
        until(lambda: pty.path in opened_by(observer.pid), SECONDS, "it opened %s" % pty.path)
        return pty, observer

    @staticmethod
    def settle(observer, pty):
        """Until it has read what was sent and sleeps. Looking by select() makes the kernel hand over first what it still holds
        (FIONREAD does not), but for what it has not begun to hand over since the observer made room by reading: so it must have
        slept all the while, without a turn in between."""
        def has_read_all():
            before = slept(observer.pid)
            return before and not select.select([pty.slave], [], [], 0)[0] and slept(observer.pid) == before
        until(has_read_all, SECONDS, "it has read all")

    def finish(self, observer, pty, sent):
        """Ends it; what it said last of the source."""
        self.settle(observer, pty)
        self.assertEqual(observer.stop(), 0, observer.errors)
        source = self.of(observer, "source")[-1]
        self.assertEqual(source["bytes"], sent)
        return source


class Paced(BoardTest):
    def play(self, *names):
        """Side by side; their (player, observer, source, loop, tasks by id)."""
        lines = [self.begin("-i", WHOLE, preexec_fn=at_once) for _ in names]
        players = [Player(pty, name) for name, (pty, _) in zip(names, lines)]
        witness = PtyWitness()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(Player.play, players))
        witness.stop()
        if witness.worst > CARRIED:
            self.skipTest("this machine is busy: it took up to %.1f ms to carry a byte over a pty" % (witness.worst * 1000))
        self.carried_ms = 3 * witness.worst * 1000
        told = []
        for player, (pty, observer) in zip(players, lines):
            source = self.finish(observer, pty, len(player.data))
            self.assertEqual((source["protocol"], source["events"], source["garbage"]), ("monitor", len(player.data), 0))
            tasks = {o["id"]: o for o in self.of(observer, "task")}
            told.append((player, observer, source, self.of(observer, "loop")[0], tasks))
        return told

    def off_ms(self, want, source, player):
        """What the stream's truth is good for, what the product says of itself, how late the sender was and the pty."""
        return want["tolerance_ms"] + source["uncertainty_us"] / 1000 + player.late * 1000 + self.carried_ms

    def check_lifetimes(self, name, player, source, tasks):
        want = expect(name)
        off_ms = self.off_ms(want, source, player)
        self.assertLessEqual(source["uncertainty_us"], 16000, "what an adapter holds back at most")
        self.assertEqual(set(map(str, tasks)), set(want["idents"]))
        for ident, truth in want["idents"].items():
            o = tasks[int(ident)]
            self.assertEqual((o["kind"], o["runs"], o["busy"]), ("lifetime", truth["starts"], None), ident)
            alive = truth.get("alive_ms")
            if not alive:
                continue
            self.assertEqual(o["instances"], truth["starts"] - truth["stops"], ident)
            self.assertAlmostEqual(o["alive"] * o["interval_s"] * 1000, truth["high"]["total_ms"] + self.open_ms(want, truth, o),
                                   delta=off_ms * max(1, truth["high"]["n"]), msg=ident)
            if not alive["n"]:
                self.assertIsNone(o["run_us"], ident)
                continue
            run = o["run_us"]
            self.assertEqual(run["n"], alive["n"], ident)
            for ours, theirs in (("min", "min"), ("p50", "median"), ("max", "max")):
                self.assertAlmostEqual(run[ours] / 1000, alive[theirs], delta=off_ms + alive[theirs] * BUCKET,
                                       msg="%s %s" % (ident, ours))
            self.assertAlmostEqual(run["total"] / 1000, alive["total"], delta=off_ms * alive["n"], msg=ident)
        self.notes.append("%s: %d bytes in %.1f s, at most %.1f ms late; times within %.1f ms by its own word; median of ident 1 %.1f ms, %.1f in truth" % (
            name, len(player.data), player.times[-1] / 1e9, player.late * 1000, source["uncertainty_us"] / 1000,
            tasks[1]["run_us"]["p50"] / 1000, want["idents"]["1"]["alive_ms"]["median"]))

    @staticmethod
    def open_ms(want, truth, told):
        """What is alive at the end of the stream lives on until the report."""
        if truth["starts"] == truth["stops"]:
            return 0
        return told["interval_s"] * 1000 - want["duration_ms"]

    def test_lifetimes_and_hogs_of_monitor_streams(self):
        (a, _, source_a, loop, tasks_a), (c, observer, source_c, _, tasks_c) = self.play("monitor-a", "monitor-c")
        self.assertEqual([loop["load"], loop["idle"]], [None, None], "lifetimes do not tell the load")
        self.check_lifetimes("monitor-a", a, source_a, tasks_a)
        self.check_lifetimes("monitor-c", c, source_c, tasks_c)
        ended = [o for o in self.of(observer, "slow_tick") if not o["in_progress"]]
        # after the last byte a pass begins that never ends
        live = [o for o in self.of(observer, "slow_tick") if o["in_progress"] and o["start_ns"] <= ended[-1]["start_ns"]]
        self.check_hogs(c, source_c, ended, live)

    def check_hogs(self, player, source, ended, live):
        want = expect("monitor-c")
        off_ms = self.off_ms(want, source, player)
        self.assertEqual(len(ended), want["hogs"]["n"])
        for told, gap, start, length in zip(ended, want["gaps_over_20ms"], want["hogs"]["start_ms"], want["hogs"]["length_ms"]):
            at = (told["start_ns"] - player.first) / 1e6
            for true_at, true_length in ((gap["after_ms"], gap["gap_ms"]), (start, length)):
                self.assertAlmostEqual(at, true_at, delta=off_ms)
                self.assertAlmostEqual(told["duration_us"] / 1000, true_length, delta=off_ms)
        self.assertGreaterEqual(len(live), 1, "a hog of 80 ms is told while it lasts")
        for told in live:
            self.assertIn(told["start_ns"], [e["start_ns"] for e in ended], "and was one")
        self.notes.append("%d of %d passes of 80 ms told while they lasted" % (len(live), len(ended)))

    def test_silences_of_a_systemview_stream(self):
        """115 s with four silences, one of 2^31 ticks and two of more: the counter wraps within and between."""
        ahead = Ahead(self.tmp)
        pty, observer = self.begin("-i", WHOLE, env=ahead.environ)
        player = Player(pty, "systemview-c", ahead)
        pool = concurrent.futures.ThreadPoolExecutor()
        self.addCleanup(pool.shutdown)
        while pool.submit(player.play).result():
            self.settle(observer, pty)
            player.skip()
        source = self.finish(observer, pty, len(player.data))
        want = expect("systemview-c")
        self.check_systemview(observer, want["true"])
        idle = want["true"]["span"]["idle_net_share"]
        self.assertAlmostEqual(self.of(observer, "loop")[0]["idle"], idle, delta=1e-6)
        self.assertEqual((source["gaps"], source["garbage"], source["clock"]["method"]), (0, 0, "one-way"))
        self.assertAlmostEqual(source["clock"]["drift_ppm"], 0, delta=PPM)
        self.notes.append("%.0f s replayed, drift %.2f ppm of a clock that has none" % (player.times[-1] / 1e9,
                                                                                    source["clock"]["drift_ppm"]))


class Drifting:
    """A board whose clock is fast, from a thread of its own: 200 frames a second, of which some arrive at once also where the machine
    is busy, and answers to questions for its time."""

    def __init__(self, pty, ppm):
        self.board, self.over = sf.FakeBoard(pty), threading.Event()
        self.origin, self.ppm, self.answered = time.monotonic_ns() - 5000000000, ppm, 0
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def now(self):
        return round((time.monotonic_ns() - self.origin) * (1 + self.ppm / 1e6) / 1000)

    def _run(self):
        due = time.monotonic()
        while not self.over.is_set():
            pty = self.board.line
            if select.select([pty.master], [], [], max(0, due - time.monotonic()))[0]:
                rx = self.now()
                pty.listen(0)
                for nonce in re.findall(rb"~t(\d+)\n", pty.heard)[self.answered:]:
                    self.answered += 1
                    self.board.t = self.now()
                    self.board.records(sf.answer(int(nonce), rx, self.board.t))
            if time.monotonic() >= due:
                due += 0.005
                self.board.idle = self.board.t = self.now()
                self.board.records(self.board.sync())

    def offset(self):
        """Host minus board now, in seconds."""
        host = time.monotonic_ns()
        return host / 1e9 - (host - self.origin) * (1 + self.ppm / 1e6) / 1e9

    def stop(self):
        self.over.set()
        self.thread.join()


class Clocks(BoardTest):
    def test_drift_is_found_one_way_and_with_time_sync(self):
        lines = {"one-way": self.begin("-i", "500ms", "--listen"), "pings": self.begin("-i", "500ms", "--sync", "50ms")}
        boards = {how: Drifting(pty, DRIFT_PPM) for how, (pty, _) in lines.items()}
        for board in boards.values():
            self.addCleanup(board.stop)
        within = PPM / 4 if REAL else PPM
        sure = within / 2  # by its own word: the truth is then held to twice that
        for how, (pty, observer) in lines.items():
            self.wait_source(observer, lambda o: o["clock"] and o["clock"]["method"] == how and
                             (o["clock"]["drift_error_ppm"] or 1000) <= sure, "a drift known to %g ppm" % sure)
        for how, (pty, observer) in lines.items():
            boards[how].stop()
            clock = self.of(observer, "source")[-1]["clock"]
            self.assertAlmostEqual(clock["drift_ppm"], DRIFT_PPM, delta=within, msg=how)
            self.assertAlmostEqual(clock["offset_s"], boards[how].offset(), delta=0.002, msg=how)
            if how == "pings":
                self.assertLess(clock["error_us"], 2000)
            self.assertEqual(observer.stop(), 0, observer.errors)
            self.notes.append("%s: %.1f ppm told (+- %.1f by its own word) of %d, after %d exchanges" % (
                how, clock["drift_ppm"], clock["drift_error_ppm"], DRIFT_PPM, clock["samples"]))
            self.assertNotIn(b"\x03", pty.heard)
        self.assertEqual(lines["one-way"][0].heard, b"")


class DamagingLine:
    """Passes frames on to a pty and damages `share` of them: bits flipped, bytes lost, bytes that nobody sent, between frames
    also console text. Knows which it let be."""

    def __init__(self, pty, kinds, share, seed=1):
        self.pty, self.kinds, self.share, self.random = pty, kinds, share, random.Random(seed)
        self.frames = self.untouched = self.bytes = 0
        self.text, self.said = [], None  # lines between two frames that came whole

    def send(self, data):
        touched = self.random.random() < self.share
        if touched:
            data = self.damage(bytearray(data))
        self.frames += 1
        self.untouched += not touched
        if self.said and not touched:
            self.text.append(self.said)
        self.said = None
        if "text" in self.kinds and not self.random.randrange(10):
            line = "line %d of the board" % self.frames
            self.said = None if touched else line
            data = bytes(data) + line.encode() + b"\r\n"
        self.bytes += len(data)
        self.pty.send(bytes(data))

    def damage(self, data):
        for _ in range(self.random.choice((1, 1, 1, 2, 5))):
            at, kind = self.random.randrange(len(data)), self.random.choice([k for k in self.kinds if k != "text"])
            if kind == "flips":
                data[at] ^= 1 << self.random.randrange(8)
            elif kind == "deletions":
                del data[at]
            else:
                data.insert(at, self.random.randrange(256))
        return data

    def clean(self):
        self.share = 0


class SlowLine:
    """A UART with a FIFO behind it: what the line can't carry in time and the FIFO can't hold is lost, byte for byte."""

    def __init__(self, pty, baud, fifo):
        self.pty, self.rate, self.fifo = pty, baud // 10, fifo
        self.queue, self.lost, self.bytes = b"", 0, 0
        self.due = time.monotonic()

    def send(self, data):
        self.carry()
        room = max(0, self.fifo - len(self.queue))
        self.queue += data[:room]
        self.lost += len(data[room:])

    def carry(self):
        now = time.monotonic()
        n = min(len(self.queue), int((now - self.due) * self.rate))
        self.due = self.due + n / self.rate if n < len(self.queue) else now
        self.pty.send(self.queue[:n])
        self.bytes += n
        self.queue = self.queue[n:]


class Damage(BoardTest):
    def check(self, observer, board, accepted, sent):
        """The load is the board's own, and every frame that did not come is told of in gaps."""
        loads = [o for o in self.of(observer, "loop") if o["load"] is not None]
        span = sum(o["interval_s"] for o in loads)
        load = sum(o["load"] * o["interval_s"] for o in loads) / span
        self.assertAlmostEqual(load, board.load(), delta=LOAD)
        gaps = [o for o in self.of(observer, "gap") if o["what"] == "frames"]
        self.assertEqual(sum(o["lost"] for o in gaps), sent - accepted)
        self.assertEqual(sum(o["lost"] for o in self.of(observer, "loop")), sent - accepted)
        return load

    def test_flips_deletions_insertions(self):
        for kinds, share in ((["flips"], 0.3), (["deletions"], 0.3), (["insertions", "text"], 0.3),
                             (["flips", "deletions", "insertions", "text"], 0.1),
                             (["flips", "deletions", "insertions", "text"], 0.9)):
            what = "%s in %d %%" % (", ".join(kinds), share * 100)
            pty, observer = self.begin("-i", "100ms", "--console")
            line = DamagingLine(pty, kinds, 0)
            board = sf.FakeBoard(line, bits=30)
            board.hello()
            line.share = share
            for n in range(2000):
                board.beat(work=1000 + 7 * (n % 1000), rest=9000)
                if n % 20 == 0:
                    board.sums()
            line.clean()
            board.sums()
            source = self.finish(observer, pty, line.bytes)
            accepted = source["events"]
            self.assertGreaterEqual(accepted, line.untouched, "what was not touched is taken")
            self.assertLess(accepted, line.frames, "the line must really have damaged")
            load = self.check(observer, board, accepted, line.frames)
            self.assertEqual(source["lost"]["frames"], line.frames - accepted)
            self.assertEqual(source["gaps_uncounted"], 0)
            self.assertEqual(source["resets"], 0)
            console = "\n".join(observer.errors) + "\n"
            self.assertEqual([text for text in line.text if text + "\n" not in console], [], what)
            self.notes.append("%s: %d of %d frames lost, all told; load %.5f, %.5f in truth" % (
                what, line.frames - accepted, line.frames, load, board.load()))

    def test_a_line_that_is_too_slow(self):
        pty, observer = self.begin("-i", "500ms")
        line = SlowLine(pty, 115200, 512)
        board = sf.FakeBoard(line)
        board.hello()
        begin, at = time.monotonic(), 0
        while at < 2:
            at = time.monotonic() - begin
            while board.t < at * 1000000:  # 1000 frames of 43 bytes a second: four times what the line carries
                board.beat(work=100 + 300 * (board.runs % 3), rest=600)
                if board.runs % 100 == 0:
                    board.sums()
            time.sleep(0.001)
            line.carry()
        while line.queue:
            time.sleep(0.001)
            line.carry()
        board.sums()
        while line.queue:
            time.sleep(0.001)
            line.carry()
        source = self.finish(observer, pty, line.bytes)
        load = self.check(observer, board, source["events"], board.seq)
        self.assertGreater(source["lost"]["frames"], board.seq / 2)
        self.notes.append("%d of %d bytes lost to a line of 115200 baud: %d of %d frames, all told; load %.5f, %.5f in truth" % (
            line.lost, line.lost + line.bytes, source["lost"]["frames"], board.seq, load, board.load()))

    def test_silence_of_twenty_minutes(self):
        for bits in (30, 32):  # microseconds: 30 bits wrap after 18 minutes, 32 after 72
            ahead = Ahead(self.tmp)
            pty, observer = self.begin("-i", "100ms", "--listen", env=ahead.environ)
            board = sf.FakeBoard(pty, bits=bits)
            board.t = (1 << bits) - 5000000  # and the counter wraps while frames come, too
            board.hello()
            for _ in range(1000):
                board.beat()
            board.sums()
            before = board.load()
            for silence in (1200, 1200):
                self.taken(observer, pty)
                ahead.jump(silence * 1000000000)
                self.wait_source(observer, lambda o: (o["silent_s"] or 0) >= silence, "the silence told")
                board.t += silence * 1000000
                board.idle += silence * 1000000
                board.sums()
            for _ in range(100):
                board.beat()
            board.sums()
            sent = self.wait_source(observer, lambda o: o["events"] == board.seq, "all frames")["bytes"]
            source = self.finish(observer, pty, sent)
            load = self.check(observer, board, source["events"], board.seq)
            span = sum(o["interval_s"] for o in self.of(observer, "loop") if o["load"] is not None)
            self.assertAlmostEqual(span, (board.busy + board.idle) / 1e6, delta=1e-3)
            self.assertEqual(source["resets"], 0)
            self.notes.append("%d bits: load %.5f before, %.5f with 40 minutes of silence, %.5f in truth" % (
                bits, before, load, board.load()))

    def test_light_sleep_stops_the_boards_clock(self):
        """Its sums leave out what it slept: the host's clock tells."""
        ahead = Ahead(self.tmp)
        pty, observer = self.begin("-i", "100ms", "--listen", env=ahead.environ)
        board = sf.FakeBoard(pty, flags=sf.STOPS)
        board.hello()
        begin = time.monotonic_ns() + ahead.ns
        for _ in range(5):
            for _ in range(50):
                board.beat(work=20000, rest=0)
            ahead.jump(1000000000)
            board.sums()
            self.taken(observer, pty)
            ahead.jump(9000000000)  # and then it is gone for nine
        board.sums()
        end = time.monotonic_ns() + ahead.ns
        self.taken(observer, pty)
        observer.stop()
        loads = [o for o in self.of(observer, "loop") if o["load"] is not None]
        load = sum(o["load"] * o["interval_s"] for o in loads) / sum(o["interval_s"] for o in loads)
        truth = board.busy * 1000 / (end - begin)
        self.assertAlmostEqual(load, truth, delta=LOAD)
        self.assertEqual(self.of(observer, "source")[-1]["lost"]["frames"], 0)
        self.notes.append("load %.4f, %.4f in truth" % (load, truth))

    def test_unplugged_in_mid_frame_while_the_board_runs_on(self):
        """The same boot answers: the same session, with what went by meanwhile counted."""
        ahead = Ahead(self.tmp)
        link = os.path.join(self.tmp, "board")
        first, second = self.pty(), self.pty()
        os.symlink(first.path, link)
        observer = self.start(link, "-o", "json", "-i", "100ms", env=ahead.environ)
        until(lambda: first.path in opened_by(observer.pid), SECONDS, "it opened the first")
        board = sf.FakeBoard(first)
        board.hello()
        for _ in range(100):
            board.beat()
        self.settle(observer, first)
        first.send(sf.frame(board.seq, board.t, 1, sf.run(3, 1, 1))[:9])
        self.settle(observer, first)
        os.unlink(link)
        first.hang_up()
        for _ in range(300):  # nobody hears these
            board.beat(lose=True, work=8000, rest=2000)
        ahead.jump(board.t * 1000)
        self.wait_source(observer, lambda o: not o["present"], "its absence")
        os.symlink(second.path, link)
        self.wait(observer, lambda all_: [o for o in all_ if o["type"] == "source"][-1]["present"], "its return")
        board.line = second
        for _ in range(100):
            board.beat()
        board.sums()
        source = self.wait_source(observer, lambda o: o["events"] == 202, "all frames that could come")
        self.assertEqual(observer.stop(), 0, observer.errors)
        self.check(observer, board, source["events"], board.seq)
        self.assertEqual((source["lost"]["frames"], source["resets"]), (300, 0))
        kinds = [o["type"] for _, o in observer.objects() if o["type"] in ("loop_start", "loop_stop")]
        self.assertEqual(kinds, ["loop_start", "loop_stop", "loop_start"])

    def test_reset_in_mid_frame(self):
        pty, observer = self.begin("-i", "100ms")
        line = DamagingLine(pty, ["flips"], 0.2)
        sent = busy = idle = 0
        for boot in (1, 2, 3):
            board = sf.FakeBoard(line, boot)
            line.clean()
            board.hello()
            line.share = 0.2
            for _ in range(300):
                board.beat(work=1000 * boot, rest=3000)
            line.clean()
            board.sums()
            pty.send(sf.frame(board.seq, board.t, boot, sf.run(3, 1, 1))[:9])
            sent, busy, idle = sent + board.seq, busy + board.busy, idle + board.idle
        source = self.finish(observer, pty, line.bytes + 27)
        board.busy, board.idle = busy, idle
        self.check(observer, board, source["events"], sent)
        self.assertEqual(source["resets"], 2)


if __name__ == "__main__":
    unittest.main()
