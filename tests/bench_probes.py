#!/usr/bin/env python3
# needs: root, tracefs, cc, bpftrace; cost of a uprobe and a uretprobe in the traced program against bpftrace
"""bench_probes.py [ROUNDS]: a program calls a function in batches of BATCH calls and measures the time of each batch by CLOCK_THREAD_CPUTIME_ID.
In each round it runs once without a tool and once beside each of these, in random order: ktop and bpftrace that count a uprobe, and
ktop and bpftrace that measure latency from a uprobe to a uretprobe. Each tool's own count is compared with the number of calls. Results: ns a call
that the probes add, as medians over rounds (of each run the fastest tenth of its batches), and the ratio of ktop to bpftrace within a round
with its 95 % confidence interval (of the median, by order statistics)."""
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from ktop import KTOP, need_root
from tracing import Tracefs

BATCH, BATCHES = 500, 60
LOAD = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) int work(int number) {
    __asm__ volatile("" : "+r"(number));
    return number + 1;
}
static long long now(void) {
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec * 1000000000ll + at.tv_nsec;
}
int main(void) {
    struct timespec pause = {0, 20000000};
    int sum = 0;
    for (int batch = 0; batch < %d; batch++) {
        long long begin = now();
        for (int i = 0; i < %d; i++)
            sum = work(sum);
        printf("%%lld\n", now() - begin);
        nanosleep(&pause, NULL);
    }
    return sum == 1;
}
""" % (BATCHES, BATCH)


def tools(path):
    one = [KTOP, "--batch", "--pane", "probes", "-d", "0.5", "--format", "json", "--probe", f"!p {path}:work"]
    return {
        "ktop count": one,
        "bpftrace count": ["bpftrace", "-e", f"uprobe:{path}:work {{ @n = count(); }} interval:s:1 {{ print(@n); }}"],
        "ktop latency": [*one, "--probe", f"!r:back {path}:work", "--latency", "probes:work probes:back"],
        "bpftrace latency": ["bpftrace", "-e", f"uprobe:{path}:work {{ @b[tid] = nsecs; }} uretprobe:{path}:work /@b[tid]/ "
                             "{ @n = count(); @us = hist((nsecs - @b[tid]) / 1000); delete(@b[tid]); } interval:s:1 { print(@n); }"],
    }


def counted(tool, text):
    """Hits that the tool reports in all."""
    if tool.startswith("bpftrace"):
        found = re.findall(r"^@n: (\d+)", text, re.M)
        return int(found[-1]) if found else 0
    name = "back" if "latency" in tool else "work"
    rows = [row for line in text.splitlines() if line.endswith("}") for row in json.loads(line)["tables"].get("probes", []) if row["probe"] == name]
    return rows[-1]["total"] if rows else 0


def once(tool, command, path, out):
    """ns a call of the program, and the hits that the tool counted."""
    process = None
    with open(out, "w+") as f:
        try:
            if tool:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT)
                time.sleep(6)  # its start is not measured; a tool that was not ready has too few hits
                if process.poll() is not None:
                    f.seek(0)
                    raise SystemExit(f"{tool} does not run here: {f.read()[:300]}")
            load = subprocess.run([path], check=True, capture_output=True, text=True).stdout
            time.sleep(2)  # it reports what it has recorded
        finally:
            if process:
                process.send_signal(signal.SIGINT)
                process.wait()
        f.seek(0)
        text = f.read()
    times = sorted(map(int, load.split()))
    return statistics.mean(times[:BATCHES // 10]) / BATCH, counted(tool, text) if tool else None


def interval(ratios):
    ordered, n = sorted(ratios), len(ratios)
    k = max(0, int(n / 2 - 0.98 * n ** 0.5))
    return ordered[k], ordered[n - 1 - k]


def main():
    need_root()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    if not shutil.which("bpftrace"):
        raise SystemExit("bpftrace is not installed")
    trace = Tracefs()
    results = {}
    wrong = []
    try:
        with tempfile.TemporaryDirectory() as work:
            path = f"{work}/program"
            subprocess.run(["cc", "-O1", "-x", "c", "-o", path, "-"], input=LOAD, text=True, check=True)
            commands = {None: None, **tools(path)}
            for _ in range(rounds):
                for tool in random.sample(list(commands), len(commands)):
                    ns, hits = once(tool, commands[tool], path, f"{work}/out")
                    results.setdefault(tool, []).append(ns)
                    if tool and hits != BATCH * BATCHES:
                        wrong.append(f"{tool}: {hits:.0f} of {BATCH * BATCHES} calls")
    finally:
        trace.close()
    out = {}
    for tool, values in results.items():
        added = statistics.median(v - n for v, n in zip(values, results[None]))
        out[tool or "none"] = added
        print(f"{tool or 'no tool':17} {statistics.median(values):8.0f} ns a call, {added:8.0f} ns more than without")
    for what in ("count", "latency"):
        pairs = list(zip(results[f"ktop {what}"], results[f"bpftrace {what}"], results[None]))
        low, high = interval([(k - n) / (b - n) for k, b, n in pairs])
        median = statistics.median((k - n) / (b - n) for k, b, n in pairs)
        out[f"ktop/bpftrace {what}"] = [median, low, high]
        print(f"ktop / bpftrace, {what}: {median:.2f} (95 %: {low:.2f} to {high:.2f})")
    print("; ".join(wrong) if wrong else "each tool counted every call")
    print(json.dumps(out))


main()
