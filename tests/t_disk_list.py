#!/usr/bin/env python3
# needs: root, fio, loop devices, FUSE, cc (loud, brief: slow); under a high I/O rate the list has the slow I/Os, and those of small processes, other operations and devices
"""One device is read at full rate; beside it 20 reads of 20 ms from a second, 50 reads of a small process from a third, 50 from the first,
and 10 discards there, all early in a frame. Each filter must find exactly these I/Os."""
import fcntl, struct

from disks import *

BLKDISCARD = 0x1277
SLOW_MS = 20


def dd(disk, count):
    """A small process named dd."""
    run("dd", f"if={disk.path}", "of=/dev/null", "bs=4k", f"count={count}", "iflag=direct")


def discard(disk, count):
    with open(disk.path, "rb+", buffering=0) as f:
        for i in range(count):
            fcntl.ioctl(f, BLKDISCARD, struct.pack("QQ", i << 16, 4096))


def flood(disk):
    process = subprocess.Popen(["fio", "--direct=1", "--bs=4k", "--rw=randread", "--size=32M", "--norandommap", "--ioengine=libaio",
                                "--iodepth=32", "--time_based", "--runtime=100", "--name=load", f"--filename={disk.path}"],
                               stdout=subprocess.DEVNULL)
    undo.append(lambda: (process.terminate(), process.wait()))
    before = diskstats(disk.name)[0]
    while diskstats(disk.name)[0] < before + 10000:
        time.sleep(0.05)
    return process


def blind(frames):
    """Whether buffers, which start small, were resized: the kernel records nothing meanwhile."""
    return any("enlarged" in n["text"] for f in frames for n in f["notes"])


def listed(what, wanted, text, act):
    """Runs the action early in a frame and checks the filtered list of all frames; returns the number of I/Os left out."""
    for _ in range(5):
        ktop = Ktop("--filter", text, delay=1)
        while blind([ktop.frame()]):
            pass
        first = len(ktop.frames)
        act()
        ktop.finish(1.2)
        if not blind(ktop.frames[first:]):
            break
    events = [e for f in ktop.frames[first:] for e in f["events"]]
    left_out, kept = sum(f["events_left_out"] for f in ktop.frames), {}
    for e in events:
        kept[e["kept"]] = kept.get(e["kept"], 0) + 1
    check(len(events) == wanted and ktop.lost() == 0, f"{what}: {text} lists {len(events)} of {wanted}, {kept}; {left_out} I/Os left out")
    ends = [[e["end_s"] for e in f["events"]] for f in ktop.frames]
    check(all(e == sorted(e, reverse=True) for e in ends) and len({(e["end_s"], e["sector"], e["device"]) for e in events}) == len(events),
          f"{what}: in time order, each once")
    return left_out


def whole(disk):
    """Without a filter: listed and left out are all I/Os."""
    ktop = Ktop(delay=1)
    while blind([ktop.frame()]):
        pass
    ktop.finish(2)
    for f in ktop.frames[-2:]:
        counted = sum(h["count"] for h in f["histograms"]["io_latency"])
        aside = [e for e in f["events"] if e["kept"]]
        check(len(f["events"]) + f["events_left_out"] == counted, f"{len(f['events'])} listed and {f['events_left_out']} left out of {counted}")
        slowest = sorted((e["latency_us"] for e in f["events"] if e["device"] == disk.name and e["op"][0] == "R"), reverse=True)
        most = max(h["max"] for h in f["histograms"]["io_latency"] if h["device"] == disk.name)
        if len(f["events"]) - len(aside) > 2048:  # two intervals in one: late collector
            continue
        # The slowest in the list are the largest in the histogram. I/Os of other disks take list entries too.
        floor = slowest[30]
        above = sum(n for h in f["histograms"]["io_latency"] if h["device"] == disk.name for low, high, n in h["buckets"] if low > floor)
        check(abs(slowest[0] - most) < 0.01 and 0 < len(aside) <= 1024 and above <= 31,
              f"the slowest at full rate took {slowest[0]:.0f} us, {most:.0f} in the histogram; {above} above the 31st, {len(aside)} beside the newest")


def main():
    need("fio", "losetup", "cc", "dd")
    work = tmpfs()
    big, small, slow = Loop(work, 32), Loop(work, 8), slow_disk(work, SLOW_MS * 1000, "--direct-io=on")
    flood(big)
    before, begun = diskstats(big.name)[0], time.time()
    whole(big)
    left_out = listed("slow ones", 20, f"latency_us>{SLOW_MS * 500} device={slow.name}", lambda: dd(slow, 20))
    rate = (diskstats(big.name)[0] - before) / (time.time() - begun)
    check(left_out > 10000 and rate > 10000, f"full rate: {rate:.0f} reads/s")
    if "slow" in sys.argv[1:]:
        return
    listed("another device", 50, f"device={small.name}", lambda: dd(small, 50))
    listed("a small process", 50, f"comm=dd device={big.name}", lambda: dd(big, 50))
    listed("another operation", 10, f"op=D device={big.name}", lambda: discard(big, 10))


ending(main)
