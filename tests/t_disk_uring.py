#!/usr/bin/env python3
# needs: root, fio, losetup; I/O of io_uring threads is attributed to the program that created the ring, and nowait I/O is no error
"""fio with a polling kernel thread (iou-sqp), then with workers (iou-wrk), then with more in flight than the disk has requests:
a nowait bio then fails with EAGAIN and is sent again; it is neither an I/O nor an error.
"""
import collections

from disks import Ktop, Loop, check, ending, fio, need, skip, tmpfs

COMMON = ("--rw=randread", "--bs=4k", "--direct=1", "--ioengine=io_uring", "--iodepth=8", "--size=16m", "--io_size=8m")


def nowait(disk):
    with open(f"/sys/block/{disk.name}/queue/nr_requests", "w") as file:
        file.write("4")
    ktop = Ktop()
    deep = [option for option in COMMON if "depth" not in option] + ["--iodepth=64"]
    submitted = fio("--name=deep", f"--filename={disk.path}", *deep)[0]["read"]["total_ios"]
    ktop.finish_counted({disk.name: submitted})
    tables = [frame["tables"] for frame in ktop.frames]
    errors = [row for table in tables for row in table["io_errors"] if row["device"] == disk.name]
    check(not errors, f"no errors: {errors[:1]}")
    rows = [(frame, row) for frame in ktop.frames for row in frame["tables"]["by_process"] if row["device"] == disk.name]
    counted = sum(row["ios_per_s"] * (frame["intervals_s"]["block"] or 0) for frame, row in rows)
    check(abs(counted / submitted - 1) < 0.02, f"{counted} of {submitted} I/Os")


def main():
    need("fio", "losetup")
    disk = Loop(tmpfs(), 16)
    ktop = Ktop()
    submitted = 0
    for name, option in (("polled", "--sqthread_poll=1"), ("forced", "--force_async=1")):
        try:
            submitted += sum(job["read"]["total_ios"] for job in fio(f"--name={name}", f"--filename={disk.path}", *COMMON, option))
        except Exception as problem:
            skip(f"fio cannot use io_uring here: {problem}")
    ktop.finish_counted({disk.name: submitted})
    reads = collections.Counter()
    for frame in ktop.frames:
        for row in frame["tables"]["by_process"]:
            if row["device"] == disk.name and row["op"] == "R":
                reads[row["pid"], row["comm"]] += row["ios_per_s"] * (frame["intervals_s"]["block"] or 0)
    print(dict(reads))
    nowait(disk)
    check({comm for _, comm in reads} == {"fio"} and len(reads) == 2, "all I/O is that of two fio processes")
    check(all(abs(n / (submitted / 2) - 1) < 0.02 for n in reads.values()), f"half of {submitted} each")


ending(main)
