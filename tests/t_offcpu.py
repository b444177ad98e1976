#!/usr/bin/env python3
# needs: root, cc (loud, brief: sleeper); the off-CPU profile shows known blocked times in known functions, threads that sleep on, and keeps to its budget
import os
import shutil
import subprocess
import sys
import tempfile
import time

from ktop import HERE, SLOW, Batch, check, failed, need_root, skip, tries

TICKS = os.sysconf("SC_CLK_TCK")


def build(directory):
    program = os.path.join(directory, "offcpu_load")
    source = os.path.join(HERE, "data", "offcpu_load.c")
    subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o", program, source], check=True)
    return program


def stacks(frame, comm="offcpu_load"):
    """[(path, us)] of the processes of that name."""
    split = (line.rsplit(" ", 1) for line in frame["trees"]["offcpu"])
    return [(path, int(us)) for path, us in split if path.startswith(comm + ";")]


def blocked(frame, function):
    return sum(us for path, us in stacks(frame) if f";{function};" in path)


def shares(program):
    """Blocked time by function, against what the program measured itself in about the same time."""
    load = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    ktop = Batch("profile", "--off-cpu", "-n", "5", delay=2)
    try:
        ktop.frame()
        frames = [ktop.frame() for _ in range(4)]
    finally:
        ktop.end()
        load.terminate()
        truth = [float(us) for us in load.communicate()[0].split()]
    good = True
    times = [sum(blocked(f, name) for f in frames) for name in ("thirty", "ten", "reading")]
    seconds = sum(f["interval_s"] for f in frames)
    all_of = sum(us for f in frames for _, us in stacks(f))
    print(f"  blocked: {times} us, by the program {truth} us in all; {seconds:.1f} s")
    for name, us, expected in zip(("thirty", "ten", "reading"), times, truth):
        share, true = us / sum(times), expected / sum(truth)
        good &= check(abs(share - true) < 0.08, f"{name}: {share:.1%} of the blocked time, {true:.1%} by its own clock")
    # Two processes: the one that is asked sleeps or waits the whole time as well.
    good &= check(abs(all_of / (2 * seconds * 1e6) - 1) < 0.05, f"every thread is blocked about all of the time: {all_of / 2e6:.2f} s of {seconds:.1f} s")
    good &= check(sum(times) > 0.85 * seconds * 1e6, f"{sum(times) / 1e6:.2f} s of {seconds:.1f} s are in the functions")
    kernel = [path for f in frames for path, us in stacks(f) if ";thirty;" in path]
    good &= check(kernel and all("nanosleep" in path for path in kernel), "thirty() blocks in nanosleep")
    return good


def sleeper():
    """A thread that has been asleep since before ktop ran: visible before it wakes up, and no more than the interval."""
    sleep = subprocess.Popen(["sleep", "300"])
    time.sleep(0.3)
    ktop = Batch("profile", "--off-cpu", "-n", "3", "-p", str(sleep.pid), delay=1)
    try:
        ktop.frame()
        frames = [ktop.frame() for _ in range(2)]
    finally:
        ktop.end()
        sleep.kill()
        sleep.wait()
    for frame in frames:
        paths = stacks(frame, "sleep")
        us, most = sum(us for _, us in paths), frame["interval_s"] * 1e6
        check(0.9 * most < us < 1.1 * most, f"a sleeping thread: {us / 1e6:.2f} s of {most / 1e6:.2f} s")
        check(paths and all("nanosleep" in path for path, _ in paths), f"and where: {paths}")
        check(len(frame["trees"]["offcpu"]) == len(paths), "--pid shows that process alone")


def cpu_s(pid):
    """CPU time of a process in seconds."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def turn_ns(program, seconds=2):
    """CPU time of one turn of the pair of threads, in nanoseconds, over some seconds. On one CPU: a wakeup on another one, which may
    sleep, costs several times as much."""
    load = subprocess.Popen([program, "pingpong"], stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
    time.sleep(seconds)
    used = cpu_s(load.pid)
    load.terminate()
    return used * 1e9 / int(load.communicate()[0])


def cost(program):
    """A pair of threads that switch as fast as they can: what the profile costs them and ktop, and that it keeps to its budget."""
    alone = turn_ns(program)
    load = subprocess.Popen([program, "pingpong"])
    ktop = Batch("profile", "--off-cpu", "-n", "20", delay=1)
    try:
        ktop.frame(), ktop.frame()
        before, begin = cpu_s(ktop.pid), time.monotonic()
        frames = [ktop.frame() for _ in range(3)]
        used, took = cpu_s(ktop.pid) - before, time.monotonic() - begin
        load.kill()
        profiled = turn_ns(program)
    finally:
        ktop.end()
        load.kill()
        load.wait()
    print(f"  CPU time of a turn: {alone:.0f} ns alone, {profiled:.0f} ns profiled")
    good = check(profiled < 1.3 * alone, f"a switching load is slowed down by {profiled / alone - 1:.0%}")
    cpus = os.cpu_count()
    for frame in frames:
        series = frame["series"]
        stacks_per_s, recorded = series["offcpu_stacks_per_s"], series["offcpu_recorded_pct"] / 100
        recorded_per_s = series["offcpu_switches_per_s"] * recorded
        print(f"  {series['offcpu_switches_per_s']:.0f} switches/s, {recorded:.0%} recorded, {stacks_per_s:.0f} stacks/s")
        check(stacks_per_s < 1.5 * 250 * cpus, f"{stacks_per_s:.0f} stacks a second on {cpus} CPUs")
        # 1 % of each CPU at 1200 ns, or the least share of windows.
        check(recorded < 0.15 or recorded_per_s < 1.5 * 8300 * cpus, f"{recorded_per_s:.0f} switches a second recorded")
    row = {r["collector"]: r for r in ktop.frames[-1]["tables"].get("collectors", [])}.get("offcpu")
    print(f"  ktop used {used / took:.1%} of a CPU{'' if row is None else f', the collector {row}'}")
    check(used / took < 0.15 * SLOW * cpus, "ktop's CPU time with both profiles")
    series = frames[-1]["series"]
    times = sum(blocked(f, "turns") for f in frames)
    seconds = sum(f["interval_s"] for f in frames)
    print(f"  {times / 1e6:.2f} s blocked in turns() of {2 * seconds:.1f} s")
    return good & check(0.1 * seconds < times / 1e6 < 2.1 * seconds, "two threads that take turns are blocked a part of the time")


def wakers(program):
    """What wakes the threads: reading() by ring_the_bell() of another process, the sleep by a timer's interrupt."""
    load = subprocess.Popen([program, "bell"], stdout=subprocess.DEVNULL)
    ktop = Batch("profile", "--wakers", "-n", "3", delay=1)
    try:
        ktop.frame()
        frames = [ktop.frame() for _ in range(2)]
    finally:
        ktop.end()
        load.terminate()
        load.wait()
    paths = [(path, us) for f in frames for path, us in stacks(f)]
    good = check(all(";[woken by]" in path or path.endswith(";[waker unknown]") for path, _ in paths), "every path has a waker, or says that it is unknown")
    # A block that a window cuts has no waker in it.
    least = 0.9 if all(f["series"]["offcpu_recorded_pct"] > 99 for f in frames) else 0.7
    # A part of the wakeups by timers has been seen without a record, for a reason that is unknown: only a tenth is required of these.
    for function, waker, least in (("reading", ";ring_the_bell;", least), ("clock_nanosleep", ";[interrupt]", 0.1)):
        times = [(path, us) for path, us in paths if f";{function};" in path.split(";[woken by]")[0]]
        known = [us for path, us in times if "[woken by]" in path and waker in path.split("[woken by]")[1]]
        every = sum(us for _, us in times)
        good &= check(every and sum(known) >= least * every, f"{function}() is woken by {waker.strip(';')}: {sum(known) / 1e6:.2f} s of {every / 1e6:.2f} s")
        others = [(us, path) for path, us in times if "[woken by]" not in path or waker not in path.split("[woken by]")[1]]
        print(f"  the longest of others: {max(others) if others else 'none'}")
    return good


def wakers_cost(program):
    """The pair of threads while wakers are recorded."""
    alone = turn_ns(program, 1)
    load = subprocess.Popen([program, "pingpong"])
    ktop = Batch("profile", "--wakers", "-n", "20", delay=1)
    try:
        ktop.frame(), ktop.frame()
        load.kill()
        load.wait()
        profiled = turn_ns(program, 1)
    finally:
        ktop.end()
        load.kill()
        load.wait()
    return check(profiled < 1.5 * alone, f"with wakers a switching load is slowed down by {profiled / alone - 1:.0%}")


def attention():
    """The CPU profile alone does not need it: it does not run, and is in no file."""
    ktop = Batch("profile,health")
    try:
        ktop.frame(), ktop.frame()
        frame = ktop.frame()
        check("cpu" in frame["trees"] and "offcpu" not in frame["trees"], f"without --off-cpu: trees {list(frame['trees'])}")
        check(not any("offcpu" in name for name in [*frame["series"], *frame["intervals_s"]]), "nor a series of it")
        check(not any("offcpu" in note["text"] for note in frame["notes"]), f"nor a note: {frame['notes']}")
        row = next(r for r in ktop.frame()["tables"]["collectors"] if r["collector"] == "offcpu")
        check(not row["events_per_s"] and not row["cpu_pct"], f"it does not run unless it is asked for: {row}")
    finally:
        ktop.end()


def main():
    need_root("switch records of all CPUs")
    if not shutil.which("cc"):
        skip("needs a C compiler for the load")
    directory = tempfile.mkdtemp(prefix="ktop-offcpu-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    try:
        program = build(directory)
        if "sleeper" in sys.argv[1:]:
            sleeper()
            return bool(failed)
        tries("known blocked times", 3, lambda: shares(program))
        sleeper()
        tries("cost of a switching load", 3, lambda: cost(program))
        tries("wakers", 3, lambda: wakers(program))
        tries("cost of wakers", 3, lambda: wakers_cost(program))
        attention()
    finally:
        shutil.rmtree(directory)
    return bool(failed)


sys.exit(main())
