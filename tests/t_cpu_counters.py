#!/usr/bin/env python3
# needs: root; the cpus pane's software counters equal those of perf stat -a -A over the same span, and CPU shares add up to 100
import os
import sys

from ktop import frame_time, skip, tries
from perfstat import beside_perf, need_perf, section_intervals

EVENTS = {"context-switches": "context_switches_per_s", "cpu-migrations": "migrations_per_s", "page-faults": "page_faults_per_s",
          "minor-faults": "minor_faults_per_s", "major-faults": "major_faults_per_s"}


def compare(frames, perf):
    intervals = section_intervals(frames, "cpu_counters")
    if not intervals:
        return ["a section was late"]
    end = frame_time(frames[-1])
    begin = end - sum(intervals)
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
            slack = 2 + 0.002 * counted  # one or two events at each end; the intervals are rounded to microseconds
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
    """Hardware counters are either counted, or null with a reason and a fix."""
    row, notes = frames[-1]["tables"]["cpus"][0], frames[-1]["notes"]
    if row["cycles_per_s"] is None:
        assert row["ipc"] is None and row["counted_pct"] is None
        assert any("PMU" in note["text"] and note["fix"] for note in notes), notes
    else:
        assert row["cycles_per_s"] > 0 and 0 < row["counted_pct"] <= 100, row


need_perf()


def once():
    frames, perf = beside_perf(EVENTS)
    shares(frames)
    hardware(frames)
    wrong = compare(frames, perf)
    if wrong:
        print("differs:", wrong)
    return not wrong


# On an overloaded machine a section may be late; then its counts are in no frame.
sys.exit(0 if tries("software counters against perf stat", 6, once) else 1)
