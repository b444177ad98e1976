#!/usr/bin/env python3
# needs: root (loop devices, tracefs), fio; after lost events no I/O is told to have taken longer than it can have: what was under way before the gap is
# not the same as what ends after it at the same sector
import signal, threading, time
from disks import Ktop, Loop, check, ending, fio, need, seconds, tmpfs

SECTORS = "8m"  # so few that each is read again soon


def main():
    need("fio")
    disk = Loop(tmpfs(), 8)
    ktop = Ktop("--test", "buffer_kib=256")
    jobs = []
    load = threading.Thread(target=lambda: jobs.extend(fio(
        "--name=hot", "--filename=" + disk.path, "--rw=randread", "--bs=4k", "--size=" + SECTORS, "--direct=1", "--ioengine=libaio", "--iodepth=16",
        "--runtime=8", "--time_based", "--norandommap")))
    load.start()
    for _ in range(3):
        time.sleep(1)
        ktop.process.send_signal(signal.SIGSTOP)
        time.sleep(0.8)  # no longer: what is older than a second is left over at any rate
        ktop.process.send_signal(signal.SIGCONT)
    load.join()
    ktop.finish()
    longest = jobs[0]["read"]["clat_ns"]["max"] / 1e3
    told = max((h["max"] for h in ktop.hists("io_latency", device=disk.name)), default=0)
    check(ktop.lost() > 0, f"events were lost: {ktop.lost()}")
    check(any(seconds(f) for f in ktop.frames) and told > 0, f"I/Os are told: {ktop.count('io_latency', device=disk.name)} of {jobs[0]['read']['total_ios']}")
    most = max(longest * 2, 20000)  # what is believed while one CPU's gap has ended and another's has not
    check(told <= most, f"none took more than {most:.0f} us: {told:.0f} us, fio's longest {longest:.0f} us")


ending(main)
