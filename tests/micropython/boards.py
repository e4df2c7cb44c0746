# SPDX-License-Identifier: BSD-2-Clause
"""Two boards for the tests: MicroPython's unix port on a pty, and a Cortex-M3 in qemu with its UART on a pty.

Both give the same: program(path) starts a program from tests/micropython/programs with loopscope importable, pump()
reads what the board sent into .stream (a frames.Stream), send() writes bytes to it, and everything ever written is
in .sent. Arrival times are time.monotonic(), which is the clock of ticks_us on the unix port.
"""
import ctypes
import fcntl
import os
import re
import select
import signal
import subprocess
import termios
import time
import tty

import frames

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = os.path.join(HERE, "../../targets/micropython")


PR_SET_PDEATHSIG = 1


def die_with_parent():
    """A board ends with the test, also when that is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Board:
    def __init__(self):
        self.stream, self.sent, self.raw, self.fd, self.slave, self.child = frames.Stream(), b"", b"", None, None, None

    def send(self, data):
        self.sent += data
        os.write(self.fd, data)

    def pump(self, seconds, until=None):
        """Reads for that long, or until until() is true. Returns whether it became true."""
        end = time.monotonic() + seconds
        while not (until and until()):
            left = min(end - time.monotonic(), 0.05 if until else 1e9)
            if left <= 0 or not self._read(left):
                return bool(until and until())
        return True

    def _read(self, timeout):
        if not select.select([self.fd], [], [], timeout)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other side of the pty is gone
            return False
        self.raw += data
        self.stream.feed(data, time.monotonic())
        return bool(data)

    def close(self):
        if self.child:
            self.child.kill()
            self.child.wait()
            if self.child.stdout:
                self.child.stdout.close()
        for fd in (self.fd, self.slave):
            if fd is not None:
                os.close(fd)
        self.child = self.fd = self.slave = None


class Unix(Board):
    """The pty is the program's controlling terminal with ISIG on: a byte 03 would interrupt it as on a board."""

    def __init__(self, micropython):
        super().__init__()
        self.micropython = micropython

    def program(self, name, *args):
        self.fd, self.slave = os.openpty()  # held open: else a read before the board opens it would fail
        slave = self.slave
        tty.setraw(slave)
        mode = termios.tcgetattr(slave)
        mode[3] |= termios.ISIG
        mode[6][termios.VINTR] = b"\x03"
        for other in (termios.VQUIT, termios.VSUSP):
            mode[6][other] = b"\0"
        termios.tcsetattr(slave, termios.TCSANOW, mode)

        def own_terminal():
            die_with_parent()
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen(
            [self.micropython, "-X", "heapsize=512k", os.path.join(HERE, "programs", name), os.ttyname(slave), *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=own_terminal,
            env={**os.environ, "MICROPYPATH": ":".join([".frozen", AGENT, os.path.join(HERE, "programs")])})

    def result(self):
        """What the program printed, once it has ended. With nobody left at the other side a read fails when all has been read."""
        self.pump(20, lambda: self.child.poll() is not None)
        os.close(self.slave)
        self.slave = None
        self.pump(20)
        return self.child.stdout.read().decode()


class CortexM3(Board):
    """icount: a virtual clock of 32 ns an instruction, so that what the board measures is the same on any host."""

    def __init__(self, firmware):
        super().__init__()
        self.child = subprocess.Popen(
            ["qemu-system-arm", "-machine", "mps2-an385", "-nographic", "-monitor", "null", "-semihosting",
             "-serial", "pty", "-icount", "shift=5,sleep=off", "-kernel", firmware],
            preexec_fn=die_with_parent, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        line = self.child.stdout.readline().decode()
        self.fd = os.open(re.search(r"/dev/pts/\d+", line).group(), os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.fd)
        self.seen = 0
        self.send(b"\r\x01")
        self._expect(b"raw REPL; CTRL-B to exit\r\n>", 60)

    def _expect(self, text, seconds):
        """Waits for text in what came since the last time that something was expected."""
        if not self.pump(seconds, lambda: text in self.raw[self.seen:]):
            raise RuntimeError("the board said %r, not %r" % (self.raw[self.seen:][-400:], text))
        self.seen = self.raw.index(text, self.seen) + len(text)

    def _exec(self, source):
        self.send(source.encode() + b"\x04")
        self._expect(b"OK", 60)

    def files(self, paths):
        """Puts files into a file system in the board's RAM, from where it imports them as from its flash."""
        self._exec(RAM_FILES)
        self._expect(b"\x04>", 60)
        for path in paths:
            with open(path, "rb") as f:
                self._exec("ram.files[%r] = %r\n" % (os.path.basename(path), f.read()))
            self._expect(b"\x04>", 60)

    def program(self, name, *args):
        """The files come first: frames are looked for from here on."""
        self.files([os.path.join(AGENT, "loopscope.py"), os.path.join(HERE, "programs", "timers.py"),
                    os.path.join(HERE, "programs", name)])
        self.stream = frames.Stream()
        self.sent = b""
        self._exec("import sys\nsys.argv[:] = %r\nimport %s\n" % ([name, *args], name[:-3]))

    def result(self):
        """What the program printed between the frames, once the REPL is back."""
        self.pump(90, lambda: self.stream.unfinished_text().endswith(b"\x04>"))
        return (self.stream.text + self.stream.unfinished_text()).decode("utf-8", "replace")


RAM_FILES = """
import io, vfs
class Ram:
    files = {}
    def mount(self, readonly, mkfs):
        pass
    def umount(self):
        pass
    def chdir(self, path):
        pass
    def stat(self, path):
        path = path.lstrip("/")
        if path not in self.files:
            raise OSError(2)
        return (0x8000, 0, 0, 0, 0, 0, len(self.files[path]), 0, 0, 0)
    def open(self, path, mode):
        return io.BytesIO(self.files[path.lstrip("/")])
ram = Ram()
vfs.mount(ram, "/")
"""
