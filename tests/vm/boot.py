# SPDX-License-Identifier: BSD-2-Clause
"""
boot.py - run shell steps under another kernel: an initramfs, an emulated machine, and what each step said.

Purpose    Guest(files).run(vmlinuz, steps) boots, runs the steps in order and returns a Run: what each step said
How        the initramfs holds busybox, the given files and the shared libraries of those that are dynamic. Its init runs
           each step with sh and sends status, stdout and stderr as base64 over the serial console, then powers off
Units      seconds
Ownership  everything is built in a temporary directory that is gone afterwards; only the emulator started here is killed
Errors     Unavailable when a tool is missing; Died when the guest ended or hung before its last step, with the console's
           last lines
Facts      accel=tcg,thread=single: with one thread per CPU, 7.2 hits an int3 while kernel text is patched. The emulator
           lets a busy CPU run for up to 100 ms before the other gets its turn, so wall-clock figures are coarse; a
           figure and the truth for it must come from the same guest and the same stretch of time. Where the emulator
           itself waits for a CPU, the guest stands still between two readings of one event, and its own kernel's clocks
           disagree: Result.starved_s says how much that was. For the same reason nowatchdog; and tsc=reliable, since 6.1 and
           6.12 otherwise fall back to a clock that differs from the scheduler's.
           Where this machine is itself virtual, its CPUs come back late each time that they have slept, which shows as
           time stolen: 11 to 13 % beside mostly idle CPUs, 0 to 1 % beside busy ones (/proc/stat). So they are kept awake
           by a process of idle priority each, which takes nothing from anybody; what is stolen all the same is in starved_s
"""

import base64
import binascii
import contextlib
import glob
import os
import re
import select
import shutil
import stat
import subprocess
import tempfile
import time
from dataclasses import dataclass

QEMU = "qemu-system-x86_64"
MEMORY_MB = 1024
CPUS = 2
MARK = "@@step"
STEP_OVER = (MARK + " end").encode()
READ_SIZE = 65536

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /out
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
mount -t tmpfs tmp /tmp
mount -t tracefs trace /sys/kernel/tracing
mount -t cgroup2 cgroup /sys/fs/cgroup
ip link set lo up
# A kernel message in the middle of a result would spoil it; a panic is still printed.
echo 1 > /proc/sys/kernel/printk
export PATH=/bin HOME=/tmp
for step in /steps/*; do
	sh "$step" > /out/stdout 2> /out/stderr < /dev/null
	echo "{mark} ${step##*/} $?"
	base64 /out/stdout
	echo "{mark}"
	base64 /out/stderr
	echo "{mark} end"
done
poweroff -f
"""


class Unavailable(Exception):
    """No guest can be started here; str() is the reason."""


class Died(Exception):
    """The guest ended or hung before its last step; str() says where and how; starved is a share of all its time."""

    starved = 0.0


@dataclass(frozen=True)
class Result:
    status: int
    stdout: str
    stderr: str
    starved_s: float  # seconds of the step that the emulator was without a CPU: it waited, or the CPU itself was taken


@dataclass(frozen=True)
class Run:
    steps: dict  # step name: Result


@dataclass(frozen=True)
class Step:
    name: str
    script: str


def need(tool):
    path = shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise Unavailable(f"{tool} is not installed")
    return path


def shared_libraries(program):
    """Paths of the libraries and the dynamic linker that a program of ours loads."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, env=dict(os.environ, LC_ALL="C"))
    if listed.returncode != 0:
        return []  # static
    if "not found" in listed.stdout:
        raise Unavailable(f"{os.path.basename(program)} misses a shared library")
    return re.findall(r"(/\S+) \(0x", listed.stdout)


class Guest:
    """files: {path in the guest: path here}. Executables bring their libraries along."""

    def __init__(self, files):
        self.files = dict(files)
        self.qemu, self.cpio = need(QEMU), need("cpio")
        busybox = need("busybox")
        if shared_libraries(busybox):
            raise Unavailable("busybox is not the static one")
        self.files["/bin/busybox"] = busybox

    def run(self, vmlinuz, steps, timeout_s):
        with tempfile.TemporaryDirectory(prefix="loopscope-vm.") as home:
            image = self._initramfs(home, steps)
            started = time.monotonic()
            console, starved_s = self._boot(vmlinuz, image, timeout_s)
            lasted = time.monotonic() - started
        try:
            return Run(parse(console, steps, starved_s))
        except Died as died:
            died.starved = starved_s[-1] / lasted
            raise

    def _initramfs(self, home, steps):
        root = os.path.join(home, "root")
        for sub in ("bin", "steps"):
            os.makedirs(os.path.join(root, sub))
        for inside, outside in self.files.items():
            copy(outside, root + inside)
            if os.stat(outside).st_mode & stat.S_IXUSR:
                for library in shared_libraries(outside):
                    copy(library, root + library)
        for number, step in enumerate(steps):
            write(os.path.join(root, "steps", f"{number:02}-{step.name}"), step.script, 0o644)
        write(os.path.join(root, "init"), INIT.replace("{mark}", MARK), 0o755)
        image = os.path.join(home, "initramfs")
        names = subprocess.run(["find", ".", "-print0"], cwd=root, stdout=subprocess.PIPE, check=True).stdout
        with open(image, "wb") as f:
            subprocess.run([self.cpio, "--null", "-o", "-H", "newc", "-R", "0:0", "--quiet"], cwd=root, input=names,
                           stdout=f, check=True)
        return image

    def _boot(self, vmlinuz, image, timeout_s):
        # It ends with us, however we end.
        argv = ["setpriv", "--pdeathsig", "KILL", self.qemu,
                "-accel", "tcg,thread=single", "-smp", str(CPUS), "-cpu", "max", "-m", str(MEMORY_MB), "-nodefaults",
                "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot",
                "-kernel", vmlinuz, "-initrd", image, "-append", "console=ttyS0 panic=-1 quiet tsc=reliable nowatchdog"]
        deadline = time.monotonic() + timeout_s
        emulator = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    preexec_fn=go_ahead)
        try:
            with awake():
                return drain(emulator, deadline)
        finally:
            emulator.kill()
            emulator.wait()


def copy(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(source, target)


def write(path, text, mode):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def run_delay(pid):
    """Seconds that the most delayed thread of a process has waited for a CPU so far; 0 where the kernel does not tell."""
    longest = 0
    for task in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(task, encoding="ascii") as f:
                longest = max(longest, int(f.read().split()[1]))
        except (OSError, IndexError, ValueError):
            continue
    return longest / 1e9


def stolen():
    """Seconds that all CPUs of this machine were wanted but had been taken from it."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def awake():
    """No CPU sleeps meanwhile."""
    spin = ["setpriv", "--pdeathsig", "KILL", "chrt", "--idle", "0", "sh", "-c", "while :; do :; done"]
    spinners = [subprocess.Popen(spin, stdin=subprocess.DEVNULL, preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, {cpu}))
                for cpu in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def go_ahead():
    """Before others that want the CPU, where that is allowed: a guest that is kept waiting measures our delays."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)


def drain(process, deadline):
    """All that the console says until it closes or the deadline passes; and for how many seconds the process had been without a
    CPU when each step was over, and last of all at the end."""
    said, delay, before, starved_s = bytearray(), 0.0, stolen(), []
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            break
        block = os.read(process.stdout.fileno(), READ_SIZE)
        if not block:
            break
        said += block
        delay = max(delay, run_delay(process.pid))
        over = said.count(STEP_OVER) - len(starved_s)
        starved_s += over * [delay + stolen() - before]
    return said.decode("utf-8", "replace").replace("\r", ""), starved_s + [delay + stolen() - before]


def decode(text):
    return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")


def parse(console, steps, starved_s):
    results, before = {}, 0.0
    form = re.compile(rf"^{MARK} \d\d-(\S+) (\d+)\n(.*?)^{MARK}\n(.*?)^{MARK} end$", re.M | re.S)
    for (name, status, out, err), after in zip(form.findall(console), starved_s):
        try:
            results[name] = Result(int(status), decode(out), decode(err), after - before)
        except (binascii.Error, ValueError):
            raise Died(f"step {name}: the kernel wrote into its result: {tail(console)}") from None
        before = after
    for step in steps:
        if step.name not in results:
            raise Died(f"never finished step {step.name}: {tail(console)}")
    return results


def tail(console):
    """The end of what the console said, on one line; a panic's first line where there is one."""
    lines = [line.strip() for line in console.splitlines() if line.strip() and " " in line.strip()]
    panic = [line for line in lines if "Kernel panic" in line or "BUG:" in line or "Oops" in line]
    return " / ".join(panic[:1] + lines[-3:])[-600:] or "it said nothing"
