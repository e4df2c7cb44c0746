# SPDX-License-Identifier: BSD-2-Clause
# A real asyncio program that knows the truth about itself and prints it when it ends, one item a line:
#   truth start TICKS              the clock (us, as ticks_us gives it) when tracing had begun
#   truth task NAME INST STEPS US  how often the task was resumed, and how long it ran by its own clock
#   truth hog FROM TO              each long step, us after start
#   truth sleeps A B A B ...       each stretch in which the loop slept in its poller, us after start
#   truth ticks T T ...            each time that the timer for hogs came, us after start (unix; a thread may be late)
# It measures sleep in the poller, below asyncio and the tracer, and steps within the tasks, above both.
#
# usage: tasks.py [TTY] SECONDS [option...]     TTY: where frames go; none: the UART that the REPL has
#   skip=US       moves the board's clock on before the start (board.skip_us)
import asyncio
import sys
from time import ticks_us, ticks_diff

import loopscope
from timers import ThreadTimer

args = sys.argv[1:]
TTY = args.pop(0) if args[0].startswith("/") else None
SECONDS = float(args.pop(0))
SLOWER = 1 if TTY else 3  # the Cortex-M3 needs 0.4 ms for a step of asyncio itself
running = True
start = None
truth = {}
hogs = []
sleeps = [0] * 2 * (8000 if TTY else 4000)
ticks = []
flashes = set()


def poller(poll):
    """A select.poll object that notes when it slept. It costs the loop as little as it can: the stretch from entry to
    exit is what the tracer takes for sleep, so that what happens here beside sleeping looks like a fault of its."""
    n, size, ipoll = 0, len(sleeps), poll.ipoll

    def noted(ms):
        nonlocal n
        if not ms or n == size:
            return ipoll(ms)
        sleeps[n] = ticks_us()
        ready = ipoll(ms)
        sleeps[n + 1] = ticks_us()
        n += 2
        return ready

    class Poller:  # used as it is, without an instance, so that its functions get no self
        pass

    Poller.register, Poller.modify, Poller.unregister, Poller.ipoll = poll.register, poll.modify, poll.unregister, noted
    return Poller


def timer_came():
    if start is not None:
        ticks.append(ticks_diff(ticks_us(), start))


def spin(mine, ms):
    begin = ticks_us()
    while ticks_diff(ticks_us(), begin) < 1000 * ms:
        pass
    mine[1] += ticks_diff(ticks_us(), begin)
    return begin


async def work(name, k, ms, period):
    mine = truth[name, k] = [0, 0]
    while running:
        mine[0] += 1
        spin(mine, ms)
        await asyncio.sleep_ms(period * SLOWER)
    mine[0] += 1


async def blink():
    await work("blink", 0, 1, 20)


async def sensor(k):
    await work("sensor", k, 2 + k, 40 + 20 * k)


async def control():
    await work("control", 0, 2, 10)


async def hog():
    mine = truth["hog", 0] = [0, 0]
    while running:
        mine[0] += 1
        begin = spin(mine, 80)
        hogs.append((ticks_diff(begin, start), ticks_diff(ticks_us(), start)))
        await asyncio.sleep_ms(500)
    mine[0] += 1


async def flash():  # numbers itself as the tracer must: the least number that no living one has
    k = 0
    while k in flashes:
        k += 1
    flashes.add(k)
    mine = truth.setdefault(("flash", k), [0, 0])
    mine[0] += 1
    spin(mine, 1)
    await asyncio.sleep_ms(15)
    mine[0] += 1
    flashes.remove(k)


async def flasher():  # two at a time come and go
    mine = truth["flasher", 0] = [0, 0]
    while running:
        for _ in range(2):
            asyncio.create_task(flash())
        mine[0] += 1
        await asyncio.sleep_ms(60 * SLOWER)
    mine[0] += 1


async def waiter(event):
    mine = truth["waiter", 0] = [1, 0]
    await event.wait()
    mine[0] += 1


async def talker():  # console text on the line that has the frames
    mine = truth["talker", 0] = [0, 0]
    while running:
        mine[0] += 1
        say("talk %d\n" % mine[0])
        await asyncio.sleep_ms(130)
    mine[0] += 1


def trace():
    global start
    if TTY:
        loopscope.start(stream, name="unix", baud=0, timer=ThreadTimer(timer_came), boot=4711)
    else:
        loopscope.start(stream, sys.stdin.buffer, name="mps2", baud=1000000, boot=4711)
    start = ticks_us()


async def main():
    global running
    event = asyncio.Event()
    tasks = [asyncio.create_task(t) for t in (
        blink(), sensor(0), sensor(1), sensor(2), control(), hog(), flasher(), waiter(event), talker())]
    await asyncio.sleep(SECONDS)
    running = False
    event.set()
    await asyncio.gather(*tasks)
    await asyncio.sleep_ms(1500)  # the last sums are sent


if TTY:
    stream = open(TTY, "r+b")

    def say(text):
        stream.write(text.encode())
else:
    stream = sys.stdout.buffer

    def say(text):
        print(text, end="")

for option in args:
    if option.startswith("skip="):
        import board
        board.skip_us(int(option[5:]) - ticks_us())
asyncio.core._io_queue.poller = poller(asyncio.core._io_queue.poller)
trace()
asyncio.run(main())
loopscope.stop()
print("truth start", start)
for (name, k), (steps, us) in truth.items():
    print("truth task", name, k, steps, us)
for a, b in hogs:
    print("truth hog", a, b)
sleeps = [ticks_diff(t, start) for t in sleeps if t]
for label, values in (("sleeps", sleeps), ("ticks", ticks)):
    for i in range(0, len(values), 64):
        print("truth", label, *values[i:i + 64])
