#!/usr/bin/env python3
# needs: root, cc, tracefs, losetup (loud, brief: sched); in a new PID namespace, whose PIDs differ from the host PIDs in kernel events: the sched, syscalls and disk panes have no duplicate row and no wrong name
"""ktop runs in a new PID namespace with its own /proc, with a known load inside and another outside. Its rows are compared with this test's /proc,
which has the host PIDs of the events if the test itself runs in the initial PID namespace."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from ktop import HERE, KTOP, check, failed, need_root, skip
from tracing import wait_for

undo = []  # cleanup functions, called in reverse order at exit, also after a failure


def comms():
    """Names of all threads in this namespace, by TID."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for tid in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{tid}/comm", errors="replace") as f:
                    found[int(tid)] = f.read()[:-1]
        except OSError:
            pass
    return found


def pings_of(pid, names):
    """PIDs of the ping-pong processes below that process."""
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        below = [int(child) for child in f.read().split()]
    return [p for child in below for p in [child, *pings_of(child, names)] if names.get(p) in ("ping", "pong")]


def frames(pane, *arguments):
    """Frames of a ktop inside the namespace, where a ping-pong and a sleeper have small PIDs; thread names by host TID; host PIDs of that ping-pong."""
    p = subprocess.Popen(["unshare", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", '"$0" pingpong 1000000000 -1 & "$0" pipe >&2 & [ -z "$DISK" ] || "$IO_LOAD" "$DISK" read 10000000 1 4096 random >&2 & exec "$@"', LOAD,
                          KTOP, "--batch", "--pane", pane, "--format", "json", "-d", "0.5", "-n", "6", "--budget", "100", *arguments],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    undo.append(lambda: (p.kill(), p.wait()))
    wait_for("the load in the namespace", 20, lambda: len(pings_of(p.pid, comms())) == 2)
    names = comms()
    inside = pings_of(p.pid, names)
    shown = [json.loads(line) for line in p.stdout]
    assert p.wait() == 0, p
    after = comms()
    shown = [f for f in shown if all(f["series"].get(name, 0) is not None for name in ("sched_switches_per_s", "syscalls_per_s"))]
    # A kernel worker's name ends in the workqueue that it last served.
    # A thread may get its name after the first look: the later one counts.
    return shown, {tid: name if tid in inside else after[tid] for tid, name in names.items()
                   if after.get(tid, "").startswith(name.split("-")[0]) or tid in inside}, inside


def named(what, rows, names):
    """Checks that each row's name belongs to its host TID, and that no row has a TID of the inner namespace."""
    def right(r):  # /proc has a longer name for kernel workers; a TID that is missing in /proc started or exited meanwhile
        return not r["comm"] or (names[r["tid"]].startswith(r["comm"]) if r["tid"] in names else r["tid"] > 100)
    wrong = sorted({(r["tid"], r["comm"], names.get(r["tid"], "")) for r in rows if not right(r)})
    check(rows and not wrong, f"{what}: wrong names in {len(rows)} rows: {wrong[:6]}")


def unique(pane, rows, pings):
    """Checks that no task appears twice in a frame, and that the loads inside and outside appear once."""
    for frame in rows:
        tids = [r["tid"] for r in frame]
        if len(set(tids)) < len(tids) or any(tids.count(ping) != 1 for ping in pings):
            return check(False, f"{pane}: rows of {pings}: {[r for r in frame if r['tid'] in pings]}, {len(tids) - len(set(tids))} duplicates")
    check(len(rows) > 1 and len(pings) == 4, f"{pane}: {pings}, inside and outside, appear once in each of {len(rows)} frames")


def sched(outside):
    shown, names, inside = frames("sched")
    if any(n["text"].startswith("no scheduler events") for n in shown[-1]["notes"]):
        skip("no scheduler events here")
    tables = [f["tables"]["tasks"] for f in shown[1:]]
    named("sched", sum(tables, []), names)
    unique("sched", tables, outside + inside)
    rows = {r["tid"]: r for r in tables[-1]}
    check(all(rows[tid]["comm"] == names[tid] and rows[tid]["pid"] == tid and rows[tid]["switches_per_s"] > 100 for tid in outside + inside),
          "sched: the rows of the loads are correct")
    notes = " ".join(n["text"] for n in shown[-1]["notes"])
    check("events carry host PIDs, which this PID namespace cannot map" in notes, f"sched: the note is there: {notes}")
    only, _, _ = frames("sched", "--pid", "1")
    notes = " ".join(n["text"] for n in only[-1]["notes"])
    check(not only[-1]["tables"]["tasks"] and "no rows: --pid and --user cannot be applied" in notes, f"sched --pid: {len(only[-1]['tables']['tasks'])} rows: {notes}")


def syscalls(outside):
    shown, names, inside = frames("syscalls")
    if not shown[-1]["tables"].get("by_process"):
        skip("no syscall events here")
    processes = [[{**r, "tid": r["pid"]} for r in f["tables"]["processes"]] for f in shown[1:]]
    unique("syscalls", processes, outside + inside)
    rows = [r for f in shown for r in f["tables"]["in_progress"] + f["events"]]
    named("syscalls", sum(processes, []), names)
    named("calls", rows, names)
    paths = [r["args"] for r in rows if r["args"] and ("<" in r["args"] or '"' in r["args"])]
    check(not paths, f"syscalls: no files of other processes: {paths[:3]}")
    notes = " ".join(n["text"] for n in shown[-1]["notes"])
    check("events carry host PIDs, which this PID namespace cannot map" in notes, f"syscalls: the note is there: {notes}")


def disk():
    """The same disk load inside and outside; ktop inside shows both with their host PIDs."""
    if not os.path.exists("/dev/loop-control"):
        return print("note  no loop devices here: the disk pane is not tested")
    image = f"{os.path.dirname(LOAD)}/disk"
    with open(image, "wb") as f:
        f.truncate(16 << 20)
    path = subprocess.run(["losetup", "-f", "--show", image], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    undo.append(lambda: subprocess.run(["losetup", "-d", path]))
    os.environ["IO_LOAD"], os.environ["DISK"] = f"{os.path.dirname(LOAD)}/io_load", path
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", os.environ["IO_LOAD"], f"{HERE}/vm/programs/io_load.c", "-lpthread"], check=True)
    load = subprocess.Popen([os.environ["IO_LOAD"], path, "read", "10000000", "1", "4096", "random"], stdout=subprocess.DEVNULL)
    undo.append(lambda: (load.kill(), load.wait()))
    shown, names, _ = frames("disk")
    device = os.path.basename(path)
    rows = [{**r, "tid": r["pid"]} for f in shown[1:] for r in f["tables"]["by_process"] if r["device"] == device]
    by = {r["tid"] for r in rows if r["ios_per_s"] > 10}
    check(len(by) == 2 and {r["comm"] for r in rows} == {"io_load"} and by & {int(t) for t in os.listdir(f"/proc/{load.pid}/task")},
          f"disk: the loads inside and outside appear with their host PIDs: {sorted({(r['tid'], r['comm']) for r in rows})}")
    inside = by - {int(t) for t in os.listdir(f"/proc/{load.pid}/task")}
    check(not any(os.path.exists(f"/proc/{load.pid}/task/{t}") for t in inside) and all(t > 100 for t in inside), f"disk: no PID of the inner namespace: {by}")
    check(not any(r["cgroup"] for r in rows), "disk: no cgroup of another process")
    notes = " ".join(n["text"] for n in shown[-1]["notes"])
    check("events carry host PIDs, which this PID namespace cannot map" in notes, f"disk: the note is there: {notes}")
    only, _, _ = frames("disk", "--pid", "1")
    notes = " ".join(n["text"] for n in only[-1]["notes"])
    check(not any(f["tables"]["by_process"] for f in only) and "no rows: --pid and --user cannot be applied" in notes, f"disk --pid: no rows: {notes}")


def main():
    global LOAD
    need_root()
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
        skip("not in the initial PID namespace: no reference for host PIDs")
    work = tempfile.mkdtemp(prefix="ktop-namespace-")
    undo.append(lambda: shutil.rmtree(work, ignore_errors=True))
    LOAD = f"{work}/sched_load"
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", LOAD, f"{HERE}/vm/programs/sched_load.c", "-lpthread"], check=True)
    load = subprocess.Popen([LOAD, "pingpong", "1000000000", "-1"])
    undo.append(lambda: (load.kill(), load.wait()))
    wait_for("the load outside", 10, lambda: len(pings_of(os.getpid(), comms())) == 2)
    outside = pings_of(os.getpid(), comms())
    sched(outside)
    if sys.argv[1:] != ["sched"]:
        syscalls(outside)
        disk()


try:
    main()
finally:
    for step in reversed(undo):
        step()
sys.exit(1 if failed else 0)
