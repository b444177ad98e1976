#!/usr/bin/env python3
# needs: root, cgroups (once); cgroups are the sums of their tasks, CPU and pressure of busy loops in a cgroup, throttling under a quota and its finding, names with hostile bytes
import json
import os
import subprocess
import sys
import time

import tracing
from ktop import KTOP, skip
from terminal import Terminal

SUMS = ("cpu_pct", "user_pct", "system_pct", "run_queue_us", "context_switches_per_s", "minor_faults_per_s", "major_faults_per_s",
        "read_bytes_per_s", "write_bytes_per_s", "rss_kib")
COUNTERS = ("cycles_per_s", "instructions_per_s", "cache_misses_per_s", "branch_misses_per_s")
NAME = f"ktop-test-{os.getpid()}"


def mounts():
    """Mount points of whole hierarchies, of v2 and of v1's controllers: {"v2": path, "cpu": path, "blkio": path}."""
    found = {}
    for line in open("/proc/self/mountinfo"):
        head, _, tail = line.partition(" - ")
        fields, kind = head.split(), tail.split()
        if fields[3] != "/":
            continue
        if kind[0] == "cgroup2":
            found.setdefault("v2", fields[4])
        for controller in "cpu", "blkio":
            if kind[0] == "cgroup" and controller in kind[2].split(","):
                found.setdefault(controller, fields[4])
    return found


def frames(n, *more, pane="tasks"):
    p = subprocess.run([KTOP, "--batch", "--pane", pane, "--format", "json", "-n", str(n), "-d", "1", *more], capture_output=True,
                       text=True, timeout=60)
    assert p.returncode == 0, p
    return [json.loads(line) for line in p.stdout.splitlines()]


def sums(frame):
    """Checks that each cgroup is the sum of its tasks and each task is in one; returns the cgroups by name."""
    groups = {g["cgroup"]: g for g in frame["tables"]["cgroups"]}
    assert len(groups) == len(frame["tables"]["cgroups"]), "a cgroup is listed twice"
    tasks = frame["tables"]["tasks"]
    assert {t["cgroup"] for t in tasks} == set(groups)
    for name, group in groups.items():
        own = [t for t in tasks if t["cgroup"] == name]
        for column in SUMS + COUNTERS:
            values = [t[column] for t in own if t.get(column) is not None and (column != "rss_kib" or t["pid"] == t["tid"])]
            if not values:
                assert group[column] is None, (name, column, group)
                continue
            assert abs(group[column] - sum(values)) <= 1e-3 * abs(sum(values)) + 1e-3, (name, column, group[column], sum(values))
        assert group["tasks"] == sum(t["state"] != "X" and t["pid"] == t["tid"] for t in own), group
    return groups


def end(path):
    for _ in range(100):
        try:
            os.rmdir(path)
            break
        except OSError:  # its last task is still exiting
            time.sleep(0.02)


def kill(processes):
    for p in processes:
        p.kill()
    for p in processes:
        p.wait()


class Group:
    """A cgroup with busy loops, in each of the given hierarchies."""

    def __init__(self, paths, loops):
        self.paths = [os.path.join(path, NAME) for path in paths]
        self.loops = []
        for path in self.paths:
            os.mkdir(path)
        for _ in range(loops):
            p = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
            self.loops.append(p)
            for path in self.paths:
                with open(os.path.join(path, "cgroup.procs"), "w") as f:
                    f.write(str(p.pid))

    def end(self):
        kill(self.loops)
        for path in self.paths:
            end(path)


def usage_us(path):
    for line in open(os.path.join(path, "cpu.stat")):
        if line.startswith("usage_usec "):
            return int(line.split()[1])
    return None


def busy(v2):
    """More loops than CPUs in a v2 cgroup: CPU time equals cpu.stat's, and tasks always stall on CPU."""
    loops = os.cpu_count() + 1
    group = Group([v2], loops)
    try:
        before, start = usage_us(group.paths[0]), time.monotonic()
        shown = frames(3)
        pct = (usage_us(group.paths[0]) - before) / (time.monotonic() - start) / 1e4
        for frame in shown:
            row = sums(frame)["/" + NAME]
            assert row["tasks"] == loops, row
        last = shown[1:]
        by_tasks, by_kernel = (sum(f[c] for f in (sums(x)["/" + NAME] for x in last)) / len(last) for c in ("cpu_pct", "usage_pct"))
        print(f"{loops} loops: {by_tasks:.1f} % by tasks, {by_kernel:.1f} % by ktop from cpu.stat, {pct:.1f} % by cpu.stat over the whole run")
        assert abs(by_tasks - by_kernel) <= 0.1 * by_kernel + 5, "CPU time of the tasks and of cpu.stat differ"
        if os.path.exists(os.path.join(group.paths[0], "cpu.pressure")):
            pressure = max(sums(x)["/" + NAME]["cpu_pressure_pct"] for x in last)
            print(f"cpu pressure {pressure:.1f} %")
            assert pressure > 30, "more loops than CPUs, but no CPU pressure"
    finally:
        group.end()


def throttling(path):
    """Periods and throttled periods of a cgroup, from cpu.stat."""
    stat = dict(line.split() for line in open(os.path.join(path, "cpu.stat")))
    return int(stat["nr_periods"]), int(stat["nr_throttled"])


def throttled(cpu, v2):
    """A busy loop with a quota of 10 % of a CPU: its CPU time equals the quota, and ktop's share of throttled periods equals cpu.stat's."""
    group = Group([cpu or v2], 1)  # in other v1 hierarchies its tasks may be in cgroups of other names
    try:
        try:
            with open(os.path.join(group.paths[0], "cpu.cfs_quota_us" if cpu else "cpu.max"), "w") as f:
                f.write("10000" if cpu else "10000 100000")
        except OSError as e:
            print(f"no CPU quota here ({e}): throttling is not tested")
            return
        before = throttling(group.paths[0])
        shown = frames(4)
        periods, stops = (now - then for now, then in zip(throttling(group.paths[0]), before))
        own = [t["cgroup"] for t in shown[-1]["tables"]["tasks"] if t["pid"] == group.loops[0].pid]
        assert own == ["/" + NAME], own
        rows = [next(g for g in frame["tables"]["cgroups"] if g["cgroup"] == own[0]) for frame in shown[1:]]
        cpu_pct = sum(r["cpu_pct"] for r in rows) / len(rows)
        share = sum(r["throttled_pct"] for r in rows) / len(rows)
        kernel = 100 * stops / periods
        print(f"quota 10 %: {cpu_pct:.1f} % used, throttled in {share:.0f} % of the periods; cpu.stat: {kernel:.0f} %")
        assert all(r["cpu_limit_pct"] == 10 and r["throttled_us_per_s"] is not None for r in rows), rows
        assert cpu_pct < 14, rows  # less if other load keeps it below its quota; then it is throttled less as well
        assert abs(share - kernel) < 25, (share, kernel, rows)
    finally:
        group.end()


def scheduled(group):
    """The same cgroup in the sched pane, found by the same search, and its throttled threads."""
    fillers = tracing.never_idle()  # some kernels do not record the switch from an idle CPU to a task
    try:
        last = frames(3, pane="sched")[-1]
    finally:
        kill(fillers)
    if not last["tables"].get("cpus"):
        print("no scheduler events here: throttled threads are not tested")
        return
    rows = [r for r in last["tables"]["cgroups"] if r["cgroup"] == "/" + NAME]
    assert len(rows) == 1 and rows[0]["cpu_limit_pct"] == 20 and 5 < rows[0]["periods_per_s"] < 15, rows
    assert rows[0]["throttled_per_s"] > 2 and rows[0]["throttled_us_per_s"] > 1e5, rows
    stuck = [r for r in last["tables"]["stuck"] if r["kind"] == "throttled"]
    assert {r["pid"] for r in stuck} & {p.pid for p in group.loops} and all("/" + NAME in r["waits_for"] for r in stuck), stuck


def found(path, loops):
    """Busy loops with a quota of 20 % of a CPU: triage names the cgroup, its limit, the process that waits most, and the number of others."""
    group = Group([path], loops)
    v1 = os.path.exists(os.path.join(group.paths[0], "cpu.cfs_quota_us"))
    try:
        with open(os.path.join(group.paths[0], "cpu.cfs_quota_us" if v1 else "cpu.max"), "w") as f:
            f.write("20000" if v1 else "20000 100000")
        before, start = throttling(group.paths[0]), time.monotonic()
        shown = frames(4, pane="triage")
        periods, stops = (now - then for now, then in zip(throttling(group.paths[0]), before))
        rows = [next(r for r in f["tables"]["cpu_limits"] if r["cgroup"] == "/" + NAME) for f in shown]
        share, kernel = sum(r["throttled_pct"] or 0 for r in rows) / len(rows), 100 * stops / periods
        print(f"quota 20 %, {loops} loops: throttled in {share:.0f} % of the periods; cpu.stat: {kernel:.0f} %; {time.monotonic() - start:.1f} s")
        assert all(r["cpu_limit_pct"] == 20 for r in rows), rows
        assert abs(share - kernel) < 25, (share, kernel, rows)
        if share < 50:  # other load keeps it below its quota
            print("the cgroup was hardly throttled: the finding is not tested")
            return
        findings = [f for f in shown[-1]["tables"]["findings"] if f["kind"] == "cpu_limit" and "/" + NAME in f["evidence"]]
        assert len(findings) == 1 and findings[0]["pane"] == "sched" and "limit of 20 % of one CPU" in findings[0]["evidence"], shown[-1]["tables"]
        if loops == 1:
            assert findings[0]["culprit_pid"] == group.loops[0].pid, findings
        else:
            assert rows[-1]["processes"] == loops and rows[-1]["pid"] is None, rows
            assert findings[0]["culprit_pid"] in [p.pid for p in group.loops], findings
            assert f" and {loops - 1} others in cgroup /{NAME}: " in findings[0]["evidence"], findings
            scheduled(group)
    finally:
        group.end()
    last = frames(1, pane="triage")[0]["tables"]["cpu_limits"]
    assert not any(r["cgroup"] == "/" + NAME for r in last), last


HOSTILE = [b"\x1b[31mEV\x1b]0;IL\x07", b"EV\xff\xc3(\x9b5m", "EV\u202eIL\x85".encode(), b"EV\tIL\r\x7f", b'EV",IL\'\\x', b".EV" + b"w" * 252]
RAW = (b"\x1b[31mEV", b"\x1b]0;IL", b"\xff", b"\x9b5m", "\u202e".encode(), b"\xc2\x85", b"EV\t", b"\r\x7f")


def hostile(cpu, blkio):
    """Cgroup names with bytes that have a special meaning to a terminal, in CSV or in JSON."""
    made, loops = [], []
    try:
        for name in HOSTILE:
            for root in cpu, blkio:
                if root:
                    made.append(os.path.join(root.encode(), name))
                    os.mkdir(made[-1])
            loops.append(subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True))
            for path in made[-2 if blkio else -1:]:
                with open(os.path.join(path, b"cgroup.procs"), "w") as f:
                    f.write(str(loops[-1].pid))
            with open(os.path.join(made[-2 if blkio else -1], b"cpu.cfs_quota_us"), "w") as f:
                f.write("3000")
        for form in "text", "csv", "json":
            out = subprocess.run([KTOP, "-b", "-P", "triage,tasks,sched,disk", "-F", form, "-n", "4", "-d", "0.5"], stdin=subprocess.DEVNULL,
                                 capture_output=True, check=True).stdout
            text = out.decode("utf-8")
            wrong = sorted({hex(ord(c)) for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) <= 0x9f or c in "\u2028\u2029\u202e"})
            assert not wrong, (form, wrong)
            if form == "json":
                hostile_frames([json.loads(line) for line in text.splitlines()], loops)
        hostile_screens()
    finally:
        kill(loops)
        for path in made:
            end(path)


def hostile_frames(shown, loops):
    """Checks that each cgroup is listed with its process, and that all escaped names are different."""
    last = {frame["pane"]: frame["tables"] for frame in shown}
    own = {t["cgroup"] for t in last["tasks"]["tasks"] if t["pid"] in [p.pid for p in loops]}
    limits = {r["cgroup"]: r for r in last["triage"]["cpu_limits"]}
    assert len(own) == len(loops) and own <= set(limits), (own, set(limits))
    assert {limits[name]["pid"] for name in own} == {p.pid for p in loops}, limits
    throttled = {r["pid"]: r["cgroup"] for f in shown for r in f["tables"].get("stuck", []) if r["kind"] == "throttled"}
    assert all(throttled.get(limits[name]["pid"], name) == name for name in own), throttled
    long = [name for name in own if len(name) > 200]
    assert len(long) == 1 and limits[long[0]]["throttled_pct"] > 0, long
    if "stuck" in last["sched"]:  # also if the kernel omits the switches to these tasks
        assert set(throttled) >= {p.pid for p in loops}, ("not all processes of these cgroups are reported as throttled", throttled)


def hostile_screens():
    terminal = Terminal([KTOP, "-d", "0.5"], 120, 40)
    terminal.pump(2)
    for keys in "2", "c", "1", "7", "5", "2", "q":
        terminal.send(keys)
        terminal.pump(1.2)
    status, raw = terminal.wait(10), terminal.raw
    terminal.end()
    assert status == 0, (status, raw[-300:])
    assert b"EV" in raw, "invalid test: no cgroup name is on the screen"
    raw.decode("utf-8")
    for sequence in RAW:
        assert sequence not in raw, (sequence, raw[max(0, raw.index(sequence) - 60):][:120])


def main():
    if os.geteuid() != 0:
        skip("needs root: creates cgroups")
    where = mounts()
    for frame in frames(2) + frames(2, "--threads"):
        sums(frame)
    if "cpu" in where or ("v2" in where and "cpu" in open(os.path.join(where["v2"], "cgroup.subtree_control")).read().split()):
        for loops in 1, 3:
            found(where.get("cpu") or where["v2"], loops)
        throttled(where.get("cpu"), where.get("v2"))
        if "cpu" in where:
            hostile(where["cpu"], where.get("blkio"))
    else:
        print("no cgroup here supports a CPU quota: throttling and its finding are not tested")
    if "v2" not in where or not os.access(os.path.join(where["v2"], "cgroup.procs"), os.W_OK):
        skip("no writable cgroup v2 hierarchy: only the sums were compared")
    busy(where["v2"])


main()
