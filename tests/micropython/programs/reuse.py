# SPDX-License-Identifier: BSD-2-Clause
# One task at a time that is called brief: each ends before the next is made, and the loop does not sleep in between. Every
# other one is a hog in its first step, so that the tracer hears of it while the end of the one before waits in its ring.
#
# usage: reuse.py [TTY]     as tasks.py
import asyncio
import sys
import time

import loopscope
from timers import ThreadTimer

TTY = sys.argv[1] if len(sys.argv) > 1 else None


async def brief(ms):
    begin = time.ticks_us()
    while time.ticks_diff(time.ticks_us(), begin) < 1000 * ms:
        pass


async def main():
    for ms in (0, 80, 0, 80, 0, 80):
        await asyncio.create_task(brief(ms))
    await asyncio.sleep_ms(1500)  # the last sums are sent


if TTY:
    loopscope.start(open(TTY, "r+b"), name="unix", baud=0, timer=ThreadTimer())
else:
    loopscope.start(sys.stdout.buffer, sys.stdin.buffer, name="mps2", baud=1000000)
asyncio.run(main())
loopscope.stop()
print("truth end")
