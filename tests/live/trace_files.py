# SPDX-License-Identifier: BSD-2-Clause
"""Reads what `report` writes for other programs: Perfetto traces by protoc and the published definitions, value change dumps.

Both readers are strict: what they do not know, and what goes back in time, is an error. Times are nanoseconds.
"""
import os
import re
import subprocess

from harness import ROOT, require_program

PUBLISHED = os.path.join(ROOT, "tests", "data", "perfetto")
CLEARED, NEEDS_STATE = 1, 2  # sequence_flags
REALTIME, MONOTONIC, OWN_CLOCK = 1, 3, 64


class TraceError(AssertionError):
    pass


def need(condition, what):
    if not condition:
        raise TraceError(what)


# --- protoc's text ----------------------------------------------------------------------------------------------------
ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def unquote(text):
    raw = ESCAPE.sub(lambda m: bytes([int(m.group(1), 8)]) if len(m.group(1)) == 3 else ESCAPED.get(m.group(1), m.group(1)),
                     text.encode())
    return raw.decode("utf-8")  # and raises where it is not


def scalar(text):
    if text.startswith('"'):
        return unquote(text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text  # an enum's name


def read_text(lines):
    """protoc's text as a dict of lists, the outermost message's fields."""
    top = {}
    stack = [top]
    for line in lines:
        line = line.strip()
        if line.endswith(" {"):
            name = line[:-2]
            need(not name.isdigit(), "a field that is not published: %s" % name)
            stack[-1].setdefault(name, []).append({})
            stack.append(stack[-1][name][-1])
        elif line == "}":
            stack.pop()
        elif line:
            name, _, value = line.partition(": ")
            need(not name.isdigit(), "a field that is not published: %s" % line)
            stack[-1].setdefault(name, []).append(scalar(value))
    need(stack == [top], "the text ends in a message")
    return top


def one(message, name, default=None):
    values = message.get(name, [])
    need(len(values) <= 1, "%s is there more than once" % name)
    return values[0] if values else default


# --- Perfetto ---------------------------------------------------------------------------------------------------------
class Sequence:
    def __init__(self):
        self.known = False
        self.now = self.track = None
        self.names, self.args = {}, {}

    def begin(self, packet):
        defaults, clocks = one(packet, "trace_packet_defaults"), one(packet, "clock_snapshot")["clocks"]
        need(one(defaults, "timestamp_clock_id") == OWN_CLOCK, "times are of the sequence's own clock")
        times = {one(c, "clock_id"): c for c in clocks}
        need(set(times) == {REALTIME, OWN_CLOCK} and one(times[OWN_CLOCK], "is_incremental"), "the clock counts up")
        self.known = True
        self.now = one(times[REALTIME], "timestamp")
        self.track = one(one(defaults, "track_event_defaults"), "track_uuid")
        interned = one(packet, "interned_data", {})
        self.names = {one(n, "iid"): one(n, "name") for n in interned.get("event_names", [])}
        self.args = {one(n, "iid"): one(n, "name") for n in interned.get("debug_annotation_names", [])}


class Track:
    def __init__(self, descriptor, above):
        self.name = one(descriptor, "name")
        self.above = above
        self.process, self.thread = one(descriptor, "process"), one(descriptor, "thread")
        self.counter = one(descriptor, "counter")
        self.stands_alone = one(descriptor, "sibling_merge_behavior") == "SIBLING_MERGE_BEHAVIOR_NONE"
        self.slices = []    # [begin, end, name, depth, args]
        self.instants = []  # (time, name, args)
        self.values = []    # (time, value)
        self.open = []
        self.now = 0

    def of_thread(self):
        """Threads of one process may have one name; tasks of a board that come and go as well."""
        return self.thread or (self.above and self.above.of_thread())

    def path(self):
        """Names from the top; a process with its PID, as several may have one name."""
        name = "%s %d" % (self.name, one(self.process, "pid")) if self.process else self.name
        return (self.above.path() if self.above else ()) + (name,)


class PerfettoTrace:
    """.tracks by path of names; every check that holds for any trace is made while it is read."""

    def __init__(self, path):
        protoc = require_program("protoc")
        with open(path, "rb") as f:
            done = subprocess.run([protoc, "-I" + PUBLISHED, "--decode=perfetto.protos.Trace", "published.proto"], stdin=f,
                                  capture_output=True, check=False)
        need(done.returncode == 0, "protoc can't decode it: %s" % done.stderr.decode())
        self.by_uuid, self.sequences = {}, {}
        packets = read_text(done.stdout.decode().splitlines()).get("packet", [])
        first = one(packets[0], "clock_snapshot", {}) if packets else {}
        need(one(first, "primary_trace_clock") == "BUILTIN_CLOCK_REALTIME", "it says first what its clock is")
        self.clocks = {one(c, "clock_id"): one(c, "timestamp") for c in first["clocks"]}
        for packet in packets:
            self._packet(packet)
        for track in self.by_uuid.values():
            need(not track.open, "%s: what begins ends" % (track.path(),))
        self.tracks = {}
        for track in self.by_uuid.values():
            need(track.path() not in self.tracks or track.of_thread() or track.stands_alone, "two tracks of one name become one: %s" % (track.path(),))
            self.tracks[track.path()] = track

    def _packet(self, packet):
        sequence = self.sequences.setdefault(one(packet, "trusted_packet_sequence_id"), Sequence())
        if "track_descriptor" in packet:
            descriptor = one(packet, "track_descriptor")
            uuid, above = one(descriptor, "uuid"), one(descriptor, "parent_uuid")
            need(uuid not in self.by_uuid, "a track is described once")
            need(above is None or above in self.by_uuid, "what is above a track comes first")
            self.by_uuid[uuid] = Track(descriptor, self.by_uuid.get(above))
        if "trace_packet_defaults" in packet:
            need(one(packet, "sequence_flags") == CLEARED, "a sequence begins with nothing known")
            sequence.begin(packet)
        if "track_event" in packet:
            self._event(packet, sequence, one(packet, "track_event"))

    def _event(self, packet, sequence, event):
        time = one(packet, "timestamp")
        if one(packet, "sequence_flags", 0) & NEEDS_STATE:
            need(sequence.known and time < 1 << 62, "a time that goes back")
            sequence.now = time = sequence.now + time
        else:
            need(one(packet, "timestamp_clock_id") == REALTIME, "a time without a clock")
        track = self.by_uuid.get(one(event, "track_uuid", sequence.track))
        need(track, "an event on a track that nobody described")
        need(0 < time < 1 << 63 and time >= track.now, "%s goes back, from %d to %d" % (track.path(), track.now, time))
        track.now = time
        name = sequence.names[one(event, "name_iid")] if "name_iid" in event else one(event, "name")
        kind = one(event, "type")
        args = [self._arg(sequence, a) for a in event.get("debug_annotations", [])]
        if kind == "TYPE_COUNTER":
            need(track.counter, "a value on what is no counter")
            track.values.append((time, one(event, "double_counter_value")))
        elif kind == "TYPE_SLICE_BEGIN":
            track.open.append([time, None, name, len(track.open), dict(args)])
            track.slices.append(track.open[-1])
        elif kind == "TYPE_SLICE_END":
            need(track.open, "%s: an end without a begin" % (track.path(),))
            track.open[-1][4].update(args)
            track.open.pop()[1] = time
        else:
            need(kind == "TYPE_INSTANT", "an event of no type: %s" % kind)
            track.instants.append((time, name, dict(args)))

    def _arg(self, sequence, note):
        name = sequence.args[one(note, "name_iid")] if "name_iid" in note else one(note, "name")
        for kind in ("bool_value", "int_value", "double_value", "string_value"):
            if kind in note:
                return name, one(note, kind)
        if "dict_entries" in note:
            return name, dict(self._arg(sequence, n) for n in note["dict_entries"])
        return name, [self._arg(sequence, n)[1] for n in note.get("array_values", [])]

    def processes(self):
        return {one(t.process, "pid"): t for t in self.by_uuid.values() if t.process}

    def threads(self):
        return {one(t.thread, "tid"): t for t in self.by_uuid.values() if t.thread}


# --- value change dumps -----------------------------------------------------------------------------------------------
class Dump:
    """.changes: by name (SCOPE.WIRE) a list of (time, value), as it is after each moment at which it changed."""

    def __init__(self, text, scale=1):
        self.changes, self.scale, self.end, self.start_ns = {}, scale, None, None
        names, scope, words, defined = {}, [], iter(text.split()), False
        for word in words:
            if word == "$scope":
                need(next(words) == "module", "a scope is a module")
                scope.append(next(words))
            elif word == "$upscope":
                scope.pop()
            elif word == "$var":
                need((next(words), next(words)) == ("wire", "1"), "a wire of one bit")
                ident, name = next(words), next(words)
                need(re.fullmatch(r"[!-~]+", ident) and ident not in names, "an identifier of its own")
                names[ident] = ".".join([*scope, name])
                need(names[ident] not in self.changes, "a name of its own: %s" % names[ident])
                self.changes[names[ident]] = []
            elif word in ("$dumpvars", "$end"):
                pass
            elif word.startswith("$"):
                defined |= word == "$enddefinitions"
                self._skip(words)
            elif word.startswith("#"):
                time = int(word[1:]) * scale
                need(self.end is None or time > self.end, "time goes on: %d after %s" % (time, self.end))
                need(defined and time >= 0, "times after the definitions, none negative")
                self.end = time
            else:
                need(word[0] in "01x", "a value of a wire: %s" % word)
                self._change(self.changes[names[word[1:]]], word[0])

    def _skip(self, words):
        for word in words:
            if word == "$end":
                return
            if word.isdigit() and len(word) >= 19:
                self.start_ns = int(word)

    def _change(self, changes, value):
        if changes and changes[-1][0] == self.end:
            changes.pop()
        if not changes or changes[-1][1] != value:
            changes.append((self.end, value))

    def highs(self, name, value="1"):
        """[(begin, end)] of a wire; what is high at the end of the file ends there."""
        changes = self.changes[name] + [(self.end, None)]
        return [(t, u) for (t, v), (u, _) in zip(changes, changes[1:]) if v == value]


def read_dump(path):
    with open(path, encoding="ascii") as f:
        return Dump(f.read())


def through_vcd2fst(path, folder):
    """What GTKWave's own reader made of it, told again by its own writer."""
    vcd2fst, fst2vcd = require_program("vcd2fst"), require_program("fst2vcd")
    made = os.path.join(folder, os.path.basename(path) + ".fst")
    done = subprocess.run([vcd2fst, path, made], capture_output=True, check=False)
    need(done.returncode == 0, "vcd2fst: %s" % done.stderr.decode())
    return Dump(subprocess.run([fst2vcd, made], capture_output=True, check=True, text=True).stdout)


def through_sigrok(path, downsample):
    """What libsigrok made of it: it has no x, no scopes, and samples each `downsample` ns."""
    sigrok = require_program("sigrok-cli")
    done = subprocess.run([sigrok, "-I", "vcd:downsample=%d" % downsample, "-i", path, "-O", "vcd"], capture_output=True,
                          check=False, text=True)
    need(done.returncode == 0 and "$enddefinitions" in done.stdout, "sigrok-cli: %s" % done.stderr)
    return Dump(done.stdout[done.stdout.index("$date"):], downsample)
