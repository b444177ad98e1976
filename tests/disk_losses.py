#!/usr/bin/env python3
"""tests/disk_losses.py [RUNS] [IOS]: checks that every I/O is counted or in lost_events when a full-speed load starts soon after ktop.

Not a part of `make check`: 20 runs take some minutes. Each run starts ktop, then fio after 0 to 1.5 s on a loop device over tmpfs, and
compares the completions that ktop counted with the kernel's own counters."""
import random, sys

from disks import *


def once(loop, ios, wait):
    ktop = Ktop()
    time.sleep(wait)
    before, begin = diskstats(loop.name), time.monotonic()
    fio("--direct=1", "--bs=4k", "--size=32M", "--norandommap", "--rw=randread", "--ioengine=libaio", "--iodepth=32",
        f"--io_size={ios * 4096}", "--name=losses", f"--filename={loop.path}")
    after, took = diskstats(loop.name), time.monotonic() - begin
    theirs = after[0] - before[0]
    ktop.finish_counted({loop.name: theirs})
    ours, lost = ktop.count("io_latency", "R", device=loop.name), ktop.lost()
    unmatched = sum(f["series"].get("unmatched_completions") or 0 for f in ktop.frames)
    notes = sorted({n["text"] for f in ktop.frames for n in f["notes"] if "bio arrival" not in n["text"]})
    what = f"{theirs} reads, {theirs / took:.0f}/s: {ours} counted, {theirs - ours} missing, lost_events {lost}, unmatched {unmatched:.0f}"
    check(ours <= theirs <= ours + lost, what + "".join("\n       note: " + text for text in notes))


def main():
    need("fio", "losetup")
    runs, ios = (int(a) for a in (sys.argv[1:] + ["20", "1000000"][len(sys.argv) - 1:]))
    loop = Loop(tmpfs(), 32)
    for _ in range(runs):
        once(loop, ios, random.uniform(0, 1.5))


ending(main)
