# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong is said in one sentence, with the exit status that scripts rely on; nothing is left behind.

0 done, 1 failed, 2 usage, 3 not possible here.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from harness import LOOPERS, LOOPSCOPE, ROOT, LiveTest, cases, require_program, stat_fields, until

DONE, FAILED, USAGE, IMPOSSIBLE = 0, 1, 2, 3
TIMEOUT = 15
DETACHED = 90  # the kernel lets go of probes slowly while its CPUs are busy


def kernel_thread():
    """kthreadd, or any other process that has no command line and no executable."""
    for path in sorted(glob.glob("/proc/[0-9]*/stat"), key=len):
        pid = int(path.split("/")[2])
        fields = stat_fields(pid)
        if fields and int(fields[6]) & 0x00200000:  # PF_KTHREAD
            return pid
    raise unittest.SkipTest("no kernel thread is visible here")


def no_such_pid():
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as f:
        pid = int(f.read()) - 1
    while os.path.exists("/proc/%d" % pid):
        pid -= 1
    return pid


class Command(LiveTest):
    """Runs loopscope to its end and looks at status, stderr and stdout."""

    def run_it(self, *args, **how):
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("cwd", self.tmp)
        return subprocess.run([LOOPSCOPE, *map(str, args)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=TIMEOUT, check=False, text=True, **how)

    def assert_fault(self, done, status, pattern):
        self.note("%d: %s" % (done.returncode, done.stderr.strip()))
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, r"^loopscope: \S[^\n]*\n$", "one sentence, on one line")
        self.assertRegex(done.stderr, re.compile(pattern, re.I))
        self.assertFalse(done.stdout, "nothing but the report goes to stdout")


class Errors(Command):
    def test_no_such_pid(self):
        pid = no_such_pid()
        self.assert_fault(self.run_it("attach", "-p", pid), FAILED, r"\b%d\b" % pid)

    def test_kernel_thread(self):
        pid = kernel_thread()
        self.assert_fault(self.run_it("attach", "-p", pid), FAILED, r"kernel thread")

    def test_name_that_matches_nothing(self):
        self.assert_fault(self.run_it("attach", "-n", "no-program-has-this-name"), FAILED, "no-program-has-this-name")

    def test_not_root(self):
        """Run as nobody, from an open descriptor, since nobody may not be able to reach the build directory."""
        def become_nobody():
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        program = self.looper("poll")
        fd = os.open(LOOPSCOPE, os.O_RDONLY)
        try:
            done = self.run_it("attach", "-p", program.pid, executable="/proc/self/fd/%d" % fd, pass_fds=[fd],
                               preexec_fn=become_nobody, cwd="/")
        finally:
            os.close(fd)
        self.assert_fault(done, IMPOSSIBLE, r"root|privilege|CAP_")

    def test_no_btf(self):
        """In a mount namespace where the kernel's BTF is hidden."""
        unshare = require_program("unshare")
        program = self.looper("poll")
        # In a chroot the root is no mount point, so that the namespace can't be made private as a whole.
        hide = ("mount --make-rprivate /sys && mount -t tmpfs none /sys/kernel/btf && "
                "exec \"$0\" attach -p %d -c 1" % program.pid)
        done = subprocess.run([unshare, "--propagation", "unchanged", "-m", "sh", "-c", hide, LOOPSCOPE],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assert_fault(done, IMPOSSIBLE, r"BTF")

    def test_malformed_probe_file(self):
        folder = os.path.join(self.tmp, "probes")
        shutil.copytree(os.path.join(ROOT, "probes"), folder)
        with open(os.path.join(folder, "redis.probe"), "w", encoding="utf-8") as f:
            f.write("[runtime]\nname = redis\nnonsense without a value\n")
        program = self.looper("poll")
        done = self.run_it("attach", "-p", program.pid, "-c", "1", env=dict(os.environ, LOOPSCOPE_PROBES=folder))
        self.assert_fault(done, FAILED, r"redis\.probe:3: ")

    def test_disk_full_on_stdout(self):
        program = self.looper("poll")
        for kind in ("json", "table"):
            with self.subTest(kind), open("/dev/full", "w", encoding="ascii") as full:
                done = self.run_it("attach", "-p", program.pid, "-i", "0.2s", "-c", "3", "-o", kind, stdout=full)
                self.assertEqual(done.returncode, FAILED, done.stderr)
                self.assertRegex(done.stderr, r"^loopscope: [^\n]*No space left[^\n]*\n$")

    def test_closed_stdout(self):
        """What would have been printed goes nowhere, and never to the next file that happens to get that number."""
        for args in (["scan", "-d", "100ms"], ["doctor"], ["--help"], ["scan", "--help"], ["--version"]):
            with self.subTest(args=args):
                self.assert_fault(self.run_it(*args, preexec_fn=lambda: os.close(1), stdout=None), FAILED, "written")
        done = self.run_it("record", "closed.lsr", "-d", "100ms", preexec_fn=lambda: os.closerange(0, 3), stdout=None)
        self.assertEqual(done.returncode, DONE)
        self.assertEqual(self.run_it("report", "closed.lsr").returncode, DONE)

    def test_reader_gone(self):
        """As with | head -1: it ends when it next writes, quietly, with status 0."""
        program = self.looper("poll")
        for kind in ("json", "table"):
            with self.subTest(kind):
                ours, theirs = os.pipe()
                observer = self.observe("attach", "-p", program.pid, "-i", "0.2s", "-c", "100", "-o", kind, stdout=theirs)
                os.close(theirs)
                self.assertTrue(os.read(ours, 1))
                os.close(ours)
                self.assertEqual(observer.wait_exit(TIMEOUT), DONE)
                self.assertEqual(observer.errors, [])

    def test_pid_that_exits_while_watched(self):
        program = self.looper("poll")
        observer = self.observe("attach", "-p", program.pid, "-i", "0.5s", "-c", "1000", "-o", "json")
        observer.wait_for(lambda o: o.first_loop_after(program.pid), TIMEOUT, "a first record")
        program.kill()
        self.assertEqual(observer.wait_exit(5), DONE, observer.errors)
        self.note("stderr: %r" % observer.errors)
        self.assertLessEqual(len(observer.errors), 1, "at most one sentence")
        for r in observer.loops():
            self.check_record(r)

    def test_ctrl_c_prints_what_there_is(self):
        program = self.looper("poll")
        observer = self.observe("attach", "-p", program.pid, "-i", "60s", "-o", "json")
        until(lambda: bpf_ids_of(observer.pid)["link"], TIMEOUT, "the observer is attached")
        time.sleep(1)  # what there will be to print
        observer.process.send_signal(signal.SIGINT)
        self.assertEqual(observer.wait_exit(5), DONE, observer.errors)
        records = observer.loops(program.pid)
        self.assertEqual(len(records), 1, "Ctrl-C always prints what there is")
        self.check_record(records[0])
        self.assertAlmostEqual(records[0]["interval_s"], 1, delta=0.5)


@cases({
    "bad_duration": (("attach", "-p", "1", "-i", "5x"), r"5x"),
    "negative_duration": (("attach", "-p", "1", "-d", "-1s"), r"-1s"),
    "zero_interval": (("attach", "-p", "1", "-i", "0"), r"\b0\b"),
    "bad_pid": (("attach", "-p", "12x"), r"12x"),
    "bad_count": (("attach", "-p", "1", "-c", "0"), r"\b0\b"),
    "nothing_to_attach_to": (("attach",), r"-p"),
    "two_exclusive_options": (("attach", "-p", "1", "-c", "3", "-d", "5s"), r"-c|--count|-d|--duration"),
    "unknown_option": (("attach", "-p", "1", "--no-such-option"), r"no-such-option"),
    "unknown_command": (("no-such-command",), r"no-such-command"),
    "unknown_output": (("scan", "-o", "no-such-format"), r"no-such-format"),
    "no_filter": (("scan", "--exclude", "redis"), r"redis.* comm=redis"),
    "no_command": ((), r"."),
    "run_without_a_command": (("run", "--"), r"."),
})
class Usage(Command):
    def check(self, arguments, pattern):
        done = self.run_it(*arguments)
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertFalse(done.stdout, "nothing but the report goes to stdout")
        self.assertRegex(done.stderr, re.compile(pattern))
        if arguments:
            self.assert_fault(done, USAGE, pattern)


class Filters(Command):
    def test_only_loops_that_are_asked_for(self):
        wanted, other = self.looper("poll"), self.looper("epoll_wait")
        done = self.run_it("scan", "-d", "1s", "-o", "json", "--include", "comm=*poll*", "--exclude", "thread=ep*")
        self.assertEqual(done.returncode, DONE, done.stderr)
        pids = [r["pid"] for r in map(json.loads, done.stdout.splitlines()) if r["type"] == "loop"]
        self.assertIn(wanted.pid, pids)
        self.assertNotIn(other.pid, pids)


class Help(LiveTest):
    def test_every_command_has_help(self):
        for command in ("attach", "run", "scan", "doctor"):
            with self.subTest(command):
                done = subprocess.run([LOOPSCOPE, command, "--help"], stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True, timeout=TIMEOUT, check=False)
                self.assertEqual((done.returncode, done.stderr), (DONE, ""))
                self.assertIn(command, done.stdout)


class Run(LiveTest):
    def test_exit_status_is_passed_through(self):
        for status in (0, 7):
            with self.subTest(status):
                done = subprocess.run([LOOPSCOPE, "run", "-o", "json", "--", "/bin/sh", "-c", "exit %d" % status],
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT,
                                      check=False)
                self.assertEqual(done.returncode, status, done.stderr)

    def test_watches_what_it_started(self):
        looper = os.path.join(LOOPERS, "poll")
        observer = self.observe("run", "-i", "1s", "-o", "json", "--", "/bin/sh", "-c",
                                "exec '%s' -d 2500ms >/dev/null" % looper)
        self.assertEqual(observer.wait_exit(TIMEOUT), DONE, observer.errors)
        records = [r for r in observer.loops() if r["comm"] == "poll"]
        self.assertGreaterEqual(len(records), 2, observer.errors)
        for r in records:
            self.check_record(r)
            self.assertEqual(r["wait_point"]["syscall"], "poll")


class Doctor(LiveTest):
    def test_says_what_works_here(self):
        done = subprocess.run([LOOPSCOPE, "doctor"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertGreater(len(done.stdout.splitlines()), 3, "line by line")
        self.assertIn("/sys/kernel/btf/vmlinux", done.stdout)

    def test_says_which_edges_work_here(self):
        """Those that it says work do; those that it says don't are refused with the same remedy."""
        done = subprocess.run([LOOPSCOPE, "doctor", "-o", "json"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
        lines = {o["what"]: o for o in map(json.loads, done.stdout.splitlines())}
        program = self.looper("poll")
        for kind in ("fentry", "tracepoint", "uprobe"):
            line = lines["edges " + kind]
            self.note("%s: %s, %s" % (line["what"], line["result"], line["found"]))
            observer = self.observe("attach", "-p", program.pid, "--edges", kind, "-d", "20ms")
            works = line["result"] == "ok"
            self.assertEqual(observer.wait_exit(DETACHED), DONE if works else IMPOSSIBLE, observer.errors)
            self.assertEqual(works, line["remedy"] is None)
            if not works:
                self.assertIn(line["remedy"], observer.errors[0])


def bpf_ids_of(pid):
    """Ids of the BPF objects that a process holds, from its descriptors."""
    ids = {"prog": set(), "map": set(), "link": set()}
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            with open(path, encoding="ascii", errors="replace") as f:
                text = f.read()
        except OSError:
            continue  # closed meanwhile
        for kind, number in re.findall(r"^(prog|map|link)_id:\s*(\d+)$", text, re.M):
            ids[kind].add(int(number))
    return ids


def bpftool_ids(tool, kind):
    done = subprocess.run([tool, "-j", kind, "show"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=TIMEOUT, check=True)
    return {entry["id"] for entry in json.loads(done.stdout or "[]")}


class Killed(LiveTest):
    def test_sigkill_leaves_nothing_in_the_kernel(self):
        tool = require_program("bpftool")
        program = self.looper("poll")
        observer = self.observe("attach", "-p", program.pid, "-i", "0.2s", "-o", "json")
        observer.wait_for(lambda o: o.first_loop_after(program.pid), TIMEOUT, "a first record")
        held = bpf_ids_of(observer.pid)
        self.note("held: " + ", ".join("%d %ss" % (len(ids), kind) for kind, ids in held.items()))
        for kind, ids in held.items():
            self.assertTrue(ids, "no %s is held: nothing to look for" % kind)
            self.assertLessEqual(ids, bpftool_ids(tool, kind), "bpftool sees each %s while it is held" % kind)
        observer.process.send_signal(signal.SIGKILL)
        observer.wait_exit(TIMEOUT)
        for kind, ids in held.items():
            until(lambda kind=kind, ids=ids: not ids & bpftool_ids(tool, kind), 5, "every %s is gone" % kind)
