#!/usr/bin/env python3
# needs: root, perf, a C compiler (loud); the tasks pane's counters of each task equal perf stat's; 5,000 threads need no additional descriptors
import atexit
import json
import os
import select
import subprocess
import sys
import tempfile
import time

import tracing
from ktop import KTOP, SLOW, skip, tries

DELAYS = (2.5, 4, 6, 8)  # an overloaded machine needs more time to run all loads within one frame
# name: busy milliseconds, rounds, sleep in between in milliseconds, pages touched per round, threads
LOADS = {"busy": (350, 1, 0, 700, 1), "duty": (8, 40, 12, 3, 1), "short": (1, 100, 2, 1, 1), "threads": (110, 1, 0, 50, 3)}
WORK = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static int busy, rounds, pause_ms, pages, threads, sleep_s;
static void *work(void *unused) {
    for (int i = 0; i < rounds; i++) {
        struct timespec now, pause = {0, pause_ms * 1000000l};
        char *memory = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int page = 0; page < pages; page++)
            memory[page * 4096] = 1;
        munmap(memory, pages * 4096);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        long long until = now.tv_sec * 1000000000ll + now.tv_nsec + busy * 1000000ll;
        do
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while (now.tv_sec * 1000000000ll + now.tv_nsec < until);
        if (pause_ms)
            nanosleep(&pause, NULL);
    }
    if (sleep_s)
        sleep(sleep_s);
    return unused;
}
static int swap(int seconds) { // two processes that pass a byte back and forth
    int there[2], back[2];
    char c = 0;
    if (pipe(there) || pipe(back))
        return 1;
    alarm(seconds);
    int child = fork();
    for (;;)
        if (child ? write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1 : read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1)
            return 0;
}
int main(int argc, char **argv) {
    if (argc == 3)
        return swap(atoi(argv[2]));
    busy = atoi(argv[1]), rounds = atoi(argv[2]), pause_ms = atoi(argv[3]), pages = atoi(argv[4]), threads = atoi(argv[5]), sleep_s = atoi(argv[6]);
    pthread_t *ids = calloc(threads, sizeof *ids);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&ids[i], &small, work, NULL))
            return 1;
    if (threads > 4 && write(1, "ready\n", 6) != 6)
        return 1;
    work(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
"""


def stand_ins():
    """Substitutes for hardware counters that any machine has: the time stamp counter, CPU time, page faults."""
    try:
        with open("/sys/bus/event_source/devices/msr/type") as f:
            tsc = f"{f.read().strip()}:0"
    except OSError:
        return "instructions=1:1,cache-misses=1:2", "task-clock,page-faults"
    return f"cycles={tsc},instructions=1:1,cache-misses=1:2", "task-clock,page-faults,msr/tsc/"


def ktop(frames, delay, *options):
    return subprocess.Popen([KTOP, "--batch", "--pane", "tasks,health", "--format", "json", "-n", str(frames), "-d", str(delay),
                             "--test", f"task_events={stand_ins()[0]}", *options],
                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)


def perf_counts(text):
    counts = {}
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 3 and fields[2].split(":")[0] in ("task-clock", "page-faults", "msr/tsc/"):
            counts[fields[2].split(":")[0]] = float(fields[0]) * (1e6 if fields[1] == "msec" else 1)
    return counts


def round_of(work, delay):
    """Runs each load under its own perf stat within one ktop frame; returns the ratios ktop / perf stat, or None if the loads were late, and errors."""
    p = ktop(2, delay)
    p.stdout.readline(), p.stdout.readline()  # the first frame is complete: start now
    with tempfile.TemporaryDirectory() as folder:
        perfs = {}
        for name, load in LOADS.items():
            out = os.path.join(folder, name)
            perfs[name] = out, subprocess.Popen(["perf", "stat", "-x", ",", "-o", out, "-e", "{%s}" % stand_ins()[1], work, *map(str, load), "0"],
                                                stdout=subprocess.PIPE, env=dict(os.environ, LC_ALL="C"))
        for _, perf in perfs.values():
            perf.wait(timeout=30 * SLOW)
        late = select.select([p.stdout], [], [], 0)[0]  # the frame ended before the loads
        tasks = json.loads(p.stdout.readline())
        health = json.loads(p.stdout.readline())
        p.wait(timeout=20 * SLOW)
        if late:
            return None, []
        factors, wrong = {}, []
        collector = next(r for r in health["tables"]["collectors"] if r["collector"] == "task_counters")
        print("pertask:", collector, "unattributed", tasks["series"]["unattributed_pct"])
        if collector["lost"] or tasks["series"]["unattributed_pct"] > 5:
            wrong.append("records were lost or unattributed")
        for name, (out, perf) in perfs.items():
            truth = perf_counts(open(out).read())
            rows = [r for r in tasks["tables"]["tasks"] if r["ppid"] == perf.pid or (r["command"] or "").startswith(work + " " + " ".join(map(str, LOADS[name])))]
            rows = [r for r in rows if r["instructions_per_s"]]
            if not rows or not truth:
                wrong.append(f"{name}: not in the frame")
                continue
            row = rows[0]
            seconds = tasks["interval_s"]
            have = {"task-clock": row["instructions_per_s"] * seconds, "page-faults": row["cache_misses_per_s"] * seconds, "msr/tsc/": (row["cycles_per_s"] or 0) * seconds}
            factors[name] = {event: have[event] / truth[event] for event in truth if truth[event]}
            print(name, {event: (round(have[event]), round(truth[event]), round(factor, 4)) for event, factor in factors[name].items()}, "counted", row["counted_pct"])
            if row["counted_pct"] is None or row["counted_pct"] < 50:
                wrong.append(f"{name}: counted_pct {row['counted_pct']}")
        return factors, wrong


def judge(factors):
    """Checks that all counters of all loads have the same ratio: that of the real interval, which exceeds the nominal one on an overloaded machine."""
    wrong = []
    scale = factors["busy"]["task-clock"]
    if not 0.9 < scale < 1.1:
        wrong.append(f"the interval is off by {scale}")
    for name, events in factors.items():
        for event, factor in events.items():
            # perf counts from exec, ktop from fork: ktop adds about 60 page faults, and the CPU time of the exec.
            bound = 0.01 if event != "page-faults" else 0.3
            if abs(factor / scale - 1) > bound and name != "short":
                wrong.append(f"{name} {event}: {factor / scale}")
    return wrong


def descriptors(work):
    threads = 5000
    load = subprocess.Popen([work, "0", "1", "0", "1", str(threads), "300"], stdout=subprocess.PIPE, text=True)
    try:
        if load.stdout.readline() != "ready\n":
            skip(f"cannot create {threads} threads here")
        p = ktop(2, 1, "--threads", "-p", str(load.pid))
        p.stdout.readline()
        fds = len(os.listdir(f"/proc/{p.pid}/fd"))
        rest = p.stdout.read().splitlines()
        p.wait(timeout=60 * SLOW)
        n = len(json.loads(rest[1])["tables"]["tasks"])
        print(f"{fds} descriptors with {n} threads")
        assert n >= threads, n
        assert fds < 200, fds
    finally:
        load.kill()
        load.wait()


def frame(p):
    tasks, health = json.loads(p.stdout.readline()), json.loads(p.stdout.readline())
    limited = [n["text"] for n in tasks["notes"] if "busiest threads" in n["text"]]
    collector = next(r for r in health["tables"]["collectors"] if r["collector"] == "task_counters")
    return tasks, limited, collector


def high_switch_rate(work):
    """Above the cost bound only the busiest threads are counted, each with its own descriptors; below it all are counted again."""
    p = ktop(1000, 0.4, "--test", "task_bound_pct=0.2")
    load = [subprocess.Popen([work, "3000", "1", "0", "1", "1", "0"]), subprocess.Popen([work, "swap", "30"], start_new_session=True)]
    try:
        until = time.monotonic() + 25 * SLOW
        limited, ratios, fds = [], {False: [], True: []}, 0
        while len(ratios[True]) < 3:
            assert time.monotonic() < until, f"the cost bound was never exceeded: {collector}"
            tasks, limited, collector = frame(p)
            row = next((r for r in tasks["tables"]["tasks"] if r["pid"] == load[0].pid), None)
            if row and row["instructions_per_s"] and (row["cycles_per_s"] or "msr" not in stand_ins()[1]):
                ratios[bool(limited)].append(row["ipc"] or 1)
                fds = max(fds, len(os.listdir(f"/proc/{p.pid}/fd")))
        print(limited, collector, ratios, f"{fds} descriptors")
        assert collector["state"] == "degraded", collector
        assert fds < 200, fds
        whole, sparse = sorted(ratios[False]), sorted(ratios[True])
        assert whole and abs(sparse[len(sparse) // 2] / whole[len(whole) // 2] - 1) < 0.01, ratios
        os.killpg(load[1].pid, 9)
        while limited:
            assert time.monotonic() < until, f"the load ended, but the note remains: {limited}"
            tasks, limited, collector = frame(p)
        print("all threads counted again:", collector)
    finally:
        p.terminate()
        p.communicate(timeout=20 * SLOW)
        for one in load:
            one.kill()
            one.wait()


def no_pmu():
    """Without a PMU both panes give the same reason, and the task counters are null."""
    p = subprocess.run([KTOP, "--batch", "--pane", "tasks,cpus", "--format", "json", "-n", "1", "-d", "0.5"], capture_output=True, text=True, timeout=60)
    tasks, cpus = map(json.loads, p.stdout.splitlines())
    reasons = [[n["text"] for n in pane["notes"] if "PMU" in n["text"]] for pane in (tasks, cpus)]
    print(reasons)
    if any(r["cycles_per_s"] for r in cpus["tables"]["cpus"]):
        assert any(r["cycles_per_s"] for r in tasks["tables"]["tasks"])
    else:
        assert reasons[0] and reasons[0] == reasons[1][:1], reasons
        assert all(r["ipc"] is None and r["cycles_per_s"] is None for r in tasks["tables"]["tasks"])


if os.geteuid() != 0:
    skip("needs root: CPU-wide counters")
if subprocess.run(["sh", "-c", "command -v perf"], stdout=subprocess.DEVNULL).returncode:
    skip("perf is not installed")
with tempfile.TemporaryDirectory() as place:
    work = os.path.join(place, "ktop-work")
    subprocess.run(["cc", "-O2", "-x", "c", "-D_GNU_SOURCE", "-o", work, "-", "-lpthread"], input=WORK, text=True, check=True)
    no_pmu()
    descriptors(work)
    high_switch_rate(work)
    fillers = tracing.never_idle()  # on kernels that omit records of the idle task, counts after it would be unattributed
    atexit.register(lambda: [(filler.kill(), filler.wait()) for filler in fillers])
    delays = iter(DELAYS)

    def once():
        factors, wrong = round_of(work, delay := next(delays))
        if factors is None:
            print(f"the loads took longer than a frame of {delay} s")
            return False
        wrong += judge(factors) if "busy" in factors else ["no result for busy"]
        if wrong:
            print("differs:", wrong)
        return not wrong

    sys.exit(0 if tries("task counters against perf stat", len(DELAYS), once) else 1)
