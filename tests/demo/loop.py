#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The demo's loop: asyncio with a timer each period and a given CPU time of work each time.

usage: loop.py PERIOD_MS WORK_MS SECONDS

The timer's points in time are fixed: late ones are made up for, one a turn of the loop. Prints "ready PID" once it loops.
"""
import asyncio
import os
import sys
import time


def burn(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def main():
    period, work, seconds = (float(a) for a in sys.argv[1:])
    loop = asyncio.new_event_loop()

    def on_timer(due):
        burn(work / 1e3)
        loop.call_at(due + period / 1e3, on_timer, due + period / 1e3)

    loop.call_soon(on_timer, loop.time())
    loop.call_later(2 * period / 1e3, print, "ready", os.getpid())
    loop.call_later(seconds, loop.stop)
    sys.stdout.reconfigure(line_buffering=True)
    loop.run_forever()


if __name__ == "__main__":
    main()
