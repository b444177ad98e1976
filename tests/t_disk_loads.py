#!/usr/bin/env python3
# needs: root, fio, loop devices (loud, brief: loads); every I/O of all kinds of loads is counted, also a million; waits per process; hotplug, filters, lost events, and a reader that cannot keep up
"""Arguments choose: t_disk_loads.py [loads] [million] [hotplug] [filter] [waits] [lost] [zram]."""
import fcntl, json, os, signal, subprocess, sys, time

from disks import *

WITHOUT = "block_io_start is off"


def exact(ktop, loop, before, after, what):
    """ktop's counts against the kernel's own counters, by operation."""
    for op, i in (("R", 0), ("W", 1), ("D", 2)):
        ours, theirs = ktop.count("io_latency", op, device=loop.name), after[i] - before[i]
        if op == "W":  # the kernel counts a postflush as a write as well
            theirs -= ktop.count("io_total", "F", device=loop.name)
        check(ours == theirs, f"{what}: {op} {ours}, diskstats {theirs}")
        total = ktop.count("io_total", op, device=loop.name)
        if theirs:
            check(total >= theirs * 0.999, f"{what}: {op} waits of {total} bios")


def settled(frame):
    """No request is queued but a few of other disks, which the series includes. Those go within some frames; a leaked one stays until ktop
    drops it."""
    queued = frame["series"].get("block_queued")
    return queued is None or queued < 20


def ratio(ktop, loop, op):
    rows = [r for r in ktop.rows("by_process", device=loop.name, op=op) if r["sequential_pct"] is not None]
    return sum(r["sequential_pct"] for r in rows) / max(1, len(rows))


def loads(work):
    loops = [Loop(work, 32), Loop(work, 32)]
    common = ["--direct=1", "--bs=4k", "--size=32M", "--norandommap", "--randrepeat=0"]
    cases = {
        "random, depth 32": ["--rw=randread", "--ioengine=libaio", "--iodepth=32", "--io_size=40M"],
        "sequential, depth 64": ["--rw=read", "--ioengine=libaio", "--iodepth=64", "--io_size=32M"],
        "mixed, 3 jobs": ["--rw=randrw", "--ioengine=libaio", "--iodepth=8", "--numjobs=3", "--io_size=8M"],
        "fsync-heavy": ["--rw=randwrite", "--ioengine=psync", "--fsync=4", "--io_size=8M"],
        "discards": ["--rw=randtrim", "--ioengine=psync", "--io_size=4M"],
    }
    for what, arguments in cases.items():
        ktop = Ktop()
        before = [diskstats(loop.name) for loop in loops]
        fio(*common, *arguments, *[a for loop in loops for a in (f"--name={loop.name}", f"--filename={loop.path}")])
        after, ended = [diskstats(loop.name) for loop in loops], time.time()
        ktop.finish_counted({loop.name: sum(after[i][:3]) - sum(before[i][:3]) for i, loop in enumerate(loops)}, settled)
        for i, loop in enumerate(loops):
            exact(ktop, loop, before[i], after[i], f"{what} on {loop.name}")
            if what.startswith("fsync"):
                flushes, theirs = ktop.count("io_total", "F", device=loop.name), after[i][3] - before[i][3]
                check(flushes > 0 or not theirs, f"{what}: {flushes} flushes in io_total, diskstats {theirs}")
        check(ktop.lost() == 0, f"{what}: nothing lost")
        if what.startswith(("random", "sequential")):
            share = ratio(ktop, loops[0], "R")
            check(share > 95 if what.startswith("seq") else share < 20, f"{what}: {share:.1f} % sequential")
            parts = {b[0] for h in ktop.hists("io_offset", "R", device=loops[0].name) for b in h["buckets"]}
            check(len(parts) == 64, f"{what}: I/Os in {len(parts)} of 64 parts of the disk")
        check(any(settled(f) for f in ktop.frames if frame_time(f) > ended),
              f"{what}: {ktop.frames[-1]['series'].get('block_queued')} requests left in the queue")
    for loop in loops:
        loop.detach()


def million(work):
    loop = Loop(work, 32)
    ktop = Ktop()
    before, begin = diskstats(loop.name), time.monotonic()
    fio("--direct=1", "--bs=4k", "--size=32M", "--norandommap", "--rw=randread", "--ioengine=libaio", "--iodepth=32",
        f"--io_size={1000000 * 4096}", "--name=million", f"--filename={loop.path}")
    after, took = diskstats(loop.name), time.monotonic() - begin
    ktop.finish_counted({loop.name: sum(after[:3]) - sum(before[:3])}, lambda frame: WITHOUT not in str(frame["notes"]))
    # 1.5 times HIGH_RATE_ON, on a kernel that has the event.
    if took < 1000000 / 80000 and "no block_io_start event" not in ktop.notes():
        without = [WITHOUT in str(frame["notes"]) for frame in ktop.frames]
        check(any(without) and not without[-1], f"a million in {took:.1f} s: block_io_start is off in {sum(without)} frames, and on again")
    exact(ktop, loop, before, after, "a million")
    check(after[0] - before[0] >= 1000000 and ktop.lost() == 0, f"a million: lost {ktop.lost()}")
    seen = sum(h["count"] for h in ktop.hists("io_latency_by_process", "R") if h["comm"] == "fio")
    check(seen >= 1000000, f"a million: {seen} of them are fio's")
    loop.detach()


def zram(_):
    """A disk without requests: only its bios are traced."""
    sizes = "/sys/block/zram0/disksize"
    if not os.path.exists(sizes) or read(sizes).strip() != "0":
        skip_part("zram: no free zram0")
        return
    undo.append(lambda: write("/sys/block/zram0/reset", "1"))
    write(sizes, "16M")
    ktop = Ktop()
    before = diskstats("zram0")
    jobs = fio("--direct=1", "--bs=16k", "--size=16M", "--rw=randrw", "--ioengine=psync", "--io_size=16M", "--name=zram",
               "--filename=/dev/zram0")
    after = diskstats("zram0")
    ktop.finish()
    for op, i in (("R", 0), ("W", 1)):
        ours, theirs = ktop.count("io_total", op, device="zram0"), after[i] - before[i]
        check(ours == theirs and theirs, f"zram: {op} {ours} in io_total, diskstats {theirs}")
    fios = jobs[0]["read"]["lat_ns"]["mean"] / 1000
    check(ktop.mean("io_total", "R", device="zram0") < fios + 1, f"zram: {ktop.mean('io_total', 'R', device='zram0'):.2f} us, fio {fios:.2f}")
    check(ktop.rows("by_process", device="zram0", comm="fio") and any(e["device"] == "zram0" for f in ktop.frames for e in f["events"]),
          "zram: by process and I/O by I/O")
    write("/sys/block/zram0/reset", "1")


def hotplug(work):
    """A disk created and removed while ktop runs; I/O before and after."""
    ktop = Ktop(delay=0.3)
    control = os.open("/dev/loop-control", os.O_RDWR)
    number = fcntl.ioctl(control, 0x4C80, 200 + os.getpid() % 700)  # LOOP_CTL_ADD
    path, name = f"/dev/loop{number}", f"loop{number}"
    file = os.path.join(work, "plug")
    write(file, "x" * (4 << 20))
    made = not os.path.exists(path)
    if made:
        os.mknod(path, 0o600 | 0o060000, os.makedev(7, int(read(f"/sys/block/{name}/dev").split(":")[1])))
    undo.append(lambda: made and os.path.exists(path) and os.unlink(path))
    for _ in range(3):
        run("losetup", path, file)
        fio("--direct=1", "--bs=4k", "--size=4M", "--rw=randread", "--ioengine=psync", "--name=plug", f"--filename={path}")
        run("losetup", "-d", path)
    ktop.frame()
    present = any(r["device"] == name for r in ktop.frames[-1]["tables"]["devices"])
    for _ in range(50):
        try:
            fcntl.ioctl(control, 0x4C81, number)  # LOOP_CTL_REMOVE
            break
        except OSError:
            time.sleep(0.1)
    os.close(control)
    ktop.finish(0.7)
    check(ktop.process.returncode in (0, -signal.SIGTERM, 143), f"ktop survives (exit status {ktop.process.returncode})")
    check(ktop.count("io_latency", "R", device=name) >= 3 * 1024, f"{ktop.count('io_latency', 'R', device=name)} reads of {name}, by its name")
    check(not [r for r in ktop.frames[-1]["tables"]["devices"] if r["device"] == name], f"{name} is gone (it was {'there' if present else 'not there'})")


def filters(work):
    loop = Loop(work, 16)
    load = ["fio", "--direct=1", "--bs=4k", "--size=16M", "--rw=randread", "--ioengine=psync", "--time_based", "--runtime=2", "--thread"]
    one = subprocess.Popen([*load, "--name=one", f"--filename={loop.path}", "--rate_iops=300"], stdout=subprocess.DEVNULL)
    two = subprocess.Popen([*load, "--name=two", f"--filename={loop.path}", "--rate_iops=300"], stdout=subprocess.DEVNULL)
    ktop = Ktop("-p", str(one.pid))
    one.wait()
    two.wait()
    ktop.finish()
    pids = {r["pid"] for r in ktop.rows("by_process", device=loop.name)}
    check(pids == {one.pid}, f"-p: only that process, its threads counted for it ({pids})")
    check({e["pid"] for f in ktop.frames for e in f["events"]} == {one.pid}, "-p: only its events")
    mine, all_ = ktop.count("io_latency_by_process", "R", pid=one.pid), ktop.count("io_latency", "R", device=loop.name)
    check(mine and all_ > 1.5 * mine, f"-p: {mine} in the histogram by process, the device has all {all_}")
    loop.detach()


def waits(work):
    """Waits by process and by cgroup equal those by disk, and are most of what fio waits for its I/Os."""
    loop = Loop(work, 16)
    load = ["fio", "--direct=1", "--bs=4k", "--size=16M", "--time_based", "--runtime=2", "--thread",
            f"--filename={loop.path}", "--output-format=json"]
    loads = {"many": ["--rw=randread", "--ioengine=libaio", "--iodepth=16", "--rate_iops=2000"],
             "large": ["--rw=write", "--bs=64k", "--ioengine=libaio", "--iodepth=8", "--rate=40m"]}
    ktop = Ktop()
    running = [subprocess.Popen([*load, f"--name={name}", *more], stdout=subprocess.PIPE, text=True) for name, more in loads.items()]
    out = [p.communicate()[0] for p in running]
    ktop.finish(0.6)
    for process, text, op, direction in zip(running, out, "RW", ("read", "write")):
        job = json.loads(text[text.index("{"):])["jobs"][0][direction]
        fios = job["lat_ns"]["mean"] * job["total_ios"] / 1000
        waited = sum(r["total_us_per_s"] * seconds(f) for f in ktop.frames for r in f["tables"]["by_process"]
                     if r["device"] == loop.name and r["pid"] == process.pid and r["op"] == op)
        # Over all disks: page-ins of fio itself are included.
        elsewhere = sum(r["total_us_per_s"] * seconds(f) for f in ktop.frames for r in f["tables"]["by_process"]
                        if r["device"] != loop.name and r["pid"] == process.pid and r["op"] == op)
        sums = sum(h["sum"] for h in ktop.hists("io_total_by_process", op, pid=process.pid)) - elsewhere
        check(0.2 * fios < waited < 1.02 * fios, f"waits: {op} {waited:.0f} us in all, fio {fios:.0f}")
        check(abs(sums - waited) < 0.02 * waited + 10, f"waits: {op} the histogram has {sums:.0f} us")
    for what in "latency", "queue", "total":
        for op in "RW":
            whole = ktop.count(f"io_{what}", op)
            parts = {by: ktop.count(f"io_{what}_by_{by}", op) for by in ("process", "cgroup")}
            check(whole and set(parts.values()) == {whole}, f"waits: io_{what} {op} {whole}, {parts}")
    groups = {r["cgroup"] for r in ktop.rows("by_process", device=loop.name, comm="fio")}
    listed = {e["cgroup"] for f in ktop.frames for e in f["events"] if e["device"] == loop.name and e["comm"] == "fio"}
    check(listed and listed <= groups, f"waits: listed {listed}, by process {groups}")
    loop.detach()


def lost(work):
    """A stopped ktop loses events and reports it; with a permanently small buffer it steps down."""
    loop = Loop(work, 32)
    load = ["--direct=1", "--bs=4k", "--size=32M", "--norandommap", "--rw=randread", "--ioengine=libaio", "--iodepth=32", "--name=lost",
            f"--filename={loop.path}", "--time_based"]
    small = ("--test", "buffer_kib=64")
    ktop = Ktop(*small, delay=0.3)
    before = diskstats(loop.name)
    ktop.process.send_signal(signal.SIGSTOP)
    fio(*load, "--runtime=1")
    ktop.process.send_signal(signal.SIGCONT)
    after = diskstats(loop.name)
    ktop.finish(1)
    ours, theirs = ktop.count("io_latency", "R", device=loop.name), after[0] - before[0]
    check(ktop.lost() > 0 and "lost" in ktop.notes(), f"stopped: {ktop.lost()} events lost, and a note")
    check(ours < theirs <= ours + ktop.lost(), f"stopped: {ours} of {theirs} counted, missing at most the lost events")
    check(max((h["max"] for h in ktop.hists("io_latency", device=loop.name)), default=0) < 3e6, "stopped: no false latency")
    ktop = Ktop("--test", "buffer_kib=8", delay=0.2)
    fio(*load, "--runtime=4")
    ktop.finish(0.2)
    notes = ktop.notes()
    check("only requests are followed" in notes and "only counted" in notes, "small buffer: notes for requests only, then counts only")
    check(ktop.lost() > 0, f"small buffer: lost {ktop.lost()}")
    ktop = Ktop(*small, delay=0.1)
    fio(*load, "--runtime=2")
    down = None
    for _ in range(250):
        frame = ktop.frame()
        degraded = any("only requests are followed" in n["text"] or "only counted" in n["text"] for n in frame["notes"])
        down = down or (degraded and len(ktop.frames))
        if down and not degraded and frame_time(frame) > time.time() - 0.3:
            break
    check(down and not degraded, f"stepped down at frame {down}, full again at frame {len(ktop.frames)}")
    ktop.stop()
    loop.detach()


def main():
    need("fio", "losetup")
    work = tmpfs()
    parts = {"loads": loads, "million": million, "hotplug": hotplug, "filter": filters, "waits": waits, "lost": lost, "zram": zram}
    for name in sys.argv[1:] or parts:
        parts[name](work)


ending(main)
