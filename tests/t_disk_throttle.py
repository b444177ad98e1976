#!/usr/bin/env python3
# needs: root, cgroup v1 blkio, loop devices with partitions; throttling by a cgroup limit is in io_total, not in the service time
"""A process in a cgroup with a limit of 20 reads/s waits about 50 ms for each read, while its request takes microseconds.

On a partition io_total includes the wait: the kernel traces a bio before throttling (block_bio_remap). On a whole disk it traces the bio only
afterwards (block_bio_queue, in the worker that releases it): ktop must then report the limit, and that io_total excludes the wait.
"""
import os, subprocess, sys, tempfile, time

from disks import *

BLKIO = "/sys/fs/cgroup/blkio"


def partition(loop):
    """Creates a partition on that loop device; returns its path."""
    try:
        name = loop.partition(1 << 20, 6 << 20)
    except OSError as problem:
        skip(f"no partitions on loop devices: {problem}")
    major, minor = map(int, read(f"/sys/block/{loop.name}/{name}/dev").split(":"))
    path = f"/dev/shm/ktop-test-{os.getpid()}"
    os.mknod(path, 0o600 | 0o060000, os.makedev(major, minor))
    undo.append(lambda: os.unlink(path))
    return path


READER = """
import mmap, os, sys, time
fd, page = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
sys.stdin.readline()
waits = []
for i in range(int(sys.argv[2])):
    begin = time.monotonic()
    os.preadv(fd, [page], 4096 * (i * 37 % 1000))
    waits.append(time.monotonic() - begin)
print(sum(waits) / len(waits) * 1e6)
"""


def throttled(loop, path, reads):
    """Name of the cgroup, the reader, its average wait per read (us), and ktop."""
    group = tempfile.mkdtemp(dir=BLKIO, prefix="ktop-test-")
    undo.append(lambda: os.rmdir(group))
    write(group + "/blkio.throttle.read_iops_device", f"{loop.number} 20\n")
    # Real-time priority: exclude the wait for a CPU.
    first = ["chrt", "-f", "1"] if shutil.which("chrt") else []
    reader = subprocess.Popen([*first, sys.executable, "-c", READER, path, str(reads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    undo.append(lambda: (reader.kill(), reader.wait(), time.sleep(0.1)))
    write(group + "/cgroup.procs", str(reader.pid))
    ktop = Ktop()
    waited = float(reader.communicate("go\n", timeout=60)[0])
    ktop.finish()
    return "/" + os.path.basename(group), reader, waited, ktop


def on_whole_disk(loop):
    name, reader, waited, ktop = throttled(loop, loop.path, 40)
    total = ktop.mean("io_total", "R", device=loop.name)
    check(ktop.count("io_total", "R", device=loop.name) == 40 and ktop.lost() == 0, "whole disk: 40 reads")
    # Two are released at a time: the throttled one by a worker, the next one passes directly.
    events = [e for f in ktop.frames for e in f["events"] if e["device"] == loop.name]
    held = [e for e in events if e["comm"] == "(throttled)"]
    by_worker = sum(e["comm"].startswith("kworker") for e in events)
    if total < waited / 5:  # this kernel traces after throttling
        check(len(held) + by_worker >= 10, f"whole disk: the program waited {waited:.0f} us, its reads were traced {total:.0f} us "
                                           f"before completion, {len(held) + by_worker} of 40 from a worker")
        # A worker may do other work before its name is read.
        check(len(held) > by_worker and {e["pid"] for e in held} == {0}, f"whole disk: {len(held)} of them reported as (throttled)")
        groups = {r["cgroup"] for r in ktop.rows("by_process", comm="(throttled)", device=loop.name)}
        check(groups == {name}, f"whole disk: attributed to {groups}")
        check(ktop.rows("by_cgroup", cgroup=name, device=loop.name, op="R"), "whole disk: by_cgroup has the cgroup")
        check("is throttled on" in ktop.notes() and name in ktop.notes(), "whole disk: a note names the cgroup")
    else:
        check(abs(total / waited - 1) < 0.05, f"whole disk: the program waited {waited:.0f} us, io_total {total:.0f}")
    rows = ktop.rows("io_limits", cgroup=name, device=loop.name)
    full = [r for r in rows if (r["of_limit_pct"] or 0) >= 85]
    check(rows and {r["read_limit_per_s"] for r in rows} == {20} and {r["write_limit_per_s"] for r in rows} == {None}, "io_limits has the limit")
    check(full and max(r["reads_per_s"] for r in full) < 30, f"io_limits shows full use, {[round(r['reads_per_s'], 1) for r in full]} reads/s of 20")


def main():
    need("losetup")
    if not os.path.exists(BLKIO + "/blkio.throttle.read_iops_device"):
        skip("cgroup v1 blkio with throttling is not mounted")
    loop = Loop(tmpfs(), 8)
    path = partition(loop)
    name, reader, waited, ktop = throttled(loop, path, 50)
    total, latency = ktop.mean("io_total", "R", device=loop.name), ktop.mean("io_latency", "R", device=loop.name)
    count = ktop.count("io_total", "R", device=loop.name)
    check(count == 50 and ktop.count("io_latency", "R", device=loop.name) == 50, f"50 reads: {count} in io_total")
    check(30000 < waited < 60000 and abs(total / waited - 1) < 0.05, f"the program waited {waited:.0f} us, io_total {total:.0f}")
    check(latency < total / 5, f"the request took {latency:.0f} us")
    rows = ktop.rows("by_process", pid=reader.pid, device=loop.name)
    check(rows and max(r["total_us"] or 0 for r in rows) > 5 * min(r["latency_us"] or 1e9 for r in rows) and {r["cgroup"] for r in rows} == {name},
          f"by_process has the process and its cgroup {name}")
    check(ktop.rows("by_cgroup", cgroup=name, device=loop.name, op="R"), "by_cgroup has the cgroup")
    of_group, of_process = ktop.count("io_latency_by_cgroup", "R", cgroup=name), ktop.count("io_latency_by_process", "R", pid=reader.pid)
    # Over all disks: page-ins of the program from another disk are included.
    others = sum(e["pid"] == reader.pid and e["device"] != loop.name and e["op"][0] == "R" for f in ktop.frames for e in f["events"])
    check(of_group == of_process == 50 + others,
          f"histograms by cgroup and by process have all 50, and {others} of other disks: {of_group}, {of_process}")
    check(ktop.lost() == 0, "nothing lost")
    on_whole_disk(loop)


ending(main)
