#!/usr/bin/env python3
# needs: root, cc, FUSE, a cpu cgroup (loud, brief: counts); CPU time as in /proc/stat, exact switches and wakeups of a known ping-pong, latencies equal to a second trace instance's, correct causes of stuck threads
"""Compares the sched pane with known loads and independent sources.

busy      BUSY% of every CPU against /proc/stat, on a machine that is partly idle, with a periodic load on one CPU
counts    a ping-pong over two pipes: switches equal /proc/PID/status, wakeups equal the number of sleeps
text      run-queue latency (from sched_waking) and off-CPU time against values computed event by event from the text of a
          second trace instance over the same seconds, which also records sched_wakeup
runqlat   the same power-of-two buckets as runqlat, if that is installed and runs
stuck     threads that wait for a slow FUSE file (in D), a file lock, a mutex, a pipe, a vfork child, their cgroup's
          CPU limit, and a real-time hog: each has the correct cause
crowd     a thread in D, while 100 threads per CPU are runnable
sampled   the notes when only time slices are recorded
Arguments select parts: t_sched.py [busy] [counts] [text] [runqlat] [stuck] [crowd] [sampled].
"""
import os, re, shutil, signal, subprocess, sys, tempfile, time

import tracing
from buckets import bucket, merged, quantile
from ktop import HERE, Batch, check, failed, frame_time, tries
from sched_text import Text

undo = []  # cleanup functions, called in reverse order at exit, also after a failure


def read(path):
    with open(path, errors="replace") as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def start(*command, **options):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)

    def end():
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
    undo.append(end)
    process.end = end
    return process


class Ktop(Batch):
    gaps = []  # one text per frame in which ktop itself reports missing events

    def __init__(self, delay=0.5, *arguments, **options):
        super().__init__("sched", *arguments, delay=delay, stderr=subprocess.DEVNULL, **options)
        self.process = self.p
        undo.append(self.end)
        self.frame()

    def frame(self):
        frame = super().frame()
        recorded = frame["series"]["sched_sampled_pct"]
        if frame["lost_events"] or (recorded is not None and recorded < 100) or any("enlarged" in n["text"] for n in frame["notes"]):
            Ktop.gaps.append(f"{frame['lost_events']} events lost, {recorded} % recorded")
        for note in frame["notes"]:
            if note["text"].startswith("no scheduler events"):
                tracing.skip(note["text"])
        return frame

    def until(self, what, found, frames=30):
        """Reads frames until found(frame) is true, and returns its value."""
        for _ in range(frames):
            result = found(self.frame())
            if result:
                return result
        check(False, f"{what}: not within {frames} frames; the last has stuck {self.frames[-1]['tables']['stuck']}")
        return None

    def task(self, tid):
        rows = [r for f in self.frames[-1:] for r in f["tables"]["tasks"] if r["tid"] == tid]
        return rows[0] if rows else None

    def lost(self):
        return sum(f["lost_events"] for f in self.frames)


def load(*arguments):
    process = start(LOAD, *map(str, arguments))
    process.pids = list(map(int, process.stdout.readline().split()))
    return process


def switches_of(pid):
    text = read(f"/proc/{pid}/status")
    return tuple(int(re.search(rf"^{kind}_ctxt_switches:\s*(\d+)", text, re.M).group(1)) for kind in ("voluntary", "nonvoluntary"))


# ---- busy ----

def ticks():
    """(busy, all) ticks since boot, by CPU."""
    out = {}
    for name, *values in (line.split() for line in read("/proc/stat").splitlines()):
        if re.fullmatch(r"cpu\d+", name):
            times = list(map(int, values[:8]))
            out[int(name[3:])] = sum(times) - times[3] - times[4], sum(times)
    return out


def busy():
    """Some kernels omit switches while a CPU is idle: ktop must report that time as unknown, and the rest must be correct."""
    start(sys.executable, "-c", f"import os, time\nos.sched_setaffinity(0, {{{os.cpu_count() - 1}}})\nwhile True:\n end = time.monotonic() + 0.3\n"
          " while time.monotonic() < end: pass\n time.sleep(0.45)")
    ktop = Ktop(0.5)
    before, sums = ticks(), {}
    for _ in range(16):
        rows, after = ktop.frame()["tables"]["cpus"], ticks()
        for row in rows:
            cpu = row["cpu"]
            if cpu in before and row["busy_pct"] is not None:
                share = 100 * (after[cpu][0] - before[cpu][0]) / max(1, after[cpu][1] - before[cpu][1])
                sums.setdefault(cpu, []).append((row["busy_pct"], share, row["unknown_pct"]))
        before = after
    for cpu, all_of in sorted(sums.items()):
        ours, truth, unknown = (sum(values) / len(all_of) for values in zip(*all_of))
        check(abs(ours - truth) <= 2 + unknown, f"busy: CPU {cpu}: {ours:.1f} % on average over {len(all_of)} frames, /proc/stat: {truth:.1f} %; "
              f"{unknown:.1f} % unknown")
        check(unknown < 20 and len(all_of) > 8, f"busy: CPU {cpu}: less than 20 % unknown")
    check(len(sums) == len(before), f"busy: {len(sums)} of {len(before)} CPUs")


# ---- counts ----

def counts():
    rounds = 20000
    ktop = Ktop(0.3)
    ktop.frame()
    for cpu in (0, -1):
        ping, pong = pids = load("pingpong", rounds, cpu).pids
        time.sleep(0.05)  # both are waiting by now
        truth = {pid: switches_of(pid) for pid in pids}
        rows = ktop.until("ping-pong", lambda frame: (lambda found: found if len(found) == 2 and all(
            r["state"] == "S" and r["switches_per_s"] == 0 for r in found.values()) else None)(
            {r["tid"]: r for r in frame["tables"]["tasks"] if r["tid"] in pids}))
        if not rows:
            return
        for pid, name in ((ping, "ping"), (pong, "pong")):
            voluntary, other = truth[pid]
            row = rows[pid]
            # One wakeup ended each sleep but the last; one more started the task. On two CPUs a wakeup may arrive while the
            # other task is still going to sleep, which then is no sleep.
            wakeups = voluntary - 1 + 1
            slack = 0 if cpu == 0 else max(20, wakeups // 20)
            check(row["switches"] == voluntary + other,
                  f"counts: {name} on CPU {cpu}: {row['switches']} switches, /proc/PID/status: {voluntary} + {other}")
            check(abs(row["wakeups"] - wakeups) <= slack,
                  f"counts: {name} on CPU {cpu}: {row['wakeups']} wakeups, {wakeups} expected")
            check(row["comm"] == name and row["pid"] == pid, f"counts: {name} is {row['comm']} ({row['pid']})")
        check(rows[pong]["waker"] == f"ping ({ping})", f"counts: pong was woken by {rows[pong]['waker']}")
        ktop.until("where ping waits", lambda frame: "pause" in ((ktop.task(ping) or {}).get("blocked_in") or ""))
        rows[ping] = ktop.task(ping)
        check("pause" in (rows[ping]["blocked_in"] or ""), f"counts: ping waits in {rows[ping]['blocked_in']} ({rows[ping]['syscall']})")
        for frame in ktop.frames[-2:]:
            off = next(r for r in frame["tables"]["tasks"] if r["tid"] == ping)
        check(abs(off["off_cpu_us_per_s"] - 1e6) < 1 and off["on_cpu_us_per_s"] == 0,
              f"counts: asleep for the whole interval, off-CPU time is {off['off_cpu_us_per_s']} us/s")
    check(ktop.lost() == 0, f"counts: {ktop.lost()} events lost")
    ktop.end()
    only_one()


def only_one():
    """With --pid only the events of one process are recorded; its waker is still known, and each of its sleeps has one wakeup."""
    pingpong = start(LOAD, "pingpong", "1000000", "-1")
    ktop = Ktop(0.3, "--pid", str(pingpong.pid))
    if not ktop.until("ping alone", lambda frame: ktop.task(pingpong.pid), 60):  # the previous ktop's instance may still exist
        return
    seen = [(frame["interval_s"], row) for frame, row in ((ktop.frame(), ktop.task(pingpong.pid)) for _ in range(6)) if row]
    (_, first), row = seen[0], seen[-1][1]
    # Both from totals, because a frame with a late collector repeats the rates of the previous frame.
    sleeps = row["switches"] - first["switches"] - sum(seconds * row["involuntary_per_s"] for seconds, row in seen[1:])
    wakeups = row["wakeups"] - first["wakeups"]
    # A task that is woken while it is going to sleep may not have slept.
    check(sleeps > 1000 and abs(wakeups - sleeps) <= max(20, sleeps // 20), f"counts: with --pid: {sleeps:.0f} sleeps, {wakeups} wakeups")
    check((row["waker"] or "").endswith(")") and row["waker"] != f"ping ({pingpong.pid})", f"counts: with --pid: woken by {row['waker']}")
    ktop.end()
    pingpong.end()


# ---- text ----

def compare(what, hists, truth, seconds):
    """Checks that each quantile is within one bucket of the reference, or within 1.5 us where a bucket is narrower than the
    difference between two recordings of one event."""
    ours, lengths = merged(hists), sorted(truth)
    count = sum(n for _, n in ours)
    # Frame edges are known only to a few milliseconds, and the event rate differs between the edges.
    check(abs(count - len(lengths)) <= 4 + 0.06 * len(lengths) / seconds, f"text: {what}: {count} waits, {len(lengths)} in the text")
    if count < 100:
        return
    bad = []
    for q in (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99):
        mine = quantile(ours, q) * 1000
        # Between two modes one wait more or less moves the quantile, so neighbouring ranks are accepted too.
        rank, spread = int(max(1, -(-len(lengths) * q // 1))) - 1, 3 + len(lengths) // 300
        near = lengths[max(0, rank - spread):rank + spread + 1]
        off = min(min(abs(bucket(mine) - bucket(t)) for t in near), 0 if near[0] <= mine <= near[-1] else 1 << 30)
        if off > 1 and min(abs(mine - t) for t in near) > 1500:
            bad.append(f"p{100 * q:g} {mine / 1000:.1f} us, in the text {lengths[rank] / 1000:.1f}")
    check(not bad, f"text: {what}: quantiles within one bucket of the text's" + "".join("; " + b for b in bad))


def frame_ns(frame):
    return round(frame_time(frame) * 1000) * 10**6  # JSON times are in milliseconds


def powers(lengths_us):
    """Counts by power of two of microseconds, as runqlat prints them."""
    out = {}
    for us, n in lengths_us:
        out[max(1, int(us)).bit_length() - 1] = out.get(max(1, int(us)).bit_length() - 1, 0) + n
    return out


def text():
    trace = tracing.Tracefs()
    undo.append(trace.close)
    ktop = Ktop(0.5)
    ktop.frame()
    truth = Text(trace, Ktop.gaps)
    undo.append(truth.remove)
    # Frame edges are known only to a few milliseconds, and the loads are most active at first: start them well inside the trace.
    ktop.frame()
    ktop.frame()
    burners = [load("burn", cpu, 0) for cpu in range(os.cpu_count())]
    loads = [start(LOAD, "pingpong", "25000", str(cpu)) for cpu in (0, -1)]
    sleepers = start("sh", "-c", "while :; do sleep 0.003; done")
    begin = len(ktop.frames)
    while len(ktop.frames) < begin + 7:
        ktop.frame()
    now = time.time_ns()
    for process in burners + loads + [sleepers]:
        process.end()
    while frame_ns(ktop.frames[-1]) < now:
        ktop.frame()
    events = truth.end()
    ktop.end()
    if not events:
        check(False, "text: the second instance lost its marks")
        return
    # Whole frames within the text; a frame ends 5 ms before its timestamp.
    settle = 5 * 10**6
    inside = [i for i in range(1, len(ktop.frames)) if frame_ns(ktop.frames[i - 1]) - settle > events[0][0] + 10**8
              and frame_ns(ktop.frames[i]) < events[-1][0]]
    frames = [ktop.frames[i] for i in inside]
    edges = frame_ns(ktop.frames[inside[0] - 1]) - settle, frame_ns(frames[-1]) - settle
    seconds = (edges[1] - edges[0]) / 1e9
    queue, kinds = Text.waits(events)
    within = lambda waits: [length for at, length in waits if edges[0] < at <= edges[1]]
    compare(f"run_queue_latency over {len(frames)} frames", [h for f in frames for h in f["histograms"]["run_queue_latency"]], within(queue), seconds)
    for kind in ("sleep", "preempted"):
        compare(f"off_cpu {kind}", [h for f in frames for h in f["histograms"]["off_cpu"] if h["kind"] == kind], within(kinds[kind]), seconds)
    by_process = sum(h["count"] for f in frames for h in f["histograms"]["run_queue_by_process"])
    by_cpu = sum(h["count"] for f in frames for h in f["histograms"]["run_queue_latency"])
    check(by_process == by_cpu, f"text: {by_process} waits by thread, {by_cpu} by CPU")
    check(ktop.lost() == 0, f"text: {ktop.lost()} events lost")


def runqlat():
    """Three loops share a CPU, so each waits for some milliseconds during the whole run: different start and end times of the two tools
    do not matter. Waits of some microseconds are excluded: runqlat counts from sched_wakeup, ktop a microsecond earlier from sched_waking, and
    such waits vary with other load."""
    if not shutil.which("runqlat"):
        print("     runqlat is not installed: not compared", flush=True)
        return
    loads = [load("burn", 0, 0) for _ in range(3)]
    ktop = Ktop(0.5)
    ktop.frame()
    begin = len(ktop.frames)
    peer = start("runqlat", "3", "1", stderr=subprocess.DEVNULL)
    out, now = peer.stdout.read(), time.time_ns()
    while frame_ns(ktop.frames[-1]) < now:
        ktop.frame()
    for process in loads + [ktop]:
        process.end()
    hists = [h for f in ktop.frames[begin:] for h in f["histograms"]["run_queue_latency"]]
    ours = {k: n for k, n in powers((low, n) for h in hists for low, _, n in h["buckets"]).items() if k >= 10}
    theirs = {int(low).bit_length() - 1: int(n) for low, n in re.findall(r"^\s*(\d+) -> \d+\s*: (\d+)", out, re.M) if int(low) >= 1024}
    total, their_total = sum(ours.values()), sum(theirs.values())
    if not their_total:
        print("     runqlat does not run here: not compared", flush=True)
        return
    text = ", ".join(f"{1 << k} us {100 * ours.get(k, 0) / total:.0f}/{100 * theirs.get(k, 0) / their_total:.0f}" for k in sorted(set(ours) | set(theirs)))
    both = sum(min(ours.get(k, 0) / total, theirs.get(k, 0) / their_total) for k in ours)
    check(total > 200 and both > 0.8, f"runqlat: {100 * both:.0f} % of {total} and {their_total} waits are in the same powers of two (ours/theirs, %): {text}")


# ---- stuck ----

def cpu_group():
    """Creates a cgroup with a limit of 10 % of a CPU; returns its path, or None."""
    for base, v1 in (("/sys/fs/cgroup/cpu", True), ("/sys/fs/cgroup", False), ("/sys/fs/cgroup/unified", False)):
        path = f"{base}/ktop-test-{os.getpid()}"
        try:
            os.mkdir(path)
        except OSError:
            continue
        undo.append(lambda: os.rmdir(path))
        try:
            if v1:
                write(f"{path}/cpu.cfs_period_us", "100000")
                write(f"{path}/cpu.cfs_quota_us", "10000")
            else:
                write(f"{path}/cpu.max", "10000 100000")
            return path
        except OSError:
            undo.pop()()
    return None


def slow_file(work, seconds=8):
    """Mounts a FUSE file whose reads take that many seconds; returns its path and the server's PID, or None, None."""
    program, mount = f"{work}/slowfuse", f"{work}/mnt"
    subprocess.run(["cc", "-O2", "-o", program, f"{HERE}/slowfuse.c", "-lpthread"], check=True)
    if not os.path.exists("/dev/fuse"):
        return None, None
    os.mkdir(mount)
    server = subprocess.Popen([program, mount, "8", f"{seconds}000000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end():
        subprocess.run(["umount", "-l", mount], capture_output=True)
        server.kill()
        server.wait()
    undo.append(end)
    for _ in range(200):
        if os.path.ismount(mount):
            return f"{mount}/disk", server.pid
        time.sleep(0.02)
    return None, None


def slow_reader(ktop, slow, server, frames):
    """A dd that reads that file: it waits first in S, then in D."""
    reader = start("dd", f"if={slow}", "of=/dev/null", "bs=4096", "count=1", stderr=subprocess.DEVNULL)
    fuse = lambda r: r["tid"] == reader.pid and f"slowfuse ({server}) to reply: {slow}" in (r["waits_for"] or "") and r["stack"] and r["comm"] == "dd"
    for what, kind, state in ("a slow FUSE file", "server", "S"), ("a slow FUSE file, in D", "uninterruptible", "D"):
        show_stuck(what, ktop.until(what, lambda frame: [r for r in frame["tables"]["stuck"] if fuse(r) and (r["kind"], r["state"]) == (kind, state)], frames))
        reader.send_signal(signal.SIGUSR1)  # dd would print its progress; the read is not interrupted, and the wait continues in D


def show_stuck(what, rows):
    if rows:
        row = rows[0]
        check(True, f"stuck: {what}: {row['comm']} {row['kind']} {row['state']} for {(row['since_us'] or 0) / 1e6:.1f} s in {row['blocked_in']} "
              f"({row['syscall']}), waits for {row['waits_for']}; {row['stack']}")


def stuck():
    work = tempfile.mkdtemp(prefix="ktop-sched-")
    undo.append(lambda: shutil.rmtree(work, ignore_errors=True))
    ktop = Ktop(0.4)
    want = {}  # tid -> (description, predicate for its row of `stuck`)
    holder, waiter = load("flock", f"{work}/the lock").pids
    want[waiter] = ("a file lock", lambda r: r["kind"] == "lock" and f"{work}/the lock" in (r["waits_for"] or "") and
                    f"holder ({holder}) holds the lock on" in r["waits_for"] and r["state"] == "S" and r["comm"] == "waiter")
    mutex_holder, mutex_waiter = load("mutex").pids
    want[mutex_waiter] = ("a mutex", lambda r: r["kind"] == "lock" and f"holder ({mutex_holder}) holds the mutex" in (r["waits_for"] or "") and
                          r["pid"] == mutex_holder and "futex" in (r["blocked_in"] or ""))
    parent, = load("vfork").pids
    want[parent] = ("a vfork child", lambda r: r["kind"] == "uninterruptible" and r["state"] == "D" and "vfork" in (r["waits_for"] or ""))
    slow, server = slow_file(work)
    if slow:
        slow_reader(ktop, slow, server, 15)
    group = cpu_group()
    if group:
        limited = load("burn", 0, 0)
        write(f"{group}/cgroup.procs", str(limited.pids[0]))
        undo.append(limited.end)  # before the group is removed
        want[limited.pids[0]] = ("a throttled cgroup", lambda r: r["kind"] == "throttled" and os.path.basename(group) in (r["waits_for"] or ""))
    pipe_reader, = load("pipe").pids
    for tid, (what, right) in want.items():
        show_stuck(what, ktop.until(what, lambda frame: [r for r in frame["tables"]["stuck"] if r["tid"] == tid and right(r)], 40))
    if not slow or not group:
        print(f"     not tested: {'' if slow else 'no FUSE '}{'' if group else 'no cgroup cpu controller'}", flush=True)
    task = ktop.until("a pipe", lambda frame: (lambda r: r if r and r["blocked_in"] else None)(ktop.task(pipe_reader)), 40)
    check(task and "pipe" in task["blocked_in"] and task["comm"] == "reader" and abs(task["off_cpu_us_per_s"] - 1e6) < 1,
          f"tasks: the reader of an empty pipe waits in {task and task['blocked_in']}")
    check(not [r for r in ktop.frames[-1]["tables"]["stuck"] if r["tid"] == pipe_reader], "stuck: a reader of an empty pipe is not stuck")
    if group:
        rows = [r for f in ktop.frames for r in f["tables"]["cgroups"] if r["cgroup"].endswith(os.path.basename(group)) and r["throttled_per_s"]]
        check(rows and abs(rows[-1]["cpu_limit_pct"] - 10) < 0.01 and max(r["throttled_per_s"] for r in rows) > 2,
              f"cgroups: {rows[-1] if rows else None}")
    realtime(ktop)
    ktop.end()


def crowd():
    work = tempfile.mkdtemp(prefix="ktop-sched-")
    undo.append(lambda: shutil.rmtree(work, ignore_errors=True))
    slow, server = slow_file(work, 90)
    if not slow:
        print("     not tested: no FUSE", flush=True)
        return
    ktop = Ktop(0.5)
    n = 100 * os.cpu_count()
    load("crowd", n)
    ktop.until("a crowd", lambda frame: sum(r["run_queue"] or 0 for r in frame["tables"]["cpus"]) > n / 2)
    slow_reader(ktop, slow, server, 60)
    rows = ktop.frames[-1]["tables"]["stuck"]
    check({r["kind"] for r in rows} >= {"uninterruptible", "cpu"}, f"crowd: {len(rows)} rows, including runnable threads")
    ktop.end()


def sampled():
    """With a buffer that is too small, stuck threads are unknown: the notes must say so, instead of an empty table."""
    start(LOAD, "pingpong", "1000000000", "0")
    ktop = Ktop(0.5, "--budget", "1", "--test", "buffer_kib=16")
    frame = ktop.until("slices", lambda frame: (frame["series"]["sched_sampled_pct"] or 100) < 100 and frame, 60)
    notes = [n["text"] for n in frame["notes"]] if frame else []
    check(any("stuck threads are unknown" in n for n in notes), f"sampled: {notes}")
    ktop.end()


def realtime(ktop):
    """A task that shares its CPU with a real-time task, which may use 95 % or all of it."""
    try:
        victim, = load("burn", 1 % os.cpu_count(), 0).pids
        hog = start("timeout", "-s", "KILL", "5", LOAD, "burn", str(1 % os.cpu_count()), "30")
        pid = int(hog.stdout.readline() or 0)
    except (OSError, ValueError):
        pid = 0
    if not pid:
        print("     not tested: real-time priority not available", flush=True)
        return
    seen = ktop.until("a real-time hog", lambda frame: [r for r in frame["tables"]["stuck"] if r["tid"] == victim and r["kind"] == "realtime"], 20)
    if seen:
        check(f"rt_hog ({pid})" in seen[0]["waits_for"] and "priority 30" in seen[0]["waits_for"], f"stuck: real-time: {seen[0]['waits_for']}")
    hog.end()


def attempts(name, part):
    """Counts are exact only without lost events: if ktop reports lost events, the part runs again."""
    def once():
        before = len(failed)
        Ktop.gaps.clear()
        part()
        while len(undo) > KEEP:
            undo.pop()()
        if len(failed) == before:
            return True
        print(f"     {name}: ktop reports {'; '.join(Ktop.gaps) or 'no gap'}", flush=True)
        return False if Ktop.gaps else None
    return tries(f"part {name} without lost events", 4, once)


def main():
    global LOAD, KEEP
    tracing.need_root()
    work = tempfile.mkdtemp(prefix="ktop-load-")
    undo.append(lambda: shutil.rmtree(work, ignore_errors=True))
    LOAD = f"{work}/sched_load"
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", LOAD, f"{HERE}/vm/programs/sched_load.c", "-lpthread"], check=True)
    chosen = sys.argv[1:] or ["busy", "counts", "text", "runqlat", "stuck", "crowd", "sampled"]
    KEEP = len(undo)
    good = "busy" not in chosen or attempts("busy", busy)
    for p in tracing.never_idle():
        undo.append(lambda p=p: (p.kill(), p.wait()))
    KEEP = len(undo)
    for name, part in (("counts", counts), ("text", text), ("runqlat", runqlat), ("stuck", stuck), ("crowd", crowd), ("sampled", sampled)):
        if name in chosen and not attempts(name, part):
            good = False
    return 0 if good else 1


status = 1
try:
    status = main()
finally:
    for step in reversed(undo):
        step()
sys.exit(status)
