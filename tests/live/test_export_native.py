# SPDX-License-Identifier: BSD-2-Clause
"""export: native histograms, as a real Prometheus asks for them and stores them."""
import os
import signal
import subprocess

from exported import ExportTest, Prometheus
from harness import LOOPERS, READY, until
from test_ticks import sleeps_in_its_loop


class ExportNative(ExportTest):
    """A Prometheus that asks for native histograms has them; whoever does not has what there was."""

    OCTAVE, FINE = 8, 1 / 64  # buckets; how far a value may be beyond its bucket

    def test_prometheus_has_native_histograms(self):
        ticker = self.start([os.path.join(LOOPERS, "ticker"), "-k", "tail", "-p", "5ms", "-d", "2s"], READY, stdin=subprocess.PIPE)
        export = self.export("-p", ticker.pid, "--budget", "100%")
        whole = self.observe("attach", "-p", ticker.pid, "-i", "60s", "-o", "json", "--budget", "100%")
        prometheus = Prometheus(self, export.where, "--enable-feature", "native-histograms")
        prometheus.wait_up()
        until(lambda: sleeps_in_its_loop(whole.pid), 30, "attach watches")
        ticker.process.stdin.write(b"go\n")
        ticker.process.stdin.flush()
        ticker.wait_line("^done$", timeout=60)
        ticks = export.fresh_metrics().sum("loopscope_loop_ticks_total")
        until(lambda: [n for _, n in prometheus.query("loopscope_loop_ticks_total")] == [ticks], 20, "a scrape of all ticks")
        self.assertEqual(whole.stop(signal.SIGINT, timeout=30), 0)
        record, = whole.loops(ticker.pid, ticker.pid)
        name = 'loopscope_loop_tick_duration_seconds'
        self.assertEqual(prometheus.query("histogram_count(%s)" % name)[0][1], record["ticks"])
        self.assertEqual(prometheus.query(name + "_bucket"), [], "the classic buckets are not stored beside them")
        for word, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            (_, native), = prometheus.query("histogram_quantile(%g, %s)" % (q, name))
            ours = record["tick_us"][word] / 1e6
            self.note("%s of %d ticks: %.3f ms by the native histogram, %.3f ms by attach" % (word, ticks, native * 1e3, ours * 1e3))
            most = 2 ** (1 / self.OCTAVE) * (1 + self.FINE) ** 2
            self.assertTrue(ours / most <= native <= ours * most, word)
        self.assertEqual(export.get()[1]["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.end(export)
