#!/usr/bin/env python3
# needs: root, tracefs, cc (beside); groups and latencies of the events pane, against the text of a second instance that records the same events
import os
import re
import subprocess
import sys
import tempfile

from ktop import Batch, KTOP, SLOW, check, failed, need_root, rows_of
from tracing import Tracefs, never_idle

CALLS, SLEEPS = 5000, 300
PROGRAM = r"""
#include <time.h>
#include <unistd.h>
int main(void) {
    char c;
    struct timespec pause = {0, 300000};
    for (long i = 1; i <= %d; i++)
        if (read(-1, &c, (size_t)i) != -1)
            return 1;
    for (int i = 0; i < %d; i++)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, 0);
    return 0;
}
""" % (CALLS, SLEEPS)
EVENTS = ["syscalls/sys_enter_read", "syscalls/sys_enter_clock_nanosleep", "syscalls/sys_exit_clock_nanosleep", "sched/sched_waking", "sched/sched_switch"]
SLEEP, WAKE = "syscalls:sys_enter_clock_nanosleep -> sys_exit_clock_nanosleep", "sched:sched_waking -> sched_switch"


def second_instance(tracefs, run):
    """The text of the events while run() runs, in an instance of the test's own."""
    path = f"{tracefs.path}/instances/t-groups-{os.getpid()}"

    def write(file, text):
        with open(f"{path}/{file}", "w") as f:
            f.write(text)
    os.mkdir(path)
    try:
        write("trace_clock", "mono")
        write("buffer_size_kb", "16384")
        for event in EVENTS:
            write(f"events/{event}/enable", "1")
        run()
        write("tracing_on", "0")
        with open(f"{path}/trace") as f:
            return f.read()
    finally:
        os.rmdir(path)


def pairs(lines, first, second, tid):
    """Latencies in us, by the same rule: the newest first event with the key counts."""
    started, found = None, []
    for time, event, own, text in lines:
        key = {"sched_waking": r"(?<!\w)pid=(\d+)", "sched_switch": r"next_pid=(\d+)"}.get(event)
        key = int(re.search(key, text)[1]) if key else own
        if key != tid:
            continue
        if event == second and started is not None:
            found.append((time - started) * 1e6)
            started = None
        if event == first:
            started = time
    return found


def parse(text):
    lines = []
    for line in text.splitlines():
        m = re.match(r"\s*.{16}-(\d+)\s+\[\d+\]\s+\S+\s+(\d+\.\d+): (\w+)(?:: |\(| -> )(.*)", line)
        if m:
            name = m[3] if m[3].startswith("sched") else ("sys_exit_" if " -> 0x" in line else "sys_enter_") + m[3].removeprefix("sys_")
            lines.append((float(m[2]), name, int(m[1]), m[4]))
    return lines


def exact(work, tracefs):
    with open(f"{work}/marker.c", "w") as f:
        f.write(PROGRAM)
    subprocess.run(["cc", "-O1", "-o", f"{work}/marker", f"{work}/marker.c"], check=True)
    batch = Batch("events", "--budget", "100", "--group", "syscalls:sys_enter_read by pid,comm of count",
                  "--latency", "syscalls:sys_enter_clock_nanosleep syscalls:sys_exit_clock_nanosleep", "--latency",
                  "sched:sched_waking[pid] sched:sched_switch[next_pid]", delay=1)
    batch.frame(), batch.frame()
    program = []

    def run():
        program.append(subprocess.Popen([f"{work}/marker"]))
        program[0].wait()
    busy = never_idle()
    try:
        text = second_instance(tracefs, run)
    finally:
        for loop in busy:
            loop.kill()
            loop.wait()
    frames = [batch.frame() for _ in range(3)]
    batch.end()
    tid = program[0].pid
    lines = parse(text)
    lost = sum(frame["lost_events"] for frame in frames)
    check(not lost, f"no event lost: {lost}")

    rows = [row for row in rows_of(frames, "groups", "events") if row["key"] == str(tid)]
    reads = [int(re.search(r"count: (?:0x)?([0-9a-f]+)", text)[1], 16) for _, event, own, text in lines if event == "sys_enter_read" and own == tid]
    check(len(reads) >= CALLS and sum(row["count"] for row in rows) == len(reads), f"group: {sum(r['count'] for r in rows)} events, the text has {len(reads)}")
    check(sum(row["sum"] for row in rows) == sum(reads), f"sum of count: {sum(r['sum'] for r in rows)}, the text has {sum(reads)}")
    check(rows and min(r["min"] for r in rows) == min(reads) and max(r["max"] for r in rows) == max(reads), "smallest and largest value")
    hists = [h for frame in frames for h in frame["histograms"]["event_values"] if h["key"] == str(tid)]
    check(sum(h["count"] for h in hists) == len(reads) and sum(h["sum"] for h in hists) == sum(reads), "the histogram has the same values")

    for pair, first, second, least in ((SLEEP, "sys_enter_clock_nanosleep", "sys_exit_clock_nanosleep", SLEEPS), (WAKE, "sched_waking", "sched_switch", SLEEPS // 2)):
        rows = [row for row in rows_of(frames, "event_latencies", "events") if row["pair"] == pair and row["key"] == str(tid)]
        want = pairs(lines, first, second, tid)
        count, total = sum(row["count"] for row in rows), sum(row["count"] * row["avg_us"] for row in rows)
        check(len(want) >= least and count == len(want), f"{pair}: {count} pairs, the text has {len(want)}")
        # Each instance takes its own time of an event, some 100 ns apart; the text has whole us.
        check(want and abs(total - sum(want)) <= 2 * len(want), f"{pair}: {total:.0f} us in total, the text has {sum(want):.0f}")
        hists = [h for frame in frames for h in frame["histograms"]["event_latency"] if h["pair"] == pair and h["key"] == str(tid)]
        check(sum(h["count"] for h in hists) == len(want), f"{pair}: histogram")
        for frame in frames:
            mine = [row for row in frame["tables"]["event_latencies"] if row["pair"] == pair]
            every = sum(row["count"] for row in mine if row["key"] == "all")
            check(every == sum(row["count"] for row in mine if row["key"] != "all"), f"{pair}: all is the sum of the keys, {every}")


def errors():
    for option, value, wanted in (("--group", "sched:sched_switch by prev_com", "did you mean prev_comm?"),
                                  ("--group", "sched:sched_switch by prev_pid of prev_comm", "is not a number"),
                                  ("--group", "sched:sched_switch prev_pid", "expected SYSTEM:EVENT by FIELD"),
                                  ("--group", "sched:sched_swich by prev_pid", "did you mean sched:sched_switch?"),
                                  ("--group", "call:openat by comm", "use syscalls:sys_enter_openat"),
                                  ("--latency", "sched:sched_waking[pid] sched:sched_switch[next_comm]", "cannot be compared"),
                                  ("--latency", "sched:sched_waking[pid]", "expected SYSTEM:EVENT[FIELD] SYSTEM:EVENT[FIELD]")):
        p = subprocess.run([KTOP, "-b", "-P", "events", "-n", "1", option, value], capture_output=True, text=True, timeout=60 * SLOW)
        check(p.returncode == 1 and wanted in p.stderr and p.stderr.count("\n") == 1, f"{option} {value}: {p.stderr.strip()}")


need_root()
tracefs = Tracefs()
try:
    with tempfile.TemporaryDirectory() as work:
        exact(work, tracefs)
    errors()
finally:
    tracefs.close()
sys.exit(1 if failed else 0)
