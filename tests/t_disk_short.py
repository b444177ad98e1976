#!/usr/bin/env python3
# needs: root, cc, losetup, dd (beside); I/O of processes and threads shorter than a tick of ktop is attributed to their PID and name
"""200 runs of dd that write 4 KiB each; then a program whose threads write once and exit while it continues."""
import collections
import os
import subprocess

from disks import Ktop, Loop, check, ending, need, run, tmpfs

DDS = 200
THREADS = 100
PROGRAM = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int fd;
static void *one(void *at) {
    char *block;
    if (posix_memalign((void **)&block, 4096, 4096) || pwrite(fd, memset(block, 1, 4096), 4096, (long)at * 4096) != 4096)
        exit(1);
    return NULL;
}
int main(int argc, char **argv) {
    fd = open(argv[argc - 1], O_WRONLY | O_DIRECT);
    for (long at = 0; at < 100; at++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, one, (void *)at) || pthread_join(thread, NULL))
            return 1;
    }
    sleep(2);
}
"""


def main():
    need("cc", "losetup", "dd")
    work = tmpfs()
    disk = Loop(work, 16)
    program = f"{work}/threads"
    with open(f"{program}.c", "w") as f:
        f.write(PROGRAM)
    run("cc", "-O2", "-D_GNU_SOURCE", "-o", program, f"{program}.c", "-lpthread")
    keep = os.open(disk.path, os.O_RDONLY)  # the last close of the disk would wait for its writeback
    ktop = Ktop(delay=0.5)
    pids = []
    for i in range(DDS):
        dd = subprocess.Popen(["dd", "if=/dev/zero", f"of={disk.path}", "bs=4k", "count=1", f"seek={i * 3}", "conv=notrunc,fsync"], stderr=subprocess.DEVNULL)
        pids.append(dd.pid)
        if dd.wait():
            raise SystemExit("dd failed")
    threads = subprocess.Popen([program, disk.path])
    threads.wait()
    ktop.finish_counted({disk.name: DDS + THREADS})
    written = collections.Counter()
    for frame in ktop.frames:
        for row in frame["tables"]["by_process"]:
            if row["device"] == disk.name and row["op"] == "W":
                written[row["pid"], row["comm"]] += row["ios_per_s"] * (frame["intervals_s"]["block"] or 0)
    mine = {pid: {comm: round(n, 1) for (p, comm), n in written.items() if p == pid} for pid in pids}
    wrong = {pid: found for pid, found in mine.items() if set(found) != {"dd"} or abs(found["dd"] - 1) > 0.2}
    check(not wrong, f"each of {DDS} dd's has one write with its PID and name; wrong: {dict(list(wrong.items())[:5])}")
    listed = collections.Counter(e["pid"] for f in ktop.frames for e in f["events"] if e["device"] == disk.name and e["comm"] == "dd" and e["op"][0] == "W")
    check(all(listed[pid] == 1 for pid in pids), f"each is listed once; wrong: {[p for p in pids if listed[p] != 1][:5]}")
    others = {key: n for key, n in written.items() if key[0] not in pids}
    check(set(others) == {(threads.pid, "threads")} and abs(others[threads.pid, "threads"] / THREADS - 1) < 0.1,
          f"{THREADS} threads of {threads.pid} wrote once each, all attributed to it: {dict(list(others.items())[:6])}")
    os.close(keep)
    print(f"{sum(written.values()):.0f} writes", flush=True)


ending(main)
