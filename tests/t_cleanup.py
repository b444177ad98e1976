#!/usr/bin/env python3
# needs: root san; a start and --cleanup remove only the leftovers of dead ktops; running ktops and other tools are not disturbed
import json
import os
import signal
import subprocess
import tempfile

import tracing
from tracing import KTOP, SLOW, Ktop, dead_pid, gone, start_time, wait_for


class Made:
    """Instances and uprobes created by the test and removed at its end."""

    def __init__(self, trace):
        self.trace, self.names, self.probes = trace, [], []

    def instance(self, name):
        os.mkdir(f"{self.trace.path}/instances/{name}")
        self.names.append(name)
        return name

    def probe(self, group):
        # Creating a uprobe only opens the file; it is never enabled.
        self.trace.write("uprobe_events", f"p:{group}/it /bin/true:0x1000\n", append=True)
        self.probes.append(group)
        return group

    def remove(self):
        names, groups, self.names, self.probes = self.names, self.probes, [], []
        for name in names:
            if name in self.trace.instances():
                os.rmdir(f"{self.trace.path}/instances/{name}")
        for group in groups:
            if f":{group}/it " in self.trace.read("uprobe_events"):
                self.trace.write("uprobe_events", f"-:{group}/it\n", append=True)


def cleanup():
    p = subprocess.run([KTOP, "--cleanup"], capture_output=True, text=True, timeout=30)
    assert p.returncode == 0, p
    return p.stdout


def pid_namespace():
    """Starts PID 1 of a new PID namespace; returns its helper, its PID outside, and the namespace's inode."""
    p = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", "echo ok; exec sleep 600"], stdout=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "ok\n"
    with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
        inner = int(f.read().split()[0])
    return p, inner, os.stat(f"/proc/{inner}/ns/pid").st_ino


def only_stale_removed(trace, made, again=3):
    dead, me = dead_pid(), os.getpid()
    helper, inner, ns = pid_namespace()
    try:
        mine = start_time(me)
        stale = [made.instance(f"ktop-{dead}-1-block"), made.instance(f"ktop-{me}-{mine + 1}-block"),
                 made.instance(f"ktop-{dead}-1-block.4026539999"), made.instance(f"ktop-7-1-block.{ns}")]
        kept = [made.instance(f"ktop-{me}-{mine}-block"), made.instance("ktop-notes"), made.instance(f"mytool-{dead}-1-block"),
                made.instance(f"ktop-1-{start_time(inner)}-block.{ns}")]
        stale_probe, kept_probes = made.probe(f"ktop_{dead}_1_probes"), [made.probe("ktopfan"), made.probe(f"ktop_{me}_{mine}_probes")]
        output = cleanup()
        left, probes = trace.instances(), trace.read("uprobe_events")
        for name in stale:
            assert name not in left, f"not removed: {name}"
        for name in kept:
            assert name in left, f"removed by mistake: {name}"
            assert name not in output
        assert f":{stale_probe}/it" not in probes, probes
        for group in kept_probes:
            assert f":{group}/it" in probes, f"removed by mistake: {group}"
        unreported = [name for name in [*stale, stale_probe] if name not in output]
        if unreported:  # another ktop that started at the same time may have removed them first, but not in every try
            assert again > 0, f"not reported: {unreported} in {output!r}"
            made.remove()
            return only_stale_removed(trace, made, again - 1)
        assert f"-{dead}-" not in cleanup(), "removed twice"
    finally:
        helper.kill()
        helper.wait()
        helper.stdout.close()


def at_a_start(trace, made):
    name = made.instance(f"ktop-{dead_pid()}-1-block")
    subprocess.run([KTOP, "-b", "-P", "health", "-d", "0.5", "-n", "2"], stdout=subprocess.DEVNULL, timeout=30, check=True)
    assert name not in trace.instances(), "not removed at the start"


def frames(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def trace_cmd_refused(trace, folder):
    """Why trace-cmd cannot record here, or None. Even a failed trace-cmd may change the top level: its buffer grows to full size."""
    probe = subprocess.run(trace.inside + ["trace-cmd", "record", "-B", "ktoptest", "-e", "sched:sched_switch", "-o", os.path.join(folder, "probe.dat"), "true"],
                           cwd=folder, capture_output=True, text=True)
    if "ktoptest" in trace.instances():
        os.rmdir(f"{trace.path}/instances/ktoptest")
    return " ".join(probe.stderr.split()) if probe.returncode else None


def other_tool(trace, folder, refused):
    """Starts trace-cmd recording in its own instance, or a plain reader of an instance if trace-cmd cannot record."""
    if not refused:
        p = subprocess.Popen(trace.inside + ["trace-cmd", "record", "-B", "ktoptest", "-e", "sched:sched_switch", "-o", os.path.join(folder, "trace.dat")],
                             cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return p, lambda: p.send_signal(signal.SIGINT)
    print(f"trace-cmd cannot record here ({refused}): a plain reader of an instance replaces it")
    os.mkdir(f"{trace.path}/instances/ktoptest")
    trace.write("instances/ktoptest/events/sched/sched_switch/enable", "1")
    p = subprocess.Popen(["cat", f"{trace.path}/instances/ktoptest/trace_pipe"], stdout=subprocess.DEVNULL)
    return p, p.terminate


def entries(trace, instance):
    """Number of events ever written to the instance."""
    total = 0
    for cpu in os.listdir(f"{trace.path}/instances/{instance}/per_cpu"):
        for line in trace.read(f"instances/{instance}/per_cpu/{cpu}/stats").splitlines():
            name, _, value = line.partition(": ")
            if name in ("read events", "entries", "overrun"):
                total += int(value)
    return total


def side_by_side(trace, folder, refused):
    recorder, stop = other_tool(trace, folder, refused)
    ours = []
    try:
        wait_for("the recorder's instance", 10, lambda: trace.read("instances/ktoptest/events/sched/sched_switch/enable").strip() == "1")
        with open(f"{folder}/a", "w") as out_a, open(f"{folder}/b", "w") as out_b:
            a, b = Ktop(trace, out=out_a), Ktop(trace, out=out_b)
        ours = [a, b]
        a.signal(signal.SIGKILL)
        a.p.wait()
        wait_for("removal of the first ktop's tracing", 2, lambda: gone(trace, a.pid))
        assert trace.enabled(b.pid), "the second ktop's tracing was removed with the first's"
        seen, frame = entries(trace, "ktoptest"), len(frames(f"{folder}/b"))
        wait_for("frames of the second ktop", 5 * SLOW, lambda: len(frames(f"{folder}/b")) >= frame + 2)
        wait_for("events of the other tool", 5, lambda: entries(trace, "ktoptest") > seen)
        block = [row for row in frames(f"{folder}/b")[-1]["tables"]["collectors"] if row["collector"] == "block"]
        assert block and block[0]["state"] == "ok", block
        # A third ktop at its start, and --cleanup, remove leftovers: neither touches a running ktop.
        subprocess.run([KTOP, "-b", "-P", "health", "-d", "0.2", "-n", "1"], stdout=subprocess.DEVNULL, timeout=30, check=True)
        cleanup()
        assert trace.enabled(b.pid) and "ktoptest" in trace.instances()
        b.signal(signal.SIGTERM)
        b.p.wait(10 * SLOW)
        wait_for("removal of the second ktop's tracing", 2, lambda: gone(trace, b.pid))
        assert trace.read("instances/ktoptest/events/sched/sched_switch/enable").strip() == "1"
    finally:
        for ktop in ours:
            ktop.end()
        stop()
        recorder.wait(20)
        if "ktoptest" in trace.instances():
            os.rmdir(f"{trace.path}/instances/ktoptest")


tracing.need_root()
trace = tracing.Tracefs()
made = Made(trace)
with tempfile.TemporaryDirectory() as folder:
    try:
        refused = trace_cmd_refused(trace, folder)
        before = {name: trace.read(name) for name in ("tracing_on", "current_tracer", "buffer_size_kb", "events/enable")}
        only_stale_removed(trace, made)
        at_a_start(trace, made)
        side_by_side(trace, folder, refused)
        after = {name: trace.read(name) for name in before}
        assert before == after, f"the top level has changed: {before} {after}"
    finally:
        made.remove()
        trace.close()
