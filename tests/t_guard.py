#!/usr/bin/env python3
# needs: root san; however ktop ends while it traces block events, its tracing instances are removed within 2 s
import os
import signal
import subprocess
import time

import tracing
from tracing import SLOW, Ktop, gone, guard_of, wait_for

ENDS = [
    ("SIGKILL", signal.SIGKILL, False),
    ("SIGKILL to its process group", signal.SIGKILL, True),
    ("SIGSEGV", signal.SIGSEGV, False),
    ("SIGTERM", signal.SIGTERM, False),
    ("SIGHUP to its process group", signal.SIGHUP, True),
    ("SIGINT", signal.SIGINT, False),
]


def ends(trace):
    for mounted in (False, True):
        for name, number, group in ENDS:
            ktop = Ktop(trace, mounted)
            try:
                guard = guard_of(ktop.pid)
                assert guard, "no guard"
                ktop.signal(number, group)
                ktop.p.wait(10 * SLOW)
                took = wait_for(f"removal of the instances after {name}", 2, lambda: not trace.of(ktop.pid))
                wait_for(f"end of the guard after {name}", 2, lambda: gone(trace, ktop.pid))
                print(f"{'mounted' if mounted else 'detached'}, {name}: {took * 1000:.0f} ms after ktop's end")
            finally:
                ktop.end()


def open_reader(trace):
    """A reader holds the instance of a killed ktop open: its events are disabled at once, and it is removed after the reader closes it."""
    ktop = Ktop(trace)
    name = trace.of(ktop.pid)[0]
    held = os.open(f"{trace.path}/instances/{name}/trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        ktop.signal(signal.SIGKILL)
        ktop.p.wait()
        wait_for("disabled events", 2, lambda: not trace.enabled(ktop.pid))
        assert trace.of(ktop.pid)
    finally:
        os.close(held)
        ktop.end()
    wait_for("removal of the instance", 2, lambda: gone(trace, ktop.pid))


def guard_process(trace):
    """The guard has only its socket and tracefs open, runs in its own session, and ignores signals."""
    ktop = Ktop(trace)
    try:
        guard = guard_of(ktop.pid)
        with open(f"/proc/{guard}/comm") as f:
            assert f.read().strip() == "ktop-guard"
        assert os.getsid(guard) == guard
        files = [os.readlink(f"/proc/{guard}/fd/{fd}") for fd in os.listdir(f"/proc/{guard}/fd")]
        unexpected = [f for f in files if f != "/dev/null" and not f.startswith("socket:") and "tracing" not in f and f != "/"]
        assert not unexpected and len(files) == 5, files
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
            os.kill(guard, number)
        time.sleep(0.2)
        assert guard_of(ktop.pid) == guard, "the guard died"
        # Without the guard ktop keeps running, and still removes its instances at a clean exit.
        os.kill(guard, signal.SIGKILL)
        time.sleep(0.2)
        assert ktop.p.poll() is None
        ktop.signal(signal.SIGTERM)
        ktop.p.wait(10 * SLOW)
        assert not trace.of(ktop.pid)
    finally:
        ktop.end()


def pipe_closes():
    """`ktop -b | head -1` ends at once: the guard does not hold ktop's pipe open."""
    start = time.monotonic()
    p = subprocess.Popen(["sh", "-c", f"'{tracing.KTOP}' -b -P health -F json -d 0.2 | head -1 | wc -l"], stdout=subprocess.PIPE, text=True)
    assert p.communicate(timeout=20)[0].strip() == "1"
    assert time.monotonic() - start < 3 * SLOW


tracing.need_root()
trace = tracing.Tracefs()
try:
    ends(trace)
    open_reader(trace)
    guard_process(trace)
    pipe_closes()
finally:
    trace.close()
