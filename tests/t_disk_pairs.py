#!/usr/bin/env python3
# needs: root, fio, tracefs, loop devices (loud, brief: sequential); loads of every kind on several disks at once, compared I/O by I/O with a second trace instance
"""Loads: random, sequential, mixed, flushed, discarded; depths 1 to 64; several jobs; two loop devices and the disk at once; merged and
split. ktop's results are compared with the text of the same records, matched independently (tests/block_truth.py): all histograms of queue,
service and total time by disk, operation and flags, of latency by process, and of sizes by program, bucket by bucket; and single I/Os. A
second tracefs instance verifies that the records are complete, and their times.
Usage: t_disk_pairs.py [WORD of a load's name...]."""
import collections, os, shutil, signal, subprocess, sys, tempfile, time

from block_truth import OTHERS, TRACING, Truth, bucket, disk_of, trace_of
from disks import *

QUANTILES = (0.5, 0.9, 0.95, 0.99)
# Two instances record one event some 100 ns apart: below 8 us that is more than a bucket of 1.6 %. An interrupt, or the host, can
# come between the two; STRAYS limits the share of such I/Os.
SHARE, APART_NS, STRAYS = 0.03, 300, 0.04
CLOCKS_NS, TOOK_NS = 20000, 1000  # median difference of wall clock times; of latencies by two trace clocks
NAME = f"io-{os.getpid()}"  # a private copy of fio, in case others run fio
PROGRAM = None
common = ["--direct=1", "--randrepeat=0", "--overwrite=1"]
# Events that a load must cause.
SHOWS = {"backward": "block_bio_frontmerge", "merged": "block_bio_backmerge", "split": "block_split"}


def batches(n):
    return [f"--iodepth_batch_submit={n}", f"--iodepth_batch_complete_min={n}"]


# Name: (fio's arguments, MiB of the loop devices per job).
LOADS = {
    "random reads, depth 1": (["--rw=randread", "--bs=4k", "--ioengine=psync", "--io_size=8M"], 1),
    "random reads, depth 64": (["--rw=randread", "--bs=4k", "--ioengine=libaio", "--iodepth=64", "--io_size=12M"], 1),
    "random reads, 3 jobs of io_uring": (
        ["--rw=randread", "--bs=4k", "--ioengine=io_uring", "--iodepth=8", "--io_size=4M", "--numjobs=3"], 3),
    "sequential reads, merged": (
        ["--rw=read", "--bs=4k", "--ioengine=libaio", "--iodepth=64", *batches(16), "--io_size=12M"], 1),
    "backward reads, merged": (
        ["--rw=read:-8k", "--bs=4k", "--ioengine=libaio", "--iodepth=32", *batches(8), "--io_size=8M"], 1),
    "sequential writes, 2 jobs": (
        ["--rw=write", "--bs=8k", "--ioengine=libaio", "--iodepth=16", *batches(8), "--io_size=8M", "--numjobs=2"], 2),
    "mixed, split": (["--rw=randrw", "--bs=128k", "--ioengine=libaio", "--iodepth=8", "--io_size=32M"], 1),
    "mixed, depth 32, 2 jobs": (["--rw=randrw", "--bs=4k", "--ioengine=libaio", "--iodepth=32", "--io_size=8M", "--numjobs=2"], 2),
    "flushed writes": (["--rw=randwrite", "--bs=4k", "--ioengine=psync", "--fsync=4", "--io_size=2M"], 1),
    "flushed writes, 3 jobs": (["--rw=randwrite", "--bs=4k", "--ioengine=libaio", "--iodepth=4", "--fsync=8", "--io_size=1M", "--numjobs=3"], 3),
    "forced writes": (["--rw=randwrite", "--bs=4k", "--ioengine=psync", "--sync=dsync", "--io_size=1M"], 1),
    "discards": (["--rw=randtrim", "--bs=32k", "--ioengine=psync", "--io_size=16M"], 1),
    "discards, 3 jobs": (["--rw=randtrim", "--bs=32k", "--ioengine=psync", "--io_size=4M", "--numjobs=3"], 3),
}
AGAIN = "random reads, depth 1", "mixed, depth 32, 2 jobs", "flushed writes, 3 jobs"  # with ktop's default clock
SIZE = 48  # MiB of each disk


class Hist:
    """Histograms of several frames together, in the unit of their buckets."""

    def __init__(self, items):
        self.unit = items[0]["unit"] if items else "us"
        self.count = sum(h["count"] for h in items)
        self.sum = sum(h["sum"] for h in items if h["count"])
        self.max = max((h["max"] for h in items if h["count"]), default=0)
        self.buckets = collections.Counter()
        for h in items:
            assert sum(b[2] for b in h["buckets"]) == h["count"], "a bucket is missing"
            for low, high, n in h["buckets"]:
                self.buckets[low, high] += n

    def quantile(self, q):
        seen, want = 0, rank(self.count, q)
        for (low, high), n in sorted(self.buckets.items()):
            seen += n
            if seen >= want:
                return min((low + high) / 2, self.max)
        return float("nan")


def rank(count, q):
    return max(1, int(-(-count * q // 1)))  # nearest rank: ceil(q * n)


class Result:
    """Result of one load."""

    def __init__(self):
        self.wrong, self.values, self.hists, self.largest = [], 0, 0, 0

    def check(self, good, what):
        if not good:
            self.wrong.append(what)
        return good

    def same(self, what, ours, truth, alone):
        """ktop's histogram must equal the times (ns) or sizes of the same records, bucket by bucket, and their sum. Not alone: later I/Os of
        others are allowed."""
        scale = 1000 if ours.unit == "us" else 1
        have = collections.Counter({bucket(round(low * scale)): n for (low, high), n in ours.buckets.items()})
        want = collections.Counter(map(bucket, truth))
        missing, more = want - have, have - want
        self.check(not missing and not (alone and more), f"{what}: of {len(truth)} {sum(missing.values())} are missing, {sum(more.values())} extra: "
                   f"missing buckets {sorted(missing.items())[:3]}, extra {sorted(more.items())[:3]}")
        if alone and truth and not missing:
            self.check(abs(ours.sum * scale - sum(truth)) <= 1e-6 * sum(truth) + len(truth),
                       f"{what}: sum {ours.sum * scale:.0f}, expected {sum(truth)}")
            self.check(abs(ours.max * scale - max(truth)) <= 1, f"{what}: max {ours.max * scale:.0f}, expected {max(truth)}")
        self.values += len(truth)
        self.hists += 1

    def near(self, what, ours, truth):
        """The same against the second instance, whose timestamps differ slightly, and by far after an interrupt in between. With few such I/Os
        each quantile is still that of a near rank."""
        truth.sort()
        self.check(ours.count == len(truth), f"{what}: {ours.count}, second instance {len(truth)}")
        for q in QUANTILES if ours.count == len(truth) else ():
            at, reach = rank(len(truth), q) - 1, int(1 + STRAYS * len(truth))
            low, high = truth[max(0, at - reach)], truth[at + reach] if at + reach < len(truth) else float("inf")
            mine = ours.quantile(q) * 1000
            off = 0 if low <= mine <= high else abs(bucket(mine) - bucket(low if mine < low else high))
            self.check(off <= 1 or low * (1 - SHARE) - APART_NS <= mine <= high * (1 + SHARE) + APART_NS,
                       f"{what} p{q * 100:g} of {len(truth)}: {mine:.0f} ns, second instance {truth[at]} ({low} to {high})")
            self.largest = max(self.largest, abs(mine - truth[at]) / truth[at] if q == 0.5 and ours.count > 100 else 0)


KINDS = {"io_latency": ("request", lambda io: io.end - io.issue), "io_queue": ("request", lambda io: io.arrival and io.issue - io.arrival),
         "io_total": ("bio", lambda io: io.end - io.issue)}


def by_disk(ktop, name, number, ios):
    """Each histogram of the disk with its expected values: (what, histogram, values)."""
    for hist, (kind, value) in KINDS.items():
        groups = collections.defaultdict(list)
        for io in ios:
            if io.device == number and io.kind == kind and value(io) is not None:
                groups[io.key].append(value(io))
        for op in sorted({h["op"] for h in ktop.hists(hist, device=name)} | set(groups)):
            yield f"{name} {hist} {op}", Hist([h for h in ktop.hists(hist, device=name) if h["op"] == op]), groups[op]


def by_process(result, ktop, ios):
    """Latencies and I/O sizes of fio's processes over all disks."""
    groups, sizes = collections.defaultdict(list), collections.defaultdict(list)
    for io in ios:
        if io.kind == "request" and io.comm == NAME:
            groups[io.pid, io.key[0]].append(io.end - io.issue)
            sizes[io.key[0]].append(io.bytes)
    for (pid, op), truth in groups.items():
        result.same(f"process {pid} {op}", Hist(ktop.hists("io_latency_by_process", op, pid=pid, comm=NAME)), truth, True)
    pids = {pid for pid, _ in groups}
    ours = {h["pid"] for h in ktop.hists("io_latency_by_process", comm=NAME)}
    result.check(ours == pids, f"processes {ours}, expected {pids}")
    for op, truth in sizes.items():
        result.same(f"sizes of {op}", Hist(ktop.hists("io_size", op, comm=NAME)), truth, True)
    return pids


def one_by_one(result, ktop, disks, ios):
    """Each listed event must be an I/O of the records: disk, operation, sector, size, process, and times to 1 ns."""
    at, offset = collections.defaultdict(list), time.time() - time.monotonic()
    for io in ios:
        if io.kind == "request" and io.sector is not None:
            at[io.device, io.key[0], io.sector, io.bytes].append(io)
    seen = 0
    for e in (e for f in ktop.frames for e in f["events"] if e["device"] in disks and e["comm"] == NAME and e["op"][:2] != "FF"):
        op, end = "W" if e["op"][0] == "F" else e["op"][0], (e["end_s"] - offset) * 1e9
        found = min(at[disks[e["device"]], op, e["sector"], e["bytes"]], key=lambda io: abs(io.end - end), default=None)
        ok = found and e["pid"] == found.pid and abs(e["latency_us"] * 1000 - (found.end - found.issue)) <= 1
        ok = ok and (e["queue_us"] is None) == (found.arrival is None)
        ok = ok and (e["queue_us"] is None or found.merged or abs(e["queue_us"] * 1000 - (found.issue - found.arrival)) <= 1)
        result.check(ok, f"event {e}: the records have {found}")
        seen += 1
    return seen


def same_time(result, ktop, disks, truth):
    """Completion times (wall clock) and latencies of listed I/Os must match the second instance, with any trace clock."""
    at, offset = collections.defaultdict(list), time.time() - time.monotonic()
    for io in truth:
        if io.kind == "request" and io.sector is not None:
            at[io.device, io.sector, io.bytes].append(io)
    off, took = [], []
    for e in (e for f in ktop.frames for e in f["events"] if e["device"] in disks and e["comm"] == NAME and e["op"][:2] != "FF"):
        end = (e["end_s"] - offset) * 1e9
        found = min(at[disks[e["device"]], e["sector"], e["bytes"]], key=lambda io: abs(io.end - end), default=None)
        if result.check(found, f"event {e}: the second instance has none"):
            off.append(abs(found.end - end))
            took.append(abs(e["latency_us"] * 1000 - (found.end - found.issue)))
    off.sort(), took.sort()
    if not result.check(len(off) > 100, f"{len(off)} I/Os in the frames"):
        return ""
    result.check(off[len(off) // 2] < CLOCKS_NS, f"completion times differ by {off[len(off) // 2]:.0f} ns from the second instance")
    result.check(took[len(took) // 2] < TOOK_NS, f"latencies differ by {took[len(took) // 2]:.0f} ns from the second instance")
    return f"{len(off)} I/Os: completion times differ by {off[len(off) // 2]:.0f} ns, latencies by {took[len(took) // 2]:.0f} ns"


def once(disks, load, exact=True):
    """Runs the load with ktop stopped, so that the records of its instance can be read before ktop consumes them; a second instance verifies
    that none is missing. Not exact: with ktop's default clock, which may count cycles; then only the second instance is the reference."""
    result, second = Result(), Truth(disks.values())
    undo.append(second.remove)
    ktop = Ktop("--test", "buffer_kib=16384", *(("--test", "clock=mono") if exact else ()), delay=0.4)
    first = trace_of(ktop.process.pid)
    first.only(disks.values())
    ktop.process.send_signal(signal.SIGSTOP)
    os.waitpid(ktop.process.pid, os.WUNTRACED)
    begin = time.monotonic_ns()  # ktop may have consumed earlier records of one CPU and not of the other
    before = {n: diskstats(n) for n in disks}
    try:
        run(PROGRAM, *load)
        records, twice = first.ios(begin) if exact else ([], {})
    finally:
        ktop.process.send_signal(signal.SIGCONT)
    after = {n: diskstats(n) for n in disks}
    ktop.finish_counted({n: sum(after[n][:3]) - sum(before[n][:3]) for n in disks if n.startswith("loop")})
    truth, _ = second.finish()
    undo.pop(), undo.pop()
    ktop.frames = ktop.frames[1:]
    records = [io for io in records if not io.comm.startswith("ktop")]  # ktop excludes its own
    for name, number in disks.items():
        alone = name.startswith("loop")
        for what, ours, values in by_disk(ktop, name, number, records):
            # Bios of others that arrived before ktop was stopped are not in the records; for the load itself see one_by_one.
            if exact and (alone or "io_queue" not in what):
                result.same(what, ours, values, alone)
        for what, ours, values in by_disk(ktop, name, number, [io for io in truth if io.issue > begin]) if alone else ():
            result.near(what, ours, values)
        for i, op in enumerate("RWD") if alone else ():
            ours, theirs = ktop.count("io_latency", op, device=name), after[name][i] - before[name][i]
            if op == "W":  # the kernel counts a postflush as a write as well
                theirs -= ktop.count("io_total", "F", device=name)
            result.check(ours == theirs, f"{name} {op}: {ours}, diskstats {theirs}")
    pids = by_process(result, ktop, records) if exact else ()
    seen = one_by_one(result, ktop, disks, records) if exact else 0
    clocks = "" if exact else same_time(result, ktop, disks, truth)
    result.check(ktop.lost() == 0, f"{ktop.lost()} events lost")
    twice = sum(n for number, n in twice.items() if number.startswith("7:"))
    result.check(not twice, f"{twice} bios for sectors already in flight: unsuitable load")
    for line in result.wrong[:8]:
        print("     " + line[:600], flush=True)
    counts = ", ".join(f"{n} " + " ".join(f"{op} {ktop.count('io_latency', op, device=n)}" for op in "RWDF" if ktop.count("io_latency", op, device=n))
                       for n in disks)
    if not exact:
        return not result.wrong, None, f"{counts}; p50 within {result.largest * 100:.1f} % of the second instance's; {clocks}"
    kinds = "".join(f"{first.kinds[event]} {event}; " for event in OTHERS if first.kinds[event])
    return not result.wrong, first.kinds, (f"{counts}; {kinds}{len(pids)} processes; {result.values} values of {result.hists} histograms and {seen} "
                                           f"single I/Os match the records; p50 within {result.largest * 100:.1f} % of the second instance's")


def main():
    need("fio", "losetup")
    if not os.path.exists(TRACING + "/instances") and subprocess.run(["mount", "-t", "tracefs", "nodev", TRACING], capture_output=True).returncode:
        skip("tracefs cannot be mounted")
    work = tmpfs()
    global PROGRAM
    PROGRAM = shutil.copy(shutil.which("fio"), os.path.join(work, NAME))
    plain, splits = Loop(work, SIZE), Loop(work, SIZE)
    write(f"/sys/block/{splits.name}/queue/max_sectors_kb", "64")
    disks, files = {loop.name: loop.number for loop in (plain, splits)}, {loop.name: loop.path for loop in (plain, splits)}
    file = tempfile.NamedTemporaryFile(dir=os.environ.get("KTOP_TEST_DISK", "/var/tmp"), prefix="ktop-pairs-")
    undo.append(file.close)
    disk = disk_of(file.name)
    if disk:
        for _ in range(SIZE):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        disks[disk[0]], files[disk[0]] = disk[1], file.name
    else:
        print("note: /var/tmp is on no disk with request events: loop devices only")
    words = sys.argv[1:]
    for name, (arguments, jobs) in LOADS.items():
        if words and not any(word in name for word in words):
            continue
        used = {n: f for n, f in files.items() if f.startswith("/dev/") or "discards" not in name}
        each = SIZE // jobs
        load = [*common, *arguments, f"--size={each}M", f"--offset_increment={each}M",
                *[a for n, f in used.items() for a in (f"--name={n}", f"--filename={f}")]]
        ok, kinds, what = once({n: disks[n] for n in used}, load)
        check(ok, f"{name}: {what}")
        if name in AGAIN:
            again, _, what = once({n: disks[n] for n in used}, load, exact=False)
            check(again, f"{name}, with ktop's own clock: {what}")
        for word, event in SHOWS.items():
            if word in name:
                check(kinds[event], f"{name}: {kinds[event]} {event}")
                break


ending(main)
