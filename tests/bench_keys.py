#!/usr/bin/env python3
"""Key latency: the time from writing a key to the terminal until the redraw is complete, for ktop and its peers.

bench_keys.py [idle|busy|tasks]... [--peers]: p50, p95 and max of 40 keys in milliseconds; `busy` with 50 busy loops, each in a
session of its own, `tasks` with 10,000 sleeping tasks. The last line of each is a JSON object for `make bench`.

The key moves the selection. All tables are sorted by PID: in a table sorted by CPU the selected task may already have moved
to the top, so that the key changes nothing and the next refresh would be measured instead. A redraw is complete when no output
follows for GAP; with a longer GAP a refresh right after the redraw would count as part of it.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from terminal import KTOP, Terminal

KEYS = int(os.environ.get("KEYS", 40))
BUSY = 50
GAP = 0.012
SECONDS = 10  # limit per program: one that takes a second per key needs no more samples
TASKS = 10000


def programs(peers, home):
    yield "ktop", [KTOP, "-P", "tasks", "-s", "-pid"], {}
    if not peers:
        return
    if shutil.which("htop"):
        yield "htop", ["htop", "-s", "PID"], {"HOME": home, "HTOPRC": os.path.join(home, "htoprc")}
    if shutil.which("btop"):
        os.makedirs(os.path.join(home, "btop"), exist_ok=True)
        with open(os.path.join(home, "btop/btop.conf"), "w") as f:
            f.write('proc_sorting = "pid"\nshown_boxes = "proc"\n')
        yield "btop", ["btop", "--utf-force"], {"HOME": home, "XDG_CONFIG_HOME": home}
    if shutil.which("top"):
        yield "top", ["top", "-d", "1", "-o", "-PID"], {"HOME": home}


def measure(argv, env, settle, arrow):
    """Sorted latencies of KEYS keys in ms. Keys are sent at random times; a redraw is complete when no output follows for GAP."""
    t = Terminal(argv, 120, 40, env)
    down, up = arrow + b"B", arrow + b"A"
    answers = []
    try:
        t.pump(settle)
        for _ in range(8):  # leave the first row, so that every key changes the screen
            t.send(down)
            t.pump(0.05)
        end = time.monotonic() + SECONDS
        for i in range(KEYS):
            if time.monotonic() > end:
                break
            t.pump(random.uniform(0.05, 0.25))
            t.quiet(0.04, 2)
            start = time.monotonic()
            t.send(down if i % 4 < 2 else up)
            if not t.read(2):
                continue
            t.quiet(GAP, 1)
            answers.append((t.last - start) * 1000)
        t.send("q")
        t.wait(3)
    finally:
        t.end()
    return sorted(answers)


def load(kind):
    """Starts the load of the case; returns a function that stops it."""
    if kind == "busy":
        loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True) for _ in range(BUSY)]

        def end():
            for loop in loops:
                loop.kill()
            for loop in loops:
                loop.wait()
        return end
    if kind == "tasks":
        # One parent for all tasks: they wait on its pipe, which closes when it exits.
        program = ("import os,sys,time\nr,w=os.pipe()\n"
                   f"for i in range({TASKS}):\n"
                   "    if os.fork()==0:\n        os.close(w)\n        os.read(r,1)\n        os._exit(0)\n"
                   "print('ready',flush=True)\nsys.stdin.read()\nos.close(w)\n"
                   "while True:\n    try: os.wait()\n    except ChildProcessError: break\n")
        holder = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        holder.stdout.readline()

        def end():
            holder.stdin.close()
            holder.wait()
        return end
    return lambda: None


def at(values, q):
    return values[min(len(values) - 1, int(q * len(values)))] if values else float("nan")


def ahead():
    """Gives this program real-time priority, so that only the measured program waits for a CPU. Children do not inherit it."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(3))
    except OSError:
        print("(no permission for real-time priority: this program may wait for a CPU, too)")


def main():
    peers = "--peers" in sys.argv
    kinds = [a for a in sys.argv[1:] if not a.startswith("-")] or ["idle", "busy", "tasks"]
    for kind in kinds:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        end = load(kind)
        row = {"case": kind}
        try:
            ahead()
            time.sleep(3 if kind != "idle" else 0)
            with tempfile.TemporaryDirectory() as home:
                for name, argv, env in programs(peers, home):
                    got = measure(argv, env, 6 if kind == "tasks" else 3, b"\033[" if name == "btop" else b"\033O")
                    row[name] = {"p50": round(at(got, 0.5), 2), "p95": round(at(got, 0.95), 2), "max": round(at(got, 1), 2), "n": len(got)}
                    print(f"key to screen, {kind:6} {name:6} p50 {at(got, 0.5):6.1f}  p95 {at(got, 0.95):6.1f}  max {at(got, 1):6.1f} ms  ({len(got)} keys)",
                          flush=True)
        finally:
            end()
        print(json.dumps(row), flush=True)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
main()
