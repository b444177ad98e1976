#!/usr/bin/env python3
# needs: root (loop devices, tracefs), fio; after lost events no latency is longer than possible: an I/O in flight before
# the gap is not the one that completes after it at the same sector
import signal, threading, time
from disks import Ktop, Loop, check, ending, fio, need, seconds, tmpfs

SECTORS = "8m"  # few sectors, so that each is read again soon


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
        time.sleep(0.8)  # no longer: flights older than a second are stale anyway
        ktop.process.send_signal(signal.SIGCONT)
    load.join()
    ktop.finish()
    longest = jobs[0]["read"]["clat_ns"]["max"] / 1e3
    longest_reported = max((h["max"] for h in ktop.hists("io_latency", device=disk.name)), default=0)
    check(ktop.lost() > 0, f"events were lost: {ktop.lost()}")
    check(any(seconds(f) for f in ktop.frames) and longest_reported > 0, f"I/Os counted: {ktop.count('io_latency', device=disk.name)} of {jobs[0]['read']['total_ios']}")
    most = max(longest * 2, 20000)  # accepted while the gap of one CPU has ended and another's has not
    check(longest_reported <= most, f"none took more than {most:.0f} us: {longest_reported:.0f} us, fio's longest {longest:.0f} us")


ending(main)
