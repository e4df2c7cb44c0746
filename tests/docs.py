#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Holds the manual page and the README against the program: what --help and the JSON name must be written there.

usage: docs.py      BUILD in the environment names the build directory; exit status 1 if something is missing

  docs/loopscope.1   every command of `loopscope --help`, every option of `loopscope COMMAND --help` with the commands that have it, and
                     no other option
  docs/METRICS.md    every metric of the golden file, and no other
  README.md          every command, every column of `--columns help`, every field of a line of JSON
"""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOOPSCOPE = os.path.join(ROOT, os.environ.get("BUILD") or "build", "loopscope")
GOLDEN = os.path.join(ROOT, "tests", "golden", "sink", "loops.ndjson")
METRICS = os.path.join(ROOT, "tests", "golden", "sink", "metrics.prom")


def said(*arguments):
    return subprocess.run([LOOPSCOPE, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
                          timeout=20).stdout


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def commands():
    return re.findall(r"^  (\w+)  +\S", said("--help"), re.M)


def options(help_text):
    """Names as typed: {"-p", "--pid", ...}."""
    found = set()
    for short, long in re.findall(r"^  (?:(-\w), |    )(--[\w-]+)", help_text, re.M):
        found |= {name for name in (short, long) if name}
    return found


def manual_options(manual):
    """The options that the list in OPTIONS explains."""
    found = set()
    for item in re.findall(r"^\.It (Fl .*)$", manual, re.M):
        found |= {"--" + name for name in re.findall(r"Fl Fl (\w[\w-]*)", item)}
        found |= {"-" + name for name in re.findall(r"Fl (\w)(?= |$)", item)}
    return found


def manual_commands(manual, known):
    """{"--pid": the commands that its item says have it}; an option may have several items."""
    found = {}
    for item, listed in re.findall(r"^\.It (Fl .*)\n\.Pq (.*)$", manual, re.M):
        for name in re.findall(r"Fl Fl (\w[\w-]*)", item):
            found.setdefault("--" + name, set()).update(set(re.findall(r"\w+", listed)) & set(known))
    return found


def fields(value):
    """Every key of an object, also of those inside it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from fields(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner)


def missing():
    manual, readme = read("docs", "loopscope.1"), read("README.md")
    known = commands()
    if not known:
        yield "loopscope --help lists no command: has its layout changed?"
    all_options, had_by = set(), {}
    for command in known:
        these = options(said(command, "--help"))
        all_options |= these
        for name in these - {"--help"}:
            had_by.setdefault(name, set()).add(command)
        if not re.search(r"^\.Ss %s$" % command, manual, re.M):
            yield "docs/loopscope.1 has no section on the command %s" % command
        if "loopscope %s" % command not in readme:
            yield "README.md does not show loopscope %s" % command
    for name in sorted(all_options - manual_options(manual)):
        yield "docs/loopscope.1 does not explain the option %s" % name
    for name in sorted(manual_options(manual) - all_options):
        yield "docs/loopscope.1 explains an option that no command has: %s" % name
    listed = manual_commands(manual, known)
    for name in sorted(n for n in had_by if n.startswith("--") and had_by[n] != listed.get(n)):
        yield "docs/loopscope.1 says %s of %s, which is one of %s" % (
            name, ", ".join(sorted(listed.get(name, []))) or "no command", ", ".join(sorted(had_by[name])))
    columns = re.findall(r"^  ([a-z][a-z0-9-]+) ", said("attach", "--columns", "help"), re.M)
    if not columns:
        yield "--columns help lists no column: has its layout changed?"
    for name in columns:
        if "`%s`" % name not in readme:
            yield "README.md does not name the column `%s`" % name
    with open(GOLDEN, encoding="utf-8") as f:
        keys = {key for line in f for key in fields(json.loads(line))}
    for key in sorted(keys):
        if "`%s`" % key not in readme:
            yield "README.md does not name the JSON field `%s`" % key


def metrics_wrong():
    """The program's own numbers are in the page only: no golden file has them."""
    page = read("docs", "METRICS.md")
    with open(METRICS, encoding="utf-8") as f:
        known = set(re.findall(r"^# TYPE (\w+) ", f.read(), re.M))
    named = set(re.findall(r"`(loopscope_\w+)", page))
    own = r"loopscope_(build|feature|observer|readings|reading|scrapes|scrape|last_scrape|http|excluded|textfile|ndjson|otlp)_"
    for name in sorted(known - named):
        yield "docs/METRICS.md does not explain the metric %s" % name
    for name in sorted(named - known):
        if not re.match(own, name + "_"):
            yield "docs/METRICS.md explains a metric that there is not: %s" % name


def main():
    wrong = list(missing()) + list(metrics_wrong())
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
