# SPDX-License-Identifier: BSD-2-Clause
"""
newer.py - programs of a newer Debian than this machine's, in a root directory of their own.

Purpose    redis and valkey of trixie (8.x): since 7.2 they say how many cycles their loop took, and how long
Trust      as debian.py says; what was unpacked is checked against the digest that was noted then
Ownership  the root is in the cache, ${XDG_CACHE_HOME:-~/.cache}/loopscope/programs; delete it at any time. A test writes
           only into a folder of its own below run/ in there
Errors     unittest.SkipTest, with the reason

A program is started by chroot, as in a container: its libraries are not the machine's, and its files are found only through
/proc/PID/root.
"""
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import unittest

from harness import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests"))
import debian  # noqa: E402

SUITE = "trixie"
PACKAGES = ("redis-server", "valkey-server")
MERGED = ("bin", "lib", "lib64", "sbin")  # links into usr, which belong to a package that nothing here depends on


def digest(tree):
    """Of all that is in it: names, kinds and contents."""
    whole = hashlib.sha256()
    for where, folders, names in os.walk(tree):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(where, name)
            what = os.readlink(path) if os.path.islink(path) else debian.sha256(path)
            whole.update(f"{os.path.relpath(path, tree)}\0{what}\0".encode())
    return whole.hexdigest()


def keep_what_runs(tree):
    """The servers with their tools, and libraries. What else they depend on has manuals, scripts, set-user-ID programs."""
    for where, stays in ((tree, r"usr$|lib"), (os.path.join(tree, "usr"), "bin$|lib"), (os.path.join(tree, "usr", "bin"), "redis-|valkey-")):
        for name in os.listdir(where):
            path = os.path.join(where, name)
            if re.match(stays, name):
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)


def fetch(into):
    with debian.suite(SUITE) as apt:
        apt.unpack(PACKAGES, into)
        versions = {package: apt.version(package) for package in PACKAGES}
    keep_what_runs(into)
    for name in MERGED:
        if not os.path.lexists(os.path.join(into, name)):
            os.symlink(os.path.join("usr", name), os.path.join(into, name))
    os.makedirs(os.path.join(into, "run"), exist_ok=True)
    with open(os.path.join(into, "manifest.json"), "w", encoding="ascii") as f:
        json.dump({"suite": SUITE, "versions": versions, "sha256": digest(os.path.join(into, "usr"))}, f)


def kept(where):
    """(root, versions) if the folder holds them intact, else None."""
    try:
        with open(os.path.join(where, "manifest.json"), encoding="ascii") as f:
            manifest = json.load(f)
        versions = {package: manifest["versions"][package] for package in PACKAGES}
        return (where, versions) if digest(os.path.join(where, "usr")) == manifest["sha256"] else None
    except (OSError, ValueError, KeyError):
        return None


@functools.cache
def attempt():
    """(what was found, else None; why it was not). Once a run: a mirror that can't be reached takes its time to say so."""
    if platform.machine() != "x86_64":
        return None, "newer programs are fetched for x86_64, this machine is %s" % platform.machine()
    try:
        return debian.obtain(debian.cache_dir("programs"), SUITE, kept, fetch), "it changes in the cache while it is read"
    except debian.Unavailable as reason:
        return None, str(reason)


def obtain():
    """(root, versions)"""
    found, reason = attempt()
    if found is None:
        raise unittest.SkipTest("%s of %s: %s" % (" and ".join(PACKAGES), SUITE, reason))
    return found


def folder(root):
    """A new one in the root, for a test's files: (its path here, its path in there)"""
    path = tempfile.mkdtemp(prefix="test.", dir=os.path.join(root, "run"))
    return path, "/" + os.path.relpath(path, root)
