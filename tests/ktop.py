"""What the scripts share: the program under test, checks, skips, counted tries, and frames of a ktop in batch mode.

tests/run reads three kinds of lines: the reason of a skipped script (its last line, exit 77), the reasons of skipped parts
(`part skipped: REASON`), and the tries of each comparison (`tries: N of M: WHAT`)."""
import datetime
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
KTOP = os.path.abspath(os.environ.get("KTOP", os.path.join(TOP, "build/ktop")))
SLOW = 4 if "san-" in KTOP else 1  # a sanitizer's build starts and ends more slowly
failed = []  # checks that did not hold


def skip(reason):
    """The whole script cannot run here."""
    print(reason)
    sys.exit(77)


def skip_part(reason):
    """One part cannot run here, or could not measure; the others still count."""
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
    """Whether once() holds within that many tries: for comparisons that another load on the machine can spoil. once() returns None when
    another try cannot help. Checks that failed in a try before the last are forgotten."""
    before = len(failed)
    for n in range(1, most + 1):
        del failed[before:]
        held = once()
        if held or held is None:
            break
    print(f"tries: {n} of {most}: {what}{'' if held else ' (it never held)'}", flush=True)
    return bool(held)


def frame_time(frame):
    """When the frame ends, in seconds since 1970."""
    return datetime.datetime.fromisoformat(frame["time"].replace("Z", "+00:00")).timestamp()


class Batch:
    """ktop in batch mode with JSON; its frames are read as they come."""

    def __init__(self, pane, *arguments, delay=0.5, **options):
        self.p = subprocess.Popen([KTOP, "--batch", "--pane", pane, "--format", "json", "-d", str(delay), *arguments],
                                  stdout=subprocess.PIPE, text=True, **options)
        self.pid = self.p.pid
        self.frames = []

    def frame(self):
        line = self.p.stdout.readline()
        if not line:
            raise SystemExit(f"ktop ended early, with {self.p.wait()}")
        self.frames.append(json.loads(line))
        return self.frames[-1]

    def end(self):
        """Twice does no harm."""
        if self.p.poll() is None:
            self.p.terminate()
            try:
                self.p.wait(20)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()
        self.p.stdout.close()
