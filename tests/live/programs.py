# SPDX-License-Identifier: BSD-2-Clause
"""Real programs under load, and programs that look like loops and are none, for the tests of attach and scan."""
import collections
import os
import pty
import re
import threading

from harness import (LOOPERS, PYTHON, READY, SOURCES, children_of, free_port, require_program, require_python_module,
                     until, until_working)

# pid: whose main thread is the loop; runtime and syscalls: what a record should say of it.
Target = collections.namedtuple("Target", "name pid runtime syscalls min_load")


def start_redis(start, **_):
    """Redis on a Unix socket under redis-benchmark."""
    server, client = require_program("redis-server"), require_program("redis-benchmark")
    redis = start([server, "--port", "0", "--unixsocket", "redis.sock", "--save", "", "--appendonly", "no"],
                  r"[Rr]eady to accept connections")
    start([client, "-s", "redis.sock", "-c", "4", "-n", "1000000000", "-t", "set,get"])
    until_working(redis.pid)
    return Target("redis", redis.pid, "redis", ("epoll_wait",), 0.1)


def start_nginx(start, **_):
    """nginx with one worker under wrk."""
    server, client = require_program("nginx"), require_program("wrk")
    port = free_port()
    folder = start.__self__.tmp
    with open(os.path.join(folder, "nginx.conf"), "w", encoding="utf-8") as f:
        f.write("daemon off; master_process on; worker_processes 1; pid nginx.pid; error_log stderr notice;\n"
                "events { worker_connections 64; }\n"
                "http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;\n"
                "  uwsgi_temp_path t4; scgi_temp_path t5;\n"
                "  server { listen 127.0.0.1:%d; location / { return 200 'x'; } } }\n" % port)
    nginx = start([server, "-p", folder, "-e", "stderr", "-c", os.path.join(folder, "nginx.conf")],
                  r"start worker process \d+")
    worker = until(lambda: children_of(nginx.pid), 5, "nginx has a worker")[0]
    start([client, "-t1", "-c4", "-d", "600", "http://127.0.0.1:%d/" % port])
    until_working(worker)
    return Target("nginx", worker, "nginx", ("epoll_wait",), 0.1)


# Ours work 20 % of the time or, where everything runs at once on few CPUs, 4 %: a loop that cannot keep up never waits, and
# no observer of waits can see it.
def start_node(start, work=0.002):
    node = start([require_program("node"), os.path.join(SOURCES, "openloop.js"), 10, work * 1e3], READY)
    return Target("node", node.pid, "libuv", ("epoll_pwait", "epoll_wait"), 0.15)


def start_asyncio(start, work=0.002):
    program = start([PYTHON, os.path.join(SOURCES, "openloop.py"), "-p", 0.01, "-w", work], READY)
    return Target("asyncio", program.pid, "asyncio", ("epoll_wait",), 0.15)


def start_uvloop(start, work=0.002):
    require_python_module("uvloop")
    program = start([PYTHON, os.path.join(SOURCES, "openloop.py"), "--loop", "uvloop", "-p", 0.01, "-w", work], READY)
    return Target("uvloop", program.pid, "uvloop", ("epoll_wait", "epoll_pwait"), 0.15)


REAL = {"redis": start_redis, "node": start_node, "asyncio": start_asyncio, "uvloop": start_uvloop, "nginx": start_nginx}

# The small loopers: 1 ms of work each 10 ms. Those on bare system calls belong to no runtime.
SMALL = {
    "poll": ("unknown", ("poll",)),
    "ppoll": ("unknown", ("ppoll",)),
    "select": ("unknown", ("select", "pselect6")),
    "pselect6": ("unknown", ("pselect6",)),
    "epoll_wait": ("unknown", ("epoll_wait",)),
    "epoll_pwait": ("unknown", ("epoll_pwait",)),
    "epoll_pwait2": ("unknown", ("epoll_pwait2",)),
    "io_uring": ("unknown", ("io_uring_enter",)),
    "libevent": ("libevent", ("epoll_wait", "epoll_pwait2")),
    "libev": ("libev", ("epoll_wait", "epoll_pwait")),
}


def start_small(start, name, work_us=1000):
    """work_us of CPU time in each of its ticks, one each 10 ms."""
    runtime, syscalls = SMALL[name]
    program = start([os.path.join(LOOPERS, name), "-w", "%dus" % work_us, "-p", "10ms"], READY)
    return Target(name, program.pid, runtime, syscalls, 0.9 * work_us / 10000)


class Shell:
    """An interactive shell at its prompt, on a terminal of its own."""

    def __init__(self, start):
        shell = require_program("bash")
        ours, theirs = pty.openpty()
        self.seen, self.prompted = b"", threading.Event()
        self.program = start([shell, "--norc", "--noprofile", "-i"], stdin=theirs, stdout=theirs, stderr=theirs,
                             env=dict(os.environ, PS1="at-the-prompt> "))
        os.close(theirs)
        threading.Thread(target=self._read, args=(ours,), daemon=True).start()
        if not self.prompted.wait(10):
            raise AssertionError("the shell shows no prompt: %r" % self.seen)
        self.pid = self.program.pid

    def _read(self, fd):
        try:
            while True:
                self.seen += os.read(fd, 4096)
                if re.search(rb"at-the-prompt> $", self.seen):
                    self.prompted.set()
        except OSError:  # the shell is gone
            os.close(fd)
