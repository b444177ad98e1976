"""perf stat in parallel with ktop: lower and upper bounds of its counts within a time span."""
import json
import os
import shutil
import subprocess
import sys
import threading
import time

from ktop import KTOP, need_root, skip

STEP = 0.05  # perf's interval; the lower bound sums the intervals that are certainly inside the span, the upper bound all that overlap it


def now():
    return time.clock_gettime(time.CLOCK_REALTIME)


class Perf:
    """perf stat with an output interval of STEP seconds; lines holds (end since perf's start, cpu, event, count), zero perf's start on the wall clock."""

    def __init__(self, events):
        self.events = set(events)
        # In a private mount namespace: for a tracepoint perf mounts tracefs and does not unmount it.
        self.p = subprocess.Popen(["unshare", "-m", "--propagation", "private", "perf", "stat", "-a", "-A", "-x", ",", "-I", str(int(STEP * 1000)), "-e", ",".join(events)],
                                  stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=dict(os.environ, LC_ALL="C"))
        self.lines, self.zero, self.bad = [], None, None
        self.ran = {}  # (cpu, event): total count and running time
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.p.stderr:
            fields = line.strip().split(",")
            if len(fields) < 6 or fields[4] not in self.events or not fields[2][:1].isdigit():
                self.bad = self.bad or line
                continue
            at = float(fields[0])
            begun = now() - at  # estimate of perf's start; it is never too early, so the minimum is the best one
            self.zero = begun if self.zero is None else min(self.zero, begun)
            count = float(fields[2]) * (1e6 if fields[3] == "msec" else 1)
            cpu = int(fields[1][3:])
            self.lines.append((at, cpu, fields[4], count))
            counted, ran = self.ran.get((cpu, fields[4]), (0, 0))
            self.ran[cpu, fields[4]] = counted + count, ran + int(fields[5])

    def end(self):
        self.p.send_signal(2)
        self.p.wait()
        self.thread.join()

    def rate(self, cpu, event):
        """Events per second of the counter's running time."""
        counted, ran = self.ran[cpu, event]
        return counted * 1e9 / ran

    def bounds(self, cpu, event, begin, end):
        """Lower and upper bound of the count between begin and end."""
        least = most = 0
        before = 0.0
        for at, c, e, count in self.lines:
            if c != cpu or e != event:
                continue
            first, last, before = self.zero + before, self.zero + at, at
            if first >= begin + STEP and last <= end - STEP:
                least += count
            if last >= begin - STEP and first <= end + STEP:
                most += count
        return least, most


# Causes faults, context switches and migrations on every CPU.
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


def need_perf():
    need_root("counters of whole CPUs")
    if not shutil.which("perf"):
        skip("perf is not installed")


def beside_perf(events, *arguments):
    """Returns three frames of the cpus pane under LOAD, and the Perf that counted before, during and after them."""
    load = subprocess.Popen([sys.executable, "-c", LOAD])
    perf = Perf(events)
    try:
        time.sleep(0.5)
        if perf.p.poll() is not None:
            skip(f"perf stat does not run here: {perf.bad}")
        p = subprocess.run([KTOP, "--batch", "--pane", "cpus", "--format", "json", "-n", "3", "-d", "1", *arguments],
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


def section_intervals(frames, collector):
    """Seconds covered by the collector's section in each frame. The first exceeds its frame's interval, because it starts with the
    collector. None: a section was late, so its counts are missing from all frames."""
    intervals = [frame["intervals_s"][collector] for frame in frames]
    return None if None in intervals else intervals
