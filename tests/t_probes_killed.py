#!/usr/bin/env python3
# needs: root, tracefs, cc (loud; brief: 20); SIGKILL at random moments of the probes, events and functions panes: the tracing state is byte for byte as before
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from ktop import KTOP, SLOW, check, failed
from tracing import uprobes_tracefs

KILLS = 50  # by hand: tests/t_probes_killed.py 200
FILES = ("set_ftrace_filter", "current_tracer", "kprobe_events", "uprobe_events", "dynamic_events", "events/enable", "set_event", "tracing_on")
PROGRAM = r"""
#include <unistd.h>
__attribute__((noinline)) int work(int number) {
    __asm__ volatile("" : "+r"(number));
    return number + 1;
}
int main(void) {
    for (int i = 0;; i = work(i))
        usleep(1000);
}
"""
OWNER = re.compile(rb"ktop[-_](\d+)[-_]\d+[-_]")


def state_of(trace, pid):
    """The bytes of the files, without the lines of other ktops, which come and go."""
    state = {}
    for name in FILES:
        try:
            with open(f"{trace.path}/{name}", "rb") as f:
                state[name] = f.read()
        except OSError as error:
            state[name] = os.strerror(error.errno).encode()
    for name in ("instances", "events"):
        state[name] = b"\n".join(sorted(map(os.fsencode, os.listdir(f"{trace.path}/{name}"))))
    for name, text in state.items():
        lines = text.split(b"\n")
        state[name] = b"\n".join(line for line in lines if not (owner := OWNER.search(line)) or int(owner[1]) == pid)
    return state


def main():
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else KILLS
    trace = uprobes_tracefs()
    work = tempfile.mkdtemp(prefix="ktop-killed-")
    seed = random.randrange(1 << 32)
    random.seed(seed)
    program = None
    try:
        with open(f"{work}/program.c", "w") as f:
            f.write(PROGRAM)
        subprocess.run(["cc", "-O1", "-o", f"{work}/program", f"{work}/program.c"], check=True)
        program = subprocess.Popen([f"{work}/program"])
        command = [KTOP, "--batch", "--pane", "probes,events,functions", "-f", "program:work > 1ms", "-d", "0.1", "--probe", f"p {work}/program:work", "--probe", f"r:back {work}/program:work ret=$retval:s32",
                   "--group", "probes:back by comm of ret", "--stacks", "-t", "sched:sched_switch if prev_pid > 1", "-t", "sched:sched_process_fork"]
        before = state_of(trace, 0)
        with_probes = with_events = 0
        slowest = 0
        for number in range(kills):
            p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            moment = random.uniform(0, 1.5 if number % 2 else 0.4) * SLOW
            time.sleep(moment)
            here = state_of(trace, p.pid)
            with_probes += b"ktop_%d_" % p.pid in here["uprobe_events"]
            with_events += re.search(rb"ktop-%d-\d+-events" % p.pid, here["instances"]) is not None
            if p.poll() is not None:
                check(False, f"kill {number}: ktop ended by itself with {p.returncode}")
                break
            p.send_signal(signal.SIGKILL)
            p.wait(30 * SLOW)
            begin = time.monotonic()
            while (after := state_of(trace, p.pid)) != before and time.monotonic() - begin < 10 * SLOW:
                time.sleep(0.01)
            slowest = max(slowest, time.monotonic() - begin)
            if after != before:
                check(False, f"kill {number} after {moment:.3f} s (seed {seed}) left {[(n, after[n]) for n in after if after[n] != before[n]]}")
                break
        else:
            check(True, f"the state is as before after SIGKILL at {kills} moments, within {slowest:.2f} s; {with_probes} with probes, {with_events} with an instance of events")
            check(with_probes >= kills // 5 and with_events >= kills // 5, "a part of the moments has probes and events")
    finally:
        if program:
            program.kill()
            program.wait()
        shutil.rmtree(work)
        trace.close()
    sys.exit(1 if failed else 0)


main()
