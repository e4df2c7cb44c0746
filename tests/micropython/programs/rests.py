# SPDX-License-Identifier: BSD-2-Clause
# A loop that rests for a little more than the tracer lets it sleep at once: the last milliseconds of each rest leave no time to send
# what it has gathered, and a SYNC that is overdue comes in them, after the sleep that the next record tells of.
#
# usage: rests.py [TTY] SECONDS     as tasks.py
import asyncio
import sys
import time

import loopscope
from timers import ThreadTimer

args = sys.argv[1:]
TTY = args.pop(0) if args[0].startswith("/") else None


async def main(seconds):
    begin = time.ticks_us()
    while time.ticks_diff(time.ticks_us(), begin) < seconds * 1000000:
        await asyncio.sleep_ms(103)


if TTY:
    loopscope.start(open(TTY, "r+b"), name="unix", baud=0, timer=ThreadTimer())
else:
    loopscope.start(sys.stdout.buffer, sys.stdin.buffer, name="mps2", baud=1000000)
asyncio.run(main(int(args[0])))
loopscope.stop()
print("truth end")
