#!/usr/bin/env python3
# needs: root for an idle machine (a PID namespace, loud, brief: triage); terminal bytes per refresh at 200x50: under 4 KiB for every pane, fewer than htop for tasks
"""t_tui_bytes.py [PANE...]: all panes and htop run at the same time, so that other load affects all of them equally.

A PID namespace with 60 sleeping processes gives the task table of an idle machine, so its limit always applies. Meters and disks are
those of the machine: the limit applies to the other panes only if the machine is less than 25 % busy. The last line is JSON."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from ktop import KTOP, skip
from terminal import Terminal

PANES = "triage", "tasks", "cpus", "memory", "disk", "network", "health"
STREAMS = "sched", "syscalls"  # they show the activity of the other ktops, so they run separately
REFRESHES = 8
LIMIT = 4096


def sizes(terminals, seconds):
    """Median bytes per refresh of each terminal: bursts of output, separated by at least 150 ms of silence."""
    bursts = {name: [] for name in terminals}
    last = {name: 0 for name in terminals}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, t in terminals.items():
            got = t.read(0.002)
            if got and time.monotonic() - last[name] > 0.15:
                bursts[name].append(0)
            if got:
                bursts[name][-1] += len(got)
                last[name] = time.monotonic()
    return {name: statistics.median(b[1:] or [0]) for name, b in bursts.items()}


def together(panes, htop=False):
    home = tempfile.mkdtemp(prefix="t_tui_bytes.")
    terminals = {pane: Terminal([KTOP, "-P", pane], 200, 50) for pane in panes}
    if htop and shutil.which("htop"):
        terminals["htop"] = Terminal(["htop", "-d", "10"], 200, 50, {"HOME": home, "HTOPRC": os.path.join(home, "rc")})
    try:
        sizes(terminals, 4)
        got = sizes(terminals, REFRESHES + 1)
        for t in terminals.values():
            t.send("q")
            t.wait(3)
    finally:
        for t in terminals.values():
            t.end()
        shutil.rmtree(home, ignore_errors=True)
    return got


def inside(panes):
    got = together(panes or PANES, htop=not panes)
    for pane in () if panes else STREAMS:
        got |= together([pane])
    print(json.dumps(got))


def busy():
    with open("/proc/stat") as f:
        before = [int(v) for v in f.readline().split()[1:9]]
    time.sleep(1)
    with open("/proc/stat") as f:
        spent = [int(v) - b for v, b in zip(f.readline().split()[1:9], before)]
    return 1 - (spent[3] + spent[4]) / max(1, sum(spent))


def main():
    if "--inside" in sys.argv:
        return inside(sys.argv[2:])
    here = os.path.dirname(os.path.abspath(__file__))
    load = busy()
    run = subprocess.run([os.path.join(here, "idle_space"), sys.executable, os.path.abspath(__file__), "--inside", *sys.argv[1:]], capture_output=True, text=True)
    if run.returncode == 77:
        skip("needs root: a PID namespace")
    if run.returncode:
        print(run.stdout + run.stderr)
        return 1
    got = json.loads(run.stdout.splitlines()[-1])
    load = max(load, busy())
    print(f"the machine is {load:.0%} busy; bytes per refresh at 200x50:", ", ".join(f"{k} {v:.0f}" for k, v in got.items()))
    bad = [f"{pane}: {got[pane]:.0f} bytes per refresh" for pane in PANES + STREAMS
           if pane in got and got[pane] >= LIMIT and (pane == "tasks" or load < 0.25)]
    if "htop" in got and got["tasks"] >= got["htop"]:
        bad.append(f"tasks: {got['tasks']:.0f} bytes per refresh, htop {got['htop']:.0f}")
    print("\n".join("FAIL: " + line for line in bad) or "ok")
    print(json.dumps(got))
    return bool(bad)


sys.exit(main())
