# SPDX-License-Identifier: 0BSD
# loopscope for MicroPython's asyncio, unpatched firmware:   import loopscope; loopscope.start(uart)
#
# asyncio enters IOQueue.wait_io_event after each step of a task and returns from it before the next: one patched
# method sees them all, also those of tasks made before start(). The hook only stores (begin, end, task); sums and
# frames (../PROTOCOL.md) are made while the loop sleeps. Nothing that happens once a step allocates: MicroPython's
# search for free memory gets slower with each block that waits for the collector.
# Times are ticks_us, which wrap: every difference is masked.
import select
from binascii import crc32
from micropython import const, schedule
from struct import calcsize, pack_into
from time import ticks_add, ticks_us as ticks
try:
    from asyncio import core
except ImportError:
    from uasyncio import core

_SERVE = const(20000)  # us: so long after the last time are commands read and frames made again,
_LAG = const(100000)   # a step waits for its frame to fill,
_SYNC = const(700000)  # SYNC comes if there is time to send it,
_LATE = const(800000)  # and even if there is none
_TOP = const(251)      # where a frame's CRC is at the latest, in buf
_AGENT, _REST = const(1), const(2)  # slots (and ids) that are no task's; 0 is the board
stop = None  # once started: the function that takes the hook out again


def start(stream, rx=None, name="micropython", baud=115200, tasks=32, ring=128, hog=40, timer=None, boot=None):
    global stop
    if stop:
        stop()
    if boot is None:
        try:
            from os import urandom
            boot = urandom(1)[0] << 8 | urandom(1)[0]
        except (ImportError, AttributeError):
            boot = (ticks() * 40503 >> 8) & 0xFFFF
    mask = ticks_add(0, -1)  # 30 bits where a small integer has 31
    if mask >> 31:
        mask = 0xFFFFFFFF
    orig = core.IOQueue.wait_io_event
    slots, held = {}, [None] * (_REST + 1 + tasks)  # id(task) -> slot -> task: held, so that none other has its id()
    known = slots.get
    names = [(name, 0), ("loopscope", 0)] + held[2:]  # each slot's (text, instance)
    ids = [0, _AGENT, _REST] + [0] * tasks
    runs, busy, most, all_busy = [[0] * len(held) for _ in range(4)]  # since start, but busy: since the last SYNC
    fresh, turn, last_id, full = [], 0, _REST, False  # fresh: slots whose NAME is due
    begins, ends, who = [[0] * ring for _ in range(3)]  # the ring, from r to n; a sleep has begins < 0: ~ how long it
    n = r = 0                                           # was, and who: the ms asked for
    buf, pos, frames = bytearray(257), 10, 0  # the frame in the making: 0, COBS' first code, frame, 0
    view = memoryview(buf)
    dropped = told = idle = all_idle = own = elapsed = nap = asked = woke = 0
    on, rate, min_step, chosen, plain, line = True, 3, 0, (), True, b""
    begin = seen = -1            # of the step under way, or -1; of the step that the hog timer looked at,
    hog_us = limit = hog * 1000  # the time of its next OPEN,
    away = 0                     # and what we took of it
    cur = t0 = epoch = synced = served = sent = mark = ticks() & mask
    per = 10000000 // baud + 1 if baud else 1  # us that a byte takes on the line; cost: with making it, measured
    cost = per + 20
    rx, ear = rx or stream, select.poll() if rx is not False else None
    if ear:
        ear.register(rx, select.POLLIN)
    longest = 100 if ear else 300  # ms: longer sleeps are cut, for commands and SYNC
    overhead = mask                # us: what wait_io_event takes without sleeping
    for _ in range(4):
        t = ticks()
        orig(core._io_queue, 0)
        overhead = min(overhead, (ticks() - t) & mask)

    def emit(always=False):
        nonlocal pos, t0, frames, cost, mark
        if pos > 10 and (on or always):
            pack_into("<BBIH", buf, 2, 0xE1, frames & 255, t0, boot)
            pack_into("<I", buf, pos, crc32(view[2:pos]))
            pos += 4
            buf[pos] = 0
            flat, last, zero = bytes(view[:pos + 1]), 1, 1
            while last < pos:  # COBS: each zero becomes the distance to the next
                zero = flat.find(b"\0", zero + 1)
                buf[last] = zero - last
                last = zero
            stream.write(view[:pos + 1])
            frames += 1  # also if the stream took less: the host then sees a frame missing
            t = ticks()
            cost = max(per, (cost + ((t - mark) & mask) // pos) // 2 + 1)
            mark = t
        pos, t0 = 10, cur

    def put(form, *fields):
        nonlocal pos
        if pos + calcsize(form) > _TOP:
            emit()
        pack_into(form, buf, pos, *fields)
        pos += calcsize(form)

    def put_name(s):
        text = names[s][0].encode()
        put("<BHBHB%ds" % len(text), 0xF0, ids[s], 0 if s > _AGENT else 4 - s, names[s][1], len(text), text)

    def find(task):  # its slot; a new task gets one
        nonlocal last_id, full
        s, k = known(id(task)), id(task)
        if s is not None:
            return s
        if None not in held[_REST + 1:]:
            full = True  # sync() will end some
            if not names[_REST]:
                names[_REST] = ("(others)", 0)
                fresh.append(_REST)
            return _REST
        s = held.index(None, _REST + 1)
        while last_id in ids:  # an id is used again as late as possible
            last_id = last_id + 1 if last_id < 0xEF else _REST + 1
        text, i = repr(task.coro), 0  # <generator object 'name' at 20001234>
        text = (text.split("'") + [text])[1][:24]
        while (text, i) in names:
            i += 1
        held[s], slots[k], ids[s], names[s] = task, s, last_id, (text, i)
        runs[s] = busy[s] = most[s] = all_busy[s] = 0
        fresh.append(s)
        return s

    def put_totals(s):
        put("<BHIQI", 0xF9, ids[s], runs[s] & 0xFFFFFFFF, all_busy[s] + busy[s], most[s])

    def end(s):  # the task is gone
        if s in fresh:
            fresh.remove(s)
            put_name(s)
        if rate:
            put_totals(s)
            put("<BHH", 0xF8, ids[s], 0)
        del slots[id(held[s])]
        held[s] = names[s] = None

    def take(count, top):  # the oldest entries leave the ring, are added up and, if wanted, put into a frame of at
        nonlocal r, pos, cur, dropped  # most top bytes; top 0: not even then
        while count and r != n and (pos + 11 <= top or not top):
            count -= 1
            w = who[r]
            d = begins[r]
            t = ends[r] & mask
            who[r] = None
            r = r + 1 if r + 1 < ring else 0
            if d < 0:
                s, d = 0, ~d
            elif w is None:  # the loop has ended, and with it the step, unseen
                continue
            else:
                s = known(id(w))
                if s is None:
                    s = find(w)
                d = (t - d) & mask
                runs[s] += 1
                busy[s] += d
                if d > most[s]:
                    most[s] = d
            if plain or on and rate > 1 + (s == 0) and not (s and (d < min_step or chosen and ids[s] not in chosen)):
                if top:
                    if fresh:
                        while fresh:
                            put_name(fresh.pop())
                        if pos + 11 > _TOP:
                            emit()
                    dt = (t - cur) & mask
                    if dt > mask >> 1:  # a sleep that was over before the SYNC that came before its record
                        dt = 0
                    else:
                        cur = t
                    if s == 0:
                        pack_into("<BIHI", buf, pos, 0xF5, dt, w, d)
                        pos += 11
                    elif dt | d < 0x10000:
                        pack_into("<BHH", buf, pos, ids[s], dt, d)
                        pos += 5
                    else:
                        pack_into("<BHII", buf, pos, 0xF1, ids[s], dt, d)
                        pos += 11
                else:
                    dropped += 1
            if s > _REST and w.done() and w not in who:
                end(s)

    def drain(us):  # ring -> frames, for at most us
        nonlocal mark, told
        since = mark = ticks()
        if dropped != told:  # the oldest are dropped first: here
            told = dropped
            put("<BI", 0xFD, dropped)
        while r != n:
            top = min(_TOP, (us - ((ticks() - since) & mask)) // cost - 7)
            if top < 32:
                break
            take(50, top)
            emit()
        emit()

    def settle():  # the ring is emptied, whether it was sent or not
        take(ring, 0)
        drain(0)

    def sync():
        nonlocal cur, epoch, synced, elapsed, idle, all_idle, own, turn, full
        settle()
        t = ticks() & mask
        elapsed += (t - epoch) & mask
        all_idle += idle
        busy[_AGENT] = own
        idle = own = 0
        put("<BIBBBBIIIQQQ", 0xFA, (t - cur) & mask, 1, len(bin(mask)) - 2, rate, bool(chosen) | bool(min_step) << 1,
            1000000, frames, dropped, elapsed - all_idle, all_idle, 0)
        cur = epoch = synced = t
        turn = turn + 1 if turn + 1 < len(held) else 0
        for s, task in enumerate(held):
            if names[s] and rate and (s == turn or s in fresh):
                put_name(s)
            if names[s] and rate and s and (s == turn or busy[s]):
                put_totals(s)
            if task is not None and (task.done() or full and not busy[s]):
                end(s)
            all_busy[s] += busy[s]
            busy[s] = 0
        fresh[:], full = [], False
        emit()

    def command(text, t):
        nonlocal on, rate, min_step, chosen, plain, synced
        op, given = text[:2], text[2:].split(b",") if text[2:] else []
        if len(text) > 79 or not all([g.isdigit() and len(g) < 10 for g in given]):
            return
        v = [int(g) for g in given]
        if op == b"~t" and len(v) == 1 and v[0] < 65536:
            put("<BHII", 0xFB, v[0], t, ticks() & mask)
            return emit(True)
        if op == b"~i" and len(v) <= 12:
            chosen = v
        elif op == b"~r" and len(v) == 1 and v[0] < 4:
            rate = v[0]
        elif op == b"~f" and len(v) == 1:
            min_step = v[0]
        elif op in (b"~+", b"~-", b"~n") and not v:
            on = op == b"~+" or on and op == b"~n"
            fresh[:] = [s for s, known in enumerate(names) if known]
        else:
            return
        plain = on and rate == 3 and not min_step and not chosen
        synced = (t - _SYNC) & mask  # SYNC shows that the command arrived

    def serve(ms):
        nonlocal line, served, sent
        t = served = ticks() & mask
        runs[_AGENT] += 1
        for _ in range(64 if ear else 0):
            c = None
            for _ in ear.ipoll(0):
                c = rx.read(1)
            if not c:
                break
            if c in b"\r\n":
                command(line, ticks() & mask)
                line = b""
            elif len(line) < 80:
                line += c
        due, us = (t - synced) & mask, ms * 1000
        if due >= _SYNC or (t - sent) & mask >= _LAG or (n - r) % ring >= 40:
            sent = t
            drain(us)
            if due >= _LATE or due >= _SYNC and r == n and us > 150 * cost:
                sync()

    def push(begin, end, what):
        nonlocal n
        begins[n], ends[n], who[n] = begin, end, what
        k = n + 1 if n + 1 < ring else 0
        if k == r:
            take(1, 0)
        n = k

    def doze(ioq, dt, t):  # the loop has nothing to do
        nonlocal begin, idle, own, nap, asked, woke
        if not nap:
            asked = dt if 0 < dt < 65535 else 65535
        while True:
            ms = dt if 0 < dt < longest else longest if dt < 0 or dt >= 2 * longest else dt // 2  # no rest too short for us
            if (t - served) & mask >= _SERVE:
                serve(ms)
                d = (ticks() - t) & mask
                ms = max(0, ms - (d + 700) // 1000)
                if d > most[_AGENT]:
                    most[_AGENT] = d
            x = ticks()
            own += (x - t) & mask
            orig(ioq, ms)
            t = ticks()
            d = (t - x) & mask
            if ms and d > overhead:
                d -= overhead
                woke = t
                idle += d
                nap += d
            if dt > 0 or core._task_queue.peek():
                break  # with dt > 0 asyncio asks again
        if dt < 0:
            push(~nap, woke, asked)
            nap = 0
            begin = ticks()

    def wait(ioq, dt):
        nonlocal begin, n, own, nap
        t = ticks()
        if begin >= 0:  # a step has ended; this is push(), without the call
            begins[n], ends[n], who[n] = begin, t, core.cur_task
            begin = -1
            k = n + 1 if n + 1 < ring else 0
            if k == r:
                take(1, 0)
            n = k
            if not k & 7:  # one in 8 is measured
                if (t - synced) & mask >= _LATE:
                    serve(0)
                    own += (ticks() - t) & mask
                else:
                    own += 8 * ((ticks() - t) & mask)
        if dt:
            return doze(ioq, dt, t)
        if nap:
            push(~nap, woke, asked)
            nap = 0
        orig(ioq, 0)
        begin = ticks()

    def tick(_):  # the hog timer's callback, maybe an interrupt: no allocation
        nonlocal seen, limit, away
        if begin != seen:
            seen, limit, away = begin, hog_us, 0
        if begin >= 0 and (ticks() - begin) & mask >= limit:
            try:
                schedule(hogged, 0)
            except RuntimeError:
                pass  # the queue is full: the next tick comes

    def hogged(_):
        nonlocal begin, seen, limit, away, cur, own
        t, task = ticks() & mask, core.cur_task
        if begin < 0 or begin != seen or (t - begin) & mask < limit or task is None:
            return
        limit *= 2
        drain(hog_us // 4)
        settle()
        s = find(task)  # after the ends of others, whose number it may get
        if rate:
            while fresh:
                put_name(fresh.pop())
            put("<BHII", 0xF7, ids[s], (t - cur) & mask, ((t - begin) & mask) + away)
            cur = t  # not before: put() may begin a frame, which begins at cur
            emit()
        if (t - synced) & mask >= _LATE:
            sync()
        d = (ticks() - t) & mask  # our own time is not the step's
        own += d
        most[_AGENT] = max(most[_AGENT], d)
        away += d
        seen = begin = (begin + d) & mask

    def leave():
        global stop
        core.IOQueue.wait_io_event, stop = orig, None
        if timer:
            timer.deinit()

    if hog:
        try:
            if timer is None:
                from machine import Timer
                timer = Timer(-1)
            timer.init(period=hog // 2, callback=tick)
        except (ImportError, AttributeError, ValueError):
            timer = None  # no such timer here: hogs are seen when they end
    core.IOQueue.wait_io_event, stop = wait, leave
    sync()
    fresh.extend((_AGENT, 0))
