"""Shared by the scripts: the program under test, checks, skips, counted tries, and the frames of a ktop in batch mode.

tests/run reads three kinds of lines: the reason of a skipped script (its last line, exit 77), the reasons of skipped parts
(`part skipped: REASON`), and the tries of each comparison (`tries: N of M: WHAT`)."""
import datetime
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
KTOP = os.path.abspath(os.environ.get("KTOP", os.path.join(TOP, "build/ktop")))
SLOW = 4 if "san-" in KTOP else 1  # sanitizer builds start and exit more slowly
failed = []  # failed checks


def skip(reason):
    """Skips the whole script: it cannot run here."""
    print(reason)
    sys.exit(77)


def skip_part(reason):
    """Skips one part that cannot run or measure here; the other parts still count."""
    print(f"part skipped: {reason}", flush=True)


def need_root(why="tracefs"):
    if os.geteuid() != 0:
        skip(f"needs root: {why}")


def check(ok, what):
    print(("ok    " if ok else "FAIL  ") + what, flush=True)
    if not ok:
        failed.append(what)
    return ok


def tries(what, most, once):
    """Whether once() succeeds within `most` tries: for comparisons that other load on the machine can disturb. once() returns None if
    another try cannot help. Failed checks of all tries but the last are discarded."""
    before = len(failed)
    for n in range(1, most + 1):
        del failed[before:]
        held = once()
        if held or held is None:
            break
    print(f"tries: {n} of {most}: {what}{'' if held else ' (no try succeeded)'}", flush=True)
    return bool(held)


def perf_events(pid):
    """How many perf events the process has open."""
    n = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            n += "perf_event" in os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            pass
    return n


def frame_time(frame):
    """End of the frame, in seconds since 1970."""
    return datetime.datetime.fromisoformat(frame["time"].replace("Z", "+00:00")).timestamp()


def is_after(frame, collector, seconds):
    """Whether the collector's figures in the frame are of an interval that began after that time (since 1970). Frames of before may wait in the
    pipe, and a collector that is late repeats what it had."""
    interval = frame["intervals_s"].get(collector)
    return bool(interval) and frame_time(frame) - frame["interval_s"] - interval > seconds


def rows_of(frames, table, collector):
    """The rows of a table of intervals, without those that a frame repeats because the collector was late."""
    return [row for frame in frames if frame["intervals_s"].get(collector) for row in frame["tables"][table]]


class Batch:
    """ktop in batch mode with JSON output; frames are read one by one."""

    def __init__(self, pane, *arguments, delay=0.5, **options):
        self.p = subprocess.Popen([KTOP, "--batch", "--pane", pane, "--format", "json", "-d", str(delay), *arguments],
                                  stdout=subprocess.PIPE, text=True, **options)
        self.pid = self.p.pid
        self.frames = []

    def frame(self):
        line = self.p.stdout.readline()
        if not line:
            raise SystemExit(f"ktop exited early with status {self.p.wait()}")
        self.frames.append(json.loads(line))
        return self.frames[-1]

    def frames_after(self, collector, ended, n=3):
        """Yields frames until n of them are of intervals that began after ended() was true."""
        done = None
        while n > 0:
            frame = self.frame()
            if done is None and ended():
                done = time.time()
            n -= done is not None and is_after(frame, collector, done)
            yield frame

    def end(self):
        """Safe to call twice."""
        if self.p.poll() is None:
            self.p.terminate()
            try:
                self.p.wait(20)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()
        self.p.stdout.close()
