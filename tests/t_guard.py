#!/usr/bin/env python3
# needs: root san; whatever ends ktop while it traces block events, within 2 s nothing of it is left in the kernel
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
                took = wait_for(f"nothing left after {name}", 2, lambda: not trace.of(ktop.pid))
                wait_for(f"the guard ends after {name}", 2, lambda: gone(trace, ktop.pid))
                print(f"{'mounted' if mounted else 'detached'}, {name}: {took * 1000:.0f} ms after the end")
            finally:
                ktop.end()


def a_reader_holds_it(trace):
    """Somebody looks into the instance of a killed ktop: it is silent at once, and goes when he lets go."""
    ktop = Ktop(trace)
    name = trace.of(ktop.pid)[0]
    held = os.open(f"{trace.path}/instances/{name}/trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        ktop.signal(signal.SIGKILL)
        ktop.p.wait()
        wait_for("silence", 2, lambda: not trace.enabled(ktop.pid))
        assert trace.of(ktop.pid)
    finally:
        os.close(held)
        ktop.end()
    wait_for("nothing left", 2, lambda: gone(trace, ktop.pid))


def the_guard_itself(trace):
    """It keeps nothing open but its link and tracefs, is in a session of its own, and signals do not end it."""
    ktop = Ktop(trace)
    try:
        guard = guard_of(ktop.pid)
        with open(f"/proc/{guard}/comm") as f:
            assert f.read().strip() == "ktop-guard"
        assert os.getsid(guard) == guard
        files = [os.readlink(f"/proc/{guard}/fd/{fd}") for fd in os.listdir(f"/proc/{guard}/fd")]
        strange = [f for f in files if f != "/dev/null" and not f.startswith("socket:") and "tracing" not in f and f != "/"]
        assert not strange and len(files) == 5, files
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
            os.kill(guard, number)
        time.sleep(0.2)
        assert guard_of(ktop.pid) == guard, "the guard died"
        # Without the guard ktop goes on, and still leaves nothing after a clean end.
        os.kill(guard, signal.SIGKILL)
        time.sleep(0.2)
        assert ktop.p.poll() is None
        ktop.signal(signal.SIGTERM)
        ktop.p.wait(10 * SLOW)
        assert not trace.of(ktop.pid)
    finally:
        ktop.end()


def the_pipe_ends():
    """`ktop -b | head -1` ends at once: the guard holds no pipe of ktop's."""
    start = time.monotonic()
    p = subprocess.Popen(["sh", "-c", f"'{tracing.KTOP}' -b -P health -F json -d 0.2 | head -1 | wc -l"], stdout=subprocess.PIPE, text=True)
    assert p.communicate(timeout=20)[0].strip() == "1"
    assert time.monotonic() - start < 3 * SLOW


tracing.need_root()
trace = tracing.Tracefs()
try:
    ends(trace)
    a_reader_holds_it(trace)
    the_guard_itself(trace)
    the_pipe_ends()
finally:
    trace.close()
