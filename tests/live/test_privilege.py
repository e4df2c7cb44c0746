# SPDX-License-Identifier: BSD-2-Clause
"""Each capability does what kernel_privilege.c says of it: with it taken away, that is what is missing, and its name is said.

Root's user id is kept and the capabilities are taken from the bounding set: so nothing is reached because of them, and the tests'
own files still are, wherever the tree lies.
"""
import json
import os
import shutil
import subprocess
import unittest

from harness import LOOPSCOPE, LiveTest, require_program, until

IMPOSSIBLE = 3
TIMEOUT = 20
OBSERVING = ("bpf", "perfmon")
STRANGER = 65533


def last_capability():
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as f:
        return int(f.read())


class Privilege(LiveTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.setpriv = require_program("setpriv")
        if last_capability() < 39:  # CAP_BPF
            raise unittest.SkipTest("this kernel has no CAP_BPF")

    def with_capabilities(self, names, *args):
        """loopscope with these and no other."""
        caps = "-all" + "".join(",+" + n for n in names)
        return subprocess.run([self.setpriv, "--inh-caps=-all", "--bounding-set=" + caps, "--no-new-privs", LOOPSCOPE, *args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=self.tmp)

    def runtime_seen(self, program, names):
        """As which runtime a program shows in a scan with these capabilities."""
        def look():
            done = self.with_capabilities(names, "scan", "-d", "0.5s", "-o", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            records = [json.loads(line) for line in done.stdout.splitlines()]
            return next((r["runtime"] for r in records if r["type"] == "loop" and r["pid"] == program.pid), None)
        return until(look, TIMEOUT, "process %d is seen" % program.pid)

    def assert_refused(self, done, status, *words):
        self.note("%d: %s" % (done.returncode, done.stderr.strip()))
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, r"^loopscope: \S[^\n]*\n$", "one sentence, on one line")
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(done.stdout)

    def test_a_required_one_that_is_missing_is_named(self):
        cases = {(): "CAP_BPF and CAP_PERFMON are missing", ("bpf", "sys_ptrace"): "CAP_PERFMON is missing",
                 ("perfmon", "sys_ptrace"): "CAP_BPF is missing"}
        for names, sentence in cases.items():
            with self.subTest(names):
                self.assert_refused(self.with_capabilities(names, "scan", "-d", "0.1s"), IMPOSSIBLE, sentence)

    def test_sys_ptrace_is_what_runtimes_of_others_take(self):
        program = self.asyncio(0.01, 0.001)
        self.assertEqual(self.runtime_seen(program, OBSERVING), "unknown")
        self.assertEqual(self.runtime_seen(program, (*OBSERVING, "sys_ptrace")), "asyncio")

    def test_dac_read_search_is_what_private_executables_take(self):
        private = shutil.copy(require_program("redis-server"), os.path.join(self.tmp, "private"))
        os.chmod(private, 0o700)
        os.chown(private, STRANGER, STRANGER)
        program = self.start([private, "--port", 0, "--unixsocket", os.path.join(self.tmp, "server.sock"), "--save", ""])
        names = (*OBSERVING, "sys_ptrace")
        self.assertEqual(self.runtime_seen(program, names), "unknown")
        self.assertEqual(self.runtime_seen(program, (*names, "dac_read_search")), "redis")

    def test_sys_admin_is_what_uprobes_take(self):
        """Or not even that: kernels differ."""
        program = self.looper("poll")
        done = self.with_capabilities((*OBSERVING, "sys_ptrace"), "attach", "-p", str(program.pid), "--edges", "uprobe", "-c", "1",
                                      "-i", "0.2s")
        if done.returncode == 0:
            self.note("this kernel does without")
        else:
            self.assert_refused(done, IMPOSSIBLE, "CAP_SYS_ADMIN")

    def test_doctor_says_what_each_is_for_and_which_is_missing(self):
        known = ["CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_SYS_ADMIN"]
        for missing in known:
            names = [k[4:].lower() for k in known if k != missing]
            with self.subTest(missing):
                done = self.with_capabilities(names, "doctor", "-o", "json")
                lines = {o["what"]: o for o in map(json.loads, done.stdout.splitlines())}
                self.assertEqual(set(known) - set(lines), set())
                for name in known:
                    self.assertIn("for ", lines[name]["found"])
                # CAP_SYS_ADMIN implies the two that are required.
                gone = missing in ("CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_SYS_ADMIN")
                self.assertEqual(lines[missing]["result"], "limited" if gone else "ok")
                self.assertEqual([n for n in known if lines[n]["result"] != "ok"], [missing] if gone else [])
                self.assertEqual(missing in (lines[missing]["remedy"] or ""), gone)
                self.assertEqual(done.returncode, 0)
