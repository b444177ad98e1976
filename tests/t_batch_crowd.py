#!/usr/bin/env python3
# needs: root (CAP_SYS_NICE) (once); with 100 CPU-bound tasks, batch mode writes its frames in time
"""Two ktops run beside 100 busy loops: one unchanged, the other with its writer thread moved from SCHED_RR to SCHED_OTHER. Measures the delay
from the end of a frame to its line. The second ktop shows the delay of a writer without real-time priority under the same load."""
import select

from disks import *

BUSY, SECONDS, DELAY_S = 100, 10, 0.25


def ordinary():
    """In a child: drops the real-time priority inherited from this script."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def started():
    ktop = subprocess.Popen([KTOP, "--batch", "--pane", "tasks", "--format", "json", "-d", str(DELAY_S)], stdout=subprocess.PIPE)
    undo.append(lambda: (ktop.terminate(), ktop.wait()))
    ktop.stdout.readline()  # its threads are running now
    return ktop


def lateness(ktops):
    """Delay of every line in ms, sorted, for each ktop."""
    late, rest, begin = {k: [] for k in ktops}, {k: b"" for k in ktops}, time.time()
    while time.time() < begin + SECONDS:
        ready = select.select([k.stdout for k in ktops], [], [], DELAY_S)[0]
        for ktop in ktops:
            if ktop.stdout not in ready:
                continue
            *lines, rest[ktop] = (rest[ktop] + os.read(ktop.stdout.fileno(), 1 << 20)).split(b"\n")
            now = time.time()
            ends = [frame_time(json.loads(line)) for line in lines]
            late[ktop] += [(now - end) * 1e3 for end in ends if end >= begin]  # skips lines that were buffered before this reader started
    return [sorted(late[k]) for k in ktops]


def main():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(40))  # reads each line without delay
    except PermissionError:
        skip("needs CAP_SYS_NICE")
    ktops = [started(), started()]
    check(os.sched_getscheduler(ktops[0].pid) & ~os.SCHED_RESET_ON_FORK == os.SCHED_RR, "the writer thread has real-time priority")
    os.sched_setscheduler(ktops[1].pid, os.SCHED_OTHER, os.sched_param(0))
    for _ in range(BUSY):
        busy = subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=ordinary)
        undo.append(lambda busy=busy: (busy.kill(), busy.wait()))
    mine, other = lateness(ktops)
    check(len(mine) > SECONDS / DELAY_S / 2, f"{len(mine)} and {len(other)} frames in {SECONDS} s")
    # The SCHED_OTHER writer runs at once for many lines, on some machines for most, so compare p90.
    # It may also write nothing in all that time.
    p90, other_p90 = (late[len(late) * 9 // 10] if late else SECONDS * 1e3 for late in (mine, other))
    check(p90 < other_p90 / 2, f"p90 of the delay from frame end to line: {p90:.1f} ms; of a SCHED_OTHER writer: {other_p90:.1f} ms")


ending(main)
