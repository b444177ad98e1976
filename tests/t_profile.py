#!/usr/bin/env python3
# needs: root, cc (loud, brief: periods); the profile shows known shares of time in known functions, whole call paths, ended processes, and says what is broken
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

from ktop import HERE, KTOP, Batch, check, failed, need_root, skip, skip_part, tries

SHARES = {"sixty": 0.6, "thirty": 0.3, "lib_ten": 0.1}


def build(directory):
    flags = ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-I", os.path.join(HERE, "data")]
    source = lambda name: os.path.join(HERE, "data", name)
    library, program = os.path.join(directory, "libprofile.so"), os.path.join(directory, "profile_load")
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-o", library, source("profile_lib.c")], check=True)
    subprocess.run(["cc", *flags, "-o", program, source("profile_load.c"), library, f"-Wl,-rpath,{directory}"], check=True)
    return program


class Load:
    def __init__(self, program, *arguments, **options):
        self.p = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, **options)
        self.pid = self.p.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.stdin.close()  # a second time does nothing
        self.p.wait()


def frame_of(*arguments, delay=3, **options):
    ktop = Batch("profile", "-n", "1", *arguments, delay=delay, **options)
    try:
        return ktop.frame()
    finally:
        ktop.end()


def samples_in(frame, comm):
    """{function: samples in itself}, and the count of all."""
    rows = [r for r in frame["tables"]["symbols"] if r["comm"] == comm]
    return {r["symbol"]: r for r in rows}, sum(r["samples"] for r in rows)


def within(samples, share, n):
    """Within three standard deviations of the share, and one sample of the edge of the interval."""
    sigma = math.sqrt(n * share * (1 - share))
    print(f"  {samples} of {n} samples, {share * n:.1f} +- {3 * sigma:.1f} expected")
    return abs(samples - share * n) <= 3 * sigma + 1


def shares(program):
    with Load(program, "shares") as load:
        time.sleep(0.3)
        frame = frame_of()
    rows, n = samples_in(frame, "profile_load")
    if not check(n >= 60, f"{n} samples of the load in 3 s at 99 Hz"):
        return False
    good = True
    for function, share in SHARES.items():
        row = rows.get(function)
        good &= check(row is not None and within(row["samples"], share, n), f"{function} has {share:.0%} of the samples")
    good &= check(os.path.basename(rows["lib_ten"]["dso"]) == "libprofile.so", "lib_ten is in the library")
    deep, thirty = rows.get("deep"), rows["thirty"]
    good &= check(deep is not None and abs(deep["total_pct"] - thirty["total_pct"]) <= 2 * frame_pct(frame), "a recursion counts a sample once")
    good &= check(abs(sum(r["self_pct"] for r in frame["tables"]["symbols"]) - 100) < 0.1, "self shares add up to 100 %")
    paths = [p for p in frame["trees"]["cpu"] if p.startswith("profile_load;")]
    # A leaf without a frame of its own hides its caller from a frame-pointer chain: 40 or 41.
    nested = [p for p in paths if p.count(";deep") >= 40 and ";main;" in p and ";thirty" in p]
    weight = lambda some: sum(int(p.rsplit(" ", 1)[1]) for p in some)
    good &= check(weight(paths) == n, "the tree has every sample of the table")
    good &= check(weight(nested) >= 0.9 * thirty["samples"], "the recursion is 41 frames deep in the tree")
    process = next(r for r in frame["tables"]["profile_processes"] if r["pid"] == load.pid)
    good &= check(process["samples"] == n and process["user_pct"] > 90, f"the process: {process}")
    good &= check(process["broken_pct"] <= 5, f"its stacks are whole: {process['broken_pct']:.1f} % broken")
    good &= check(process["cpu_pct"] <= 102, f"{process['cpu_pct']:.1f} % of one CPU")
    return good


def copied(program):
    """With copied stacks and unwind tables every caller is there."""
    with Load(program, "shares"):
        time.sleep(0.3)
        frame = frame_of("--call-graph", "dwarf,16384", delay=2)
    paths = [p for p in frame["trees"]["cpu"] if p.startswith("profile_load;")]
    weight = lambda some: sum(int(p.rsplit(" ", 1)[1]) for p in some)
    for function, callers in (("sixty", ";main;sixty"), ("lib_ten", ";main;lib_ten"), ("thirty", ";main" + 41 * ";deep" + ";thirty")):
        all_of, whole = [p for p in paths if f";{function}" in p], [p for p in paths if callers in p]
        check(all_of and weight(whole) >= 0.95 * weight(all_of), f"callers of {function}: {weight(whole)} of {weight(all_of)} samples")


def frame_pct(frame):
    """What one sample is, in percent."""
    return 100 / (frame["series"]["profile_samples_per_s"] * frame["interval_s"])


def broken(program):
    with Load(program, "broken") as load:
        time.sleep(0.3)
        frame = frame_of("-p", str(load.pid), "--call-graph", "fp", delay=2)
    rows = [r for r in frame["tables"]["profile_processes"] if r["comm"] == "profile_load"]
    notes = [n["text"] for n in frame["notes"] if "profile_load" in n["text"]]
    check(rows and rows[0]["broken_pct"] > 80, f"stacks without a frame pointer are broken: {rows}")
    check(notes and "stacks are broken: profile_load has no frame pointers" in notes[0], f"a note names the object: {notes}")
    check(any(p.startswith("profile_load;[broken stack];no_frame") for p in frame["trees"]["cpu"]), "the tree has the mark")
    check(frame["series"]["profile_broken_pct"] > 0, "the series has the share")


def ended(program):
    """Processes that are gone when the frame is made keep their names: each ran for less than a frame."""
    ktop = Batch("profile", "-n", "1", delay=3)
    try:
        time.sleep(1)
        for _ in range(3):
            subprocess.run([program, "shares", "0.2"], stdin=subprocess.DEVNULL)
        frame = ktop.frame()
    finally:
        ktop.end()
    rows, n = samples_in(frame, "profile_load")
    named = sum(r["samples"] for s, r in rows.items() if s in SHARES)
    check(n >= 20 and named >= 0.8 * n, f"ended processes: {named} of {n} samples have their function")


def replayed(program, directory):
    """A recording has the call paths."""
    file = os.path.join(directory, "recording")
    with Load(program, "shares") as load:
        live = frame_of("-p", str(load.pid), "-r", file, delay=1)
    frame = json.loads(subprocess.run([KTOP, "-b", "-P", "profile", "-F", "json", "-R", file], capture_output=True, check=True).stdout)
    check(live["trees"]["cpu"] and sorted(frame["trees"]["cpu"]) == sorted(live["trees"]["cpu"]), "the replay has the recorded tree")


def choices(program):
    """--pid, --frequency, --profile-event."""
    with Load(program, "shares") as load:
        frame = frame_of("-p", str(load.pid), "--frequency", "499", delay=2)
        check({r["pid"] for r in frame["tables"]["profile_processes"]} == {load.pid}, "--pid shows that process alone")
        check(frame["series"]["profile_frequency_hz"] == 499, "--frequency")
        row = frame["tables"]["profile_processes"][0]
        expected = 4.99 * row["cpu_pct"] * frame["interval_s"]
        check(abs(row["samples"] - expected) < 0.1 * expected and row["samples"] > 120, f"499 samples a second of CPU time: {row}")
        frame = frame_of("-p", str(load.pid), "--profile-event", "page-faults/period=1/", delay=1)
        check(frame["series"]["profile_frequency_hz"] is None, "an event with a period has no frequency")
    p = subprocess.run([KTOP, "-b", "-P", "profile", "-n", "1", "--profile-event", "no-such"], capture_output=True, text=True)
    check(p.returncode == 2 and "--profile-event" in p.stderr, f"a wrong event: {p.stderr.strip()}")


def periods(directory):
    """Every N-th event is a sample, of events that the load counts itself."""
    program = os.path.join(directory, "event_load")
    subprocess.run(["cc", "-O1", "-o", program, os.path.join(HERE, "data", "event_load.c")], check=True)

    def period(kind, event, n, every):
        with Load(program, stdout=subprocess.PIPE, text=True) as load:
            ktop = Batch("profile", "-n", "1", "--profile-event", f"{event}/period={every}/", delay=2)
            try:
                time.sleep(0.8)
                load.p.stdin.write(f"{kind} {n}\n")
                load.p.stdin.flush()
                counted = int(load.p.stdout.readline())
                frame = ktop.frame()
            finally:
                ktop.end()
        samples = samples_in(frame, "event_load")[1]
        expected = counted / every
        print(f"  {event}: {counted} counted, {samples} samples, {expected:.1f} expected")
        # The other processes' events are counted with these: at which of them a period ends is chance.
        return check(abs(samples - expected) <= 3 * math.sqrt(expected) + 1, f"one of {every} {event} is a sample")

    for kind, event, n, every in (("faults", "page-faults", 20000, 100), ("switches", "context-switches", 8000, 101), ("calls", "syscalls:sys_enter_getppid", 20000, 100)):
        tries(f"period of {event}", 3, lambda: period(kind, event, n, every))


def cgroup_make():
    """A cgroup of a hierarchy where a process can be put, and its path in it; None: there is none."""
    for line in open("/proc/self/mounts"):
        device, place, kind = line.split()[:3]
        if not kind.startswith("cgroup"):
            continue
        path = os.path.join(place, f"ktop-test-{os.getpid()}")
        try:
            os.mkdir(path)
        except OSError:
            continue
        if "cpuset" not in line:  # which wants CPUs first
            return path, "/" + os.path.basename(path)
        os.rmdir(path)


def filters(program):
    """--profile-cpus, --profile-cgroup: one of two loads."""
    if os.cpu_count() < 2:
        return skip_part("one CPU")
    with Load(program, "shares") as first, Load(program, "shares") as second:
        os.sched_setaffinity(first.pid, {0})
        os.sched_setaffinity(second.pid, {1})
        time.sleep(0.3)
        frame = frame_of("--profile-cpus", "1", delay=1)
        pids = {r["pid"]: r for r in frame["tables"]["profile_processes"]}
        check(second.pid in pids and first.pid not in pids, f"--profile-cpus 1 samples the load on that CPU alone: {sorted(pids)}")
        per_s = frame["series"]["profile_samples_per_s"]
        check(per_s < 115, f"samples of one CPU: {per_s:.0f} a second")
        row = frame["tables"]["symbols"]
        check(any(r["symbol"] == "sixty" for r in row), "with its functions")
        made = cgroup_make()
        if not made:
            return skip_part("no cgroup can be made")
        try:
            open(os.path.join(made[0], "cgroup.procs"), "w").write(str(first.pid))
            frame = frame_of("--profile-cgroup", made[1], delay=1)
            pids = {r["pid"] for r in frame["tables"]["profile_processes"]}
            check(pids == {first.pid}, f"--profile-cgroup shows its process alone: {pids}")
        finally:
            first.p.stdin.close()
            first.p.wait()
            os.rmdir(made[0])


def attention():
    """No pane shows it: it does not sample."""
    ktop = Batch("health")
    try:
        ktop.frame()
        row = next(r for r in ktop.frame()["tables"]["collectors"] if r["collector"] == "profile")
        check(not row["events_per_s"] and not row["cpu_pct"], f"it does not run unless a pane needs it: {row}")
    finally:
        ktop.end()


def refused(program):
    """Another user, where the kernel does not let him sample whole CPUs: the reason, and no rows."""
    if int(open("/proc/sys/kernel/perf_event_paranoid").read()) <= 0:
        return skip_part("perf_event_paranoid lets every user sample")
    if os.stat(os.path.dirname(KTOP)).st_mode & 1 == 0:
        return skip_part("other users cannot run the program where it is")
    frame = frame_of(delay=0.5, user=65534, group=65534, extra_groups=[])
    texts = [n["text"] for n in frame["notes"]]
    check(any("perf_event_paranoid" in t or "perf_event_open" in t for t in texts), f"the reason: {texts}")
    check(not frame["tables"]["symbols"] and frame["series"].get("profile_samples_per_s") is None, "no zeros instead")
    # His own processes can be sampled one by one.
    os.chmod(os.path.dirname(program), 0o755)
    load = Load(program, "shares", user=65534, group=65534, extra_groups=[])
    with load:
        time.sleep(0.3)
        frame = frame_of("-p", str(load.pid), delay=2, user=65534, group=65534, extra_groups=[])
    rows, n = samples_in(frame, "profile_load")
    texts = [n["text"] for n in frame["notes"]]
    check(5 <= n < 210 and "sixty" in rows, f"another user's own process: {n} samples")
    check(any("only the processes of --pid" in t for t in texts), f"a note says that it is all: {texts}")


def main():
    need_root("sampling of all CPUs")
    if not shutil.which("cc"):
        skip("needs a C compiler for the load")
    directory = tempfile.mkdtemp(prefix="ktop-profile-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    try:
        program = build(directory)
        if "periods" in sys.argv[1:]:
            periods(directory)
            return bool(failed)
        tries("known shares of time", 3, lambda: shares(program))
        copied(program)
        broken(program)
        ended(program)
        replayed(program, directory)
        choices(program)
        periods(directory)
        filters(program)
        attention()
        refused(program)
        doctor = subprocess.run([KTOP, "--doctor"], capture_output=True, text=True).stdout
        check("CPU profile" in doctor, "--doctor says whether it can sample")
    finally:
        shutil.rmtree(directory)
    return bool(failed)


sys.exit(main())
