#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Holds the #include lines of user/ and bpf/ against the layers of the design.

usage: layers.py [TREE]        prints a line "FILE:LINE: what is wrong" each; exit status 1 if there was any
       layers.py --self-check  shows on a copy of the tree that every rule catches what it forbids

Data flows source -> model -> sink, and cmd alone sees both ends:
  lib                   nothing of ours
  registry, model       lib
  source, sink          model, lib
  cmd                   all; main.c: cmd and lib
  bpf/wire.h            only source/kernel*; of bpf/ nothing else is for user space
  the generated skeleton, libbpf's headers   only source/kernel*
  targets/ (the board's frame codec)         only source/serial*
  bpf/                  bpf/ and vmlinux/
  model                 no I/O, no kernel, no clock: none of the system headers that stand for them
"""
import contextlib
import os
import re
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')

MAY_INCLUDE = {
    "lib": {"lib"},
    "registry": {"registry", "lib"},
    "model": {"model", "lib"},
    "source": {"source", "model", "lib"},
    "sink": {"sink", "model", "lib"},
    "cmd": {"cmd", "sink", "source", "model", "registry", "lib"},
    "main.c": {"cmd", "lib"},
}
NOT_FOR_MODEL = re.compile(r"^(time|sys/time|unistd|fcntl|poll|dirent|pthread|signal|sys/(epoll|socket|stat|mman|ioctl|"
                           r"select|syscall|timerfd|wait)|linux/.*|asm/.*|bpf/.*)\.h$|^(linux|asm|bpf)/")


def includes(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        for number, line in enumerate(f, 1):
            found = INCLUDE.match(line)
            if found:
                yield number, found.group(1) or found.group(2), found.group(1) is not None


def resolve(tree, path, name, quoted):
    """The included file's path inside the tree, or None for one of the system's or of the build's."""
    places = ["user", "."] if path.startswith("user/") else [".", "vmlinux"]
    if quoted:
        places.insert(0, os.path.dirname(path))
    for place in places:
        candidate = os.path.normpath(os.path.join(place, name))
        if not candidate.startswith("..") and os.path.isfile(os.path.join(tree, candidate)):
            return candidate
    return None


def wrong_in_user(path, name, target):
    layer = path.split("/")[1]
    in_source = lambda kind: path.startswith("user/source/" + kind)  # noqa: E731
    if target is None:
        if (name.endswith(".skel.h") or re.match(r"bpf/", name)) and not in_source("kernel"):
            return "only source/kernel* sees the kernel side (%s)" % name
        if layer == "model" and NOT_FOR_MODEL.match(name):
            return "the model has no I/O, no kernel and no clock (%s)" % name
        return None
    top = target.split("/")[0]
    if top == "bpf":
        if not in_source("kernel"):
            return "only source/kernel* includes bpf/wire.h (%s)" % target
        return None if target == "bpf/wire.h" else "user space shares bpf/wire.h only (%s)" % target
    if top == "targets":
        return None if in_source("serial") else "only source/serial* includes the frame codec (%s)" % target
    if top != "user":
        return "%s is not for user space" % target
    if layer not in MAY_INCLUDE:
        return "%s is no layer of the design" % layer
    part = target.split("/")[1]
    if part not in MAY_INCLUDE[layer]:
        return "%s may not include %s (%s)" % (layer, part, target)
    return None


def wrong_in_bpf(_path, _name, target):
    if target is not None and target.split("/")[0] not in ("bpf", "vmlinux"):
        return "the kernel side includes only bpf/ and vmlinux/ (%s)" % target
    return None


def check(tree):
    """Returns (violations, how many files and includes were read)."""
    wrong, files, lines = [], 0, 0
    for top, rule in (("user", wrong_in_user), ("bpf", wrong_in_bpf)):
        for folder, _, names in os.walk(os.path.join(tree, top)):
            for name in sorted(names):
                if not name.endswith((".c", ".h")):
                    continue
                path = os.path.relpath(os.path.join(folder, name), tree)
                files += 1
                for number, included, quoted in includes(os.path.join(tree, path)):
                    lines += 1
                    sentence = rule(path, included, resolve(tree, path, included, quoted))
                    if sentence:
                        wrong.append("%s:%d: %s" % (path, number, sentence))
    return wrong, files, lines


# What must be caught: a file that stands for its layer, and a line that does not belong there.
FORBIDDEN = [
    ("user/lib/x.c", '#include "model/record.h"'),
    ("user/registry/x.c", '#include "model/record.h"'),
    ("user/model/x.c", '#include "registry/proc.h"'),
    ("user/model/x.c", "#include <time.h>"),
    ("user/model/x.c", "#include <linux/bpf.h>"),
    ("user/source/kernel_x.c", '#include "sink/sink.h"'),
    ("user/source/x.c", '#include "bpf/wire.h"'),
    ("user/source/x.c", "#include <bpf/libbpf.h>"),
    ("user/source/kernel_x.c", '#include "bpf/forbidden.h"'),
    ("user/source/kernel_x.c", '#include "targets/forbidden.h"'),
    ("user/sink/x.c", '#include "source/forbidden.h"'),
    ("user/source/x.c", '#include "registry/proc.h"'),
    ("user/sink/x.c", '#include "../source/forbidden.h"'),
    ("user/sink/x.c", '#  include "bpf/wire.h"'),
    ("user/cmd/x.c", '#include "loopscope.skel.h"'),
    ("user/main.c", '#include "sink/sink.h"'),
    ("bpf/x.bpf.c", '#include "user/model/record.h"'),
]
ALLOWED = [
    ("user/source/kernel_x.c", '#include "bpf/wire.h"'),
    ("user/source/serial_x.c", '#include "targets/forbidden.h"'),
    ("user/cmd/x.c", '#include "source/forbidden.h"'),
    ("user/sink/x.c", '#include "model/record.h"'),
]


def append(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="utf-8") as f:
        f.write(text)


@contextlib.contextmanager
def with_line(path, line):
    """The file has one more line meanwhile, or is there for it."""
    there = os.path.exists(path)
    size = os.path.getsize(path) if there else 0
    append(path, line + "\n")
    yield
    if there:
        os.truncate(path, size)
    else:
        os.unlink(path)


def self_check():
    failures = []
    with tempfile.TemporaryDirectory() as tree:
        for top in ("user", "bpf"):
            shutil.copytree(os.path.join(ROOT, top), os.path.join(tree, top))
        for made in ("user/source/forbidden.h", "bpf/forbidden.h", "bpf/wire.h", "targets/forbidden.h"):
            append(os.path.join(tree, made), "\n")
        before = check(tree)[0]
        for number, (path, line) in enumerate(FORBIDDEN + ALLOWED):
            with with_line(os.path.join(tree, path), line):
                caught = len(check(tree)[0]) - len(before)
            if caught != (1 if number < len(FORBIDDEN) else 0):
                failures.append("%s in %s: caught %d times" % (line, path, caught))
    return failures


def main():
    if sys.argv[1:] == ["--self-check"]:
        failures = self_check()
        print("\n".join(failures) or "every rule catches what it forbids (%d cases)" % len(FORBIDDEN + ALLOWED))
        return 1 if failures else 0
    wrong, files, lines = check(sys.argv[1] if len(sys.argv) > 1 else ROOT)
    for sentence in wrong:
        print(sentence)
    if not lines:
        print("no #include was found: nothing was checked")
        return 1
    if not wrong:
        print("%d files, %d includes" % (files, lines))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
