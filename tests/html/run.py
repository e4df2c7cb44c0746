#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The page of `report -o html` in a real browser: has invented recordings written as pages, and page.js look at them.

usage: run.py     a line a test: PASS, FAIL or SKIP, its name, and why; BUILD names the build directory

Needs Chromium, node, and playwright-core (`.ci/deps page`); without one of them every test is skipped, and says so.
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.path.join(ROOT, os.environ.get("BUILD") or "build"))
INVENT = os.path.join(BUILD, "tests", "html", "invent")
BROWSER_SECONDS, INVENT_SECONDS = 120, 60

# Pages that page.js wants: name, and what invent is told.
PAGES = {
    "hostile": [],
    "plain": ["--plain"],
    "sums": ["--plain", "--no-ticks"],
    "million": ["--plain", "--ticks", "1e6"],
}


def missing():
    if not shutil.which("chromium"):
        return "Chromium is not installed: .ci/deps page"
    if not shutil.which("node"):
        return "node is not installed: .ci/deps page"
    if not os.path.isdir(os.path.join(HERE, "node_modules", "playwright-core")):
        return "playwright-core is not installed: .ci/deps page"
    return None


def write_pages(folder):
    for name, arguments in PAGES.items():
        with open(os.path.join(folder, name + ".html"), "wb") as page, open(os.path.join(folder, name + ".json"), "wb") as truth:
            subprocess.run([INVENT, *arguments], stdout=page, stderr=truth, check=True, timeout=INVENT_SECONDS)


def main():
    reason = missing()
    if reason:
        print("SKIP pages %s" % reason)
        return 0
    if not os.access(INVENT, os.X_OK):
        print("FAIL pages %s is not built: make html-tests" % INVENT)
        return 1
    with tempfile.TemporaryDirectory(prefix="html-") as folder:
        write_pages(folder)
        # What the browser would leave in the home of whoever runs it, it leaves in the folder that goes.
        done = subprocess.run(["node", os.path.join(HERE, "page.js"), folder, shutil.which("chromium")], timeout=BROWSER_SECONDS, check=False,
                              env=dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder, XDG_CACHE_HOME=folder))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
