#!/usr/bin/env python3
# needs: root, tracefs, cc; cost of the preset exec against execsnoop
"""bench_exec.py [ROUNDS [RATE]]: a program starts RATE programs per second for SECONDS. In each round it runs once without a tool and once beside each:
ktop's preset exec, execsnoop of libbpf-tools and bpftrace's execsnoop.bt where they are installed, in random order. Results: CPU time of the tool and
of the programs, as medians, and the ratio of ktop to each peer within a round with its 95 % confidence interval (of the median, by order statistics)."""
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from tracing import KTOP, need_root

SECONDS = 5
LOAD = r"""
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
extern char **environ;
int main(int argc, char **argv) {
    long n = atol(argv[2]), period = 1000000000L / atol(argv[3]);
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    for (long i = 0; i < n; i++) {
        pid_t pid;
        char *args[] = {argv[1], "an", "argument", NULL};
        if (posix_spawn(&pid, argv[1], NULL, NULL, args, environ))
            return 1;
        waitpid(pid, NULL, 0);
        at.tv_nsec += period;
        at.tv_sec += at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    return 0;
}
"""
TOOLS = {"ktop": [KTOP, "--batch", "--pane", "events", "--preset", "exec", "--format", "csv"]}
for name, argv in (("execsnoop", ["execsnoop"]), ("execsnoop.bt", ["execsnoop.bt"])):
    path = shutil.which(argv[0])
    if path:
        TOOLS[name] = [path]


def tree(pid):
    """CPU seconds of a process with its threads and the children that it has waited for."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def once(tool, work, rate):
    """CPU seconds of the tool and of the load."""
    process = subprocess.Popen(TOOLS[tool], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if tool else None
    try:
        if process:
            time.sleep(3)  # its start is not measured
            if process.poll() is not None:
                return None
        before, load = tree(process.pid) if process else 0, children()
        subprocess.run([f"{work}/load", f"{work}/program", str(rate * SECONDS), str(rate)], check=True)
        time.sleep(1.2)  # it writes what it has recorded
        return (tree(process.pid) if process else 0) - before, children() - load
    finally:
        if process:
            process.terminate()
            process.wait()


def interval(ratios):
    ordered, n = sorted(ratios), len(ratios)
    k = max(0, int(n / 2 - 0.98 * n ** 0.5))
    return ordered[k], ordered[n - 1 - k]


def main():
    need_root()
    rounds, rate = int(sys.argv[1]) if len(sys.argv) > 1 else 9, int(sys.argv[2]) if len(sys.argv) > 2 else 500
    results = {tool: [] for tool in (None, *TOOLS)}
    with tempfile.TemporaryDirectory() as work:
        for name, source in (("load", LOAD), ("program", "int main(void) { return 0; }")):
            subprocess.run(["cc", "-O1", "-static", "-x", "c", "-o", f"{work}/{name}", "-"], input=source, text=True, check=True)
        for _ in range(rounds):
            order = [tool for tool in results if results[tool] is not None]
            random.shuffle(order)
            for tool in order:
                result = once(tool, work, rate)
                if result is None:
                    print(f"{tool} does not run here")
                    results[tool] = None
                else:
                    results[tool].append(result)
    out = {}
    for tool, values in results.items():
        if values:
            own, load = statistics.median(v[0] for v in values), statistics.median(v[1] for v in values)
            out[tool or "none"] = {"tool_s": own, "load_s": load}
            print(f"{tool or 'no tool':14} {1000 * own:7.0f} ms of its own, programs {1000 * load:7.0f} ms, for {rate * SECONDS} programs in {SECONDS} s")
    for tool in TOOLS:
        if tool == "ktop" or not results[tool]:
            continue
        ratios = [k[0] / max(p[0], 0.005) for k, p in zip(results["ktop"], results[tool])]
        low, high = interval(ratios)
        out[f"ktop/{tool}"] = [statistics.median(ratios), low, high]
        print(f"ktop / {tool}: {statistics.median(ratios):.2f} (95 %: {low:.2f} to {high:.2f})")
    print(json.dumps(out))


main()
