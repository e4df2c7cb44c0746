# SPDX-License-Identifier: BSD-2-Clause
"""
kernels.py - Debian's kernels, fetched once into a cache outside the tree.

Purpose    one vmlinuz for each of bullseye (5.10), bookworm (6.1), trixie (6.12) and sid (7.x)
Trust      the package index is verified by apt against Debian's archive keys, the package against the index, and the
           cached file against the checksum that was noted when it was unpacked
Ownership  the machine's apt configuration is only read: the mirror's address and proxy are taken from it at run time,
           all state lives in a temporary directory. The cache is $LOOPSCOPE_KERNELS, else
           ${XDG_CACHE_HOME:-~/.cache}/loopscope/kernels; delete it at any time
Errors     Unavailable, with a reason fit for one line of a test report
Facts      a suite's current kernel is what the metapackage linux-image-cloud-amd64 depends on. From 7.x on the image
           itself is in linux-binary-*, and linux-image-* only depends on it (below /usr/lib/modules, not /boot)

As a program: `kernels.py [SUITE ...]` fetches and prints "suite version path" or "suite - reason".
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

SUITES = ("bullseye", "bookworm", "trixie", "sid")
RELEASES = SUITES + ("forky", "oldstable", "stable", "testing", "unstable")
METAPACKAGE = "linux-image-cloud-amd64"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
FETCH_TIMEOUT_S = 300
SETUP_HEADER = (0x202, b"HdrS")  # where every x86 bzImage says that it is one


class Unavailable(Exception):
    """This kernel can't be had here and now; str() is the reason."""


@dataclass(frozen=True)
class Kernel:
    suite: str
    version: str  # of the Debian package: "6.1.176-1"
    path: str

    @property
    def series(self):
        return ".".join(self.version.split(".")[:2])


def cache_dir():
    if os.environ.get("LOOPSCOPE_KERNELS"):
        return os.environ["LOOPSCOPE_KERNELS"]
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "loopscope", "kernels")


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def run(argv, **kwargs):
    """stdout of a command; Unavailable with its last line of stderr where it fails."""
    env = dict(os.environ, LC_ALL="C", DEBIAN_FRONTEND="noninteractive")
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env,
                              timeout=FETCH_TIMEOUT_S, **kwargs)
    except FileNotFoundError:
        raise Unavailable(f"{argv[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{argv[0]} gave no answer within {FETCH_TIMEOUT_S} s") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.startswith(("E:", "dpkg"))] or ["no reason given"]
        # apt names the address: the report needs the reason, not the machine's mirror.
        reason = re.sub(r"\S+://\S+|'[^']*'", "the mirror", said[0].removeprefix("E: "))
        raise Unavailable(f"{os.path.basename(argv[0])}: {' '.join(reason.split())}")
    return done.stdout


def mirror():
    """The address of Debian's main archive as this machine's apt knows it."""
    # --no-release-info: without it only suites are listed whose index has been fetched before.
    targets = run(["apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                   "Created-By: Packages"])
    for line in targets.splitlines():
        uri, release, component = (line.split(" ") + ["", ""])[:3]
        # Security, updates and backports may live elsewhere; other vendors' repositories name other suites.
        if component == "main" and release in RELEASES:
            return uri
    raise Unavailable("this machine's apt has no Debian archive configured")


class PrivateApt:
    """apt over one suite, with nothing of it left on the machine."""

    def __init__(self, suite, home):
        self.home = home
        for sub in ("lists/partial", "archives/partial", "download"):
            os.makedirs(os.path.join(home, sub))
        signed = f"[arch=amd64 signed-by={KEYRING}] " if os.path.exists(KEYRING) else "[arch=amd64] "
        with open(os.path.join(home, "sources.list"), "w", encoding="ascii") as f:
            f.write(f"deb {signed}{mirror()} {suite} main\n")
        open(os.path.join(home, "status"), "w", encoding="ascii").close()
        settings = {
            "Dir::Etc::SourceList": os.path.join(home, "sources.list"),
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::Etc::Preferences": "/dev/null",
            "Dir::Etc::PreferencesParts": "/dev/null",
            "Dir::State": home,
            "Dir::State::Lists": os.path.join(home, "lists"),
            "Dir::State::Status": os.path.join(home, "status"),
            "Dir::Cache": home,
            "Dir::Cache::Archives": os.path.join(home, "archives"),
            # The directory is ours alone (0700), which apt's own download user could not enter.
            "APT::Sandbox::User": "root",
            "APT::Architecture": "amd64",
            "APT::Architectures::": "amd64",
            "APT::Update::Post-Invoke-Success::": "true",
            "Acquire::Languages": "none",
            "Acquire::Retries": "1",
            "Acquire::http::Timeout": "20",
            "Acquire::https::Timeout": "20",
        }
        self.options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]

    def update(self):
        # Without --error-on a mirror that can't be reached is a warning and status 0.
        run(["apt-get", *self.options, "update", "--error-on=any"])

    def dependency(self, package, pattern):
        """The dependency of a package whose name matches, or None."""
        fields = run(["apt-cache", *self.options, "show", "--no-all-versions", package])
        depends = re.search(r"^Depends: (.*)$", fields, re.M)
        found = re.search(rf"(?:^|, )({pattern})(?= |,|$)", depends.group(1)) if depends else None
        return found.group(1) if found else None

    def version(self, package):
        fields = run(["apt-cache", *self.options, "show", "--no-all-versions", package])
        return re.search(r"^Version: (\S+)$", fields, re.M).group(1)

    def download(self, package):
        """Path of the .deb; apt-get checks it against the index."""
        where = os.path.join(self.home, "download")
        run(["apt-get", *self.options, "download", package], cwd=where)
        return os.path.join(where, os.listdir(where)[0])


def find_vmlinuz(tree):
    for where, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(where, name)
            if name.startswith("vmlinuz") and not os.path.islink(path):
                return path
    raise Unavailable("the kernel's package holds no vmlinuz")


def fetch(suite, into):
    """Fill the directory `into` with vmlinuz and manifest.json."""
    with tempfile.TemporaryDirectory(prefix="loopscope-apt.") as home:
        apt = PrivateApt(suite, home)
        apt.update()
        image = apt.dependency(METAPACKAGE, r"linux-image-[0-9]\S*")
        if not image:
            raise Unavailable(f"{suite} has no {METAPACKAGE}")
        package = apt.dependency(image, r"linux-binary-[0-9]\S*") or image
        version = apt.version(package)
        tree = os.path.join(home, "tree")
        run(["dpkg", "-x", apt.download(package), tree])
        vmlinuz = os.path.join(into, "vmlinuz")
        shutil.copyfile(find_vmlinuz(tree), vmlinuz)
    at, magic = SETUP_HEADER
    with open(vmlinuz, "rb") as f:
        f.seek(at)
        if f.read(len(magic)) != magic:
            raise Unavailable(f"{package} holds no x86 kernel image")
    with open(os.path.join(into, "manifest.json"), "w", encoding="ascii") as f:
        json.dump({"suite": suite, "package": package, "version": version, "sha256": sha256(vmlinuz)}, f)


def cached(suite):
    """The kernel if the cache holds it intact, else None."""
    where = os.path.join(cache_dir(), suite)
    path = os.path.join(where, "vmlinuz")
    try:
        with open(os.path.join(where, "manifest.json"), encoding="ascii") as f:
            manifest = json.load(f)
        if sha256(path) != manifest["sha256"]:
            return None
        return Kernel(suite, manifest["version"], path)
    except (OSError, ValueError, KeyError):
        return None


def obtain(suite):
    """A kernel of this suite: from the cache, else from the mirror. Raises Unavailable."""
    base = cache_dir()
    try:
        os.makedirs(base, mode=0o700, exist_ok=True)
        lock = open(os.path.join(base, ".lock"), "w", encoding="ascii")
    except OSError as error:
        raise Unavailable(f"{base}: {error.strerror}") from None
    # One fetch at a time: a second test run waits for the first one's result.
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kernel = cached(suite)
        if kernel:
            return kernel
        fresh = tempfile.mkdtemp(prefix=f".{suite}.", dir=base)
        try:
            fetch(suite, fresh)
            shutil.rmtree(os.path.join(base, suite), ignore_errors=True)
            os.rename(fresh, os.path.join(base, suite))
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        return cached(suite)


def main(suites):
    for suite in suites or SUITES:
        try:
            kernel = obtain(suite)
            print(suite, kernel.version, kernel.path, flush=True)
        except Unavailable as reason:
            print(suite, "-", reason, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
