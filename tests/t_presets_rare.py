#!/usr/bin/env python3
# needs: root, tracefs (asan beside); the presets kill and oom against programs of known numbers (module: tests/vm/snoops)
import os
import re
import signal
import subprocess
import sys
import tempfile

from ktop import Batch, check, failed, need_root, skip_part

EATER = "kept = []\nwhile True: kept.append(bytearray(b'x' * (1 << 20)))"
LIMIT_MIB = 32


def frames_while(presets, load, delay=0.25):
    events, notes, lost = [], [], 0
    batch = Batch("events", "--preset", presets, delay=delay)
    batch.frame()
    batch.frame()
    load()
    for frame in batch.frames_after("events", lambda: True):
        events += frame["events"]
        lost += frame["lost_events"] + frame["events_left_out"]
    batch.end()
    return sorted(events, key=lambda e: e["time_s"]), lost


def kills():
    """Every signal that kill(2) can send, real-time signals too, 20 times each, to a process that blocks all."""
    numbers = [n for n in range(1, 65) if n not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT, 32, 33)] * 20
    target = subprocess.Popen([sys.executable, "-c", "import signal, sys\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nprint(flush=True)\nsys.stdin.read()"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    events, lost = frames_while("kill", lambda: [os.kill(target.pid, n) for n in numbers])
    target.stdin.close()
    target.kill()
    target.wait()
    target.stdout.close()
    mine = [e for e in events if f" pid={target.pid} " in e["fields"] and e["pid"] == os.getpid()]
    sent = [int(re.match(r"sig=(\d+) ", e["fields"])[1]) for e in mine]
    check(sent == numbers or (lost and len(sent) + lost >= len(numbers)), f"{len(sent)} of {len(numbers)} signals in their order, {lost} lost")
    names = {int(m[1]): m[2] for m in (re.match(r"sig=(\d+) \((\w+)\)", e["fields"]) for e in mine) if m}
    wrong = {n: name for n, name in names.items() if n < 32 and signal.Signals(n).name != name and name not in ("SIGPOLL", "SIGIOT", "SIGCLD", "SIGIO")}
    check(len(names) >= 27 and not wrong, f"{len(names)} signals with their names, wrong: {wrong}")
    results = {re.search(r"res=(\d)", e["fields"])[1] for e in mine}
    check(results <= {"0", "2", "4"} and "0" in results, f"results (0 delivered, 2 already pending, 4 information lost): {sorted(results)}")


def oom():
    """A process that grows beyond the limit of its memory cgroup: one event, with its PID."""
    v1, v2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
    base, limit = (v1, "memory.limit_in_bytes") if os.path.exists(v1 + "/memory.limit_in_bytes") else (v2, "memory.max")
    path = tempfile.mkdtemp(dir=base, prefix="ktop-oom-")
    try:
        if not os.path.exists(f"{path}/{limit}"):
            skip_part("no cgroup memory controller")
            return
        for name, value in ((limit, LIMIT_MIB << 20), ("memory.memsw.limit_in_bytes", LIMIT_MIB << 20), ("memory.swap.max", 0)):
            if os.path.exists(f"{path}/{name}"):
                with open(f"{path}/{name}", "w") as f:
                    f.write(str(value))
        killed = []

        def enter():
            with open(f"{path}/cgroup.procs", "w") as f:
                f.write("0")

        def load():
            for _ in range(3):
                p = subprocess.Popen([sys.executable, "-c", EATER], preexec_fn=enter)
                killed.append((p.pid, p.wait()))

        events, lost = frames_while("oom", load)
        victims = [int(re.search(r"pid=(\d+)", e["fields"])[1]) for e in events if e["event"] == "oom:mark_victim"]
        check([pid for pid, _ in killed] == victims and all(status == -signal.SIGKILL for _, status in killed), f"3 kills: {killed}, events: {victims}")
    finally:
        os.rmdir(path)


def main():
    need_root()
    kills()
    oom()
    sys.exit(1 if failed else 0)


main()
