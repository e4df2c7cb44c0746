# SPDX-License-Identifier: BSD-2-Clause
"""export: a real Prometheus reads it, and reads what the other reports say; clients and names that mean no good do no harm."""
import os
import re
import signal
import socket
import stat
import subprocess
import threading
import time

import serial_frames
from exported import ExportTest, Prometheus, promtool_check
from harness import LOOPERS, LOOPSCOPE, PYTHON, READY, ROOT, require_program, until
from programs import start_asyncio, start_node

LOAD = 0.01
AGE = 0.5  # of a reading that is scraped, seconds at most
STATES = {"idle", "io_cpu", "tick_cpu", "tick_blocked", "wait_io", "wait_tick"}
# What a process may call itself, and what is shown of it.
HOSTILE = {
    b"\x1b" * 15: "\\x1b" * 15,
    b'a"b\\c}\n1': 'a"b\\c}\\x0a1',
    b"\xff\xfe\xc3(": "\\xff\\xfe\\xc3(",
    "k\u00f6ln\u65e5".encode(): "k\u00f6ln\u65e5",
    b"\xe2\x80\xae!": "\\u202e!",
}
RENAMED = """
import asyncio, sys
with open("/proc/self/comm", "wb") as f:
    f.write(bytes.fromhex(sys.argv[1]))
async def main():
    print("ready 1", flush=True)
    while True:
        await asyncio.sleep(0.02)
asyncio.run(main())
"""
PINGER = """
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
print("ready 1", flush=True)
while True:
    s.sendall(b"PING\\r\\n")
    s.recv(64)
    time.sleep(0.005)
"""


def overlap(record, begin, end):
    return max(0.0, min(record["ts"], end) - max(record["ts"] - record["interval_s"], begin))


def mean_load(records, begin, end):
    """Of the stretch between two points in unix time, by records that cover it."""
    covered = sum(overlap(r, begin, end) for r in records)
    if covered < 0.95 * (end - begin):
        raise AssertionError("records cover %.2f of %.2f s" % (covered, end - begin))
    return sum(r["load"] * overlap(r, begin, end) for r in records) / covered


class ExportPrometheus(ExportTest):
    """redis, node and asyncio run; Prometheus asks export, and attach looks at the same."""

    def start_redis(self):
        redis = self.start([require_program("redis-server"), "--port", "0", "--unixsocket", "export.sock", "--save", ""],
                           r"[Rr]eady to accept connections")
        self.start([PYTHON, "-c", PINGER, os.path.join(self.tmp, "export.sock")], READY)
        return redis

    def assert_page_names_all(self, metrics):
        with open(os.path.join(ROOT, "docs", "METRICS.md"), encoding="utf-8") as f:
            named = set(re.findall(r"`(loopscope_\w+)", f.read()))
        self.assertEqual(set(metrics.types) - named, set(), "docs/METRICS.md names every metric")

    def test_prometheus_reads_what_attach_reads(self):
        programs = {"redis": self.start_redis().pid, "node": start_node(self.start).pid, "asyncio": start_asyncio(self.start).pid}
        ticker = self.start([os.path.join(LOOPERS, "ticker"), "-k", "tail", "-p", "5ms", "-d", "3s"], READY, stdin=subprocess.PIPE)
        named = [a for pid in (*programs.values(), ticker.pid) for a in ("-p", pid)]
        export = self.export(*named, "--pid-label", "--budget", "100%")
        whole = self.observe("attach", "-p", ticker.pid, "-i", "60s", "-o", "json", "--budget", "100%")
        fine = self.observe("attach", *named[:6], "-i", "200ms", "-o", "json", "--edges", "sched")
        prometheus = Prometheus(self, export.where)
        fine.wait_line('"type":"interval"')
        prometheus.wait_up()
        ticker.process.stdin.write(b"go\n")
        ticker.process.stdin.flush()
        ticker.wait_line("^done$", timeout=60)
        until(lambda: prometheus.query("loopscope_loop_ticks_total") and self.samples(prometheus, programs["node"]) >= 6, 30, "six scrapes")
        self.check_load(prometheus, fine, programs)
        self.check_text(export)
        self.assertEqual(whole.stop(signal.SIGINT, timeout=30), 0)
        self.check_quantile(prometheus, whole, ticker)
        self.end(export)

    @staticmethod
    def samples(prometheus, pid):
        found = prometheus.query('loopscope_loop_seconds_total{pid="%d",state="idle"}[1m]' % pid)
        return len(found[0][1]) if found else 0

    def check_load(self, prometheus, fine, programs):
        now = time.time()
        until(lambda: fine.loops() and fine.loops()[-1]["ts"] > now, 10, "attach has reported that far")
        for name, pid in programs.items():
            (_, raw), = prometheus.query('loopscope_loop_seconds_total{pid="%d",state="idle"}[1m]' % pid, now)
            begin, end = raw[0][0], raw[-1][0]
            (_, load), = prometheus.query(
                '1 - sum without (state) (rate(loopscope_loop_seconds_total{pid="%d",state="idle"}[1m]))'
                ' / sum without (state) (rate(loopscope_loop_seconds_total{pid="%d"}[1m]))' % (pid, pid), now)
            # What is scraped was read up to half a second before (docs/METRICS.md): by attach, over each stretch that it may be of.
            ages = [AGE * i / 5 for i in range(6)]
            wants = [mean_load(fine.loops(pid), begin - a, end - b) for a in ages for b in ages]
            self.note("%s: load %.4f by PromQL, %.4f to %.4f by attach, over %.1f s" % (name, load, min(wants), max(wants), end - begin))
            self.assertLessEqual(min(abs(load - want) for want in wants), LOAD, name)

    def check_text(self, export):
        metrics = export.metrics()
        self.assertEqual(promtool_check(metrics.text), "")
        self.assert_page_names_all(metrics)
        self.assertEqual({dict(k)["state"] for k in metrics.matching("loopscope_loop_seconds_total", comm="node")}, STATES)
        self.assertEqual(metrics.sum("loopscope_loops", runtime="asyncio"), 1)
        _, headers, body = export.get(Accept="application/openmetrics-text;version=1.0.0")
        self.assertTrue(headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"))
        self.assertTrue(body.endswith(b"\n# EOF\n"))

    def check_quantile(self, prometheus, whole, ticker):
        """All ticks of the ticker, from its first wait on, are in both: they are held against each other bucket by bucket."""
        record, = whole.loops(ticker.pid, ticker.pid)
        pid = 'pid="%d"' % ticker.pid
        (_, n), = prometheus.query("loopscope_loop_tick_duration_seconds_count{%s}" % pid)
        self.assertEqual(n, record["ticks"])
        bounds = sorted(float(m["le"]) for m, _ in prometheus.query("loopscope_loop_tick_duration_seconds_bucket{%s}" % pid))
        for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            (_, quantile), = prometheus.query("histogram_quantile(%g, loopscope_loop_tick_duration_seconds_bucket{%s})" % (q, pid))
            ours = record["tick_us"][name] / 1e6
            upper = min(b for b in bounds if b >= ours)
            self.note("%s of %d ticks: %.2f ms by PromQL, %.2f ms by attach, in a bucket up to %.2f ms" % (
                name, n, quantile * 1e3, ours * 1e3, upper * 1e3))
            lower = max((b for b in bounds if b < upper), default=0)
            self.assertTrue(lower <= quantile <= upper, name)

    def test_hostile_names(self):
        for name in HOSTILE:
            self.start([PYTHON, "-c", RENAMED, name.hex()], READY)
        export = self.export("--include", "runtime=asyncio", "-i", "500ms")
        prometheus = Prometheus(self, export.where)
        prometheus.wait_up()

        def all_there():
            shown = {m.get("comm") for m, _ in prometheus.query("loopscope_loops")}
            return set(HOSTILE.values()) <= shown
        until(all_there, 20, "every name has come through as it is shown")
        metrics = export.metrics()
        self.assertEqual(promtool_check(metrics.text), "")
        self.assertTrue(all(c >= " " or c == "\n" for c in metrics.text))
        for shown in HOSTILE.values():
            self.assertEqual(metrics.sum("loopscope_loops", comm=shown), 1, shown)
        self.end(export)


class ExportHttp(ExportTest):
    """Clients that mean no good."""

    def test_hostile_clients(self):
        target = self.looper("epoll_wait")
        export = self.export("-p", target.pid, "-i", "1s")
        until(lambda: export.metrics().sum("loopscope_loop_ticks_total"), 10, "ticks are measured")
        before = export.metrics()
        for harm in (self.idle_connections, self.slow_readers, self.giant_heads, self.wrong_methods, self.storm):
            harm(export)
            self.assertEqual(export.get("/healthz")[0], 200, harm.__name__)
        after = export.fresh_metrics()
        grown = after.sum("loopscope_observer_memory_bytes") - before.sum("loopscope_observer_memory_bytes")
        self.note("memory grew by %.1f MiB to %.1f MiB" % (grown / 2**20, after.sum("loopscope_observer_memory_bytes") / 2**20))
        self.assertLess(grown, 16 * 2**20)
        self.assertEqual(after.sum("loopscope_lost_events_total"), before.sum("loopscope_lost_events_total"))
        self.assertGreater(after.sum("loopscope_loop_ticks_total"), before.sum("loopscope_loop_ticks_total"))
        self.assertGreaterEqual(after.sum("loopscope_http_closed_total"), 400)
        self.assertLessEqual(after.sum("loopscope_http_connections"), 80)
        self.end(export)

    def connected(self, export):
        s = socket.create_connection((export.host, export.port), timeout=20)
        self.addCleanup(s.close)
        return s

    def idle_connections(self, export):
        idle = [self.connected(export) for _ in range(500)]
        for _ in range(20):
            export.metrics()
        for s in idle:
            s.close()

    def slow_readers(self, export):
        slow = [self.connected(export) for _ in range(100)]
        for s in slow:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
        export.metrics()
        for s in slow:
            s.close()

    def giant_heads(self, export):
        for head in (b"GET / HTTP/1.1\r\nX: " + b"a" * 2**20, b"G" * 2**20, b"GET /" + b"a" * 2**20 + b" HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100000):
            s = self.connected(export)
            answer = b""
            try:
                s.sendall(head)
                answer = s.recv(100)
            except (ConnectionResetError, BrokenPipeError):
                pass
            self.assertFalse(answer.startswith(b"HTTP/1.1 200"), answer)
            s.close()

    def wrong_methods(self, export):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"):
            status, headers, _ = export.get("/metrics", method)
            self.assertEqual(status, 405, method)
            self.assertEqual(headers["Allow"], "GET, HEAD")
        self.assertEqual(export.get("/metrics", "HEAD")[2], b"")
        self.assertEqual(export.get("/nothing")[0], 404)
        self.assertEqual(export.get("/../../etc/passwd")[0], 404)

    def storm(self, export):
        """However many ask: the loops are read twice a second, and at each turn of the interval."""
        readings = export.metrics().sum("loopscope_readings_total")
        begin, done = time.monotonic(), []

        def ask():
            for _ in range(50):
                done.append(export.get()[0])
        askers = [threading.Thread(target=ask) for _ in range(8)]
        for t in askers:
            t.start()
        for t in askers:
            t.join()
        seconds = time.monotonic() - begin
        self.assertEqual(set(done), {200})
        self.assertEqual(len(done), 400)
        read = export.fresh_metrics().sum("loopscope_readings_total") - readings
        self.note("%d scrapes in %.2f s: %d readings" % (len(done), seconds, read))
        self.assertLessEqual(read, seconds * 3 + 4)


class ExportChurn(ExportTest):
    def test_loops_come_and_go(self):
        """Counters never step back, series are bounded, memory does not grow."""
        self.start([os.path.join(LOOPERS, "churn"), "-p", "60ms"], READY)
        export = self.export("-i", "500ms", "--max-loops", "40", "--include", "comm=churn*", "--include", "comm=poll", "--pid-label")
        before, memory, most = None, [], 0
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            now = export.metrics()
            if before:
                for key, value in before.counters().items():
                    self.assertGreaterEqual(now.values.get(key, value), value, key)
            before = now
            memory.append(now.sum("loopscope_observer_memory_bytes"))
            most = max(most, len(now.values))
            time.sleep(0.25)  # the pace of the questions
        self.note("%d series at most; memory %.1f MiB, then %.1f MiB" % (most, memory[len(memory) // 4] / 2**20, memory[-1] / 2**20))
        self.assertLessEqual(before.sum("loopscope_groups"), 40)
        self.assertGreater(before.sum("loopscope_loop_seconds_total", overflow="true"), 0)
        self.assertLess(most, 41 * 20 + 50)
        self.assertLess(memory[-1] - memory[len(memory) // 4], 2 * 2**20)
        self.end(export)


class ExportLife(ExportTest):
    """How it begins, goes on and ends."""

    def test_processes_that_start_later(self):
        export = self.export("-n", "looper-late-*", "-i", "500ms")
        self.assertIsNone(export.metrics().sum("loopscope_loops"))
        late = os.path.join(self.tmp, "looper-late-1")
        os.link(os.path.join(LOOPERS, "epoll_wait"), late)
        self.start([late], READY)
        export.program.process.send_signal(signal.SIGHUP)
        until(lambda: export.metrics().sum("loopscope_loop_ticks_total", comm="looper-late-1"), 10, "the late one is exported")
        self.end(export)

    def test_unix_socket(self):
        path = os.path.join(self.tmp, "export.socket")
        export = self.export("-i", "1s", listen="unix:" + path)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o660)
        self.assertIsNotNone(export.metrics().sum("loopscope_groups"))
        self.end(export)
        self.assertFalse(os.path.exists(path))

    def test_what_can_not_be_is_said(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            taken = "127.0.0.1:%d" % s.getsockname()[1]
            for arguments, status, said in (
                    (["-l", taken], 1, "another program listens there"), (["-l", "example.org:80"], 2, "numeric address"),
                    (["-l", "unix:/nowhere/x"], 1, "can't listen on"), (["-p", "999999"], 1, "there is no process"),
                    (["-e", "fentry"], 2, "give -p or -n"), (["--no-kernel"], 2, "--serial"), (["-i", "1us"], 2, "at least 100ms"),
                    (["--include", "x=y"], 2, "comm")):
                with self.subTest(arguments):
                    tried = subprocess.run([LOOPSCOPE, "export", *arguments], capture_output=True, text=True, timeout=20, check=False)
                    self.assertEqual((tried.returncode, tried.stdout), (status, ""), tried.stderr)
                    self.assertIn(said, tried.stderr)
                    self.assertEqual(tried.stderr.count("\n"), 1, tried.stderr)

    def test_boards_beside_each_other(self):
        ptys = [serial_frames.Pty(), serial_frames.Pty()]
        for pty in ptys:
            self.addCleanup(pty.close)
        export = self.export("--no-kernel", "-i", "200ms", "--serial", "left=" + ptys[0].path, "--serial", ptys[1].path)
        for pty, beats in zip(ptys, (50, 30)):
            board = serial_frames.FakeBoard(pty)
            board.hello()
            for _ in range(beats):
                board.beat()
            board.sums()
        until(lambda: export.metrics().sum("loopscope_task_runs_total") == 80, 20, "all steps of both are in the metrics")
        metrics = export.metrics()
        self.assertEqual(promtool_check(metrics.text), "")
        self.assertEqual(metrics.sum("loopscope_source_up"), 2)
        self.assertIsNone(metrics.sum("loopscope_loop_seconds_total", source="kernel"))
        for name, beats in (("left", 50), ("board1", 30)):
            self.assertEqual(metrics.sum("loopscope_task_runs_total", loop=name, task="work"), beats)
            self.assertAlmostEqual(metrics.sum("loopscope_task_busy_seconds_total", loop=name, task="work"), beats * 2e-3, delta=1e-6)
            self.assertAlmostEqual(metrics.sum("loopscope_loop_seconds_total", comm=name, state="idle"), beats * 8e-3, delta=1e-4)
            self.assertEqual(metrics.sum("loopscope_source_lost_frames_total", loop=name), 0)
        self.end(export)
