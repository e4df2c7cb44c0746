# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of export share: the daemon, who asks it, a reader of the text format written from its description, Prometheus."""
import http.client
import json
import os
import re
import socket
import subprocess
import urllib.parse

from harness import LiveTest, free_port, require_program, until

LINE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
ESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


class Metrics:
    """One scrape of the text format, strictly read: {(name, ((label, value), ...)): value}."""

    def __init__(self, text):
        self.text = text
        self.values, self.types = {}, {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.types[name] = kind
            elif not line.startswith("# HELP "):
                self._take(line)

    def _take(self, line):
        found = LINE.match(line)
        if not found:
            raise AssertionError("no sample: %r" % line)
        name, labels, value = found.groups()
        pairs, at = [], 0
        while labels and at < len(labels):
            pair = LABEL.match(labels, at)
            if not pair:
                raise AssertionError("no label at %d: %r" % (at, line))
            pairs.append((pair.group(1), re.sub(r'\\.', lambda m: ESCAPED[m.group()], pair.group(2))))
            at = pair.end()
        key = (name, tuple(sorted(pairs)))
        if key in self.values:
            raise AssertionError("twice: %r" % line)
        self.values[key] = float(value)

    def matching(self, name, **labels):
        """{labels as a dict's items: value} of the series that have these labels."""
        return {key: value for (n, key), value in self.values.items()
                if n == name and all((k, v) in key for k, v in labels.items())}

    def sum(self, name, **labels):
        """None where there is no such series."""
        found = self.matching(name, **labels)
        return sum(found.values()) if found else None

    def counters(self):
        """Every series that may not shrink."""
        kinds = {"counter": ("",), "histogram": ("_bucket", "_sum", "_count")}
        names = {name + suffix for name, kind in self.types.items() for suffix in kinds.get(kind, ())}
        return {key: value for key, value in self.values.items() if key[0] in names}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)


class Export:
    """A daemon that runs, and questions to it."""

    def __init__(self, program, where):
        self.program, self.pid = program, program.pid
        self.unix = where[len("unix:"):] if where.startswith("unix:") else None
        self.where = where
        if not self.unix:
            self.host, port = where.rsplit(":", 1)
            self.port = int(port)

    def connection(self):
        return UnixConnection(self.unix) if self.unix else http.client.HTTPConnection(self.host, self.port, timeout=20)

    def get(self, path="/metrics", method="GET", **headers):
        """(status, headers, body)"""
        c = self.connection()
        try:
            c.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def metrics(self):
        status, _, body = self.get()
        if status != 200:
            raise AssertionError("/metrics: %d %r" % (status, body[:200]))
        return Metrics(body.decode("utf-8"))

    def fresh_metrics(self):
        """After another reading of the loops, which the program's own numbers are of."""
        read = self.metrics().sum("loopscope_readings_total")

        def later():
            m = self.metrics()
            return m if m.sum("loopscope_readings_total") > read else None
        return until(later, 10, "another reading")


class ExportTest(LiveTest):
    def export(self, *args, listen="127.0.0.1:0", **how):
        program = self.observe("export", "-l", listen, *args, **how)
        where = program.wait_line(r"^loopscope: /metrics is served on (\S+)$").group(1)
        return Export(program, where)

    def end(self, export):
        self.assertEqual(export.program.stop(), 0, "export: %s" % export.program.errors)
        self.assertEqual(export.program.lines, [], "nothing goes to standard output")


class Prometheus:
    """Debian's, with a folder and a port of its own; asks every second."""

    CONFIG = """\
global:
  scrape_interval: 1s
  scrape_timeout: 1s
scrape_configs:
  - job_name: loopscope
    static_configs:
      - targets: ["%s"]
"""

    def __init__(self, test, target, *args):
        server = require_program("prometheus")
        self.port = free_port()
        folder = os.path.join(test.tmp, "prometheus-%d" % self.port)
        os.mkdir(folder)
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as f:
            f.write(self.CONFIG % target)
        self.program = test.start([server, "--config.file", config, "--storage.tsdb.path", os.path.join(folder, "data"),
                                   "--web.listen-address", "127.0.0.1:%d" % self.port, "--log.level", "warn", *args])

    def ask(self, path, **arguments):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            c.request("GET", "/api/v1/%s?%s" % (path, urllib.parse.urlencode(arguments)))
            answer = json.loads(c.getresponse().read())
        finally:
            c.close()
        if answer["status"] != "success":
            raise AssertionError("Prometheus: %s" % answer)
        return answer["data"]

    def query(self, promql, at=None):
        """[(labels, value or [(time, value), ...])]"""
        data = self.ask("query", query=promql, **({"time": at} if at else {}))
        return [(r["metric"], float(r["value"][1]) if "value" in r else [(t, float(v)) for t, v in r["values"]])
                for r in data["result"]]

    def wait_up(self, timeout=30):
        def is_up():
            try:
                targets = self.ask("targets")["activeTargets"]
            except (OSError, json.JSONDecodeError):
                return False  # it does not listen yet, or says in plain text that it is not ready
            if any(t["lastError"] for t in targets):
                raise AssertionError("Prometheus can't scrape: %s" % targets[0]["lastError"])
            return any(t["health"] == "up" for t in targets)
        until(is_up, timeout, "Prometheus scrapes")


def promtool_check(text):
    """What `promtool check metrics` has against it; "" if nothing."""
    checked = subprocess.run([require_program("promtool"), "check", "metrics"], input=text, capture_output=True, text=True, timeout=60,
                             check=False)
    said = (checked.stdout + checked.stderr).strip()
    return said if checked.returncode or said else ""
