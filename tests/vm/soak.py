# SPDX-License-Identifier: BSD-2-Clause
"""
soak.py - do real programs survive being observed by the edges that only other kernels allow?

Purpose    under one kernel, redis, nginx, Node and asyncio at work, all four attached to and left ROUNDS times by fentry; then
           the observer is killed KILLS times, each a little later after its start. What `make soak` does here with the other edges
Usage      soak.py [SUITE [ROUNDS [KILLS]]]; trixie, 200, 50. The program is $BUILD/loopscope (build/loopscope)
Output     one line a check: "PASS name", "FAIL name: why", "SKIP name: why"; status 1 if any failed
Truth      the programs still run at the end, their logs have no error, wrk counts no request that failed, redis-benchmark goes
           on, the kernel has no complaint and none of our programs
"""

import os
import signal
import sys
import tempfile

sys.dont_write_bytecode = True  # before the first module of ours: the tree stays as it is

import boot  # noqa: E402
import kernels  # noqa: E402
import run  # noqa: E402

PYTHON = "/usr/bin/python3"
PROGRAMS = ("redis-server", "redis-benchmark", "redis-cli", "nginx", "wrk", "node")
NOT_NEEDED = {"__pycache__", "test", "idlelib", "lib2to3", "tkinter", "ensurepip", "distutils", "turtledemo", "pydoc_data"}
ROUND_S = 20  # an emulator's, beside four busy programs

NGINX_CONF = """daemon off; master_process on; worker_processes 1; user root; pid /tmp/nginx.pid; error_log /tmp/nginx.log notice;
events { worker_connections 64; }
http { access_log off; client_body_temp_path /tmp/t1; proxy_temp_path /tmp/t2; fastcgi_temp_path /tmp/t3;
  uwsgi_temp_path /tmp/t4; scgi_temp_path /tmp/t5; server { listen 127.0.0.1:8080; location / { return 200 'x'; } } }
"""

START_STEP = """
redis-server --port 0 --unixsocket /tmp/redis.sock --save '' --appendonly no > /tmp/redis.log 2>&1 &
echo $! > /tmp/redis.pid
nginx -p /tmp -e /tmp/nginx.log -c /etc/nginx.conf > /tmp/nginx.out 2>&1 &
python3 /openloop.py -p 0.05 -w 0.002 > /tmp/asyncio.log 2>&1 &
echo $! > /tmp/asyncio.pid
node /openloop.js 50 2 > /tmp/node.log 2>&1 &
echo $! > /tmp/node.pid
logged /tmp/asyncio.log 1
logged /tmp/node.log 1
tries=0
until [ "$(redis-cli -s /tmp/redis.sock ping 2>/dev/null)" = PONG ] && wget -q -O - http://127.0.0.1:8080/ > /dev/null; do
	[ $((tries += 1)) -gt 500 ] && cat /tmp/redis.log /tmp/nginx.log /tmp/nginx.out >&2 && exit 98
	usleep 20000
done
pgrep nginx | sort -n | tail -n 1 > /tmp/nginx.worker.pid
redis-benchmark -s /tmp/redis.sock -c 2 -n 1000000000 -t set,get > /tmp/redis-benchmark.log 2>&1 &
echo $! > /tmp/redis-benchmark.pid
wrk -t1 -c2 -d 36000 http://127.0.0.1:8080/ > /tmp/wrk.log 2>&1 &
echo $! > /tmp/wrk.pid
"""

TARGETS = "-p $(cat /tmp/redis.pid) -p $(cat /tmp/nginx.worker.pid) -p $(cat /tmp/node.pid) -p $(cat /tmp/asyncio.pid)"

ATTACH_STEP = f"""
i=0
while [ $((i += 1)) -le {{rounds}} ]; do
	loopscope attach {TARGETS} --edges fentry --budget 100% -o json -d 20ms > /tmp/attached || exit 1
	grep -c '"edges":"fentry"' /tmp/attached
done
"""

KILL_STEP = f"""
i=0
while [ $((i += 1)) -le {{kills}} ]; do
	loopscope attach {TARGETS} --edges fentry --budget 100% -o json -i 50ms > /dev/null &
	observer=$!
	usleep $((i * 40000))
	kill -9 $observer && echo killed
	wait $observer
done
"""

CHECK_STEP = """
for name in redis nginx.worker node asyncio redis-benchmark wrk; do
	kill -0 $(cat /tmp/$name.pid) || echo "$name has ended"
done
redis-cli -s /tmp/redis.sock ping
kill -INT $(cat /tmp/wrk.pid)
tries=0
while kill -0 $(cat /tmp/wrk.pid) 2>/dev/null && [ $((tries += 1)) -lt 500 ]; do usleep 20000; done
cat /tmp/wrk.log
grep -iE 'error|emerg|alert|crash' /tmp/redis.log /tmp/nginx.log /tmp/node.log /tmp/asyncio.log /tmp/redis-benchmark.log
dmesg | grep -E 'BUG|Oops|WARNING|segfault|Call Trace'
exit 0
"""


def library_of(python_lib):
    """Python's modules, without what an event loop has no use for."""
    files = {}
    for folder, folders, names in os.walk(python_lib):
        folders[:] = [d for d in folders if d not in NOT_NEEDED and not d.startswith("config-")]
        files.update({os.path.join(folder, n): os.path.join(folder, n) for n in names if n.endswith((".py", ".so"))})
    return files


def soak_files(program, looper, home):
    files = run.guest_files(program, looper)
    for name in PROGRAMS:
        path = boot.need(name)
        files["/bin/" + name] = os.path.realpath(path)
    if not os.path.exists(PYTHON):
        raise boot.Unavailable(f"{PYTHON} is not installed")
    files["/usr/bin/python3"] = files["/bin/python3"] = os.path.realpath(PYTHON)
    files.update(library_of("/usr/lib/" + os.path.basename(os.path.realpath(PYTHON))))
    for name in ("openloop.py", "openloop.js"):
        files["/" + name] = os.path.join(run.ROOT, "tests", "loopers", name)
    conf = os.path.join(home, "nginx.conf")
    boot.write(conf, NGINX_CONF, 0o644)
    files["/etc/nginx.conf"] = conf
    files["/etc/passwd"], files["/etc/group"] = "/etc/passwd", "/etc/group"
    return files


def check_attached(result, rounds):
    run.succeeded(result)
    counts = [int(line) for line in result.stdout.split()]
    run.require(len(counts) == rounds, f"{len(counts)} rounds of {rounds}")
    run.require(min(counts) >= 4, f"a round saw {min(counts)} of the four loops by fentry")


def check_killed(result, kills):
    run.require(result.stdout.split().count("killed") == kills, f"killed: {result.stdout.split()} {result.stderr[-300:]}")


def check_unharmed(result):
    run.succeeded(result)
    run.require(result.stdout.startswith("PONG"), result.stdout[:300])
    for word in ("has ended", "Socket errors", "Non-2xx", "BUG", "Oops", "WARNING", "segfault", "Call Trace", ".log:"):
        run.require(word not in result.stdout, result.stdout[-600:])
    run.require("Requests/sec" in result.stdout, result.stdout[-600:])


def soak(kernel, guest, rounds, kills, report):
    steps = (("start", START_STEP), ("attach", ATTACH_STEP.format(rounds=rounds)), ("kill", KILL_STEP.format(kills=kills)),
             ("check", CHECK_STEP))
    name = f"vm-{kernel.series}-soak"
    try:
        said = guest.run(kernel.path, [boot.Step(n, run.script(body)) for n, body in steps],
                         run.BOOT_TIMEOUT_S + ROUND_S * (rounds + kills)).steps
    except boot.Died as died:
        report.line("FAIL", name, died)
        return
    for step, check in (("start", run.succeeded), ("attach", lambda r: check_attached(r, rounds)),
                        ("kill", lambda r: check_killed(r, kills)), ("check", check_unharmed)):
        try:
            check(said[step])
            report.line("PASS", f"{name}-{step}")
        except run.Wrong as reason:
            report.line("FAIL", f"{name}-{step}", reason)
    print(said["check"].stdout)


def main(suite="trixie", rounds="200", kills="50"):
    report = run.Report()
    program = os.path.join(os.path.abspath(os.environ.get("BUILD", os.path.join(run.ROOT, "build"))), "loopscope")
    with tempfile.TemporaryDirectory(prefix="loopscope-vm.") as home:
        try:
            guest = boot.Guest(soak_files(program, run.compile_looper(home), home))
            soak(kernels.obtain(suite), guest, int(rounds), int(kills), report)
        except (boot.Unavailable, kernels.Unavailable) as reason:
            report.line("SKIP", "vm-soak", reason)
    return 1 if report.failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # temporary directories are removed on the way out
    sys.exit(main(*sys.argv[1:]))
