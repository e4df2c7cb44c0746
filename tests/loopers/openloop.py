#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""An open-loop program on asyncio (or uvloop): arrivals at fixed points in time, each costing a given CPU time.

The schedule does not depend on completion: arrival n is due at start + n * period, whatever became of the earlier
ones, so a neighbour that takes the CPU changes when work is done but not how much. CPU time is that of the loop's
thread (time.thread_time). Prints "ready PID" once it loops and, at SIGTERM or after -d seconds, its truth as one line of
JSON: arrivals due and served, when the work for each began, the longest lateness, and its own CPU time.

-s: each arrival comes through a socket from a thread instead of from the loop's own timer. -l poll|select: asyncio on that selector.
"""
import argparse
import asyncio
import json
import os
import selectors
import signal
import socket
import sys
import threading
import time


def burn(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


class OpenLoop:
    def __init__(self, loop, period, work):
        self.loop, self.period, self.work = loop, period, work
        self.served = 0
        self.served_at = []
        self.worst_late = 0.0
        self.start = loop.time()
        self.cpu_start = time.thread_time()

    def due(self):
        """How many arrivals are due by now."""
        return int((self.loop.time() - self.start) / self.period)

    def serve_one(self):
        self.served += 1
        self.served_at.append(self.loop.time())
        self.worst_late = max(self.worst_late, self.served_at[-1] - self.start - self.served * self.period)
        burn(self.work)
        if self.served == 2:
            print("ready", os.getpid(), flush=True)

    def on_timer(self):
        """One arrival a tick, as servers do; one that is late follows at once, after a look at the fds."""
        if self.served < self.due():
            self.serve_one()
        if self.served < self.due():
            self.loop.call_soon(self.on_timer)
        else:
            self.loop.call_at(self.start + (self.served + 1) * self.period, self.on_timer)

    def on_socket(self, sock):
        for _ in sock.recv(4096):
            self.serve_one()

    def truth(self, name):
        return {
            "looper": name, "pid": os.getpid(), "tid": threading.get_native_id(), "start": self.start,
            "wall_s": self.loop.time() - self.start, "cpu_s": time.thread_time() - self.cpu_start,
            "due": self.due(), "served": self.served, "served_at": self.served_at, "worst_late_s": self.worst_late,
        }


def feed(sock, period, start):
    """Sends one byte an arrival, at its time; late ones are sent at once and never left out."""
    n = 1
    while True:
        time.sleep(max(0.0, start + n * period - time.monotonic()))
        sock.send(b"x")
        n += 1


def new_loop(kind, selector):
    if kind == "uvloop":
        import uvloop
        return uvloop.new_event_loop()
    if selector == "epoll":
        return asyncio.new_event_loop()
    return asyncio.SelectorEventLoop({"poll": selectors.PollSelector, "select": selectors.SelectSelector}[selector]())


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--loop", choices=["asyncio", "uvloop"], default="asyncio")
    options.add_argument("-l", "--selector", choices=["epoll", "poll", "select"], default="epoll")
    options.add_argument("-p", "--period", type=float, default=0.01, help="seconds between arrivals")
    options.add_argument("-w", "--work", type=float, default=0.002, help="CPU seconds an arrival")
    options.add_argument("-d", "--duration", type=float, help="seconds; default: until SIGTERM")
    options.add_argument("-s", "--socket", action="store_true", help="arrivals come through a socket")
    o = options.parse_args()

    loop = new_loop(o.loop, o.selector)
    loop.add_signal_handler(signal.SIGTERM, loop.stop)
    loop.add_signal_handler(signal.SIGINT, loop.stop)
    program = OpenLoop(loop, o.period, o.work)
    if o.socket:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        loop.add_reader(ours, program.on_socket, ours)
        threading.Thread(target=feed, args=(theirs, o.period, time.monotonic()), daemon=True).start()
    else:
        program.on_timer()
    if o.duration:
        loop.call_later(o.duration, loop.stop)
    loop.run_forever()
    print(json.dumps(program.truth(o.loop)), flush=True)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
