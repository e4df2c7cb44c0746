# SPDX-License-Identifier: BSD-2-Clause
"""A board's line to loopscope, carried by the test and decoded on the way, by a decoder that shares no code with the product."""
import os
import re
import sys

import serial_frames as sf
from harness import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "micropython"))
import frames  # noqa: E402 # pylint: disable=wrong-import-position


class Line:
    """board: the board's end, once there is one. add_cleanup: a test's or a class's."""

    def __init__(self, add_cleanup, name):
        self.add_cleanup, self.name, self.pty = add_cleanup, name, sf.Pty()
        add_cleanup(self.pty.close)
        self.stream, self.read, self.board, self.cable = frames.Stream(), 0, None, None

    def connect(self, board):
        self.board, self.cable = board, sf.Cable(board, self.pty.master)
        self.add_cleanup(self.cable.close)

    def pump(self):
        """.stream, with all that has come."""
        pieces = self.cable.pieces[self.board]
        while self.read < len(pieces):
            self.stream.feed(pieces[self.read][1], pieces[self.read][0])
            self.read += 1
        return self.stream

    def last_totals(self):
        """(name, instance) -> the fields of its last TOTALS."""
        names = self.stream.names()[0]
        return {names[f["id"]]: f for _, _, _, f in self.stream.of("TOTALS") if f["id"] in names}

    def asked(self):
        """nonce -> when the question was there to be carried."""
        found, ends, at = {}, [], 0
        for when, data in self.cable.pieces[self.pty.master]:
            at += len(data)
            ends.append((at, when))
        for m in re.finditer(rb"~t(\d+)\n", self.cable.bytes[self.pty.master]):
            found[int(m.group(1))] = next(when for end, when in ends if end >= m.end())
        return found

    def offset(self):
        """Between which two values the true offset lies, by all exchanges."""
        sync = self.stream.of("SYNC")[0][3]
        mask, asked = (1 << sync["bits"]) - 1, self.asked()

        def seconds(ticks):
            return (self.stream.first_t0 + ((ticks - self.stream.first_t0) & mask)) / sync["hz"]
        answers = [(arrival, f) for arrival, _, _, f in self.stream.of("TIME")]
        return (max(asked[f["nonce"]] - seconds(f["rx"]) for _, f in answers), min(arrival - seconds(f["tx"]) for arrival, f in answers))
