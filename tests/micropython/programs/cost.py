# SPDX-License-Identifier: BSD-2-Clause
# What a step costs with and without the tracer. Prints microseconds a step, the least of three, for each way of running:
# of CPU time where there is such a clock (the unix port, where others take the CPU too), else of time not asleep.
#   busy   two tasks take turns with sleep_ms(0): the hook always meets another task, and nothing is ever sent
#   idle   the same with a sleep_ms(20) after every 20 steps, in which frames are made; time asleep is not counted
import asyncio
import sys
import time

STEPS = {"busy": int(sys.argv[-2]), "idle": int(sys.argv[-1])}
asleep = 0
if hasattr(time, "clock"):
    def clock():
        return round(time.clock() * 1000000)
else:
    def clock():
        return time.ticks_us()


class Nowhere:  # takes frames at once, so that the line's speed is not part of the figure
    bytes = 0

    def write(self, data):
        self.bytes += len(data)
        return len(data)


class Poller:  # measures what the loop sleeps, below asyncio and the tracer
    def __init__(self, poller):
        self.poller = poller

    def ipoll(self, ms):
        global asleep
        start = time.ticks_us()
        try:
            return self.poller.ipoll(ms)
        finally:
            if ms:
                asleep += time.ticks_diff(time.ticks_us(), start)


async def turns(steps, every):
    for i in range(steps):
        await asyncio.sleep_ms(0 if i % every else 20)


async def measure(steps, every):
    global asleep
    tasks = [asyncio.create_task(turns(steps, every)) for _ in range(2)]
    await asyncio.sleep_ms(0)
    asleep = 0
    start = clock()
    await asyncio.gather(*tasks)
    return (time.ticks_diff(clock(), start) - (0 if hasattr(time, "clock") else asleep)) / (2 * steps)


def run(label):
    for how, steps in STEPS.items():
        figures = []
        for _ in range(3):
            asyncio.new_event_loop()
            asyncio.core._io_queue.poller = Poller(asyncio.core._io_queue.poller)
            figures.append(asyncio.run(measure(steps, 10 if how == "idle" else steps + 1)))
        print("cost %s %s %.3f" % (label, how, min(figures)))


run("without")
import loopscope
nowhere = Nowhere()
loopscope.start(nowhere, rx=False, baud=0, hog=0)
run("with")
loopscope.stop()
