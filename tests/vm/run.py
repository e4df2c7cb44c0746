# SPDX-License-Identifier: BSD-2-Clause
"""
run.py - does the built program work under other kernels?

Purpose    boots it with Debian's 6.1, 6.12 and 7.x and compares what it says of three loops with what they logged about
           themselves; under 5.10, and where the kernel's types are missing, it must refuse with status 3 and one line
Usage      run.py [SUITE ...]; the program is $BUILD/loopscope (build/loopscope)
Output     one line a check: "PASS name", "FAIL name: why", "SKIP name: why"; status 1 if any failed
Units      shares of wall time
Facts      all figures of a check come from one guest and one stretch of time: the record's own [ts - interval_s, ts]
"""

import bisect
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # before the first module of ours: the tree stays as it is

import boot  # noqa: E402
import kernels  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
PROBES_IN_GUEST = "/usr/local/share/loopscope/probes"
BOOT_TIMEOUT_S = 200
TOLERANCE = 0.02
THROTTLED_TOLERANCE = 0.05  # cpu.stat only moves when a throttled stretch of up to one 50 ms period ends
HOPELESS = 0.4  # an emulator that was without a CPU for this share may not get through its steps in time
FIRST_SUPPORTED = (5, 15)
STATUS_UNSUPPORTED = 3

# name: (kind, period, burn, block in us, the names under which the kernel may know the wait)
LOOPS = {
    "vm-epoll": ("epoll", 10000, 3000, 0, {"epoll_wait"}),
    "vm-poll": ("poll", 10000, 1000, 0, {"poll"}),
    "vm-select": ("select", 20000, 2000, 1000, {"select", "pselect6"}),
}

# Waits on conditions, never for a time: enough lines in a log mean that the loop runs (or that the interval is covered).
GUEST_LIBRARY = """
logged() { # LOG LINES
	tries=0
	while [ "$(cat "$1" 2>/dev/null | wc -l)" -lt "$2" ]; do
		[ $((tries += 1)) -gt 1000 ] && echo "no line appears in $1" >&2 && exit 98
		usleep 20000
	done
}
covered() { logged "$1" $(( $(cat "$1" | wc -l) + 2 )); }
looper() { # NAME KIND PERIOD BURN BLOCK CPU_STAT
	vmlooper "$2" "$3" "$4" "$5" "/tmp/$1.log" "$6" > /dev/null 2>&1 &
	echo $! > "/tmp/$1.pid"
	logged "/tmp/$1.log" 2
}
clean() { for pid in "$@"; do kill -9 "$pid"; done; }
"""


def script(body):
    return GUEST_LIBRARY + body


def start_loops():
    calls = [f"looper {name} {kind} {period} {burn} {block} -" for name, (kind, period, burn, block, _) in LOOPS.items()]
    return "\n".join(calls) + "\n"


SCAN_STEP = start_loops() + """
loopscope scan -d 3 -o json
status=$?
for log in /tmp/vm-*.log; do covered "$log"; done
exit $status
"""

# The last 8 s at least: the interval of the step before is within.
LOGS_STEP = "for log in /tmp/{pattern}.log; do echo \"= $(basename $log .log)\"; tail -n 400 $log; done\n"

# No budget: on an emulator an edge costs so much that it might be let go.
ATTACH_STEP = """
loopscope attach -p $(cat /tmp/vm-epoll.pid) -i 2 -c 2 --budget 100% -o json
status=$?
covered /tmp/vm-epoll.log
exit $status
"""

# The guest's loops are static: the probes are in the executable. On kernels before 6.6 each is a link of its own.
UPROBE_STEP = """
loopscope attach -p $(cat /tmp/vm-epoll.pid) -i 2 -c 1 --edges uprobe --budget 100% -o json
status=$?
covered /tmp/vm-epoll.log
exit $status
"""

# Ticks of 12 ms: shorter ones run undisturbed, since a thread that slept is favoured when it wakes.
CONTENDED_STEP = """
clean $(cat /tmp/vm-*.pid)
taskset 2 vmlooper hog > /dev/null 2>&1 &
echo $! > /tmp/hog.pid
looper contended epoll 40000 12000 0 -
taskset -p 2 $(cat /tmp/contended.pid) > /dev/null
loopscope attach -p $(cat /tmp/contended.pid) -i 3 -c 1 -o json
status=$?
covered /tmp/contended.log
clean $(cat /tmp/hog.pid /tmp/contended.pid)
exit $status
"""

# 7.5 % of a CPU under a quota of 20 %: it keeps up on the whole, but each burst of 15 ms is cut short after 10 ms.
THROTTLED_STEP = """
echo +cpu > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/quota
echo 10000 50000 > /sys/fs/cgroup/quota/cpu.max
(
	echo 0 > /sys/fs/cgroup/quota/cgroup.procs
	taskset 2 vmlooper epoll 200000 15000 0 /tmp/quota.log /sys/fs/cgroup/quota/cpu.stat > /dev/null 2>&1 &
	echo $! > /tmp/quota.pid
)
logged /tmp/quota.log 2
loopscope attach -p $(cat /tmp/quota.pid) -i 3 -c 1 -o json
status=$?
covered /tmp/quota.log
clean $(cat /tmp/quota.pid)
exit $status
"""

NO_BTF_STEP = "mount -t tmpfs none /sys/kernel/btf\nloopscope scan -d 1 -o json\n"
REFUSAL_STEP = "loopscope scan -d 1 -o json\n"
ATTACH_REFUSAL_STEP = "loopscope attach -p 1 -c 1 -o json\n"

WORKING_STEPS = (
    ("doctor", "loopscope doctor\n"),
    ("scan", SCAN_STEP),
    ("scan-logs", LOGS_STEP.format(pattern="vm-*")),
    ("attach", ATTACH_STEP),
    ("attach-logs", LOGS_STEP.format(pattern="vm-epoll")),
    ("uprobe", UPROBE_STEP),
    ("uprobe-logs", LOGS_STEP.format(pattern="vm-epoll")),
    ("contended", CONTENDED_STEP),
    ("contended-logs", LOGS_STEP.format(pattern="contended")),
    ("throttled", THROTTLED_STEP),
    ("throttled-logs", LOGS_STEP.format(pattern="quota")),
    ("no-btf", NO_BTF_STEP),
)
REFUSING_STEPS = (("scan", REFUSAL_STEP), ("attach", ATTACH_REFUSAL_STEP))


class Wrong(Exception):
    """A check failed; str() says how."""


class Unjudged(Exception):
    """A check could not be made; str() says why."""


def too_busy(starved):
    return f"this machine is too busy: the emulator was without a CPU for {starved:.0%} of the time"


class Truth:
    """What a loop logged about itself, read at any moment between its first and last line."""

    FIELDS = ("cpu", "delay", "blocked", "throttled", "ticks")

    def __init__(self, lines, starved_s):
        self.starved_s = starved_s
        rows = [[int(word) for word in line.split()] for line in lines]
        self.times = [row[0] / 1e9 for row in rows]
        self.sums = [dict(zip(self.FIELDS, row[1:])) for row in rows]

    def at(self, field, when):
        if len(self.times) < 2 or not self.times[0] <= when <= self.times[-1]:
            raise Wrong("the loop's own log does not cover the interval of the record")
        after = min(max(bisect.bisect_left(self.times, when), 1), len(self.times) - 1)
        t0, t1 = self.times[after - 1], self.times[after]
        v0, v1 = self.sums[after - 1][field], self.sums[after][field]
        return (v0 + (v1 - v0) * (when - t0) / (t1 - t0)) / 1e9

    def share(self, field, record):
        end, length = record["ts"], record["interval_s"]
        return (self.at(field, end) - self.at(field, end - length)) / length


def truth_of(run, step, loop):
    """A loop's Truth from its section of the -logs step that belongs to a step."""
    sections, lines = {}, []
    for line in run.steps[f"{step}-logs"].stdout.splitlines():
        if line.startswith("= "):
            lines = sections.setdefault(line[2:], [])
        else:
            lines.append(line)
    require(loop in sections, f"{loop} logged nothing")
    return Truth(sections[loop], run.steps[step].starved_s)


def require(condition, why):
    if not condition:
        raise Wrong(why)


def close(what, said, truth, spare, tolerance=TOLERANCE):
    """spare: by how much what the emulator was without a CPU, if all of it fell into this interval, may be off."""
    require(isinstance(said, (int, float)), f"{what} is {said}, truth {truth:.4f}")
    off = abs(said - truth)
    if tolerance < off <= tolerance + spare:
        raise Unjudged(f"{what} {said:.4f}, truth {truth:.4f}: the emulator was without a CPU for up to {spare:.2f} of that time")
    require(off <= tolerance, f"{what} {said:.4f}, truth {truth:.4f}, more than {tolerance} apart")


def succeeded(result):
    require(result.status == 0, f"exit status {result.status}: {' / '.join(result.stderr.split(chr(10)))[:600]}")


def loop_records(result):
    succeeded(result)
    try:
        records = [json.loads(line) for line in result.stdout.splitlines()]
    except ValueError as error:
        raise Wrong(f"stdout is not NDJSON: {error}") from None
    return [record for record in records if record.get("type") == "loop"]


def one(records, thread):
    found = [record for record in records if record["thread"] == thread]
    require(len(found) == 1, f"{len(found)} records of {thread} among {sorted(r['thread'] for r in records)}")
    return found[0]


def on_cpu(record):
    # Where the edges of the IO wait are not measured, io_cpu is null and tick_cpu holds both.
    return (record["parts"]["io_cpu"] or 0) + record["parts"]["tick_cpu"]


def shares_are_true(record, truth):
    cpu, blocked, delay = (truth.share(field, record) for field in ("cpu", "blocked", "delay"))
    spare = truth.starved_s / record["interval_s"]
    require(cpu > 0.01, f"the loop itself hardly ran: {cpu:.4f} of a CPU")
    total = record["busy"] + record["wait"] + record["idle"]
    require(abs(total - 1) <= 1e-6, f"busy + wait + idle = {total}")
    close("on CPU", on_cpu(record), cpu, spare)
    close("tick_blocked", record["parts"]["tick_blocked"], blocked, spare)
    close("busy", record["busy"], cpu + blocked, spare)
    close("wait", record["wait"], delay, spare)


def check_doctor(run):
    succeeded(run.steps["doctor"])
    require(run.steps["doctor"].stdout.strip(), "doctor said nothing")


def check_scan(name, run):
    record = one(loop_records(run.steps["scan"]), name)
    syscall = (record["wait_point"] or {}).get("syscall")
    require(syscall in LOOPS[name][4], f"wait point is {syscall}")
    if LOOPS[name][3]:
        named = [entry["syscall"] for entry in record["blocked_by"]]
        require(named and "nanosleep" in named[0], f"blocked_by is {named}, it slept in nanosleep")
    shares_are_true(record, truth_of(run, "scan", name))


def check_no_strangers(run):
    """Nothing else of this small machine is a loop."""
    strangers = {record["thread"] for record in loop_records(run.steps["scan"])} - set(LOOPS)
    require(not strangers, f"listed as loops: {sorted(strangers)}")


def check_attach(run):
    records = loop_records(run.steps["attach"])
    require(len(records) == 2, f"{len(records)} records in 2 intervals")
    for record in records:
        shares_are_true(record, truth_of(run, "attach", "vm-epoll"))


def check_edges(step, kind, run):
    """Every tick is counted."""
    truth = truth_of(run, step, "vm-epoll")
    records = loop_records(run.steps[step])
    require(records, "no record")
    for record in records:
        require(record["edges"] == kind, f"edges by {record['edges']}, not {kind}")
        end, length = record["ts"], record["interval_s"]
        ticks = (truth.at("ticks", end) - truth.at("ticks", end - length)) * 1e9  # at() divides, as times need it
        require(abs(record["ticks"] - ticks) <= 2, f"{record['ticks']} ticks, truth {ticks:.1f}")
        require(abs(record["io_waits"] - record["ticks"]) <= 1, f"{record['io_waits']} waits, {record['ticks']} ticks")


def check_contended(run):
    record = one(loop_records(run.steps["contended"]), "vm-epoll")
    require(record["wait"] > 0.05, f"wait is only {record['wait']:.4f} beside a CPU hog")
    names = [entry["comm"] for entry in record["waited_for"]]
    require(names[:1] == ["vm-hog"], f"waited_for is {names}")
    shares_are_true(record, truth_of(run, "contended", "contended"))


def check_throttled(run):
    record = one(loop_records(run.steps["throttled"]), "vm-epoll")
    require(record["parts"]["throttled"] > 0.05, f"throttled is only {record['parts']['throttled']} under a quota")
    truth = truth_of(run, "throttled", "quota")
    shares_are_true(record, truth)
    close("throttled", record["parts"]["throttled"], truth.share("throttled", record),
          truth.starved_s / record["interval_s"], THROTTLED_TOLERANCE)


def refused(result):
    require(result.status == STATUS_UNSUPPORTED, f"exit status {result.status}, expected {STATUS_UNSUPPORTED}")
    require(not result.stdout, "something is on stdout")
    lines = result.stderr.splitlines()
    require(len(lines) == 1 and lines[0].strip(), f"{len(lines)} lines on stderr: {' / '.join(lines)[:600]}")
    return lines[0]


def check_no_btf(run):
    reason = refused(run.steps["no-btf"])
    require("BTF" in reason, f"the reason does not name BTF: {reason}")


def check_old_kernel(step, run):
    reason = refused(run.steps[step])
    require("5.15" in reason, f"the reason does not say which kernel is needed: {reason}")


def working_checks():
    yield "doctor", check_doctor
    for name in LOOPS:
        yield f"scan-{name.removeprefix('vm-')}", lambda run, name=name: check_scan(name, run)
    yield "scan-nothing-else", check_no_strangers
    yield "attach", check_attach
    # Here fentry works, so auto takes it.
    yield "edges", lambda run: check_edges("attach", "fentry", run)
    yield "uprobe", lambda run: check_edges("uprobe", "uprobe", run)
    yield "contended", check_contended
    yield "throttled", check_throttled
    yield "no-btf", check_no_btf


def refusing_checks():
    for step in ("scan", "attach"):
        yield f"refuses-{step}", lambda run, step=step: check_old_kernel(step, run)


class Report:
    def __init__(self):
        self.failed = False

    def line(self, verdict, name, why=None):
        self.failed |= verdict == "FAIL"
        print(f"{verdict} {name}" + (f": {why}" if why else ""), flush=True)


def test_kernel(kernel, guest, report):
    supported = tuple(int(part) for part in kernel.series.split(".")) >= FIRST_SUPPORTED
    steps, checks = (WORKING_STEPS, working_checks()) if supported else (REFUSING_STEPS, refusing_checks())
    prefix = f"vm-{kernel.series}"
    try:
        run = guest.run(kernel.path, [boot.Step(name, script(body)) for name, body in steps], BOOT_TIMEOUT_S)
    except boot.Died as died:
        if died.starved > HOPELESS:
            report.line("SKIP", f"{prefix}-boot", f"{too_busy(died.starved)}; it {died}")
        else:
            report.line("FAIL", f"{prefix}-boot", died)
        return
    for name, check in checks:
        try:
            check(run)
            report.line("PASS", f"{prefix}-{name}")
        except Unjudged as reason:
            report.line("SKIP", f"{prefix}-{name}", reason)
        except Wrong as reason:
            report.line("FAIL", f"{prefix}-{name}", reason)
        except (KeyError, TypeError, ValueError) as error:
            report.line("FAIL", f"{prefix}-{name}", f"a field is missing or of another type: {error!r}")


def compile_looper(into):
    program = os.path.join(into, "vmlooper")
    subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-static", "-Wall", "-Wextra",
                    "-o", program, os.path.join(HERE, "vmlooper.c")], check=True)
    return program


def guest_files(program, looper):
    files = {"/bin/loopscope": program, "/bin/vmlooper": looper}
    probes = os.path.join(ROOT, "probes")
    for name in os.listdir(probes):
        if name.endswith(".probe"):
            files[f"{PROBES_IN_GUEST}/{name}"] = os.path.join(probes, name)
    return files


def main(suites):
    report = Report()
    program = os.path.join(os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build"))), "loopscope")
    if platform.machine() != "x86_64":
        report.line("SKIP", "vm", f"the kernels are x86_64's, this machine is {platform.machine()}")
        return 0
    if not os.access(program, os.X_OK):
        report.line("FAIL", "vm", "the program is not built")
        return 1
    with tempfile.TemporaryDirectory(prefix="loopscope-vm.") as home:
        try:
            guest = boot.Guest(guest_files(program, compile_looper(home)))
        except boot.Unavailable as reason:
            report.line("SKIP", "vm", reason)
            return 0
        for suite in suites or kernels.SUITES:
            try:
                kernel = kernels.obtain(suite)
            except kernels.Unavailable as reason:
                report.line("SKIP", f"vm-{suite}", reason)
                continue
            test_kernel(kernel, guest, report)
    return 1 if report.failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # temporary directories are removed on the way out
    sys.exit(main(sys.argv[1:]))
