#!/usr/bin/env python3
# needs: root; the cpus pane's software counters are what perf stat -a -A counts over the same span, and CPU shares add up to 100
import calendar
import json
import os
import subprocess
import sys
import time

from ktop import KTOP, skip, tries
from perfstat import STEP, Perf

EVENTS = {"context-switches": "context_switches_per_s", "cpu-migrations": "migrations_per_s", "page-faults": "page_faults_per_s",
          "minor-faults": "minor_faults_per_s", "major-faults": "major_faults_per_s"}


LOAD = """
import mmap, os, time
cpus = sorted(os.sched_getaffinity(0))
while True:
    m = mmap.mmap(-1, 4096 * 40)
    for page in range(40):
        m[page * 4096] = 1
    m.close()
    for cpu in cpus:
        os.sched_setaffinity(0, {cpu})
    time.sleep(0.002)
"""


def measure():
    load = subprocess.Popen([sys.executable, "-c", LOAD])
    perf = Perf(EVENTS)
    try:
        time.sleep(0.5)
        if perf.p.poll() is not None:
            skip(f"perf stat does not run here: {perf.bad}")
        p = subprocess.run([KTOP, "--batch", "--pane", "cpus", "--format", "json", "-n", "3", "-d", "1"],
                           capture_output=True, text=True, timeout=60)
        time.sleep(4 * STEP)
    finally:
        perf.end()
        load.kill()
        load.wait()
    assert p.returncode == 0, p
    frames = [json.loads(line) for line in p.stdout.splitlines()]
    assert len(frames) == 3
    return frames, perf


def wall(text):
    whole, _, fraction = text.rstrip("Z").partition(".")
    t = time.strptime(whole, "%Y-%m-%dT%H:%M:%S")
    return calendar.timegm(t) + float("0." + fraction)


def compare(frames, perf):
    intervals = [frame["intervals_s"]["cpu_counters"] for frame in frames]
    if None in intervals:
        return ["a section came late"]  # its count is in no frame
    end = wall(frames[-1]["time"])
    begin = end - sum(intervals)  # the first one is longer than its frame: it begins when the collector does
    wrong = []
    for cpu in [row["cpu"] for row in frames[0]["tables"]["cpus"]]:
        for event, column in EVENTS.items():
            counted = 0
            for frame, interval in zip(frames, intervals):
                row = next(r for r in frame["tables"]["cpus"] if r["cpu"] == cpu)
                assert row[column] is not None, f"CPU {cpu}: no {column} in {row}"
                assert row[column] >= 0
                counted += row[column] * interval
            least, most = perf.bounds(int(cpu), event, begin, end)
            print(f"CPU {cpu} {event}: perf {least} to {most}, ktop {counted:.0f}")
            slack = 2 + 0.002 * counted  # an event or two at each end; the intervals are rounded to microseconds
            if not least - slack <= counted <= most + slack:
                wrong.append((cpu, event, least, counted, most))
    return wrong


def shares(frames):
    names = ("user_pct", "nice_pct", "system_pct", "irq_pct", "softirq_pct", "steal_pct", "iowait_pct", "idle_pct")
    for frame in frames:
        for row in frame["tables"]["cpus"]:
            total = sum(row[name] for name in names)
            assert abs(total - 100) < 0.01, (total, row)
        total = sum(frame["series"]["cpu_" + name] for name in names)
        assert abs(total - 100) < 0.01, total


def hardware(frames):
    """Either the hardware is counted, or it is null with a reason and a fix."""
    row, notes = frames[-1]["tables"]["cpus"][0], frames[-1]["notes"]
    if row["cycles_per_s"] is None:
        assert row["ipc"] is None and row["counted_pct"] is None
        assert any("PMU" in note["text"] and note["fix"] for note in notes), notes
    else:
        assert row["cycles_per_s"] > 0 and 0 < row["counted_pct"] <= 100, row


if os.geteuid() != 0:
    skip("needs root: counters of whole CPUs")
if subprocess.run(["sh", "-c", "command -v perf"], stdout=subprocess.DEVNULL).returncode:
    skip("perf is not installed")


def once():
    frames, perf = measure()
    shares(frames)
    hardware(frames)
    wrong = compare(frames, perf)
    if wrong:
        print("differs:", wrong)
    return not wrong


# A section that came late on a crowded machine is in no frame.
sys.exit(0 if tries("software counters against perf stat", 6, once) else 1)
