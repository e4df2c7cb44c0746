# SPDX-License-Identifier: BSD-2-Clause
"""export: two boards that run real firmware, one whose clock drifts, and a loop of the host, all on one page.

What the boards and the looper count of themselves is the truth. What the boards send goes through a decoder, too, that shares
no code with the product. The clocks of both are the host's monotonic one, from some moment on: they do not drift, and their
offset lies within each exchange, between when a question was there to be carried and when its answer was.
"""
import os
import re
import subprocess
import sys

import serial_frames as sf
import test_boards
import test_firmware
from board_line import Line
from exported import ExportTest, promtool_check
from harness import LOOPERS, READY, ROOT, until

sys.path.insert(0, os.path.join(ROOT, "tests", "micropython"))
import boards  # noqa: E402 # pylint: disable=wrong-import-position
import test_micropython  # noqa: E402 # pylint: disable=wrong-import-position

SECONDS = 60               # how long a busy machine may take for anything
EXACT = 1e-5               # seconds that shares of many intervals, added up, may be off by
MARGIN = 0.01
CLOCK_S = 0.001            # beyond what is said of the offset's error and of the drift


class ExportBoards(ExportTest):
    def test_two_boards_and_the_hosts_loops_on_one_page(self):
        test_firmware.Firmware.setUpClass()
        unix = boards.Unix(test_micropython.firmware("unix"))
        ticker = self.start([os.path.join(LOOPERS, "ticker"), "-k", "uniform", "-p", "5ms", "-d", "2s"], READY, stdin=subprocess.PIPE)
        cortex_line, python_line, fast = Line(self.addCleanup, "cortex"), Line(self.addCleanup, "python"), sf.Pty()
        self.addCleanup(fast.close)
        export = self.export("-p", ticker.pid, "--budget", "100%", "-i", "200ms", "--serial", "cortex=" + cortex_line.pty.path,
                             "--serial", "python=" + python_line.pty.path, "--serial", "fast=" + fast.path)
        drifting = test_boards.Drifting(fast, test_boards.DRIFT_PPM)
        self.addCleanup(drifting.stop)
        cortex = test_firmware.Board(test_firmware.Firmware.elf, 2, icount=None)
        self.addCleanup(cortex.close)
        cortex_line.connect(cortex.fds.pop())  # the console stays
        self.addCleanup(unix.close)
        unix.program("tasks.py", "2")
        python_line.connect(unix.fd)
        ticker.process.stdin.write(b"go\n")
        ticker.process.stdin.flush()

        cortex_truth = self.run_cortex(cortex, cortex_line)
        unix.child.wait(SECONDS)
        python_truth = test_micropython.Truth(unix.child.stdout.read().decode())
        ticker.wait_line("^done$", timeout=SECONDS)
        self.until_drift_is_found(export, "fast", test_boards.DRIFT_PPM)
        self.until_drift_is_found(export, "cortex", 0)
        cortex_line.cable.close()
        python_line.cable.finish(unix.fd)
        page = self.page_with_all(export, (cortex_line, python_line))

        self.assertEqual(promtool_check(page.text), "")
        self.check_cortex(page, cortex_line, cortex_truth)
        self.check_python(page, python_line, python_truth)
        for line in (cortex_line, python_line):
            self.check_source(page, line)
            self.check_clock(page, line)
        self.end(export)
        self.check_host(page, ticker)

    @staticmethod
    def run_cortex(board, line):
        """Some seconds of work, then none: what the firmware counted, {(task, instance): figures}, once the board's last sums came."""
        board.until(lambda: board.console.count("truth clock") >= 3, "two seconds of work", SECONDS)
        board.type(b"q")
        board.until(lambda: "truth end" in board.console, "the tasks' truth", SECONDS)
        truth = {}
        for name, text in re.findall(r"truth task=(\w+) (inst=.*)", board.console):
            figures = test_firmware.figures(text)
            truth[name, figures["inst"]] = figures

        def told():
            line.pump()
            totals = line.last_totals()
            return all(task in totals and totals[task]["runs"] == f["runs"] for task, f in truth.items())
        board.until(told, "the sums of all steps", SECONDS)
        return truth

    def until_drift_is_found(self, export, name, ppm):
        """The longer it lasts the better it is known: to 20 ppm in the end."""
        def drift():
            ratio = export.metrics().sum("loopscope_source_clock_drift_ratio", loop=name)
            return ratio is not None and abs(ratio * 1e6 - ppm) <= test_boards.PPM
        until(drift, SECONDS, "%s: a drift of %d ppm" % (name, ppm))

    @staticmethod
    def page_with_all(export, lines):
        """Once the daemon has read all that was sent, and made its reports of it."""
        def all_told():
            page = export.metrics()
            return all(page.sum("loopscope_source_received_bytes_total", loop=line.name) == len(line.cable.bytes[line.board])
                       for line in lines)
        until(all_told, SECONDS, "all bytes are read")
        for line in lines:
            line.pump()
        return export.fresh_metrics()

    def check_task(self, page, line, task, runs):
        """Steps by the board's own count, time by its sums, instances taken together."""
        self.assertEqual(page.sum("loopscope_task_runs_total", loop=line.name, task=task, kind="task"), runs, task)
        hz = line.stream.of("SYNC")[0][3]["hz"]
        busy = sum(f["busy"] for (name, _), f in line.last_totals().items() if name == task) / hz
        self.assertAlmostEqual(page.sum("loopscope_task_busy_seconds_total", loop=line.name, task=task, kind="task"), busy,
                               delta=EXACT, msg=task)

    def check_cortex(self, page, line, truth):
        for task in {task for task, _ in truth}:
            self.check_task(page, line, task, sum(f["runs"] for (name, _), f in truth.items() if name == task))
        last = line.stream.of("SYNC")[-1][3]  # the sums of its life: it began before our eyes
        for state, sums in (("idle", ("idle",)), ("tick_cpu", ("busy", "isr"))):
            true = sum(last[key] for key in sums) / last["hz"]
            self.assertAlmostEqual(page.sum("loopscope_loop_seconds_total", comm=line.name, state=state), true, delta=EXACT, msg=state)

    def check_python(self, page, line, truth):
        for task in {task for task, _ in truth.tasks}:
            if task != "flash":  # who come and go have steps of which no sum tells
                self.check_task(page, line, task, sum(runs for (name, _), (runs, _) in truth.tasks.items() if name == task))
        last = line.stream.of("SYNC")[-1][2]
        states = page.matching("loopscope_loop_seconds_total", comm=line.name)
        span = round(sum(states.values()) * 1e6)
        origin = (truth.start - line.stream.first_t0) & 0xFFFFFFFF
        true = truth.asleep(last - span - origin, last - origin) / span
        told = sum(v for key, v in states.items() if ("state", "idle") in key) * 1e6 / span
        self.note("%s: margin %.4f told, %.4f by the program itself, over %.1f s" % (line.name, told, true, span / 1e6))
        self.assertAlmostEqual(told, true, delta=MARGIN)

    def check_source(self, page, line):
        self.assertEqual((line.stream.refused, line.stream.lost), ([], 0))
        dropped = max(f.get("dropped", f.get("total")) for kind in ("SYNC", "DROPPED") for _, _, _, f in line.stream.of(kind))
        for name, value in (("up", 1), ("lost_frames_total", 0), ("lost_events_total", dropped), ("resets_total", 0),
                            ("received_events_total", line.stream.frames)):
            self.assertEqual(page.sum("loopscope_source_" + name, loop=line.name), value, "%s %s" % (line.name, name))
        self.assertEqual(page.sum("loopscope_source_info", loop=line.name, protocol="loopscope"), 1)

    def check_clock(self, page, line):
        offset, error, drift = (page.sum("loopscope_source_clock_" + name, loop=line.name)
                                for name in ("offset_seconds", "error_seconds", "drift_ratio"))
        least, most = line.offset()
        lasted = line.cable.pieces[line.board][-1][0] - line.cable.pieces[line.board][0][0]
        self.note("%s: offset %.6f s told (+- %.6f), between %.6f and %.6f by the line; drift %.1f ppm, 0 in truth" % (
            line.name, offset, error, least, most, drift * 1e6))
        self.assertLess(least, most)
        may_be_off = error + abs(drift) * lasted + CLOCK_S
        self.assertGreater(offset, least - may_be_off, line.name)
        self.assertLess(offset, most + may_be_off, line.name)

    def check_host(self, page, ticker):
        ticks = len(ticker.truth()["log"])
        self.assertEqual(page.sum("loopscope_loop_ticks_total", comm="ticker"), ticks)
