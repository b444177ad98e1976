#!/usr/bin/env python3
# needs: root, fio, losetup; what the kernel's threads of io_uring do is told of the program that made the ring, by its own name and number, and I/O that it does not wait for is no error
"""fio with a thread of the kernel that polls its queue (iou-sqp), then with workers for each I/O (iou-wrk), then with more
in flight than the disk has requests: what would have to wait is told to come again, and is neither an I/O nor an error.
"""
import collections

from disks import Ktop, Loop, check, ending, fio, need, skip, tmpfs

COMMON = ("--rw=randread", "--bs=4k", "--direct=1", "--ioengine=io_uring", "--iodepth=8", "--size=16m", "--io_size=8m")


def would_wait(disk):
    with open(f"/sys/block/{disk.name}/queue/nr_requests", "w") as file:
        file.write("4")
    ktop = Ktop()
    deep = [option for option in COMMON if "depth" not in option] + ["--iodepth=64"]
    asked = fio("--name=deep", f"--filename={disk.path}", *deep)[0]["read"]["total_ios"]
    ktop.finish_counted({disk.name: asked})
    tables = [frame["tables"] for frame in ktop.frames]
    errors = [row for table in tables for row in table["io_errors"] if row["device"] == disk.name]
    check(not errors, f"no errors: {errors[:1]}")
    rows = [(frame, row) for frame in ktop.frames for row in frame["tables"]["by_process"] if row["device"] == disk.name]
    told = sum(row["ios_per_s"] * frame["interval_s"] for frame, row in rows)
    check(abs(told / asked - 1) < 0.02, f"{told} of {asked} I/Os")


def main():
    need("fio", "losetup")
    disk = Loop(tmpfs(), 16)
    ktop = Ktop()
    asked = 0
    for name, option in (("polled", "--sqthread_poll=1"), ("forced", "--force_async=1")):
        try:
            asked += sum(job["read"]["total_ios"] for job in fio(f"--name={name}", f"--filename={disk.path}", *COMMON, option))
        except Exception as problem:
            skip(f"fio cannot use io_uring here: {problem}")
    ktop.finish_counted({disk.name: asked})
    reads = collections.Counter()
    for frame in ktop.frames:
        for row in frame["tables"]["by_process"]:
            if row["device"] == disk.name and row["op"] == "R":
                reads[row["pid"], row["comm"]] += row["ios_per_s"] * frame["interval_s"]
    print(dict(reads))
    would_wait(disk)
    check({comm for _, comm in reads} == {"fio"} and len(reads) == 2, "all of it is fio's, of two processes")
    check(all(abs(n / (asked / 2) - 1) < 0.02 for n in reads.values()), f"half of {asked} each")


ending(main)
