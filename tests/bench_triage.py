#!/usr/bin/env python3
# needs: cc; CPU time of the always-on part of triage, by thread, beside 2,000 tasks
"""bench_triage.py [TASKS [ROUNDS]]: the pane triage on a 120x40 terminal with a delay of 1 s, beside TASKS sleeping processes (2000), ROUNDS times (3) 20 s.

The always-on part is every thread but the one that draws the screen: the collectors that triage needs, and the frames with their findings. Target: the
median of the rounds is at most 1 % of one CPU. Other load makes the same work take more CPU time, so run it on a quiet machine. A source that a finding
asks for a short time (samples of CPUs) is counted as well, so a machine without findings is measured best."""
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
SETTLE, SECONDS, TARGET_PCT = 8, 20, 1.0


def once(home):
    screen = Screen([KTOP, "-P", "triage", "-d", "1"], home)
    try:
        time.sleep(SETTLE)
        before, start = screen.threads(), time.monotonic()
        time.sleep(SECONDS)
        after, took = screen.threads(), time.monotonic() - start
    finally:
        screen.end()
    return {name: (after[name] - before[name]) / took / 10 for name in after if isinstance(name, str)}  # ms per second, in %


def main():
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    home = tempfile.mkdtemp(prefix="bench_triage.")
    load = os.path.join(home, "load")
    subprocess.run(["cc", "-O1", "-o", load, os.path.join(HERE, "data", "tasks_load.c"), "-lpthread"], check=True)
    sleepers = subprocess.Popen([load, "idle", str(tasks)], stdout=subprocess.PIPE, text=True)
    costs, threads = [], collections.defaultdict(list)
    try:
        sleepers.stdout.readline()
        for _ in range(rounds):
            cost = once(home)
            costs.append(sum(pct for name, pct in cost.items() if name != "ktop"))
            for name, pct in cost.items():
                threads[name].append(pct)
    finally:
        sleepers.kill()
        sleepers.wait()
        shutil.rmtree(home, ignore_errors=True)
    for name, all_of in sorted(threads.items(), key=lambda item: -statistics.median(item[1])):
        print(f"    {name:16} {statistics.median(all_of):6.3f} % of one CPU ({min(all_of):.3f} to {max(all_of):.3f}){'  draws: not counted' if name == 'ktop' else ''}")
    pct = statistics.median(costs)
    print(f"{'ok' if pct <= TARGET_PCT else 'FAIL'}: triage beside {tasks} tasks: {pct:.2f} % of one CPU ({min(costs):.2f} to {max(costs):.2f}), at most {TARGET_PCT:g}", flush=True)
    print(json.dumps([{"tasks": tasks, "triage_pct": round(pct, 3)}]))  # for `make bench`
    return int(pct > TARGET_PCT)


sys.exit(main())
