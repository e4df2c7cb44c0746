# SPDX-License-Identifier: BSD-2-Clause
"""Decodes the loopscope wire, written from targets/PROTOCOL.md alone: a witness that shares no code with the host.

Stream(...).feed(bytes, arrival) appends to .events: (arrival, name of the record, time, fields), where time is the
record's moment in ticks since the session's first t0, and .text collects console bytes. Frames that are refused
raise nothing: they are counted in .refused with the reason, since a test on a clean line demands that there are none.
"""
import struct
import zlib

FIXED = {
    0xF1: ("RUN", "<HII"), 0xF2: ("SWITCH", "<HH"), 0xF3: ("ISR_IN", "<HH"), 0xF4: ("ISR_OUT", "<HH"),
    0xF5: ("IDLE", "<IHI"), 0xF6: ("MARK", "<HHi"), 0xF7: ("OPEN", "<HII"), 0xF8: ("END", "<HH"),
    0xF9: ("TOTALS", "<HIQI"), 0xFA: ("SYNC", "<IBBBBIIIQQQ"), 0xFB: ("TIME", "<HII"), 0xFC: ("ADVANCE", "<I"),
    0xFD: ("DROPPED", "<I"), 0xFE: ("RESERVED", "<8s"),
}
FIELDS = {
    "RUN": ("id", "dt", "dur"), "SWITCH": ("id", "dt"), "ISR_IN": ("id", "dt"), "ISR_OUT": ("id", "dt"),
    "IDLE": ("dt", "asked_ms", "slept"), "MARK": ("id", "dt", "value"), "OPEN": ("id", "dt", "ran"),
    "END": ("id", "dt"), "TOTALS": ("id", "runs", "busy", "max"),
    "SYNC": ("dt", "version", "bits", "rate", "flags", "hz", "frames", "dropped", "busy", "idle", "isr"),
    "TIME": ("nonce", "rx", "tx"), "ADVANCE": ("dt",), "DROPPED": ("total",), "RESERVED": ("bytes",),
}


class Refused(Exception):
    pass


def uncobs(segment):
    out, at = bytearray(), 0
    while at < len(segment):
        code = segment[at]
        if at + code > len(segment):
            raise Refused("cobs")
        out += segment[at + 1:at + code]
        at += code
        if code < 255 and at < len(segment):
            out.append(0)
    return bytes(out)


def records(body):
    """Yields (name, fields) of a frame's records; Refused unless they fill it to the last byte."""
    at = 0
    while at < len(body):
        kind, rest = body[at], body[at + 1:]
        if kind == 0:
            raise Refused("record 00")
        if kind <= 0xEF:
            if len(rest) < 4:
                raise Refused("short RUN")
            dt, dur = struct.unpack_from("<HH", rest)
            yield "RUN", {"id": kind, "dt": dt, "dur": dur}
            at += 5
        elif kind == 0xF0:
            if len(rest) < 6:
                raise Refused("short NAME")
            ident, what, inst, size = struct.unpack_from("<HBHB", rest)
            text = rest[6:6 + size]
            if not 1 <= size <= 48 or len(text) != size:
                raise Refused("NAME's length")
            if any(byte < 32 for byte in text) or (ident == 0) != (what == 4):
                raise Refused("NAME")
            yield "NAME", {"id": ident, "kind": what, "inst": inst, "text": text.decode()}
            at += 7 + size
        elif kind == 0xFF:
            if not rest or len(rest) < 1 + rest[0]:
                raise Refused("short EXT")
            yield "EXT", {"bytes": rest[1:1 + rest[0]]}
            at += 2 + rest[0]
        else:
            name, form = FIXED[kind]
            if len(rest) < struct.calcsize(form):
                raise Refused("short " + name)
            fields = dict(zip(FIELDS[name], struct.unpack_from(form, rest)))
            if "id" in fields and not (1 <= fields["id"] <= 65534 or name == "SWITCH" and fields["id"] == 0):
                raise Refused("id")
            if name == "SYNC" and not (16 <= fields["bits"] <= 32 and fields["rate"] <= 3 and fields["hz"]
                                       and fields["version"]):
                raise Refused("SYNC")
            yield name, fields
            at += 1 + struct.calcsize(form)


class Stream:
    def __init__(self):
        self.events, self.text, self.refused = [], b"", []
        self.frames = self.lost = self.frame_bytes = self.boots = self.first_t0 = 0
        self._segment = bytearray()
        self._boot = self._seq = self._t = None
        self._time, self._bits = 0, 32

    def feed(self, data, arrival=0.0):
        for byte in data:
            if byte:
                self._segment.append(byte)
            else:
                if self._segment:
                    self._close(bytes(self._segment), arrival)
                self._segment.clear()

    def unfinished_text(self):
        """What came since the last zero, if it is not a frame's beginning."""
        segment = bytes(self._segment)
        return b"" if segment[1:2] == b"\xe1" else segment

    def _close(self, segment, arrival):
        try:
            self._frame(segment, arrival)
        except Refused as why:
            # a second byte of E1 makes it a frame that should have been one
            if len(segment) > 1 and segment[1] == 0xE1 or not segment.isascii():
                self.refused.append((str(why), segment))
            else:
                self.text += segment

    def _frame(self, segment, arrival):
        if len(segment) > 254:
            raise Refused("too long")
        frame = uncobs(segment)
        if len(frame) < 13 or frame[0] != 0xE1:
            raise Refused("not a frame")
        if zlib.crc32(frame[:-4]) != struct.unpack("<I", frame[-4:])[0]:
            raise Refused("crc")
        _, seq, t0, boot = struct.unpack_from("<BBIH", frame)
        found = list(records(frame[8:-4]))
        syncs = [fields for name, fields in found if name == "SYNC"]
        if len(syncs) > 1 or any(s["frames"] & 255 != seq for s in syncs):
            raise Refused("SYNC and seq")

        if boot != self._boot:
            self.boots += 1
            self._boot, self._time, self._t, self.first_t0 = boot, 0, None, t0
        else:
            self.lost += (seq - self._seq - 1) & 255
        if syncs:
            self._bits = syncs[0]["bits"]
        mask = (1 << self._bits) - 1
        if self._t is not None and self.frames:
            step = (t0 - self._t) & mask
            if step > mask // 2:
                raise Refused("t0 goes back")
            self._time += step
        self._seq, cursor = seq, self._time
        self.frames += 1
        self.frame_bytes += len(segment) + 2
        for name, fields in found:
            cursor += fields.get("dt", 0)
            self.events.append((arrival, name, cursor, fields))
        self._t = (t0 + cursor - self._time) & mask
        self._time = cursor

    def of(self, name):
        return [event for event in self.events if event[1] == name]

    def names(self):
        """id -> (text, instance), the latest; and every (text, instance) ever named."""
        last, ever = {}, set()
        for _, _, _, f in self.of("NAME"):
            last[f["id"]] = (f["text"], f["inst"])
            ever.add((f["text"], f["inst"], f["kind"]))
        return last, ever
