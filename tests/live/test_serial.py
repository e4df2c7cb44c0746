# SPDX-License-Identifier: BSD-2-Clause
"""`loopscope serial` as a user runs it: recorded streams, a board made of frames on a pty, real firmware.

The recorded streams are other tracers' own bytes, and their expect files hold the truth (tests/data/serial). The frames
are made by serial_frames.py, which shares no code with the product. Needs no root.
"""
import os
import re
import socket
import sys
import time
import unittest

import serial_frames as sf
from harness import ROOT
from serial_harness import DATA, SECONDS, SerialTest, expect

sys.path.insert(0, os.path.join(ROOT, "tests", "micropython"))

SHARE = 2e-6               # JSON rounds shares to a millionth
GARBAGE_BYTES = 64 << 20
GARBAGE_KIB = 2048         # what that much garbage may add to the memory in use
MARGIN = 0.01              # of the truth


def resident_kib(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read()).group(1))


class Connection:
    def __init__(self, connection):
        self.send = connection.sendall


class SerialFiles(SerialTest):
    def report(self, name, *arguments):
        observer = self.to_end(os.path.join(DATA, name + ".bin"), "-o", "json", *arguments)
        self.assertEqual(len(self.of(observer, "loop")), 1, "a file gives one report")
        self.assertEqual([o["last"] for o in self.of(observer, "interval")], [True])
        return observer, self.of(observer, "loop")[0], self.of(observer, "source")[0]

    def test_systemview(self):
        for name in ("systemview-a", "systemview-d"):
            want = expect(name)
            observer, loop, source = self.report(name)
            self.check_systemview(observer, want["true"])
            self.assertEqual((source["protocol"], source["lost"]["events"]), ("systemview", 0), name)
            self.assertEqual(source["garbage"], want.get("first_packet_offset", 0), name)
            self.assertEqual(source["orphans"], want["orphan_isr_exits"], name)
            idle = want["true"]["span"]["idle_net_share"]
            self.assertAlmostEqual(loop["idle"], idle, delta=SHARE)
            self.assertAlmostEqual(loop["load"], 1 - idle, delta=SHARE)
            self.assertEqual([loop[key] for key in ("wait", "pid", "tid", "naive_load")], [None] * 4)
            self.assertAlmostEqual(source["margin"]["mean"], idle, delta=0.01)

    def test_systemview_overflow(self):
        want = expect("systemview-b")
        observer, loop, source = self.report("systemview-b")
        self.check_systemview(observer, want["clean"])
        self.assertEqual(source["lost"]["events"], want["overflow"]["lost_events"])
        self.assertEqual(source["gaps"], want["overflow"]["episodes"])
        self.assertEqual(loop["lost"], want["overflow"]["lost_events"])
        gaps = self.of(observer, "gap")
        self.assertEqual(sum(o["lost"] for o in gaps), want["overflow"]["lost_events"], "every loss is told as a gap")
        self.assertEqual({o["what"] for o in gaps}, {"events"})
        self.assertLessEqual(len(gaps), 101, "a flood of gaps is summed up")

    def test_zephyr(self):
        observer, _, source = self.report("zephyr-ctf-32")
        self.assertEqual(source["protocol"], "zephyr-ctf")
        tasks = self.tasks(observer)
        checked = 0
        for t in expect("zephyr-ctf-32")["threads"]:
            if "idle" not in t["name"] and t["net_us"]["n"]:
                self.check_figures(tasks["task", t["thread_id"]], t["net_us"], t["name"])
                checked += 1
        self.assertGreaterEqual(checked, 3)

    def test_tonbandgeraet(self):
        observer, _, source = self.report("tonband-a")
        self.assertEqual((source["protocol"], source["lost"]["events"]), ("tonbandgeraet", 0))
        tasks = self.tasks(observer)
        checked = 0
        for t in expect("tonband-a")["true"]["tasks"]:
            if ("task", t["id"]) in tasks and t["net_us"]["n"]:
                self.check_figures(tasks["task", t["id"]], t["net_us"], t["name"])
                checked += 1
        self.assertGreaterEqual(checked, 4)

    def test_monitor(self):
        """A file has no times of arrival: lifetimes are counted, and nothing is said of their length."""
        for name in ("monitor-a", "monitor-c"):
            observer, loop, source = self.report(name)
            self.assertEqual(source["protocol"], "monitor")
            self.assertEqual([loop["load"], loop["idle"], loop["interval_s"]], [None] * 3)
            told = {o["id"]: o for o in self.of(observer, "task")}
            for ident, want in expect(name)["idents"].items():
                o = told[int(ident)]
                self.assertEqual((o["kind"], o["runs"]), ("lifetime", want["starts"]), ident)
                self.assertEqual([o["busy"], o["alive"]], [None, None])

    def test_standard_input_is_the_same(self):
        path = os.path.join(DATA, "systemview-a.bin")
        told = {}
        for where, how in ((path, {}), ("-", {"stdin": open(path, "rb")}), ("pipe", {})):
            if where == "pipe":
                os.mkfifo(os.path.join(self.tmp, "pipe"))
                observer = self.start("pipe", "-o", "json")
                with open(path, "rb") as source, open(os.path.join(self.tmp, "pipe"), "wb") as pipe:
                    pipe.write(source.read())
                self.assertEqual(observer.wait_exit(SECONDS), 0, observer.errors)
            else:
                observer = self.to_end(where, "-o", "json", **how)
                if how:
                    how["stdin"].close()
            told[where] = [{k: v for k, v in o.items() if k not in ("ts", "end")} for o in self.of(observer, "task")]
        self.assertEqual(told["-"], told[path])
        self.assertEqual(told["pipe"], told[path])

    def test_table(self):
        text = "\n".join(l[2] for l in self.to_end(os.path.join(DATA, "systemview-a.bin")).lines)
        ctrl = [t for t in expect("systemview-a")["true"]["tasks"] if t["name"] == "Ctrl"][0]
        self.assertRegex(text, r"board0/loop fixture A1")
        self.assertRegex(text, r"(?m)^  Ctrl +%d +task +%d +148us +\S+ +\S+ +1\.27ms +4\.6%%" % (ctrl["id"], ctrl["executions"]))
        self.assertRegex(text, r"(?m)^# margin: 57\.1% free on average, \S+% in the worst of 2 windows of 1\.00s")
        self.assertRegex(text, r"(?m)^# could sleep: \d+ times")
        text = "\n".join(l[2] for l in self.to_end(os.path.join(DATA, "systemview-b.bin")).lines)
        self.assertRegex(text, r"(?m)^# lost: 5680 events")

    def test_what_is_wrong_is_said(self):
        for arguments, status, words in (
                ([], 2, "which port"), (["nowhere"], 1, "no port nowhere"), (["a", "b"], 2, "--help"),
                (["tcp:x", "-o", "json"], 2, "tcp:HOST:PORT"), (["/dev/null"], 1, "no trace was recognised"),
                (["-", "--filter", "3,x"], 2, "no filter"), (["-", "--filter", "0"], 2, "no filter"),
                (["-", "--listen", "--rate", "runs"], 2, "nothing is sent"),
                ([os.path.join(DATA, "tonband-a.bin"), "-i", "1"], 2, "leave out -i"),
                ([os.path.join(DATA, "tonband-a.bin"), "--reset"], 2, "no serial port")):
            observer = self.to_end(*arguments, status=status)
            self.assertIn(words, " ".join(observer.errors))


class SerialPty(SerialTest):
    def board(self, *arguments, boot=1, protocol=None):
        """A board and an observer that has the port open."""
        pty = self.pty()
        forced = ["--protocol", protocol] if protocol else []
        observer = self.start(pty.path, "-o", "json", "-i", "100ms", *forced, *arguments)
        self.wait_source(observer, lambda o: True, "a first report")
        return sf.FakeBoard(pty, boot), pty, observer

    def test_replayed_stream(self):
        pty = self.pty()
        observer = self.start(pty.path, "-o", "json", "-i", "100ms")
        self.wait_source(observer, lambda o: o["protocol"] is None and o["present"], "a first report")
        with open(os.path.join(DATA, "systemview-a.bin"), "rb") as f:
            data = f.read()
        pty.send(data)
        self.taken(observer, pty)
        self.assertEqual(observer.stop(), 0, observer.errors)
        self.check_systemview(observer, expect("systemview-a")["true"], median=False)
        # names on recognising it, the end on leaving: never a hello into a recording, which holds a byte 03
        self.assertEqual(pty.listen(0), b"\x01\x02")

    def test_systemview_handshake(self):
        with open(os.path.join(DATA, "systemview-handshake.board.bin"), "rb") as f:
            hello = f.read()
        for forced in (True, False):
            _, pty, observer = self.board(protocol="systemview" if forced else None)
            if forced:
                self.assertEqual(self.heard(pty, 4), b"SV\x03\x20")
            pty.send(hello)
            self.assertEqual(self.heard(pty, 5), b"SV\x03\x20\x01")
            observer.stop()

    def heard(self, pty, size):
        deadline = time.monotonic() + SECONDS
        while len(pty.heard) < size and time.monotonic() < deadline:
            pty.listen(0.1)
        return pty.heard

    def heard_line(self, pty, line):
        deadline = time.monotonic() + SECONDS
        while line not in pty.heard:
            self.assertLess(time.monotonic(), deadline, "not heard: %r in %r" % (line, pty.heard))
            pty.listen(0.1)

    def test_board(self):
        board, pty, observer = self.board()
        board.hello()
        for _ in range(50):
            board.beat()
        board.sums()
        self.wait(observer, lambda all_: sum(o["runs"] or 0 for o in all_ if o["type"] == "task") >= 50, "all steps")
        self.assertEqual(observer.stop(), 0, observer.errors)
        work = self.tasks(observer)["task", 3]
        self.check_figures(work, {"n": 50, "min": 2000, "max": 2000, "total": 100000, "median": 2000}, "work")
        loads = [o for o in self.of(observer, "loop") if o["load"] is not None]
        self.assertAlmostEqual(sum(o["load"] * o["interval_s"] for o in loads) / sum(o["interval_s"] for o in loads), 0.2, delta=1e-5)
        self.assertEqual({o["thread"] for o in loads}, {"testboard"})
        self.assertEqual(len(self.of(observer, "loop_start")), 1)
        self.assertNotIn(b"\x03", pty.listen(0))

    def test_lost_frames_are_gaps(self):
        board, _, observer = self.board()
        board.hello()
        for n in range(60):
            board.beat(lose=n % 10 in (3, 4, 7))
        board.sums()
        source = self.wait_source(observer, lambda o: o["from_sums"] and o["lost"]["frames"] >= 18, "the losses")
        observer.stop()
        self.assertEqual((source["lost"]["frames"], source["gaps"]), (18, 12))
        self.assertEqual([(o["lost"], o["what"]) for o in self.of(observer, "gap")], [(2, "frames"), (1, "frames")] * 6)
        self.assertEqual(sum(o["lost"] for o in self.of(observer, "loop")), 18)
        self.assertEqual(sum(o["lost"] for o in self.of(observer, "interval")), 18)
        self.assertEqual(self.tasks(observer)["task", 3]["runs"], 60, "runs come from the board's own sums")

    def test_commands_and_clock(self):
        board, pty, observer = self.board("--rate", "runs", "--min-step", "40ms", "--filter", "3,5", "--sync", "50ms")
        offset, answered = int(time.monotonic()) - 1000, 0
        board.t = int((time.monotonic() - offset) * sf.HZ)
        board.hello()
        self.heard_line(pty, b"~+\n~r2\n~f40000\n~i3,5\n")
        deadline = time.monotonic() + SECONDS
        while not [o for o in self.of(observer, "source") if o["clock"] and o["clock"]["method"] == "pings" and
                   o["clock"]["samples"] >= 5]:
            self.assertLess(time.monotonic(), deadline, "no clock from pings")
            pty.listen(0.05)
            for nonce in re.findall(rb"~t(\d+)\n", pty.heard)[answered:]:
                board.t = now = int((time.monotonic() - offset) * sf.HZ)
                board.records(sf.answer(int(nonce), now, now))
                answered += 1
        observer.stop()
        clock = self.of(observer, "source")[-1]["clock"]
        error = clock["offset_s"] - offset
        self.assertLessEqual(abs(error) * 1e6, clock["error_us"] + 1000)
        self.assertNotIn(b"\x03", pty.listen(0))
        self.notes.append("clock offset off by %.0f us, said to be within %.0f" % (error * 1e6, clock["error_us"]))

    def test_listen_sends_nothing(self):
        board, pty, observer = self.board("--listen", "--sync", "10ms")
        board.hello()
        for _ in range(5):
            board.beat()
        self.wait_source(observer, lambda o: o["protocol"] == "loopscope", "the protocol")
        seq = self.of(observer, "interval")[-1]["seq"]
        self.wait(observer, lambda all_: [o for o in all_ if o["type"] == "interval" and o["seq"] > seq + 3], "more reports")
        observer.stop()
        self.assertEqual(pty.listen(0), b"")

    def test_hog_is_told_while_it_runs(self):
        board, _, observer = self.board()
        board.hello()
        board.beat()
        board.records(sf.opened(3, 60000, 60000))
        slow = self.wait(observer, lambda all_: [o for o in all_ if o["type"] == "slow_tick"], "the hog")[0]
        self.assertTrue(slow["in_progress"])
        self.assertEqual((slow["comm"], slow["source"], slow["pid"]), ("board0", "serial", None))
        self.assertEqual([(c["kind"], c["what"]) for c in slow["causes"]], [("cpu", "work")])
        self.assertAlmostEqual(slow["duration_us"], 60000, delta=1)
        self.wait(observer, lambda all_: [o for o in all_ if o["type"] == "task" and o["hog_open_us"]], "it in the table")
        board.t += 60000
        board.records(sf.run(3, 20000, 80000))
        ended = self.wait(observer, lambda all_: [o for o in all_ if o["type"] == "slow_tick" and not o["in_progress"]], "its end")[0]
        self.assertAlmostEqual(ended["duration_us"], 80000, delta=1)
        self.wait(observer, lambda all_: [o for o in all_ if o["type"] == "task" and o["hogs"] == 1], "its count")

    def test_reset_is_a_new_session(self):
        board, pty, observer = self.board("--rate", "all")
        board.hello()
        for _ in range(3):
            board.beat()
        self.heard_line(pty, b"~r3\n")
        said = pty.heard.count(b"~r3\n")
        pty.send(sf.frame(9, 0, 1, sf.run(3, 1, 1))[:9])  # in the middle of a frame
        again = sf.FakeBoard(pty, boot=2)
        again.hello()
        for _ in range(7):
            again.beat()
        again.sums()
        source = self.wait_source(observer, lambda o: o["resets"] == 1 and o["from_sums"], "the reset")
        deadline = time.monotonic() + SECONDS
        while pty.heard.count(b"~r3\n") <= said and time.monotonic() < deadline:
            pty.listen(0.1)
        observer.stop()
        self.assertEqual(pty.heard.count(b"~r3\n"), said + 1, "a board that was reset is asked again")
        kinds = [o["type"] for _, o in observer.objects() if o["type"] in ("loop_start", "loop_stop")]
        self.assertEqual(kinds, ["loop_start", "loop_stop", "loop_start"])
        self.assertEqual(source["lost"]["frames"], 0, "a reset is no loss of frames")

    def test_unplugged_and_back(self):
        """The port goes in the middle of a frame and comes back under the same name as another device."""
        first, second = self.pty(), self.pty()
        link = os.path.join(self.tmp, "board")
        os.symlink(first.path, link)
        observer = self.start(link, "-o", "json", "-i", "100ms", "--name", "left")
        self.wait_source(observer, lambda o: o["present"], "a first report")
        board = sf.FakeBoard(first)
        board.hello()
        for _ in range(4):
            board.beat()
        self.wait_source(observer, lambda o: o["events"] >= 5, "frames")
        first.send(sf.frame(board.seq, 0, 1, sf.run(3, 1, 1))[:9])
        os.unlink(link)
        first.hang_up()
        self.wait_source(observer, lambda o: not o["present"], "its absence")
        os.symlink(second.path, link)
        self.wait(observer, lambda all_: [o for o in all_ if o["type"] == "task" and o["last_seen_s"] > 0.3], "an older last step")
        self.wait(observer, lambda all_: [o for o in all_ if o["type"] == "source"][-1]["present"], "its return")
        board = sf.FakeBoard(second, boot=2)
        board.hello()
        for _ in range(6):
            board.beat()
        board.sums()
        self.wait(observer, lambda all_: sum(o["runs"] or 0 for o in all_ if o["type"] == "task") >= 10, "its steps")
        self.assertEqual(observer.stop(), 0, observer.errors)
        kinds = [o["type"] for _, o in observer.objects() if o["type"] in ("loop_start", "loop_stop")]
        self.assertEqual(kinds, ["loop_start", "loop_stop", "loop_start"])
        self.assertEqual({o["loop"] for o in self.of(observer, "task")}, {"left"})
        self.assertNotIn(b"\x03", second.listen(0))

    def test_connection_that_ends_and_comes_back(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(SECONDS)
            observer = self.start("tcp:127.0.0.1:%d" % server.getsockname()[1], "-o", "json", "-i", "100ms")
            for boot in (1, 2):
                connection, _ = server.accept()
                with connection:
                    board = sf.FakeBoard(Connection(connection), boot)
                    board.hello()
                    for _ in range(5):
                        board.beat()
                    board.sums()
                    self.wait(observer, lambda all_: sum(o["runs"] or 0 for o in all_ if o["type"] == "task") >= 5 * boot,
                              "the steps of connection %d" % boot)
                self.wait_source(observer, lambda o: not o["present"], "its absence")
        self.assertEqual(observer.stop(), 0, observer.errors)
        kinds = [o["type"] for _, o in observer.objects() if o["type"] in ("loop_start", "loop_stop")]
        self.assertEqual(kinds, ["loop_start", "loop_stop"] * 2)

    def test_console(self):
        board, pty, observer = self.board("--console")
        board.hello()
        pty.send(b"hello \x1b[31mred\r\n")
        board.beat()
        pty.send(b">>> ")
        observer.wait_for(lambda p: any(r"hello \x1b[31mred" in line for line in p.errors), SECONDS, "the text")
        self.wait_source(observer, lambda o: o["console"] >= 20, "the prompt, which no newline ends")
        observer.stop()
        self.assertIn(">>> ", "\n".join(observer.errors))
        for line in observer.lines:
            self.assertNotIn("hello", line[2])

    def test_endless_garbage_is_bounded(self):
        observer = self.start("/dev/urandom", "-o", "json", "-i", "100ms")
        self.wait_source(observer, lambda o: o["bytes"] > 4 << 20, "4 MB of garbage")
        before = resident_kib(observer.pid)
        source = self.wait_source(observer, lambda o: o["bytes"] > GARBAGE_BYTES, "64 MB of garbage")
        grown = resident_kib(observer.pid) - before
        self.assertEqual(observer.stop(), 1)
        self.assertIn("no trace was recognised", observer.errors[-1])
        self.assertIsNone(source["protocol"])
        self.assertLess(grown, GARBAGE_KIB)
        self.assertEqual(self.of(observer, "loop"), [], "nothing is made of noise")
        self.notes.append("%d MB of garbage: %d KiB more in memory" % (source["bytes"] >> 20, grown))


class SerialFirmware(SerialTest):
    """Real agents on emulated boards; skipped where these cannot be built."""

    def test_c_firmware(self):
        import test_firmware  # pylint: disable=import-outside-toplevel
        test_firmware.Firmware.setUpClass()
        board = test_firmware.Board(test_firmware.Firmware.elf, 2)
        self.addCleanup(board.close)
        path = os.ttyname(board.fds[-1])
        board.fds = board.fds[:1]  # the console stays ours, the trace is the program's
        observer = self.start(path, "-o", "json", "-i", "500ms")
        slow = self.wait(observer, lambda all_: [o for o in all_ if o["type"] == "slow_tick" and o["in_progress"]], "a hog")
        self.assertEqual(slow[0]["causes"][0]["what"], "crunch")
        self.wait(observer, lambda all_: len([o for o in all_ if o["type"] == "loop" and o["load"] is not None]) >= 3, "three loads")
        self.assertEqual(observer.stop(), 0, observer.errors)
        named = {(o["task"], o["instance"]): o["kind"] for o in self.of(observer, "task")}
        for name in ("blink", "sensor", "report", "crunch"):
            self.assertEqual(named[name, 0], "task")
        self.assertEqual((named["blink", 1], named["timer", 0]), ("task", "isr"))
        source = self.of(observer, "source")[-1]
        self.assertEqual((source["protocol"], source["name"], source["lost"]["events"]), ("loopscope", "mps2-an385", 0))
        self.assertIsNotNone(source["sleep_us"] or [o for o in self.of(observer, "source") if o["sleep_us"]])

    def test_micropython(self):
        import boards  # pylint: disable=import-outside-toplevel
        import test_micropython  # pylint: disable=import-outside-toplevel
        board = boards.Unix(test_micropython.firmware("unix"))
        self.addCleanup(board.close)
        pty = self.pty()
        observer = self.start(pty.path, "-o", "json", "-i", "200ms")
        self.wait_source(observer, lambda o: o["present"], "a first report")
        board.program("tasks.py", "4")
        cable = sf.Cable(board.fd, pty.master)
        self.addCleanup(cable.close)
        board.child.wait(SECONDS)
        truth = test_micropython.Truth(board.child.stdout.read().decode())
        cable.finish(board.fd)
        self.wait_source(observer, lambda o: o["bytes"] == len(cable.bytes[board.fd]), "all that the board sent")
        self.assertEqual(observer.stop(), 0, observer.errors)
        self.check_micropython(observer, cable.bytes[board.fd], truth)
        self.assertNotIn(b"\x03", cable.bytes[pty.master])

    def test_micropython_on_a_cortex_m3(self):
        """One UART for the REPL, the program's output and the frames."""
        import boards  # pylint: disable=import-outside-toplevel
        import test_micropython  # pylint: disable=import-outside-toplevel
        board = boards.CortexM3(test_micropython.firmware("qemu"))
        self.addCleanup(board.close)
        board.files([os.path.join(boards.AGENT, "loopscope.py")] +
                    [os.path.join(boards.HERE, "programs", name) for name in ("timers.py", "tasks.py")])
        pty = self.pty()
        observer = self.start(pty.path, "-o", "json", "-i", "200ms", "--console", "--sync", "100ms")
        self.wait_source(observer, lambda o: o["present"], "a first report")
        cable = sf.Cable(board.fd, pty.master)
        self.addCleanup(cable.close)
        os.write(board.fd, b"import sys\nsys.argv[:] = ['tasks.py', '4']\nimport tasks\n\x04")
        deadline = time.monotonic() + SECONDS
        while not cable.bytes[board.fd].endswith(b"\x04>"):
            self.assertLess(time.monotonic(), deadline, "no prompt after the program: %r" % cable.bytes[board.fd][-100:])
            cable.over.wait(0.05)
        cable.close()
        self.wait_source(observer, lambda o: o["bytes"] == len(cable.bytes[board.fd]), "all that the board sent")
        self.assertEqual(observer.stop(), 0, observer.errors)
        console = "\n".join(observer.errors)
        truth = test_micropython.Truth(console)
        self.check_micropython(observer, cable.bytes[board.fd], truth)
        self.assertEqual([k for k in range(1, truth.tasks["talker", 0][0]) if "talk %d\n" % k not in console], [])
        self.assertTrue(console.startswith("OK"), "the REPL's own words")
        self.assertNotIn("talk", "".join(line[2] for line in observer.lines).replace('"talker"', ""))
        self.assertNotIn(b"\x03", cable.bytes[pty.master])
        self.assertIn(b"~t", cable.bytes[pty.master], "and the other way it asked for the time")

    def check_micropython(self, observer, data, truth):
        tasks = [o for o in self.of(observer, "task") if o["kind"] == "task"]
        self.assertEqual({(o["task"], o["instance"]) for o in tasks}, set(truth.tasks) | {("main", 0)})
        self.assertEqual(max(o["instances"] for o in tasks if o["task"] == "sensor"),
                         len([1 for name, _ in truth.tasks if name == "sensor"]))
        for name, instance in truth.tasks:
            if name != "flash":  # who come and go have intervals of which no sum tells
                mine = [o for o in tasks if (o["task"], o["instance"]) == (name, instance)]
                self.assertEqual(sum(o["runs"] or 0 for o in mine), truth.tasks[name, instance][0], name)
        live = [o for o in self.of(observer, "slow_tick") if o["in_progress"]]
        self.assertGreaterEqual(len([o for o in live if o["causes"][0]["what"] == "hog"]), 3, "hogs are told while they run")
        hog = [o for o in tasks if o["task"] == "hog"]
        # in the table are those whose ends came: a board that is kept from its line drops steps, and says so
        stream = self.witness(data)
        ident = [i for i, who in stream.names()[0].items() if who == ("hog", 0)][0]
        came = [f["dur"] for _, _, _, f in stream.of("RUN") if f["id"] == ident and f["dur"] > 50000]
        self.assertGreaterEqual(len(came), 1)
        self.assertEqual(sum(o["hogs"] for o in hog), len(came), "and stand in the table")
        self.assertAlmostEqual(max(o["run_us"]["max"] for o in hog if o["run_us"]), max(came), delta=1)
        self.check_margin(observer, stream, truth)

    def witness(self, data):
        """The same bytes through a decoder that shares no code with the product."""
        import frames  # pylint: disable=import-outside-toplevel
        stream = frames.Stream()
        stream.feed(data, 0)
        self.assertEqual((stream.refused, stream.lost), ([], 0))
        return stream

    def check_margin(self, observer, stream, truth):
        """All loads together reach from where the sums began to the last SYNC: asleep in that time, by the program."""
        last = stream.of("SYNC")[-1][2]
        loads = [o for o in self.of(observer, "loop") if o["load"] is not None]
        span = round(sum(o["interval_s"] for o in loads) * 1e6)
        told = sum(o["idle"] * o["interval_s"] for o in loads) * 1e6 / span
        origin = (truth.start - stream.first_t0) & 0xFFFFFFFF
        true = truth.asleep(last - span - origin, last - origin) / span
        self.notes.append("margin %.4f told, %.4f by the program itself, over %.1f s" % (told, true, span / 1e6))
        self.assertGreater(span, 2e6)
        self.assertAlmostEqual(told, true, delta=MARGIN)


if __name__ == "__main__":
    unittest.main()
