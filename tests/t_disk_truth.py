#!/usr/bin/env python3
# needs: root, fio, a C compiler, FUSE, loop devices (loud, brief: text); latency histograms of the disk pane against three independent references
"""text: a second tracefs instance, read as text while ktop runs (tests/block_truth.py): percentiles and counts;
delay: disks with a known delay (tests/slowfuse.c): the latency is that delay, for each operation, at depths 1 to 64, with several jobs,
on several such disks at once;
fio: its own `lat` percentiles of the same I/Os.
Usage: t_disk_truth.py [text] [delay]."""
import os, shutil, subprocess, sys, tempfile, time

from block_truth import TRACING, Truth, bucket, disk_of
from disks import *



def rank(count, q):
    return max(1, int(-(-count * q // 1)))  # nearest rank: ceil(q * n)


class Hist:
    """Histograms of several frames together, in us."""

    def __init__(self, items):
        self.count = sum(h["count"] for h in items)
        self.max = max((h["max"] for h in items if h["count"]), default=0)
        merged = {}
        for h in items:
            assert sum(b[2] for b in h["buckets"]) == h["count"], "a bucket is missing"
            for low, high, n in h["buckets"]:
                merged[(low, high)] = merged.get((low, high), 0) + n
        self.buckets = sorted((low, high, n) for (low, high), n in merged.items())

    def quantile(self, q):
        seen, want = 0, rank(self.count, q)
        for low, high, n in self.buckets:
            seen += n
            if seen >= want:
                return min((low + high) / 2, self.max)
        return float("nan")


# ---- text ----


def text_once(what, filename, name, number, depth, ios):
    text = Truth([number])
    undo.append(text.remove)
    ktop = Ktop()
    before = diskstats(name)
    fio("--name=truth", f"--filename={filename}", "--rw=randread", "--bs=4k", "--direct=1", f"--iodepth={depth}", "--size=32M",
        "--ioengine=libaio" if depth > 1 else "--ioengine=psync", f"--io_size={ios * 4}k", "--norandommap", "--randrepeat=0")
    after = diskstats(name)
    ktop.finish()
    offset = time.time() - time.monotonic()
    begin, end = ((frame_time(f) - offset) * 1e9 for f in (ktop.frames[0], ktop.frames[-1]))
    ktop.frames = ktop.frames[1:]
    ours = Hist(ktop.hists("io_latency", "R", device=name))
    truth = [io for io in text.finish()[0] if io.kind == "request" and io.key[0] == "R" and begin < io.end <= end]
    undo.pop(), undo.pop()
    ns = sorted(io.end - io.issue for io in truth)
    others = sum(io.comm != "fio" for io in truth)
    figures = [(label, ours.quantile(q), ns[rank(len(ns), q) - 1]) for label, q in (("p50", 0.5), ("p99", 0.99))] + [("max", ours.max, ns[-1])]
    stats = after[0] - before[0]
    # On a shared disk, reads of others may be in the frames but not between the two reads of diskstats.
    count_ok = ours.count == stats == len(ns) if not others else stats <= ours.count <= stats + others + 2
    # Within one bucket, or 3 %: below 8 us ktop's buckets are finer than the difference of two recordings.
    ok = all(abs(bucket(mine * 1000) - bucket(theirs)) <= 1 or abs(mine * 1000 / theirs - 1) <= 0.03 for _, mine, theirs in figures)
    ok = ok and count_ok and ktop.lost() == 0
    print(f"{'ok  ' if ok else 'no  '}text {what} depth {depth}: "
          + ", ".join(f"{label} {mine:.1f} us, text {theirs / 1000:.1f}" for label, mine, theirs in figures)
          + f"; count {ours.count}, text {len(ns)} ({others} not fio's), diskstats {stats}; lost {ktop.lost()}", flush=True)
    return ok


def text_truth(work):
    loop = Loop(work, 32)
    cases = [("loop over tmpfs", loop.path, loop.name, loop.number)]
    file = tempfile.NamedTemporaryFile(dir=os.environ.get("KTOP_TEST_DISK", "/var/tmp"), prefix="ktop-truth-")
    undo.append(file.close)
    disk = disk_of(file.name)
    if disk:
        file.write(os.urandom(32 << 20))
        file.flush()
        os.fsync(file.fileno())
        cases.append(("real file", file.name, *disk))
    else:
        skip_part("a real file: /var/tmp is on no disk with request events")
    for what, filename, name, number in cases:
        for depth, ios in ((1, 8000), (32, 20000)):
            # An interrupt between the two recordings of an event changes the maximum.
            case = f"{what}, depth {depth}"
            check(tries(case, 3, lambda: text_once(what, filename, name, number, depth, ios)), case)


# ---- delay, fio ----

# Name: delays of the disks in ms, fio's arguments, I/Os per job. fio's own latency must match, except for discards of several jobs: the
# kernel serializes them before the block layer.
DEEP = "--ioengine=libaio"
DELAYS = {
    "random reads": ([1], ["--rw=randread"], 600),
    "sequential reads, depth 16": ([20], ["--rw=read", DEEP, "--iodepth=16"], 400),
    "random reads, depth 64": ([20], ["--rw=randread", DEEP, "--iodepth=64"], 768),
    "mixed, depth 8, 2 jobs": ([5], ["--rw=randrw", DEEP, "--iodepth=8", "--numjobs=2"], 500),
    "flushed writes": ([5], ["--rw=randwrite", "--fsync=1"], 80),
    "discards": ([5], ["--rw=randtrim"], 120),
    "discards, 3 jobs": ([1], ["--rw=randtrim", "--numjobs=3"], 100),
    "writes, 2 jobs, three disks": ([1, 5, 20], ["--rw=randwrite", "--numjobs=2"], 50),
}
NOISE_US = 100  # wake-up latency under CPU contention
OPS = {"R": "read", "W": "write", "D": "trim", "F": "sync"}


def percentiles(jobs, disk, op):
    """fio's percentiles for that disk in us: the mean over its jobs, which do equal numbers of I/Os."""
    found = [job[OPS[op]]["lat_ns"]["percentile"] for job in jobs if job["jobname"] == disk.name]
    return {q: sum(p[f"{q}.000000"] for p in found) / len(found) / 1000 for q in (50, 90)}


def delay_once(name, disks, arguments, ios, base):
    """ktop's p50 per disk and operation must be at least the delay, and at most the delay plus the time without delay."""
    # At depth 1 fio mostly sleeps: real-time priority excludes the wait for a CPU.
    first = ["chrt", "-f", "1"] if shutil.which("chrt") else []
    ktop = Ktop()
    before = {d.name: diskstats(d.name) for d in disks}
    jobs = fio("--bs=4k", "--direct=1", "--size=4M", "--offset_increment=4M", "--ioengine=psync", f"--io_size={ios * 4}k", "--randrepeat=0",
               "--lat_percentiles=1", "--percentile_list=50:90", *arguments,
               *[a for d in disks for a in (f"--name={d.name}", f"--filename={d.path}")], first=first)
    after = {d.name: diskstats(d.name) for d in disks}
    ktop.finish_counted({d.name: sum(after[d.name][:3]) - sum(before[d.name][:3]) for d in disks})
    undo.pop()
    good, measured = ktop.lost() == 0, {}
    for disk in disks:
        moved = [b - a for a, b in zip(before[disk.name], after[disk.name])]
        flushes = ktop.count("io_total", "F", device=disk.name)
        for i, op in enumerate("RWD"):
            want = moved[i] - (flushes if op == "W" else 0)
            count = ktop.count("io_latency", op, device=disk.name)
            if count != want:
                print(f"no   {name}: {op} {count}, diskstats {want}", flush=True)
                good = False
        for op in "RWDF":
            service, total = (Hist(ktop.hists(hist, op, device=disk.name)) for hist in ("io_latency", "io_total"))
            if service.count < 10:
                continue
            measured[op] = p50 = service.quantile(0.5)
            if base is None:
                continue
            low, high = disk.delay_us, disk.delay_us + base[op]
            fios = percentiles(jobs, disk, op)
            # The program waits for the total time: a flush is issued by a kernel worker.
            pairs = [(q, total.quantile(q / 100), fios[q]) for q in fios] if name != "discards, 3 jobs" else []
            ok = low <= p50 * 1.01 and p50 <= high * 1.03 + NOISE_US and all(abs(mine / theirs - 1) <= 0.05 for _, mine, theirs in pairs)
            good &= ok
            print(f"{'ok  ' if ok else 'no  '}{name}, {disk.delay_us / 1000:.0f} ms, {op}: p50 {p50:.0f} us, without delay {base[op]:.0f}, vs. sum "
                  f"{(p50 / high - 1) * 100:+.1f} %; total " + ", ".join(f"p{q} {mine:.0f}, fio {theirs:.0f}" for q, mine, theirs in pairs)
                  + f"; count {service.count}", flush=True)
    return good, measured


def delay_truth(work):
    slow = {}
    for ms in (0, 1, 5, 20):
        slow[ms] = slow_disk(work, ms * 1000, "--direct-io=on")
        slow[ms].delay_us = ms * 1000
    base = {}
    for arguments in (["--rw=randrw"], ["--rw=randwrite", "--fsync=1"], ["--rw=randtrim"]):
        base.update(delay_once("no delay", [slow[0]], arguments, 600, None)[1])
    print("     without delay, us: " + ", ".join(f"{op} {us:.1f}" for op, us in base.items()))
    for name, (delays, arguments, ios) in DELAYS.items():
        deep = base if DEEP not in arguments else delay_once("no delay", [slow[0]], arguments, 1000, None)[1]
        # Late wake-ups on a busy machine spoil single runs.
        check(tries(name, 4, lambda: delay_once(name, [slow[ms] for ms in delays], arguments, ios, deep)[0]), name)


def main():
    need("fio", "losetup", "cc")
    if not os.path.exists(TRACING + "/instances") and subprocess.run(["mount", "-t", "tracefs", "nodev", TRACING], capture_output=True).returncode:
        skip("tracefs cannot be mounted")
    work = tmpfs()
    parts = {"text": text_truth, "delay": delay_truth}
    for name in sys.argv[1:] or parts:
        parts[name](work)


ending(main)
