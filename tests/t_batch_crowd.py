#!/usr/bin/env python3
# needs: root (CAP_SYS_NICE, loud); with a hundred tasks that want the CPUs batch writes its frames in time
"""Two ktops beside a hundred busy loops: one as it is, the other with the thread that writes put back among all others. How late is a line,
after the end of its frame? The second one shows what the crowd does to a writer without a place of its own."""
import select

from disks import *

BUSY, SECONDS, DELAY_S = 100, 10, 0.25


def ordinary():
    """In a child: not the place that this script has."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def started():
    ktop = subprocess.Popen([KTOP, "--batch", "--pane", "tasks", "--format", "json", "-d", str(DELAY_S)], stdout=subprocess.PIPE)
    undo.append(lambda: (ktop.terminate(), ktop.wait()))
    ktop.stdout.readline()  # its threads run
    return ktop


def lateness(ktops):
    """Of every line of each, in ms."""
    late, rest, begin = {k: [] for k in ktops}, {k: b"" for k in ktops}, time.time()
    while time.time() < begin + SECONDS:
        ready = select.select([k.stdout for k in ktops], [], [], DELAY_S)[0]
        for ktop in ktops:
            if ktop.stdout not in ready:
                continue
            *lines, rest[ktop] = (rest[ktop] + os.read(ktop.stdout.fileno(), 1 << 20)).split(b"\n")
            now = time.time()
            ends = [frame_time(json.loads(line)) for line in lines]
            late[ktop] += [(now - end) * 1e3 for end in ends if end >= begin]  # what waited for this reader is not late
    return [sorted(late[k]) for k in ktops]


def main():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(40))  # reads as soon as there is a line
    except PermissionError:
        skip("needs CAP_SYS_NICE")
    ktops = [started(), started()]
    check(os.sched_getscheduler(ktops[0].pid) & ~os.SCHED_RESET_ON_FORK == os.SCHED_RR, "the thread that writes has a place before the crowd")
    os.sched_setscheduler(ktops[1].pid, os.SCHED_OTHER, os.sched_param(0))
    for _ in range(BUSY):
        busy = subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=ordinary)
        undo.append(lambda busy=busy: (busy.kill(), busy.wait()))
    mine, other = lateness(ktops)
    check(min(len(mine), len(other)) > SECONDS / DELAY_S / 2, f"{len(mine)} and {len(other)} frames in {SECONDS} s")
    # The ordinary writer is lucky with many of its lines, on some machines with most: what counts is the unlucky ones.
    nine, of_nine = mine[len(mine) * 9 // 10], other[len(other) * 9 // 10]
    check(nine < of_nine / 2, f"nine of ten lines come within {nine:.1f} ms of the end of their frame, of an ordinary writer's within {of_nine:.1f}")


ending(main)
