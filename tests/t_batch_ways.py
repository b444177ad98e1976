#!/usr/bin/env python3
# needs: nothing (san beside); batch: formats, exact frame counts, timing, outputs that close early or are full, signals
import csv
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from terminal import KTOP

bad = []
PANES = [line.split()[0] for line in subprocess.run([KTOP, "--list", "panes"], capture_output=True, text=True).stdout.splitlines()]


def ktop(*args, **more):
    return subprocess.run([KTOP, "-b", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **more)


def check(name, condition, more=""):
    if not condition:
        bad.append(f"{name}: {str(more)[:500]}")


start = time.monotonic()
p = ktop("-P", ",".join(PANES), "-F", "json", "-n", "3", "-d", "0.5")
took = time.monotonic() - start
check("json: exit", p.returncode == 0 and not p.stderr, p.stderr)
rows = [json.loads(line) for line in p.stdout.splitlines()]
check("json: a line per frame and pane, in order", [r["pane"] for r in rows] == PANES * 3, [r["pane"] for r in rows])
check("json: took three delays", took > 1.4, took)
times = [datetime.datetime.fromisoformat(r["time"]).timestamp() for r in rows]  # startup time depends on the machine
check("json: one delay between frames", times and 0.8 < times[-1] - times[0] < 3, times)
for r in rows:
    check("json: head", r["schema"] == 1 and r["host"] == os.uname().nodename and r["kernel"] == os.uname().release and r["ktop"], r)
    check("json: interval", 0.3 < r["interval_s"] < 1.5, r["interval_s"])
version = subprocess.run([KTOP, "--version"], capture_output=True, text=True).stdout.split()
check("version", len(version) == 2 and version[0] == "ktop" and rows and rows[0]["ktop"] == version[1], version)

p = ktop("-P", "tasks", "-F", "csv", "-n", "2", "-d", "0.3")
lines = list(csv.reader(p.stdout.splitlines()))
heads = [line for line in lines if "pid" in line[:3]]
check("csv: one header", p.returncode == 0 and len(heads) == 1, heads)
check("csv: rows have as many fields as their header", heads and all(len(line) == len(heads[0]) for line in lines if line[0] == "tasks"), "")
for pane in PANES:
    p = ktop("-P", pane, "-n", "1", "-d", "0.2")
    check(f"text: {pane}", p.returncode == 0 and p.stdout.strip() and not p.stderr, p)

# A reader that closes the pipe is a normal end.
for args in ("-n", "100", "-d", "0.1"), ("-d", "0.1"):
    p = subprocess.run(["bash", "-c", '"$0" -b -P tasks "$@" | head -n 1; exit ${PIPESTATUS[0]}', KTOP, *args], stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=30)
    check(f"| head {args}", p.returncode == 0 and not p.stderr, p)
# Also between two writes.
reader, writer = os.pipe()
q = subprocess.Popen([KTOP, "-b", "-d", "60"], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE)
os.close(writer)
time.sleep(0.7)
os.close(reader)
try:
    check("reader gone between frames", q.wait(10) == 0, q.returncode)
except subprocess.TimeoutExpired:
    q.kill()
    check("reader gone between frames", False, "still running")
with open("/dev/full", "w") as full:
    p = subprocess.run([KTOP, "-b", "-n", "5", "-d", "0.1"], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
check("a full disk", p.returncode == 1 and "No space left" in p.stderr and p.stderr.count("\n") == 1, p)
with tempfile.NamedTemporaryFile() as out:
    p = subprocess.run(["bash", "-c", 'ulimit -f 2; exec "$0" -b -P tasks -F json -n 50 -d 0.1 >"$1"', KTOP, out.name], stdin=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True, timeout=30)
    check("a file that may not grow", p.returncode == 1 and "File too large" in p.stderr and p.stderr.count("\n") == 1, p)
if "/san-" not in KTOP:  # sanitizers reserve terabytes of address space
    p = subprocess.run(["bash", "-c", 'ulimit -v 50000; exec "$0" -b -n 1 -d 0.1', KTOP], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    check("little memory", p.returncode == 1 and "ulimit -v" in p.stderr and p.stderr.count("\n") == 1 and not p.stdout, p)
p = subprocess.run(["bash", "-c", '"$0" -b -n 2 -d 0.1 >&-', KTOP], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
check("a closed output", p.returncode == 1 and p.stderr.count("\n") == 1, p)

# Signals: ktop exits between lines.
for number in signal.SIGINT, signal.SIGTERM, signal.SIGUSR1:
    q = subprocess.Popen([KTOP, "-b", "-P", "tasks", "-F", "json", "-d", "0.1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    head = q.stdout.readline()
    q.send_signal(number)
    rest = q.stdout.read()
    check(number.name, q.wait(10) == 0 and (head + rest).endswith(b"\n"), q.returncode)
    for line in (head + rest).splitlines():
        json.loads(line)
# Also if the reader does not read.
q = subprocess.Popen([KTOP, "-b", "-P", "tasks,tasks,cpus,health,disk", "-F", "json", "-d", "0.1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
time.sleep(3)
q.send_signal(signal.SIGTERM)
try:
    check("a stuck reader", q.wait(10) == 0, q.returncode)
except subprocess.TimeoutExpired:
    q.kill()
    check("a stuck reader", False, "still running after SIGTERM")
q.stdout.close()

# Wrong usage: one line on stderr, exit status 2.
for args in (["--pane", "taks"], ["--sort", "cpu_pc"], ["--nonsense"], ["-d", "0"], ["-n", "x"], ["extra"], ["-P", "tasks", "--format", "xml"],
             ["--sort", "\033[31mfarfromall\n"], ["--pane", "\033[31m\n"], ["-e", "\033[31m\n"]):
    p = ktop(*args)
    check(f"usage {args}", p.returncode == 2 and "\033" not in p.stderr and p.stderr.count("\n") == 1 and p.stderr.startswith("ktop: ") and not p.stdout, p)
check("nearest pane", "tasks" in ktop("--pane", "taks").stderr)
check("nearest column", "cpu_pct" in ktop("--sort", "cpu_pc").stderr)

# Lists and reports.
for what in "panes", "columns", "events":
    p = ktop("--list", what)
    check(f"--list {what}", p.returncode == 0 and p.stdout and not p.stderr, p)
check("--list columns names them", all(word in ktop("--list", "columns").stdout for word in ("cpu_pct", "io_latency", "util_pct", "severity")))
p = ktop("--doctor")
check("--doctor", p.returncode == 0 and len(p.stdout.splitlines()) > 3, p)
p = ktop("--help")
check("--help", p.returncode == 0 and "--batch" in p.stdout, p)
p = ktop("-P", "tasks", "-F", "json", "-n", "1", "-d", "0.3", "-p", str(os.getpid()))
check("--pid", [r["pid"] for r in json.loads(p.stdout)["tables"]["tasks"]] == [os.getpid()], p.stdout)
gone = subprocess.Popen(["true"])
gone.wait()
p = ktop("-P", "tasks", "-n", "1", "-d", "0.3", "-p", str(gone.pid))
check("--pid that is gone", p.returncode == 1 and p.stderr.count("\n") == 1 and str(gone.pid) in p.stderr and not p.stdout, p)
p = ktop("-P", "tasks", "-F", "json", "-n", "1", "-d", "0.3", "-p", f"{gone.pid},{os.getpid()}")
notes = [n["text"] for n in json.loads(p.stdout)["notes"]]
check("--pid, one of them gone", p.returncode == 0 and any(f"no process has the PID {gone.pid} " in n for n in notes), notes)
p = ktop("-P", "tasks", "-F", "json", "-n", "1", "-d", "0.3", "-s", "-pid")
pids = [r["pid"] for r in json.loads(p.stdout)["tables"]["tasks"]]
check("--sort -pid", len(pids) > 3 and pids == sorted(pids), pids[:20])
p = ktop("-P", "tasks", "-F", "json", "-n", "1", "-d", "0.3", "--filter", "t_batch_ways")
got = json.loads(p.stdout)["tables"]["tasks"]
check("--filter", got and all("t_batch_ways" in json.dumps(r) for r in got), p.stdout)

print("\n".join("FAIL: " + line for line in bad) or "ok")
sys.exit(bool(bad))
