#!/usr/bin/env python3
# needs: root, fio, loop devices, FUSE, cc; busy_pct, and util_pct derived from it, on a disk with known service times
"""A loop device over a file system with 5 ms per read: single reads with pauses, and four in flight without pauses."""
from disks import *

DELAY_S = 0.005
# Preloaded into ktop: delays enabling one event after the others.
LATE = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void late(const char *path) {
    if (strstr(path, "block_rq_complete/enable")) {
        usleep(200000);
        mkdir(getenv("KTOP_LATE"), 0700);
    }
}
int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    late(path);
    return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}
"""


def begun_in_the_middle(work, path):
    """ktop starts during I/O and enables its events slowly: no I/O may appear to start and never complete."""
    name, shim = os.path.basename(path), work + "/late"
    write(shim + ".c", LATE)
    run("cc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", shim + ".so", shim + ".c", "-ldl")
    load = subprocess.Popen(["fio", "--direct=1", "--bs=4k", "--rw=randread", "--size=32M", "--norandommap", "--time_based", "--runtime=2",
                             "--ioengine=libaio", "--iodepth=4", "--name=load", f"--filename={path}"], stdout=subprocess.DEVNULL)
    undo.append(load.wait)
    time.sleep(0.5)
    ktop = Ktop(env={"LD_PRELOAD": shim + ".so", "KTOP_LATE": shim})
    check(os.path.exists(shim), "its events are enabled late")
    load.wait()
    ktop.finish(1.2)
    check(ktop.count("io_latency", "R", device=name) > 50, f"{ktop.count('io_latency', 'R', device=name)} reads traced")
    row = [r for r in ktop.frames[-1]["tables"]["devices"] if r["device"] == name][0]
    waiting = [r for r in ktop.frames[-1]["tables"]["io_in_flight"] if r["device"] == name]
    check(not row["in_flight"] and row["busy_pct"] == 0 and row["oldest_us"] == 0 and not waiting,
          f"no I/O is in flight after the load: {row['in_flight']} in flight, {row['busy_pct']} % busy, oldest {row['oldest_us']}, {len(waiting)} rows")


def busy_s(ktop, name, column):
    return sum(seconds(f) * (r[column] or 0) / 100 for f in ktop.frames for r in f["tables"]["devices"] if r["device"] == name)


def once(path, what, *arguments):
    """Busy seconds, sum of fio's latencies in seconds, fio's run time, and number of I/Os."""
    name, ktop = os.path.basename(path), Ktop()
    job = fio("--direct=1", "--bs=4k", "--rw=randread", "--size=32M", "--norandommap", "--time_based", "--runtime=2", f"--name={what}",
              f"--filename={path}", *arguments)[0]["read"]
    ktop.finish()
    n, mine = job["total_ios"], ktop.count("io_latency", "R", device=name)
    check(n <= mine <= n + 16 and ktop.lost() == 0, f"{what}: {mine} reads, fio {n}")
    busy, util = busy_s(ktop, name, "busy_pct"), busy_s(ktop, name, "util_pct")
    # The first frame may have no block section yet: then util_pct is from the other source.
    first = sum(seconds(f) * (r["util_pct"] or 0) / 100 for f in ktop.frames for r in f["tables"]["devices"]
                if r["device"] == name and r["busy_pct"] is None)
    check(abs(util - first - busy) < 1e-6, f"{what}: util_pct equals busy_pct, {util:.4f} s of {busy:.4f} s")
    return busy, n * job["lat_ns"]["mean"] / 1e9, job["runtime"] / 1e3, n


def main():
    need("fio", "losetup", "cc")
    path = slow_disk(work := tmpfs(), DELAY_S * 1e6).path
    fio("--direct=1", "--bs=4k", "--rw=randread", "--size=32M", "--io_size=64k", "--name=warm", f"--filename={path}")
    busy, waited, seconds, n = once(path, "one at a time, with pauses", "--ioengine=psync", "--thinktime=5000")
    # At least the delays, at most the time that fio waited.
    check(n * DELAY_S <= busy <= waited * 1.005, f"{n} reads of {DELAY_S * 1e3:.0f} ms: busy {busy:.3f} s, fio waited {waited:.3f} s of {seconds:.2f}")
    check(busy < 0.8 * seconds, f"idle between them: {100 * busy / seconds:.1f} % busy")
    busy, waited, seconds, n = once(path, "four at a time", "--ioengine=libaio", "--iodepth=4")
    # The disk serves one read at a time, three wait: overlapping times count once.
    check(n * DELAY_S <= busy <= seconds * 1.005 and waited > 3 * busy, f"busy {busy:.3f} s of {seconds:.3f}, not {waited:.2f}: {n} overlapping reads")

    begun_in_the_middle(work, path)


ending(main)
