# SPDX-License-Identifier: BSD-2-Clause
"""What deploy/ hands out is true of the program: the unit, the rules, the dashboard, the examples."""
import glob
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

from harness import LOOPSCOPE, ROOT, LiveTest, children_of, require_program, require_python_module

DEPLOY = os.path.join(ROOT, "deploy")
PROMETHEUS = os.path.join(DEPLOY, "prometheus")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def run(*argv, **how):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False, **how)


def known_metrics():
    """Every name that docs/METRICS.md explains (a test holds that page against the program), and what the rules record."""
    return set(re.findall(r"`(loopscope_\w+)", read(ROOT, "docs", "METRICS.md")))


def metrics_in(text):
    """Names of metrics, without what a histogram's series have at their end."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"(?<![\w:])loopscope_\w+", text)}


class Unit(LiveTest):
    UNIT = os.path.join(DEPLOY, "loopscope.service")

    def values(self, key):
        return [v for line in re.findall(r"^%s=(.*)$" % key, read(self.UNIT), re.M) for v in line.split()]

    def test_verify(self):
        analyze = require_program("systemd-analyze")
        with tempfile.TemporaryDirectory(dir=self.tmp) as folder:
            path = os.path.join(folder, "loopscope.service")
            with open(path, "w", encoding="utf-8") as f:
                f.write(read(self.UNIT).replace("/usr/local/bin/loopscope", LOOPSCOPE))
            done = run(analyze, "verify", "--man=no", path)
            about_it = [line for line in done.stderr.splitlines() if "loopscope" in line]
            self.assertEqual(about_it, [], done.stderr)
            security = run(analyze, "security", "--offline=yes", "--no-pager", path)
        level = re.search(r"Overall exposure level for \S+: ([\d.]+)", security.stdout)
        if level:
            self.note("systemd-analyze security: %s of 10" % level.group(1))
            self.assertLessEqual(float(level.group(1)), 2.6, "deploy/README.md says so")

    def test_its_capabilities_are_those_that_the_tests_run_with(self):
        from test_export_push import UNIT_CAPABILITIES
        wanted = {"CAP_" + c.upper() for c in UNIT_CAPABILITIES}
        self.assertEqual(set(self.values("AmbientCapabilities")), wanted)
        self.assertEqual(set(self.values("CapabilityBoundingSet")), wanted)

    def test_its_filter_lets_through_what_the_program_calls(self):
        strace, analyze = require_program("strace"), require_program("systemd-analyze")
        trace = os.path.join(self.tmp, "calls")
        program = self.start([strace, "-f", "-qq", "-o", trace, LOOPSCOPE, "export", "-l", "127.0.0.1:0", "-i", "0.5s", "--push-interval", "1s",
                              "--textfile", self.tmp, "--otlp", "http://localhost:9", "--ndjson", "/dev/null"])
        program.wait_line(r"can't be reached")
        os.kill(children_of(program.pid)[0], signal.SIGTERM)
        self.assertEqual(program.wait_exit(20), 0, program.errors)
        calls = set(re.findall(r"^\d+ +(\w+)\(", read(trace), re.M))
        self.assertIn("bpf", calls)

        def expand(name):
            if not name.startswith("@"):
                return {name}
            listed = run(analyze, "syscall-filter", "--no-pager", name).stdout.splitlines()[1:]
            names = [line.split("#")[0].strip() for line in listed]
            return {c for n in names if n for c in expand(n)}
        allowed = {c for name in self.values("SystemCallFilter") for c in expand(name)}
        if len(allowed) < 100:
            raise unittest.SkipTest("systemd-analyze lists no system calls here")
        self.assertEqual(calls - allowed - {"execve", "exit_group", "exit"}, set())
        self.note("%d system calls of the %d allowed" % (len(calls), len(allowed)))


class Rules(LiveTest):
    def test_promtool(self):
        promtool = require_program("promtool")
        checked = run(promtool, "check", "rules", os.path.join(PROMETHEUS, "loopscope.rules.yml"))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        tested = run(promtool, "test", "rules", "loopscope.rules.test.yml", cwd=PROMETHEUS)
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)
        self.assertIn("SUCCESS", tested.stdout)

    def test_they_speak_of_metrics_that_there_are(self):
        used = metrics_in(read(PROMETHEUS, "loopscope.rules.yml"))
        self.assertGreater(len(used), 5)
        self.assertEqual({m for m in used if m not in known_metrics()}, set())


class Dashboard(LiveTest):
    def expressions(self):
        dashboard = json.loads(read(DEPLOY, "grafana", "loopscope.json"))
        self.assertEqual(len({p["id"] for p in dashboard["panels"]}), len(dashboard["panels"]))
        return [t["expr"] for p in dashboard["panels"] for t in p["targets"]]

    def test_every_question_can_be_asked(self):
        promtool = require_program("promtool")
        rules = []
        for number, expression in enumerate(self.expressions()):
            asked = expression.replace("$__rate_interval", "1m").replace("$instance", ".*").replace("$comm", ".*")
            self.assertNotIn("$", asked)
            rules.append({"record": "panel:number:%d" % number, "expr": asked})
        path = os.path.join(self.tmp, "panels.yml")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"groups": [{"name": "panels", "rules": rules}]}, f)  # JSON is YAML
        done = run(promtool, "check", "rules", path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.note("%d questions" % len(rules))

    def test_it_speaks_of_metrics_that_there_are(self):
        used = metrics_in(" ".join(self.expressions()))
        self.assertGreater(len(used), 8)
        self.assertEqual({m for m in used if m not in known_metrics()}, set())


class Examples(LiveTest):
    def test_the_settings(self):
        path = os.path.join(DEPLOY, "export.conf")
        done = run(LOOPSCOPE, "export", "--config", path, "--check-config")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # So is all that stands there to be tried.
        tried = os.path.join(self.tmp, "export.conf")
        with open(tried, "w", encoding="utf-8") as f:
            f.write(re.sub(r"^; ([a-z-]+ = )", r"\1", read(path), flags=re.M))
        done = run(LOOPSCOPE, "export", "--config", tried, "--check-config")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for line in ("include = cgroup=/system.slice/*", "otlp = http://127.0.0.1:4318", "otlp-header = X-Scope-OrgID: 1"):
            self.assertIn(line + "\n", done.stdout)

    def test_yaml(self):
        require_python_module("yaml")
        import yaml
        files = glob.glob(os.path.join(DEPLOY, "*", "*.y*ml"))
        self.assertGreaterEqual(len(files), 4)
        for path in files:
            with self.subTest(path):
                self.assertTrue(yaml.safe_load(read(path)))

    def test_the_daemon_set_starts_what_there_is(self):
        require_python_module("yaml")
        import yaml
        from test_export_push import UNIT_CAPABILITIES
        pod = yaml.safe_load(read(DEPLOY, "kubernetes", "daemonset.yaml"))["spec"]["template"]["spec"]
        container = pod["containers"][0]
        self.assertTrue(pod["hostPID"])
        self.assertEqual(set(container["securityContext"]["capabilities"]["add"]), {c.upper() for c in UNIT_CAPABILITIES})
        values = {"$(POD_IP)": "10.0.0.1", "$(NODE_NAME)": "node-1"}
        args = [re.sub(r"\$\(\w+\)", lambda m: values[m.group()], a) for a in container["args"]]
        self.assertEqual({e["name"] for e in container["env"]}, {name[2:-1] for name in values})
        done = run(LOOPSCOPE, *args, "--check-config")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("listen = 10.0.0.1:9464\n", done.stdout)
