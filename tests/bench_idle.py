#!/usr/bin/env python3
# needs: cc; CPU time per refresh on an idle machine, by pane, in turns with top, htop and btop
"""bench_idle.py [ROUNDS]: each program alone on a 120x40 terminal with a delay of 1 s and 80 sleeping processes, one after the other, ROUNDS times (3).

The programs take turns, so that the wake-ups of one do not affect another. Target: the median of the rounds is at most htop's. THREADS=1 also prints each thread."""
import collections
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from bench_screen import KTOP, Screen

HERE = os.path.dirname(os.path.abspath(__file__))
PANES = os.environ.get("PANES", "triage,tasks,disk,sched").split(",")
TASKS, SETTLE, SECONDS = 80, 4, float(os.environ.get("SECONDS", "8"))


def once(argv, home):
    screen = Screen(argv, home)
    try:
        time.sleep(SETTLE)
        before = screen.threads()
        time.sleep(SECONDS)
        after = screen.threads()
    finally:
        screen.end()
    return {name: (after[name] - before[name]) / SECONDS for name in after}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    home = tempfile.mkdtemp(prefix="bench_idle.")
    commands = {f"ktop {pane}": [KTOP, "-P", pane, "-d", "1"] for pane in PANES}
    commands.update({"htop": ["htop", "-d", "10"], "btop": ["btop"], "top": ["top", "-d", "1"]})
    commands = {name: argv for name, argv in commands.items() if shutil.which(argv[0])}
    os.makedirs(home + "/btop")
    with open(home + "/btop/btop.conf", "w") as f:
        f.write("update_ms = 1000\n")
    load = os.path.join(home, "load")
    subprocess.run(["cc", "-O1", "-o", load, os.path.join(HERE, "data", "tasks_load.c"), "-lpthread"], check=True)
    sleepers = subprocess.Popen([load, "idle", str(TASKS)], stdout=subprocess.PIPE, text=True)
    try:
        sleepers.stdout.readline()
        took = {name: [] for name in commands}
        threads = {name: collections.Counter() for name in commands}
        for _ in range(rounds):
            for name, argv in commands.items():
                cost = once(argv, home)
                took[name].append(sum(ms for key, ms in cost.items() if isinstance(key, str)))
                threads[name].update({key: ms / rounds for key, ms in cost.items()})
    finally:
        sleepers.kill()
        sleepers.wait()
        shutil.rmtree(home, ignore_errors=True)
    row = {name: round(statistics.median(ms), 2) for name, ms in took.items()}
    for name, ms in took.items():
        print(f"idle, {TASKS} tasks: {name:12} {row[name]:6.2f} ms per refresh ({min(ms):.2f} to {max(ms):.2f})", flush=True)
        for key in sorted((k for k in threads[name] if isinstance(k, str)), key=lambda k: -threads[name][k]) if "THREADS" in os.environ else ():
            print(f"    {key:16} {threads[name][key]:6.2f} ms {threads[name][key, 'wake-ups']:6.1f} wake-ups/s")
    print(json.dumps([row]))  # for `make bench`
    return int("htop" in row and any(ms > row["htop"] for name, ms in row.items() if name.startswith("ktop")))


sys.exit(main())
