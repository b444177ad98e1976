#!/usr/bin/env python3
# needs: root, perf; --event counts equal those of perf stat over the same span: software, msr/tsc/, tracepoints, groups
import json
import subprocess
import sys

from ktop import KTOP, frame_time, tries
from perfstat import beside_perf, need_perf, section_intervals

COUNTED = ["context-switches", "page-faults", "minor-faults", "cpu-migrations", "sched:sched_switch"]  # frequent single events
CLOCKS = ["msr/tsc/", "cpu-clock"]  # a steady rate


def rows(frame, event):
    return {row["cpu"]: row for row in frame["tables"]["counters"] if row["event"] == event}


def compare(frames, perf):
    intervals = section_intervals(frames, "user_events")
    if not intervals:
        return ["a section was late"]
    end = frame_time(frames[-1])
    begin = end - sum(intervals)
    wrong = []
    for cpu in rows(frames[0], COUNTED[0]):
        for event in COUNTED:
            cells = [rows(frame, event)[cpu] for frame in frames]
            assert all(cell["state"] == "counts" and cell["counted_pct"] == 100 and cell["value"] >= 0 for cell in cells), cells
            counted = sum(cell["value"] for cell in cells)
            least, most = perf.bounds(int(cpu), event, begin, end)
            print(f"CPU {cpu} {event}: perf {least:.0f} to {most:.0f}, ktop {counted:.0f}")
            # Events while ktop or perf reads the counters one by one: a few faults of the reader and of the load.
            slack = 16 + 0.005 * counted
            if not least - slack <= counted <= most + slack:
                wrong.append((cpu, event, least, counted, most))
        for event in CLOCKS:
            mine = rows(frames[1], event)[cpu]["per_s"]
            theirs = perf.rate(int(cpu), event)
            print(f"CPU {cpu} {event}: perf {theirs:.0f}/s, ktop {mine:.0f}/s")
            if abs(mine / theirs - 1) > 0.001:
                wrong.append((cpu, event, theirs, mine))
    return wrong


def exact(frames):
    """Checks that do not depend on the load: names, units, and a reason for a missing PMU."""
    for frame in frames:
        assert rows(frame, "clock") and all(row["unit"] == "ns" for row in rows(frame, "clock").values())
        for row in rows(frame, "cycles").values():
            if row["state"] == "refused":
                assert row["value"] is None and row["per_s"] is None and row["counted_pct"] is None, row
                assert any(note["text"].startswith("cycles: ") and note["fix"] for note in frame["notes"]), frame["notes"]
        assert rows(frame, "mine")


def without_events():
    p = subprocess.run([KTOP, "--batch", "--pane", "cpus", "--format", "json", "-n", "1", "-d", "0.2"], capture_output=True, text=True, timeout=60)
    assert json.loads(p.stdout)["tables"]["counters"] == [], p.stdout


need_perf()
without_events()


def once():
    frames, perf = beside_perf(COUNTED + CLOCKS, "-e", ",".join(COUNTED + CLOCKS), "-e", "{cs,sched:sched_switch,cpu-clock/name=clock/}",
                               "-e", "cycles", "-e", "cs/name=mine/")
    exact(frames)
    wrong = compare(frames, perf)
    if wrong:
        print("differs:", wrong)
    return not wrong


# On an overloaded machine a section may be late; then its counts are in no frame.
sys.exit(0 if tries("--event against perf stat", 3, once) else 1)
