#!/usr/bin/env python3
# needs: root, cc; cost of scheduler tracing for a pipe ping-pong and for ktop, compared with runqlat and perf sched record
"""bench_sched.py [ROUNDS [TURNS [PROGRAM...]]]: two processes on CPU 0 write to each other TURNS times. The phases of each round: no tracing;
a bare ring buffer with the same events and no reader; ktop's sched pane; other builds of ktop; runqlat and `perf sched record`, if installed.
Results: CPU time in ns of both processes per turn, from /proc/PID/schedstat, which other load disturbs less than elapsed time; medians of the
ratios within each round; the slowdown divided by runqlat's; CPU time of ktop's thread per event. The last line is JSON."""
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from tracing import Tracefs, need_root, wait_for, KTOP

EVENTS = "sched_waking", "sched_wakeup_new", "sched_migrate_task", "sched_switch"  # exactly what ktop records (collectors/sched/sched.c)
undo = []  # cleanup functions, called in reverse order at exit, also after a failure


def cpu_ns(pid):
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0])


class Nothing:
    def __init__(self, _trace):
        pass

    def end(self):
        return {}


class Bare:
    """A trace instance with ktop's events, a large buffer and no reader."""

    def __init__(self, trace):
        self.trace, self.name = trace, f"instances/bench-{os.getpid()}"
        os.mkdir(f"{trace.path}/{self.name}")
        undo.append(self.end)
        trace.write(f"{self.name}/trace_clock", "local")
        trace.write(f"{self.name}/buffer_size_kb", "16384")
        for event in EVENTS:
            trace.write(f"{self.name}/events/sched/{event}/enable", "1")

    def end(self):
        if os.path.exists(f"{self.trace.path}/{self.name}"):
            self.trace.write(f"{self.name}/events/enable", "0")
            os.rmdir(f"{self.trace.path}/{self.name}")
        return {}


class Ktop:
    program = KTOP

    def __init__(self, trace):
        self.trace = trace
        self.out = tempfile.TemporaryFile("w+")
        self.p = subprocess.Popen(trace.inside + [self.program, "--batch", "--pane", "sched,health", "--format", "json"],
                                  stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.DEVNULL, start_new_session=True)
        undo.append(self.kill)
        wait_for("scheduler tracing", 10, lambda: any("-sched" in name for name in trace.enabled(self.p.pid)))
        time.sleep(1.5)  # its first scan of /proc is complete
        self.begin, self.at = self.own_ns(), self.frames()

    def own_ns(self):
        total = 0
        for tid in os.listdir(f"/proc/{self.p.pid}/task"):
            with open(f"/proc/{self.p.pid}/task/{tid}/comm") as f:
                if f.read().strip() == "ktop-sched":
                    total += cpu_ns(f"{self.p.pid}/task/{tid}")
        return total

    def frames(self):
        self.out.seek(0)
        return [json.loads(line) for line in self.out.read().splitlines() if line.endswith("}")]

    def kill(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def end(self):
        time.sleep(1.1)  # the next frame includes everything read so far
        spent = self.own_ns() - self.begin
        frames = self.frames()[len(self.at):]
        self.p.terminate()
        self.p.wait()
        events = sum(f["interval_s"] * c["events_per_s"] for f in frames for c in f["tables"].get("collectors", [])
                     if c["collector"] == "sched" and c["events_per_s"])
        lost = sum(f["lost_events"] for f in frames if f["pane"] == "sched")
        sampled = min((f["series"]["sched_sampled_pct"] or 100 for f in frames if f["pane"] == "sched"), default=100)
        return {"ns_per_event": spent / events if events else float("nan"), "events": events, "lost": lost, "recorded_pct": sampled}


class Peer:  # runs in the helper's mount namespace, because perf mounts tracefs
    def __init__(self, trace, argv):
        self.p = subprocess.Popen(trace.inside + argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        undo.append(self.kill)
        time.sleep(1)
        if self.p.poll() is not None:
            raise OSError(f"{argv[0]} exited at once")

    def kill(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def end(self):
        self.p.send_signal(signal.SIGINT)
        try:
            self.p.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
        return {}


def phase(make, trace, load, turns):
    tracer = make(trace)
    p = subprocess.Popen([load, "pingpong", str(turns), "0"], stdout=subprocess.PIPE, text=True)
    pids = p.stdout.readline().split()
    used = sum(cpu_ns(pid) for pid in pids)
    figures = tracer.end()
    p.kill()
    p.wait()
    p.stdout.close()
    return used / turns, figures


def main():
    need_root()
    rounds, turns = (int(a) for a in (sys.argv[1:3] + ["5", "400000"][len(sys.argv[1:3]):]))
    work = tempfile.mkdtemp(prefix="ktop-bench-")
    undo.append(lambda: shutil.rmtree(work, ignore_errors=True))
    load = f"{work}/sched_load"
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", load, f"{here}/vm/programs/sched_load.c", "-lpthread"], check=True)
    trace = Tracefs()
    undo.append(trace.close)
    phases = {"untraced": Nothing, "bare ring": Bare, "ktop": Ktop}
    for program in sys.argv[3:]:
        phases[program] = type("Other", (Ktop,), {"program": os.path.abspath(program)})
    for name, argv in (("runqlat", ["runqlat", "600"]), ("perf sched record", ["perf", "sched", "record", "-o", f"{work}/perf.data"])):
        if shutil.which(argv[0]):
            phases[name] = lambda trace, argv=argv: Peer(trace, argv)
    ns, figures = {name: [] for name in phases}, {name: [] for name in phases}
    for _ in range(rounds):
        for name in list(phases):
            try:
                one, more = phase(phases[name], trace, load, turns)
            except OSError as error:
                print(f"{name}: {error}", file=sys.stderr)
                del phases[name]
                continue
            ns[name].append(one)
            figures[name].append(more)
    result = {}
    for name in phases:
        ratio = statistics.median(a / b for a, b in zip(ns[name], ns["untraced"]))
        result[name] = {"ns_per_turn": round(statistics.median(ns[name])), "ratio": round(ratio, 3)}
        line = f"{name:20} {statistics.median(ns[name]):8.0f} ns of CPU per turn, {ratio:5.2f} x"
        if "runqlat" in phases:
            result[name]["of_runqlat"] = round(statistics.median(a / b for a, b in zip(ns[name], ns["runqlat"])), 3)
            line += f", {result[name]['of_runqlat']:5.2f} x runqlat's"
        if figures[name][0]:
            result[name]["ns_per_event"] = round(statistics.median(t["ns_per_event"] for t in figures[name]), 1)
            line += (f", {result[name]['ns_per_event']:5.1f} ns of ktop's thread per event, {sum(t['lost'] for t in figures[name])} lost, "
                     f"{min(t['recorded_pct'] for t in figures[name]):.0f} % recorded, {statistics.median(t['events'] for t in figures[name]):.0f} events")
        print(line, flush=True)
    print(json.dumps(result))


try:
    main()
finally:
    for step in reversed(undo):
        step()
