"""perf stat beside ktop: what it counted surely within, and at most within, a span of time."""
import os
import subprocess
import threading
import time

STEP = 0.05  # perf's intervals: the bounds are the intervals that lie surely inside of the span, and those that touch it


def now():
    return time.clock_gettime(time.CLOCK_REALTIME)


class Perf:
    """perf stat, printing every STEP seconds; each line is kept as (begin, end, cpu, event, count) on the wall clock."""

    def __init__(self, events):
        self.events = set(events)
        # In a mount namespace of its own: for a tracepoint it mounts tracefs, for all to see and for good.
        self.p = subprocess.Popen(["unshare", "-m", "--propagation", "private", "perf", "stat", "-a", "-A", "-x", ",", "-I", str(int(STEP * 1000)), "-e", ",".join(events)],
                                  stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=dict(os.environ, LC_ALL="C"))
        self.lines, self.zero, self.bad = [], None, None
        self.ran = {}  # (cpu, event): count and running time in all
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.p.stderr:
            fields = line.strip().split(",")
            if len(fields) < 6 or fields[4] not in self.events or not fields[2][:1].isdigit():
                self.bad = self.bad or line
                continue
            at = float(fields[0])
            begun = now() - at  # of perf: never before it began, and the least is the nearest
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
        """Per second of its own running time."""
        counted, ran = self.ran[cpu, event]
        return counted * 1e9 / ran

    def bounds(self, cpu, event, begin, end):
        """What it counted surely within, and at most within, begin and end."""
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
