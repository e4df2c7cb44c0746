# SPDX-License-Identifier: BSD-2-Clause
# ThreadTimer - what machine.Timer is on a board: calls back now and then, also while Python code runs.
import time


class ThreadTimer:
    def __init__(self, seen=None):
        self.seen = seen  # called each time that it comes

    def init(self, period, callback):
        import _thread
        self.on = True
        _thread.start_new_thread(self.run, (period, callback))

    def run(self, period, callback):
        while self.on:
            time.sleep_ms(period)
            if self.seen:
                self.seen()
            callback(self)

    def deinit(self):
        self.on = False
