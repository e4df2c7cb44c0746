#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Puts the page of `report -o html` together: template, styles, chart library and program in one, as a C file of three pieces.

usage: build.py CHART_LIBRARY OUT.c      the page's parts are those beside this file, in the order below

The pieces are what stands before the data, between the data and the spans, and after them. The page's policy names its own
two scripts by their hashes: nothing else in it can run, whatever a name in a recording holds, and it can connect to nothing.
"""
import base64
import hashlib
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STYLES = ["style.css", "timeline.css", "panels.css"]
PROGRAM = ["dom.js", "format.js", "data.js", "sums.js", "wire.js", "unpack.js", "state.js", "theme.js", "paint.js", "timeline.js",
           "lanes.js", "overview.js", "input.js", "measure.js", "chart_base.js", "chart_load.js", "chart_ticks.js", "findings.js",
           "loops.js", "loop.js", "causes.js", "slow.js", "flame.js", "tasks.js", "losses.js", "tabs.js", "help.js", "main.js"]
POLICY = ("default-src 'none'; script-src %s; style-src '%s'; img-src data:; connect-src 'none'; base-uri 'none'; "
          "form-action 'none'")


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.read()


def chart_library(path):
    """The library as it is, its own head with the licence's name included; its licence's text beside it."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    found = re.match(r"/\*!\s*\* Chart\.js v(\d+)\.", text)
    if not found or int(found.group(1)) not in (3, 4):
        sys.exit("%s is not Chart.js 3 or 4: install Debian's libjs-chart.js, or name the file with CHARTJS=" % path)
    text = re.sub(r"//# sourceMappingURL=\S+\s*$", "", text)
    return "/*\n%s*/\n%s" % (read("chartjs.licence"), text)


def program():
    parts = ["/* %s */\n%s" % (name, re.sub(r"^// SPDX-License-Identifier: .*\n", "", read(name))) for name in PROGRAM]
    return "'use strict';\n(() => {\n%s})();\n" % "\n".join(parts)


def inline(text, end):
    """What stands in an element must not end it."""
    if re.search("</%s" % end, text, re.IGNORECASE) or "<!--" in text:
        sys.exit("a part of the page holds what would end its <%s> element" % end)
    return text


def hashed(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page(library):
    style = inline("\n".join(read(name) for name in STYLES), "style")
    scripts = [inline(chart_library(library), "script"), inline(program(), "script")]
    policy = POLICY % (" ".join("'%s'" % hashed(s) for s in scripts), hashed(style))
    text = read("page.html")
    for mark, part in (("@POLICY@", policy), ("@STYLE@", style), ("@CHARTS@", scripts[0]), ("@PROGRAM@", scripts[1])):
        if text.count(mark) != 1:
            sys.exit("page.html has to have %s once" % mark)
        text = text.replace(mark, part)
    return text


def c_array(name, data):
    lines = [",".join(map(str, data[at:at + 32])) for at in range(0, len(data), 32)]
    return "static const unsigned char %s_bytes[] = {\n%s\n};\nconst struct html_piece %s = { %s_bytes, sizeof(%s_bytes) };\n" % (
        name, ",\n".join(lines), name, name, name)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    head, rest = page(sys.argv[1]).split("@DATA@\n")
    middle, tail = rest.split("@SPANS@\n")
    with open(sys.argv[2], "w", encoding="ascii") as f:
        f.write("/* made by user/sink/html/build.py */\n#include \"sink/html_part.h\"\n\n")
        f.write("\n".join(c_array("html_" + name, text.encode()) for name, text in
                          (("head", head), ("middle", middle), ("tail", tail))))


if __name__ == "__main__":
    main()
