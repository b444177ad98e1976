#!/usr/bin/env python3
# needs: root, cc, tracefs (loud, brief: mix); the syscalls pane against programs that count their own calls, and against a second trace instance's text
"""Arguments select parts: t_syscalls.py [mix] [signals] [threads] [spin] [latency] [syscount] [progress] [failing] [self] [i386] [sampled] [lost] [overload]."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from buckets import bucket
from ktop import HERE, KTOP, SLOW, check, failed, need_root, rows_of, skip, skip_part, tries
from tracing import Tracefs, guard_of, wait_for

started = []  # PIDs of ktops
undo = []  # cleanup functions, called in reverse order at exit, also after a failure


class Ktop:
    """ktop in batch mode with the syscalls pane; a thread reads its JSON frames."""

    def __init__(self, *args, delay="0.5", quiet=False, only=()):
        """only: PIDs to count; ktop's own PID is then added, so that --pid also selects ktop itself."""
        command = [KTOP, "--batch", "--pane", "syscalls", "--format", "json", "-d", delay, *args]
        if only:  # the shell execs ktop
            command = ["sh", "-c", 'exec "$@" "$$"', "sh", *command, "--children", *(a for pid in only for a in ("--pid", str(pid))), "--pid"]
        self.p = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        started.append(self.p.pid)
        undo.append(self.end)
        self.frames = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        wait_for("the first frame", 20 * SLOW,
                 lambda: any(f["tables"]["syscalls"] or (quiet and f["series"]["syscalls_per_s"] is not None) for f in self.frames))

    def read(self):
        for line in self.p.stdout:
            self.frames.append(json.loads(line))

    def more(self, n=2):
        """Waits for frames that started after this call."""
        have = len(self.frames)
        wait_for("further frames", 30 * SLOW, lambda: len(self.frames) >= have + n + 1)

    def end(self):
        if self.p.poll() is None:
            self.p.terminate()
            self.p.wait()

    def finish(self):
        self.more()
        self.end()
        self.reader.join(10)
        return self

    def whole(self):
        """Whether no event was lost or sampled and every frame is about one interval."""
        return all(not f["lost_events"] and (f["series"]["syscalls_sampled"] or 1) == 1 for f in self.frames) and \
            not any(word in n["text"] for f in self.frames for n in f["notes"] for word in ("enlarged", "has not answered", "first reading"))

    def rows(self, table, **filters):
        return [r for r in rows_of(self.frames, table, "syscalls") if all(r[k] == v for k, v in filters.items())]

    def calls(self, pid):
        """Counts of the process's calls, by (call, error name or "-")."""
        counts = {}
        for row in self.rows("by_process", pid=pid):
            counts[row["syscall"], "-"] = counts.get((row["syscall"], "-"), 0) + row["calls"]
        for row in self.rows("errors", pid=pid):
            counts[row["syscall"], row["error"]] = counts.get((row["syscall"], row["error"]), 0) + row["errors"]
            counts[row["syscall"], "-"] -= row["errors"]
        return {k: v for k, v in counts.items() if v}


class Load:
    def __init__(self, *args, wrap=()):
        self.p = subprocess.Popen([*wrap, LOAD, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        undo.append(self.end)

    def go(self):
        self.p.stdin.write("go\n")
        self.p.stdin.close()
        return self

    def child(self):
        """PID of the child that makes the calls, while it runs."""
        path = f"/proc/{self.p.pid}/task/{self.p.pid}/children"
        wait_for("the load's process", 10 * SLOW, lambda: open(path).read().strip())
        return int(open(path).read())

    def end(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def counts(self):
        lines = [line.split() for line in self.p.stdout.read().splitlines()]
        assert self.p.wait() == 0 and lines, "the load failed"
        return int(lines[0][1]), {(name, error): int(n) for name, error, n in lines[1:]}


def difference(ours, theirs):
    return {k: (ours.get(k, 0), theirs.get(k, 0)) for k in set(ours) | set(theirs) if ours.get(k, 0) != theirs.get(k, 0)}


def matched(what, *load, only=None):
    """Checks exact counts. Runs again if ktop itself reports an incomplete frame, as on an overloaded machine."""
    def once():
        nonlocal ktop, pid, ours, theirs
        ktop = Ktop("--budget", "100")
        pid, theirs = Load(*load).go().counts()
        ktop.finish()
        ours = {k: v for k, v in ktop.calls(pid).items() if not only or k[0] in only}
        return ktop.whole()

    ktop = pid = ours = theirs = None
    tries(f"{what}, in complete frames", 5, once)
    wrong = difference(ours, theirs)
    check(ktop.whole() and not wrong, f"{what}: {sum(theirs.values())} calls of {len(theirs)} kinds, differences (ours, theirs): {wrong}")
    return ktop, pid


def mix():
    ktop, pid = matched("a mix of calls and errors", "mix", 3000)
    row = ktop.rows("by_process", pid=pid, syscall="openat")[0]
    check(row["comm"] == "syscalls_load" and row["avg_us"] > 0 and row["max_us"] >= row["avg_us"], f"mix: {row}")
    names = " ".join(r["error_names"] for r in ktop.rows("by_process", pid=pid, syscall="openat"))
    check("ENOENT" in names and "ENOTDIR" in names, f"mix: error names in the row: {names}")


def signals():
    matched("calls interrupted by signals", "signals", 12)


def threads():
    matched("threads that migrate between CPUs", "threads", 300000, 3, only=("getppid", "sched_setaffinity"))


def spin():
    load = Load("spin", 500000)
    begin = time.monotonic()
    load.go().counts()
    overloaded = time.monotonic() - begin > 0.15  # then 12 million calls would take minutes
    n = (3000000 if overloaded else 12000000) // SLOW
    ktop, pid = matched(f"{n} calls at full speed", "spin", n)
    rate = max(r["calls_per_s"] for r in ktop.rows("by_process", pid=pid, syscall="getppid"))
    print(f"     {rate * 2 / 1e6:.1f} M events/s")


# ---- latencies ----

def latency():
    """Checks that each sleep is in the bucket computed from a second instance's text, or in an adjacent one. --pid limits the
    histogram to that process."""
    name = f"instances/test-{os.getpid()}"
    os.mkdir(f"{trace.path}/{name}")
    undo.append(lambda: os.path.exists(f"{trace.path}/{name}") and os.rmdir(f"{trace.path}/{name}"))
    load = Load("sleep", 150)
    ktop = Ktop("--pid", str(load.p.pid), "--children", quiet=True)
    trace.write(f"{name}/buffer_size_kb", "8192")
    trace.write(f"{name}/options/event-fork", "1")
    trace.write(f"{name}/set_event_pid", str(load.p.pid))
    for event in ("sys_enter", "sys_exit"):
        trace.write(f"{name}/events/raw_syscalls/{event}/enable", "1")
    pid, _ = load.go().counts()
    ktop.finish()
    trace.write(f"{name}/events/enable", "0")
    begun, theirs = None, []
    with open(f"{trace.path}/{name}/trace") as f:
        for line in f:
            m = re.match(rf"\s*\S+-{pid}\s.*?\s(\d+)\.(\d+): (sys_enter|sys_exit): NR (-?\d+)", line)
            if not m or m.group(4) not in ("230", "115"):  # clock_nanosleep on x86-64, arm64
                continue
            us = int(m.group(1)) * 1000000 + int(m.group(2))
            if m.group(3) == "sys_enter":
                begun = us
            elif begun is not None:
                theirs.append((us - begun) * 1000)
                begun = None
    os.rmdir(f"{trace.path}/{name}")
    rows = ktop.rows("by_process", pid=pid, syscall="clock_nanosleep")
    check(sum(r["calls"] for r in rows) == len(theirs) == 150, f"latency: {len(theirs)} sleeps, {sum(r['calls'] for r in rows)} counted")
    average = sum(r["avg_us"] * r["calls"] for r in rows) / len(theirs), sum(theirs) / len(theirs) / 1000
    # The two instances timestamp an event one after the other; preemption in between makes one call differ.
    check(abs(average[0] / average[1] - 1) < 0.005, f"latency: {average[0]:.1f} us on average, text {average[1]:.1f}; max {max(theirs) / 1000:.0f}")
    ours = sorted(b for f in ktop.frames for h in f["histograms"]["syscall_latency"] if h["syscall"] == "clock_nanosleep"
                  for low, _, n in h["buckets"] for b in [bucket(round(low * 1000))] * n)
    longest, theirs = max(theirs), sorted(bucket(ns) for ns in theirs)
    check(len(ours) == len(theirs) == 150, f"latency: {len(theirs)} sleeps, {len(ours)} in the histogram")
    alone, theirs = [], theirs[::-1]
    for b in ours:
        while theirs and theirs[-1] < b - 1:
            theirs.pop()
        if theirs and theirs[-1] <= b + 1:
            theirs.pop()
        else:
            alone.append(b)
    check(alone or abs(max(r["max_us"] for r in rows) - longest / 1000) < 20, f"latency: max equals the text's, {longest / 1000:.0f} us")
    check(len(alone) <= 2, f"latency: in the text's bucket or an adjacent one, except {alone}")
    check(not ktop.rows("by_process", pid=os.getpid()), "--pid: no calls of other processes")


def syscount():
    """Same number of calls and same total time as syscount -L of libbpf-tools, for the same process."""
    if not shutil.which("syscount"):
        skip_part("syscount is not installed")
        return
    # It prints "Tracing" when it starts to count, and its table on SIGINT.
    peer = subprocess.Popen([*trace.inside, "stdbuf", "-oL", "syscount", "-L", "-P", "-T", "4000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    undo.append(lambda: peer.poll() is None and peer.kill())
    if "Tracing" not in peer.stdout.readline():
        return check(False, "syscount exited at once")
    load = Load("sleep", 400)
    ktop = Ktop("--pid", str(load.p.pid), "--children", quiet=True)
    pid, _ = load.go().counts()
    ktop.finish()
    peer.send_signal(signal.SIGINT)
    out = peer.communicate(timeout=20)[0]
    m = re.search(rf"^{pid}\s+\S+\s+(\d+)\s+([\d.]+)", out, re.M)
    if not m:
        return check(False, f"syscount: no row of {pid} in {out!r}")
    rows = ktop.rows("by_process", pid=pid)
    calls, spent = sum(r["calls"] for r in rows), sum((r["avg_us"] or 0) * r["calls"] for r in rows)
    check(400 <= calls and abs(calls - int(m.group(1))) <= 3, f"syscount: {m.group(1)} calls, {calls} counted")  # it misses the return of the last one
    check(abs(spent / float(m.group(2)) - 1) < 0.01, f"syscount: {float(m.group(2)):.0f} us in these calls, ktop {spent:.0f}")


def progress():
    """Calls in progress: one that began before ktop started, one that began later."""
    fifo = os.path.join(work, "a fifo")
    os.mkfifo(fifo)
    before = subprocess.Popen(["cat", fifo], stdout=subprocess.DEVNULL)
    undo.append(lambda: (before.kill(), before.wait()))
    wait_for("cat waits", 10, lambda: open(f"/proc/{before.pid}/syscall").read().split()[0] in ("257", "56"))
    ktop = Ktop(*own_processes())
    after = subprocess.Popen(["sleep", "100"])
    undo.append(lambda: (after.kill(), after.wait()))
    ktop.more(3)
    ktop.finish()
    rows = {r["pid"]: r for r in ktop.frames[-1]["tables"]["in_progress"]}
    row = rows.get(before.pid, {})
    check(row.get("syscall") == "openat" and f'"{fifo}"' in row.get("args", "") and "O_RDONLY" in row["args"] and row["since_us"] > 5e5,
          f"in progress since before ktop: {row}")
    check((row.get("since_at_least"), row.get("idle")) == (1, 0), "in progress since before ktop: the time is a lower bound, and the call is not an idle wait")
    row = rows.get(after.pid, {})
    check(row.get("syscall") == "clock_nanosleep" and "100s" in row.get("args", "") and 5e5 < row["since_us"] < 60e6, f"in progress: {row}")
    check((row.get("since_at_least"), row.get("idle")) == (0, 1), "in progress: the time is exact, and a sleep is an idle wait")
    order = [r["idle"] for r in ktop.frames[-1]["tables"]["in_progress"]]
    check(order == sorted(order), "in progress: idle waits are sorted last")
    slow = [e for f in ktop.frames for e in f["events"] if e["latency_us"] > 1000]
    check(slow and all(e["args"] is not None for e in slow), f"the slowest calls have their arguments: {slow[:2]}")


def failing():
    """Arguments of failed calls: a constant path is certain, a path that may have been overwritten is marked; each kind is bounded."""
    ktop = Ktop(*own_processes())
    load = Load("mix", 400000).go()
    child = load.child()
    code = ("import os, time\nfor i in range(200000):\n if os.getppid() != %d: break\n for path in (f'/no/path/{i}', f'/no/path/{i}/b'):\n"
            "  try: os.chdir(path)\n  except OSError: pass\n time.sleep(0.001)" % os.getpid())
    writes = subprocess.Popen([sys.executable, "-c", code])
    undo.append(lambda: (writes.kill(), writes.wait()))
    ktop.more(4)
    load.end()
    ktop.finish()
    kept = {}
    for f in ktop.frames:
        for e in f["events"]:
            if e["error"]:
                kept.setdefault((f["time"], e["tid"], e["syscall"], e["error"]), []).append(e)
    most = max((len(v) for v in kept.values()), default=0)
    check(0 < most <= 12, f"failing calls: at most {most} per thread, call and error in a frame")  # the 8 latest and the 4 slowest

    def args(pid, syscall, error):
        return {e["args"] for key, events in kept.items() if key[2:] == (syscall, error) for e in events if e["pid"] == pid}

    # Before Linux 6.11 ktop cannot detect whether a path was overwritten.
    mark = "" if tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2]) >= (6, 11) else "~"
    for error, path in ("ENOENT", "/no/such/file"), ("ENOTDIR", "/dev/null/below"):
        found = args(child, "openat", error)
        path = rf'{mark}"{path}"'  # 0x...: the load had already exited; the mode is the register's value
        found_all = all(re.fullmatch(rf"AT_FDCWD, ({path}|0x[0-9a-f]+), O_RDONLY, 0\d+", a) for a in found)
        check(found_all and any(path in a for a in found), f"failing calls: openat {error}: {found}")
    check("-1, " in str(args(child, "read", "EBADF")), f"failing calls: numbers: {args(child, 'read', 'EBADF')}")
    found = args(writes.pid, "chdir", "ENOENT")
    check(found and all(a.startswith(('~"', "?", "0x")) for a in found) and any(re.fullmatch(r'~"/no/path/\d+(/b)?"', a) for a in found),
          f"failing calls: paths in overwritten memory: {sorted(found)[:4]}")


def own():
    ktop = Ktop("--threads")
    guard = guard_of(ktop.p.pid)
    ktop.finish()
    tids = {r["pid"] for r in ktop.rows("by_process")} | {r["tid"] for r in ktop.rows("in_progress")}
    check(guard and guard not in tids and ktop.p.pid not in tids and ktop.frames[-1]["tables"]["by_process"], "ktop's own calls are not shown")
    check(not any("own" in n["text"] for f in ktop.frames for n in f["notes"]), "the kernel's filter excludes them")


def i386():
    """A 32-bit program without libc: 1000 calls of getpid (20), one close(-1) (6), exit (1)."""
    source, program = os.path.join(work, "small.S"), os.path.join(work, "small")
    with open(source, "w") as f:
        f.write(".globl _start\n_start: mov $1000, %esi\n1: mov $20, %eax\nint $0x80\ndec %esi\njnz 1b\n"
                "mov $6, %eax\nmov $-1, %ebx\nint $0x80\nmov $1, %eax\nxor %ebx, %ebx\nint $0x80\n")
    if os.uname().machine != "x86_64":
        print("     not x86-64: not tested")
        return
    if subprocess.run(["cc", "-m32", "-nostdlib", "-static", "-o", program, source], capture_output=True).returncode:
        print("     cannot build 32-bit programs here: not tested")
        return
    try:
        subprocess.run([program], check=True)
    except (OSError, subprocess.CalledProcessError):
        print("     this kernel runs no 32-bit programs: not tested")
        return
    ktop = Ktop()
    p = subprocess.Popen([program])
    p.wait()
    ktop.finish()
    calls = {k: v for k, v in ktop.calls(p.pid).items() if k[0].startswith("i386:")}
    check(calls == {("i386:getpid", "-"): 1000, ("i386:close", "EBADF"): 1, ("i386:exit", "-"): 1}, f"a 32-bit program: {calls}")


def own_processes():
    """Limits ktop to this test's processes: of many calls it keeps only the slowest and the latest."""
    return "--pid", str(os.getpid()), "--children"


def busy_load():
    """A load that makes calls until it is stopped. --pid excludes the rest of the machine."""
    load = Load("spin", 1 << 40)
    return load, ["--pid", str(load.p.pid), "--children"]


def stop(load):
    """Kills the parent; its child exits with it."""
    load.end()


def steady(ktop, n=3):
    ratios = [f["series"]["syscalls_sampled"] for f in ktop.frames[-n:]]
    return len(set(ratios)) == 1 and (ratios[0] or 1) > 1


def sampled():
    """With a budget that is too small ktop samples, has a note, scales the counts, and records everything again after the load."""
    load, pids = busy_load()
    ktop = Ktop("--budget", "1", *pids, quiet=True)
    load.go()
    wait_for("sampling", 30 * SLOW, lambda: steady(ktop))
    ktop.more(1)
    notes = " ".join(n["text"] for n in ktop.frames[-1]["notes"])
    check("sampled 1:" in notes and "scaled" in notes, f"the note is there: {notes}")
    # The scaled rate must be plausible for a program that makes calls at full speed.
    child = load.child()
    now = ktop.frames[-1]
    rate = [r["calls_per_s"] for r in now["tables"]["by_process"] if r["pid"] == child and r["syscall"] == "getppid"]
    check(len(rate) == 1 and rate[0] > 20000, f"scaled: {rate} calls a second, sampled 1:{now['series']['syscalls_sampled']:.0f}")
    stop(load)
    wait_for("everything recorded again", 60 * SLOW, lambda: ktop.frames[-1]["series"]["syscalls_sampled"] == 1)
    check(True, "everything is recorded again")
    ktop.end()


def small_buffer():
    """With a buffer that is too small ktop reports lost events, then samples."""
    load, pids = busy_load()
    ktop = Ktop("--budget", "100", "--test", "buffer_kib=64", *pids, quiet=True)
    load.go()
    wait_for("reported loss", 20 * SLOW, lambda: any(f["lost_events"] for f in ktop.frames))
    wait_for("sampling", 20 * SLOW, lambda: any((f["series"]["syscalls_sampled"] or 1) > 1 for f in ktop.frames))
    notes = " ".join(n["text"] for f in ktop.frames for n in f["notes"])
    check("were lost" in notes and "sampled 1:" in notes, "a buffer that is too small: lost events are reported, then sampling starts")
    stop(load)
    ktop.end()


def filter_under_overload():
    """Observes the kernel's filter of ktop's threads, and what is counted meanwhile. --pid selects only the loads and ktop itself, so
    that other processes have no influence."""
    # A high event rate that the buffers can still hold for about 0.3 s if other load delays ktop's reader.
    fast, slow = Load("spin", 800000 // SLOW, 3000), Load("sleep", 600)
    ktop = Ktop("--budget", "100", "--threads", delay="2", quiet=True, only=[fast.p.pid, slow.p.pid])
    name = next(n for n in trace.of(ktop.p.pid) if "-syscalls" in n)
    guard = guard_of(ktop.p.pid)  # only once: the search itself makes many calls
    seen = set()  # TIDs of ktop's threads

    def threads():
        return {int(tid) for pid in (ktop.p.pid, guard) for tid in os.listdir(f"/proc/{pid}/task")}

    def listed():
        seen.update(threads())
        return {int(tid) for tid in re.findall(r"common_pid != (\d+)", trace.read(f"instances/{name}/events/raw_syscalls/sys_exit/filter"))}

    found = {"ktop": ktop, "seen": seen, "pids": trace.read(f"instances/{name}/set_event_pid").split()}
    found["before"] = wait_for("ktop's threads in the filter", 40 * SLOW, lambda: threads() <= listed())
    fast.go()
    found["took"] = wait_for("an empty filter", 30 * SLOW, lambda: not listed())
    found["during"] = fast.p.poll() is None
    found["fast"] = fast.counts()
    slow.go()  # runs from the overload until after it
    found["back"] = wait_for("ktop's threads in the filter again", 40 * SLOW, lambda: threads() <= listed())
    found["slow"] = slow.counts()
    ktop.finish()
    return found


def overload():
    """The kernel's filter of ktop's threads is empty during an overload, and complete after it. No calls are lost when it changes, and
    ktop's own calls are never shown."""
    def once():
        nonlocal found
        found = filter_under_overload()
        return found["ktop"].whole() and found["during"] and found["took"] < 2 * SLOW

    found = None
    tries("overload, in complete frames and with the filter empty in time", 10, once)
    ktop, seen = found["ktop"], found["seen"]
    check(str(ktop.p.pid) in found["pids"], "overload: set_event_pid contains ktop itself")
    check(found["during"] and found["took"] < 2 * SLOW,
          f"overload: the filter is empty after {found['took']:.2f} s; ktop's threads are in it again {found['back']:.2f} s after the end")
    wrong = [difference(ktop.calls(pid), theirs) for pid, theirs in (found["fast"], found["slow"])]
    check(ktop.whole() and not any(wrong), f"overload: {[sum(theirs.values()) for _, theirs in (found['fast'], found['slow'])]} calls, "
          f"differences (ours, theirs): {wrong}")
    rows = ktop.rows("by_process") + [{**r, "pid": r["tid"]} for r in ktop.rows("in_progress")] + [e for f in ktop.frames for e in f["events"]]
    ours = [r for r in rows if r["pid"] in seen]
    check(len(seen) > 3 and not ours, f"overload: no rows of ktop's {len(seen)} threads: {ours[:3]}")
    notes = {n["text"] for f in ktop.frames for n in f["notes"]}
    check(not any("ktop's own" in n for n in notes), f"overload: no note about them: {notes}")


def main():
    global LOAD, work, trace
    need_root()
    if not shutil.which("cc"):
        skip("needs cc")
    work = tempfile.mkdtemp(prefix="ktop-syscalls-")
    undo.append(lambda: shutil.rmtree(work, ignore_errors=True))
    LOAD = os.path.join(work, "syscalls_load")
    subprocess.run(["cc", "-O2", "-o", LOAD, os.path.join(HERE, "data/syscalls_load.c"), "-lpthread"], check=True)
    trace = Tracefs()
    undo.append(trace.close)
    tests = {"mix": mix, "signals": signals, "threads": threads, "spin": spin, "latency": latency, "syscount": syscount,
             "progress": progress, "failing": failing, "self": own, "i386": i386, "sampled": sampled, "lost": small_buffer, "overload": overload}
    for name in sys.argv[1:] or tests:
        tests[name]()
    wait_for("removal of all instances", 10, lambda: not [i for k in started for i in trace.of(k)])


try:
    main()
finally:
    for step in reversed(undo):
        try:
            step()
        except OSError as e:
            failed.append(f"cleanup: {e}")
sys.exit(1 if failed else 0)
