# SPDX-License-Identifier: BSD-2-Clause
"""
debian.py - packages of any Debian suite, fetched once into a cache outside the tree.

Purpose    what a test needs of another suite than the machine's own: a kernel, a newer server
Trust      the package index is verified by apt against Debian's archive keys, the packages against the index; what is
           kept of them, its keeper checks before it is used
Ownership  the machine's apt configuration is only read: the mirror's address and proxy are taken from it at run time,
           all state lives in a temporary directory. A cache is a folder below ${XDG_CACHE_HOME:-~/.cache}/loopscope;
           delete it at any time
Errors     Unavailable, with a reason fit for one line of a test report
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile

RELEASES = ("bullseye", "bookworm", "trixie", "sid", "forky", "oldstable", "stable", "testing", "unstable")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
FETCH_TIMEOUT_S = 300


class Unavailable(Exception):
    """This can't be had here and now; str() is the reason."""


def cache_dir(name):
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "loopscope", name)


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
    """apt over one suite, on which nothing is installed, with nothing of it left on the machine."""

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

    def unpack(self, packages, tree):
        """Packages and all that they depend on; no script of theirs is run."""
        run(["apt-get", *self.options, "install", "--yes", "--no-install-recommends", "--download-only", *packages])
        archives = os.path.join(self.home, "archives")
        for name in sorted(os.listdir(archives)):
            if name.endswith(".deb"):
                run(["dpkg", "-x", os.path.join(archives, name), tree])


def obtain(base, name, kept, fetch):
    """
    What kept(folder) finds in the cache `base` under this name, and not None; else what it finds once fetch(folder) has
    filled a new folder. Raises Unavailable.
    """
    try:
        os.makedirs(base, mode=0o700, exist_ok=True)
        lock = open(os.path.join(base, ".lock"), "w", encoding="ascii")
    except OSError as error:
        raise Unavailable(f"{base}: {error.strerror}") from None
    where = os.path.join(base, name)
    # One fetch at a time: a second test run waits for the first one's result.
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = kept(where)
        if found is not None:
            return found
        fresh = tempfile.mkdtemp(prefix=f".{name}.", dir=base)
        try:
            fetch(fresh)
            shutil.rmtree(where, ignore_errors=True)
            os.rename(fresh, where)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        return kept(where)


@contextlib.contextmanager
def suite(name):
    """PrivateApt with the suite's index."""
    with tempfile.TemporaryDirectory(prefix="loopscope-apt.") as home:
        apt = PrivateApt(name, home)
        apt.update()
        yield apt
