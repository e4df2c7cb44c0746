# SPDX-License-Identifier: BSD-2-Clause
"""export: what it writes and pushes of its own accord; settings from a file; as a service, with no more privileges than it needs."""
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import threading

from exported import ExportTest, Metrics, promtool_check
from harness import LOOPSCOPE, PYTHON, READY, Observer, free_port, require_program, require_python_module, until
from test_export import RENAMED

USAGE, IMPOSSIBLE = 2, 3
PUSH = ("--push-interval", "1s", "-i", "1s")
HOSTILE = b'a"b\\c}\n1\xff'
HOSTILE_SHOWN = 'a"b\\c}\\x0a1\\xff'
UNIT_CAPABILITIES = ("bpf", "perfmon", "sys_ptrace", "dac_read_search")
NOBODY = 65534


class Otlp(ExportTest):
    def setUp(self):
        super().setUp()
        require_python_module("google.protobuf")
        from otlp_receiver import Receiver
        self.receiver_class = Receiver

    def test_a_receiver_is_told_what_is_served(self):
        receiver = self.receiver_class(self)
        self.start([PYTHON, "-c", RENAMED, HOSTILE.hex()], READY)
        daemon = self.export(*PUSH, "--otlp", receiver.url, "--otlp-header", "X-Scope-OrgID: 7", "--otlp-resource", "a.b=c")
        until(lambda: len(receiver.of("loopscope_loop_seconds", comm=HOSTILE_SHOWN, state="idle")) >= 3, 20, "three pushes of the loop")
        self.end(daemon)
        self.assertEqual(receiver.errors, [])
        path, headers, _ = receiver.requests[0]
        self.assertEqual((path, headers["Content-Type"], headers["X-Scope-OrgID"]), ("/v1/metrics", "application/x-protobuf", "7"))
        resource = receiver.resources[0]
        self.assertEqual((resource["service.name"], resource["host.name"], resource["a.b"]),
                         ("loopscope", socket.gethostname(), "c"))
        idle = receiver.of("loopscope_loop_seconds", comm=HOSTILE_SHOWN, state="idle")
        self.assertEqual({(p.kind, p.unit) for p in idle}, {("sum", "s")})
        for earlier, later in zip(idle, idle[1:]):
            self.assertGreaterEqual(later.value, earlier.value)
            self.assertEqual(later.start, earlier.start)
            self.assertGreater(later.time, earlier.time)
        # All states of one push sum up to the time since the group's beginning.
        last = idle[-1].time
        states = [p for p in receiver.of("loopscope_loop_seconds", comm=HOSTILE_SHOWN) if p.time == last]
        self.assertAlmostEqual(sum(p.value for p in states), last - idle[-1].start, delta=2.2)
        self.assertEqual({p.kind for p in receiver.of("loopscope_build_info")}, {"gauge"})
        self.note("%d points in %d requests" % (len(receiver.points), len(receiver.requests)))

    def test_receiver_down_for_a_while(self):
        port = free_port()
        daemon = self.export(*PUSH, "--otlp", "http://127.0.0.1:%d" % port)
        until(lambda: (daemon.metrics().sum("loopscope_otlp_requests_total", result="failed") or 0) >= 2, 20, "two tries")
        down = daemon.fresh_metrics()
        self.assertGreater(down.sum("loopscope_otlp_queued_points"), 0)
        self.assertLessEqual(down.sum("loopscope_otlp_queued_bytes"), 16 << 20)
        self.assertEqual(down.sum("loopscope_otlp_sent_points_total"), 0)
        receiver = self.receiver_class(self, port)
        daemon.program.wait_line(r"--otlp works again")
        until(lambda: daemon.metrics().sum("loopscope_otlp_queued_points") == 0, 20, "all is delivered")
        after = daemon.fresh_metrics()
        self.assertEqual(after.sum("loopscope_otlp_lost_points_total"), 0)
        self.assertGreaterEqual(after.sum("loopscope_otlp_sent_points_total"), down.sum("loopscope_otlp_queued_points"))
        self.assertEqual(receiver.errors, [])
        self.end(daemon)
        said = [e for e in daemon.program.errors if "/v1/metrics" in e and "served" not in e]
        self.assertEqual(len(said), 1, "what goes wrong again and again is said once: %s" % daemon.program.errors)
        self.assertIn("can't be reached", said[0])

    def test_what_is_refused_is_lost_and_said(self):
        receiver = self.receiver_class(self)
        receiver.answer = (401, {}, b"")
        daemon = self.export(*PUSH, "--otlp", receiver.url)
        daemon.program.wait_line(r"refuses with HTTP status 401; what was sent is lost")
        lost = until(lambda: daemon.metrics().sum("loopscope_otlp_lost_points_total", reason="refused"), 20, "losses are counted")
        receiver.answer = receiver.OK
        daemon.program.wait_line(r"--otlp works again")
        self.assertGreater(lost, 0)
        self.end(daemon)


class Textfile(ExportTest):
    def read(self, path):
        with open(path, encoding="utf-8") as f:
            return Metrics(f.read())

    def test_says_what_is_served(self):
        folder = os.path.join(self.tmp, "textfile")
        os.mkdir(folder)
        program = self.looper_as("written", "poll")
        daemon = self.export(*PUSH, "--textfile", folder, "--include", "comm=written")
        path = os.path.join(folder, "loopscope.prom")
        until(lambda: os.path.exists(path) and self.read(path).sum("loopscope_loops", comm="written"), 20, "the file with the loop in it")
        written, served = self.read(path), daemon.metrics()
        own = re.compile(r"loopscope_(last_scrape|textfile|http|scrape|otlp|ndjson)")
        self.assertEqual({k for k in written.values if not own.match(k[0])}, {k for k in served.values if not own.match(k[0])})
        self.assertEqual(promtool_check(written.text), "")
        self.end(daemon)
        self.assertEqual(os.listdir(folder), ["loopscope.prom"])
        del program

    def test_full_disk(self):
        """On a file system of its own, in a mount namespace of the daemon's."""
        self.require_mounts()
        unshare, folder = require_program("unshare"), os.path.join(self.tmp, "small")
        os.mkdir(folder)
        script = 'mount -t tmpfs -o size=1m none "$1" && shift && exec "$@"'
        program = self.start([unshare, "--propagation", "slave", "-m", "sh", "-c", script, "sh", folder, LOOPSCOPE, "export", "--listen", "none",
                              *PUSH, "--textfile", folder], kind=Observer)
        inside = "/proc/%d/root%s" % (program.pid, folder)
        path = os.path.join(inside, "loopscope.prom")
        until(lambda: os.path.exists(path), 20, "a first file")
        with open(os.path.join(inside, "filler"), "wb", buffering=0) as filler:
            with self.assertRaisesRegex(OSError, "No space left"):
                while True:
                    filler.write(b"x" * 4096)
        program.wait_line(r"^loopscope: .*loopscope\.prom can't be written: No space left on device; the file before it stays; free some")
        before = self.read(path)
        self.assertGreater(len(before.values), 10, "the file before is whole")
        os.unlink(os.path.join(inside, "filler"))
        program.wait_line(r"--textfile works again")
        until(lambda: self.read(path).sum("loopscope_textfile_writes_total", result="failed"), 20, "what failed is counted")
        self.assertEqual(program.stop(), 0, program.errors)
        self.assertEqual(len([e for e in program.errors if "No space" in e]), 1, program.errors)

    def test_a_folder_that_can_not_be_written_is_said_at_once(self):
        done = subprocess.run([LOOPSCOPE, "export", "--listen", "none", "--textfile", "/nonexistent"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^loopscope: /nonexistent/loopscope\.prom can't be written: No such file[^\n]*\n$")


LOOPS = """
import select, sys, threading
def loop():
    p = select.poll()
    while True:
        p.poll(200)
threads = [threading.Thread(target=loop, daemon=True) for _ in range(int(sys.argv[1]))]
for t in threads:
    t.start()
print("ready 1", flush=True)
threads[0].join()
"""


class StuckReader(ExportTest):
    """Of standard output: what it does not take costs it records, and nobody else anything."""

    BOUND = 16 << 20

    def export_to_pipe(self, *args):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        try:
            return self.export("-i", "100ms", "--ndjson", "-", *args, stdout=writer), reader
        finally:
            os.close(writer)

    def read_to_end(self, fd, into):
        while True:
            block = os.read(fd, 1 << 20)
            if not block:
                return
            into.append(block)

    def test_metrics_are_served_while_it_is_stuck(self):
        loops = self.start([PYTHON, "-c", LOOPS, "600"], READY)
        daemon, pipe = self.export_to_pipe("--include", "thread=python3")

        def lost():
            m = daemon.metrics()
            self.assertLessEqual(m.sum("loopscope_ndjson_queued_bytes") or 0, self.BOUND)
            return m.sum("loopscope_ndjson_lost_records_total")
        until(lost, 120, "more than may wait is lost")
        readings = daemon.metrics().sum("loopscope_readings_total")
        until(lambda: daemon.metrics().sum("loopscope_readings_total") > readings + 3, 20, "it goes on reading the loops")
        blocks = []
        reader = threading.Thread(target=self.read_to_end, args=(pipe, blocks))
        reader.start()
        daemon.program.wait_line(r"--ndjson works again", timeout=60)
        counted = daemon.fresh_metrics().sum("loopscope_ndjson_lost_records_total")
        self.assertEqual(daemon.program.stop(), 0, daemon.program.errors)
        reader.join()
        self.check_records(b"".join(blocks), counted)
        self.assertEqual(len([e for e in daemon.program.errors if "does not keep up" in e]), 1, daemon.program.errors)
        del loops

    def check_records(self, text, lost):
        """Whole records, in their order, and as many gaps as were counted."""
        self.assertTrue(text.endswith(b"\n"))
        seqs, loops = [], 0
        for line in text.splitlines():
            record = json.loads(line)
            if record["type"] == "interval":
                self.assertEqual(record["loops"], loops, "every loop's line is there")
                seqs.append(record["seq"])
            loops = loops + 1 if record["type"] == "loop" else 0
        self.assertTrue(record["last"])
        self.assertEqual(seqs, sorted(set(seqs)))
        self.assertEqual(seqs[-1] + 1 - len(seqs), lost)
        self.note("%d intervals of %.1f MB in all read, %d lost" % (len(seqs), len(text) / 1e6, lost))

    def test_what_it_has_not_taken_at_the_end_is_said(self):
        program = self.looper("poll")
        daemon, pipe = self.export_to_pipe()
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
        until(lambda: daemon.metrics().sum("loopscope_ndjson_queued_bytes"), 20, "something waits")
        self.assertEqual(daemon.program.stop(), 0, daemon.program.errors)
        self.assertRegex(daemon.program.errors[-1], r"^loopscope: the reader of standard output has not taken the last \d+ records: they are lost$")
        del program

    def test_a_pipe_without_a_reader_is_said_at_once(self):
        path = os.path.join(self.tmp, "fifo")
        os.mkfifo(path)
        done = subprocess.run([LOOPSCOPE, "export", "--listen", "none", "--ndjson", path], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "loopscope: nobody reads from %s: start its reader first\n" % path)


class Records(ExportTest):
    def lines(self, path):
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def test_rotation(self):
        path = os.path.join(self.tmp, "records.ndjson")
        daemon = self.export("-i", "0.2s", "--ndjson", path)
        until(lambda: os.path.getsize(path), 20, "a first record")
        os.rename(path, path + ".1")
        daemon.program.process.send_signal(signal.SIGHUP)
        until(lambda: os.path.exists(path) and os.path.getsize(path), 20, "a record in the new file")
        self.end(daemon)
        old, new = [[r for r in self.lines(p) if r["type"] == "interval"] for p in (path + ".1", path)]
        self.assertEqual([r["seq"] for r in old + new], list(range(len(old + new))), "no interval is lost or told twice")
        self.assertTrue(new[-1]["last"])


class Settings(ExportTest):
    def write(self, text):
        path = os.path.join(self.tmp, "export.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def check(self, *args):
        return subprocess.run([LOOPSCOPE, "export", *args, "--check-config"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=20, check=False)

    def test_check_config(self):
        path = self.write("[export]\ninterval = 15s\nexclude = runtime=unknown\n")
        done = self.check("--config", path, "--max-loops", "5")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for line in ("interval = 15s", "exclude = runtime=unknown", "max-loops = 5", "listen = 127.0.0.1:9464"):
            self.assertIn(line + "\n", done.stdout)
        again = self.check("--config", self.write(done.stdout))
        self.assertEqual((again.returncode, again.stdout), (0, done.stdout), "what is printed can be read")
        for text, said in (("[export]\nintervall = 15s\n", r":2: unknown key 'intervall'"),
                           ("[export]\n\nexclude = redis\n", r":3: exclude: 'redis' is no filter"),
                           ("[export]\notlp = collector:4318\n", r":2: otlp: 'collector:4318' is no URL to post to"),
                           ("[export]\nlisten = none\n", r"export: --listen none leaves nobody")):
            with self.subTest(text):
                done = self.check("--config", self.write(text))
                self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
                self.assertRegex(done.stderr, r"^loopscope: [^\n]*" + said + r"[^\n]*\n$")

    def test_reload(self):
        program, other = self.looper_as("reload", "poll"), self.looper_as("preload", "ppoll")
        path = self.write("[export]\ninterval = 1s\ninclude = comm=reload\n")
        daemon = self.export("--config", path)
        until(lambda: daemon.metrics().sum("loopscope_loops", comm="reload"), 20, "the loop that is asked for")
        self.assertIsNone(daemon.metrics().sum("loopscope_loops", comm="preload"))
        before = daemon.metrics().sum("loopscope_loop_seconds_total", comm="reload")

        self.write("[export]\ninterval = 1s\ninclude = comm=preloa\ninclude == x\n")
        daemon.program.process.send_signal(signal.SIGHUP)
        daemon.program.wait_line(r"export\.conf:4: include: '= x' is no filter")
        self.assertEqual(daemon.fresh_metrics().sum("loopscope_loops", comm="reload"), 1, "it goes on as it was")

        self.write("[export]\ninterval = 2s\nmax-loops = 7\nno-slow = yes\ninclude = comm=preload\n")
        daemon.program.process.send_signal(signal.SIGHUP)
        until(lambda: daemon.metrics().sum("loopscope_loops", comm="preload"), 20, "the other loop")
        daemon.program.wait_line(r"^loopscope: interval, max-loops, no-slow can't change while it runs: what the file says of them waits for a restart$")
        after = until(lambda: (lambda m: m.sum("loopscope_loops", comm="reload") == 0 and m)(daemon.metrics()), 20,
                      "the one that is no longer asked for is let go")
        self.assertGreaterEqual(after.sum("loopscope_loop_seconds_total", comm="reload"), before, "no counter goes back")
        self.end(daemon)
        del program, other


class Service(ExportTest):
    def test_a_manager_is_told(self):
        path = os.path.join(self.tmp, "notify")
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(path)
        manager.settimeout(20)
        environment = dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="400000")
        daemon = self.export("-i", "1s", env=environment)
        heard = []

        def hear(wanted):
            while not heard or wanted not in heard[-1].split("\n"):
                heard.append(manager.recv(4096).decode())
        hear("READY=1")
        self.assertIn("STATUS=/metrics is served on " + daemon.where, heard[-1])
        hear("WATCHDOG=1")
        daemon.program.process.send_signal(signal.SIGHUP)
        hear("RELOADING=1")
        self.assertRegex(heard[-1], r"\nMONOTONIC_USEC=\d+$")
        hear("READY=1")
        self.end(daemon)
        hear("STOPPING=1")

    def status(self, pid):
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
            return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)

    def test_privileges_are_given_up_before_it_serves(self):
        daemon = self.export("-i", "0.2s")
        status = self.status(daemon.pid)
        kept = {"CapPrm": 0xc000080004, "CapEff": 0xc000080004, "CapInh": 0, "CapAmb": 0}
        self.assertEqual({k: int(status[k], 16) for k in kept}, kept)
        self.assertEqual(int(status["CapBnd"], 16) & ~0xc000080004, 0)
        self.assertEqual(status["NoNewPrivs"], "1")
        until(lambda: (daemon.metrics().sum("loopscope_readings_total") or 0) > 2, 20, "it goes on reading")
        self.end(daemon)

    def as_nobody(self, names, *args):
        """With these capabilities and no user id that would do instead. The program is handed over open, as nobody may not be able to
        reach the build directory."""
        setpriv, fd = require_program("setpriv"), os.open(LOOPSCOPE, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        caps = "-all" + "".join(",+" + n for n in names)
        return self.start([setpriv, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps", caps, "--ambient-caps", caps,
                           "--bounding-set", caps, "--no-new-privs", "/proc/self/fd/%d" % fd, *args], pass_fds=[fd], cwd="/")

    def test_nobody_with_the_units_capabilities(self):
        program = self.asyncio(0.05, 0.001)
        daemon = self.as_nobody(UNIT_CAPABILITIES, "export", "-l", "127.0.0.1:0", "-i", "1s")
        where = daemon.wait_line(r"^loopscope: /metrics is served on (\S+)$").group(1)
        from exported import Export
        until(lambda: Export(daemon, where).metrics().sum("loopscope_loops", runtime="asyncio"), 20, "a loop of root's, recognised")
        self.assertEqual(int(self.status(daemon.pid)["Uid"].split()[1]), NOBODY)
        self.assertEqual(daemon.stop(), 0, daemon.errors)
        del program

    def test_each_capability_that_is_missing_is_named(self):
        for missing in UNIT_CAPABILITIES:
            with self.subTest(missing):
                daemon = self.as_nobody([c for c in UNIT_CAPABILITIES if c != missing], "export", "-l", "127.0.0.1:0")
                name = "CAP_" + missing.upper()
                if missing in ("bpf", "perfmon"):
                    self.assertEqual(daemon.wait_exit(20), IMPOSSIBLE)
                    self.assertRegex(daemon.errors[-1], r"^loopscope: %s is missing; run it as root" % name)
                elif missing == "sys_ptrace":
                    daemon.wait_line(r"^loopscope: without %s other users' runtimes show as unknown" % name)
                    self.assertEqual(daemon.stop(), 0, daemon.errors)
                else:  # nor can nobody read the probe files then, where they lie in somebody's home
                    daemon.wait_line(r"^loopscope: (without %s runtimes of private executables|.*Permission denied)" % name)
                    daemon.stop()
