# SPDX-License-Identifier: BSD-2-Clause
"""
kernels.py - Debian's kernels, fetched once into a cache outside the tree.

Purpose    one vmlinuz for each of bullseye (5.10), bookworm (6.1), trixie (6.12) and sid (7.x)
Trust      as debian.py says; the cached file is checked against the checksum that was noted when it was unpacked
Ownership  the cache is $LOOPSCOPE_KERNELS, else ${XDG_CACHE_HOME:-~/.cache}/loopscope/kernels; delete it at any time
Errors     debian.Unavailable, with a reason fit for one line of a test report
Facts      a suite's current kernel is what the metapackage linux-image-cloud-amd64 depends on. From 7.x on the image
           itself is in linux-binary-*, and linux-image-* only depends on it (below /usr/lib/modules, not /boot)

As a program: `kernels.py [SUITE ...]` fetches and prints "suite version path" or "suite - reason".
"""

import json
import os
import shutil
import sys
from dataclasses import dataclass

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import debian  # noqa: E402
from debian import Unavailable  # noqa: E402

SUITES = ("bullseye", "bookworm", "trixie", "sid")
METAPACKAGE = "linux-image-cloud-amd64"
SETUP_HEADER = (0x202, b"HdrS")  # where every x86 bzImage says that it is one


@dataclass(frozen=True)
class Kernel:
    suite: str
    version: str  # of the Debian package: "6.1.176-1"
    path: str

    @property
    def series(self):
        return ".".join(self.version.split(".")[:2])


def find_vmlinuz(tree):
    for where, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(where, name)
            if name.startswith("vmlinuz") and not os.path.islink(path):
                return path
    raise Unavailable("the kernel's package holds no vmlinuz")


def fetch(suite, into):
    """Fill the directory `into` with vmlinuz and manifest.json."""
    with debian.suite(suite) as apt:
        image = apt.dependency(METAPACKAGE, r"linux-image-[0-9]\S*")
        if not image:
            raise Unavailable(f"{suite} has no {METAPACKAGE}")
        package = apt.dependency(image, r"linux-binary-[0-9]\S*") or image
        version = apt.version(package)
        tree = os.path.join(apt.home, "tree")
        debian.run(["dpkg", "-x", apt.download(package), tree])
        vmlinuz = os.path.join(into, "vmlinuz")
        shutil.copyfile(find_vmlinuz(tree), vmlinuz)
    at, magic = SETUP_HEADER
    with open(vmlinuz, "rb") as f:
        f.seek(at)
        if f.read(len(magic)) != magic:
            raise Unavailable(f"{package} holds no x86 kernel image")
    with open(os.path.join(into, "manifest.json"), "w", encoding="ascii") as f:
        json.dump({"suite": suite, "package": package, "version": version, "sha256": debian.sha256(vmlinuz)}, f)


def cached(suite, where):
    """The kernel if this folder holds it intact, else None."""
    path = os.path.join(where, "vmlinuz")
    try:
        with open(os.path.join(where, "manifest.json"), encoding="ascii") as f:
            manifest = json.load(f)
        if debian.sha256(path) != manifest["sha256"]:
            return None
        return Kernel(suite, manifest["version"], path)
    except (OSError, ValueError, KeyError):
        return None


def obtain(suite):
    """A kernel of this suite: from the cache, else from the mirror. Raises Unavailable."""
    base = os.environ.get("LOOPSCOPE_KERNELS") or debian.cache_dir("kernels")
    return debian.obtain(base, suite, lambda where: cached(suite, where), lambda into: fetch(suite, into))


def main(suites):
    for suite in suites or SUITES:
        try:
            kernel = obtain(suite)
            print(suite, kernel.version, kernel.path, flush=True)
        except Unavailable as reason:
            print(suite, "-", reason, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
