#!/usr/bin/env python3
# needs: root, cc, tracefs; cost of tracing all system calls at full speed, for the program and for ktop
"""bench_syscalls.py [ROUNDS [CALLS]]: a program calls getppid in a loop at full speed. The phases of each round: no tracing; a bare ring buffer with
the same events and no reader; ktop; first on one CPU, then on all CPUs at once. Results: CPU time of the program per call, as medians and ratios
within each round; events per second, also for the bare ring; lost events; CPU time of ktop's thread per event, and the reader capacity derived
from it. Then the same on one CPU under each peer, with an untraced run before it, and the decoder alone, from memory
(build/tests/bench_syscalls). The last line is JSON."""
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from tracing import KTOP, Tracefs, need_root, skip, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
EVENTS = ("raw_syscalls/sys_enter", "raw_syscalls/sys_exit")
undo = []  # cleanup functions, called in reverse order at exit, also after a failure


class Nothing:
    def __init__(self, _trace):
        pass

    def measured(self):
        pass

    def end(self):
        return None


class Bare:
    """A trace instance with ktop's events, the same buffer size and clock, and no reader."""

    def __init__(self, trace):
        self.name = f"instances/bench-{os.getpid()}"
        self.trace = trace
        os.mkdir(f"{trace.path}/{self.name}")
        undo.append(self.end)
        for file, value in (("trace_clock", CLOCK), ("buffer_subbuf_size_kb", "64"), ("buffer_size_kb", "16384")):
            try:
                trace.write(f"{self.name}/{file}", value)
            except OSError:
                pass  # before Linux 6.8 sub-buffers have a fixed size of one page
        for event in EVENTS:
            trace.write(f"{self.name}/events/{event}/enable", "1")

    def measured(self):
        pass

    def end(self):
        if os.path.exists(f"{self.trace.path}/{self.name}"):
            self.trace.write(self.name + "/events/enable", "0")
            os.rmdir(f"{self.trace.path}/{self.name}")


class Ktop:
    def __init__(self, trace):
        self.out = tempfile.TemporaryFile("w+")
        self.p = subprocess.Popen([KTOP, "--batch", "--pane", "syscalls,health", "--format", "json", "--delay", "0.5", "--budget", "100"],
                                  stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.DEVNULL, start_new_session=True)
        undo.append(self.kill)
        wait_for("tracing", 20, lambda: any("syscalls" in name for name in trace.enabled(self.p.pid)))
        time.sleep(1)
        self.begin = None

    def cpu_ns(self):
        for tid in os.listdir(f"/proc/{self.p.pid}/task"):
            with open(f"/proc/{self.p.pid}/task/{tid}/comm") as f:
                if f.read().strip() == "ktop-syscalls":
                    with open(f"/proc/{self.p.pid}/task/{tid}/schedstat") as f:
                        return int(f.read().split()[0])
        raise RuntimeError("ktop has no thread ktop-syscalls")

    def measured(self):
        if self.begin is None:
            self.begin = self.cpu_ns()
        else:
            time.sleep(1.2)  # until the buffer is drained and the counts are in a frame
            self.cpu = self.cpu_ns() - self.begin

    def kill(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def end(self):
        self.p.terminate()
        self.p.wait()
        self.out.seek(0)
        frames = [json.loads(line) for line in self.out]
        rows = [r for f in frames if f["pane"] == "health" for r in f["tables"]["collectors"] if r["collector"] == "syscalls"]
        events = [(r.get("events_per_s") or 0) for r in rows]
        ours = [f for f in frames if f["pane"] == "syscalls"]
        counted = sum(r["calls"] for f in ours for r in f["tables"]["by_process"] if r["syscall"] == "getppid" and r["comm"] == "syscalls_load")
        return {"cpu_ns": self.cpu, "events_per_s": max(events), "lost": sum(f["lost_events"] for f in ours),
                "events": sum(events) * 0.5, "counted": counted, "sampled": max(f["series"]["syscalls_sampled"] or 1 for f in ours)}


BPFTRACE = """tracepoint:raw_syscalls:sys_enter { @begin[tid] = nsecs; }
tracepoint:raw_syscalls:sys_exit /@begin[tid]/ { @us[args->id] = hist((nsecs - @begin[tid]) / 1000); delete(@begin[tid]); }"""
# name, command, and divisor of the number of calls: a peer that takes microseconds per call would take minutes
PEERS = (("syscount -L", ["syscount", "-L", "-d", "600"], 1),
         ("bpftrace hist", ["bpftrace", "-q", "-e", BPFTRACE], 1),
         ("perf record", ["perf", "record", "-q", "-a", "-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit", "-o", "/dev/null"], 4),
         ("perf trace -s", ["perf", "trace", "-s", "-a", "-o", "/dev/null"], 100),
         ("trace-cmd record", ["trace-cmd", "record", "-q", "-e", "raw_syscalls", "-o", "/dev/null"], 1))


def peer(argv):
    """Returns a class that runs a peer in the helper's mount namespace, because perf mounts tracefs."""
    class Peer:
        def __init__(self, trace):
            self.p = subprocess.Popen(trace.inside + argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            undo.append(self.kill)
            time.sleep(3)  # bpftrace compiles
            if self.p.poll() is not None:
                raise OSError(f"exited at once with {self.p.returncode}")

        def measured(self):
            pass

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

    return Peer


def peers(trace, cpus, calls):
    """Slowdown under each peer, relative to an untraced run just before it; None: the peer does not run here."""
    result = {}
    for name, argv, fewer in PEERS:
        try:
            none, with_peer = (phase(kind, trace, cpus, max(10000, calls // fewer))[0] for kind in (Nothing, peer(argv)))
            result[name] = round(with_peer / none, 2)
        except (OSError, FileNotFoundError) as e:
            print(f"{name}: does not run here ({e})")
            result[name] = None
    print("slowdown on one CPU: " + ", ".join(f"{n} {'-' if v is None else f'{v:.2f}x'}" for n, v in result.items()), flush=True)
    return result


def phase(kind, trace, cpus, calls):
    tracer = kind(trace)
    time.sleep(0.2)
    tracer.measured()
    before, at = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    loads = [subprocess.Popen(["taskset", "-c", str(cpu), LOAD, "spin", str(calls)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for cpu in cpus]
    for load in loads:
        load.stdin.write(b"go\n")
        load.stdin.close()
    for load in loads:
        load.wait()
    took, after = time.monotonic() - at, resource.getrusage(resource.RUSAGE_CHILDREN)
    ns = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9 / calls / len(cpus)
    tracer.measured()
    return ns, took, tracer.end()


def rounds_of(trace, cpus, rounds, calls):
    kinds = {"none": Nothing, "ring": Bare, "ktop": Ktop}
    cost, rate, ktops = {k: [] for k in kinds}, {k: [] for k in kinds}, []
    for number in range(rounds):
        for name in list(kinds) if number % 2 else reversed(kinds):
            ns, took, figures = phase(kinds[name], trace, cpus, calls)
            cost[name].append(ns)
            rate[name].append(2 * calls * len(cpus) / took)
            if figures:
                figures["ns_per_event"] = figures["cpu_ns"] / max(1, figures["events"])
                figures["missing"] = calls * len(cpus) - figures["counted"]
                ktops.append(figures)
        k = ktops[-1]
        print(f"{len(cpus)} CPUs, round {number + 1}: ns of CPU per call: " + ", ".join(f"{n} {v[-1]:.0f}" for n, v in cost.items())
              + f"; {rate['ktop'][-1] / 1e6:.1f} M events/s (ring {rate['ring'][-1] / 1e6:.1f}), {k['lost']} lost, {k['missing']:.0f} calls not counted, sampled 1:{k['sampled']:.0f}, "
              f"ktop {k['ns_per_event']:.1f} ns per event", flush=True)
    middle = statistics.median
    each = middle(k["ns_per_event"] for k in ktops)
    return {"none_ns": round(middle(cost["none"])), "ring_to_none": round(middle(a / b for a, b in zip(cost["ring"], cost["none"])), 3),
            "ktop_to_ring": round(middle(a / b for a, b in zip(cost["ktop"], cost["ring"])), 3),
            "events_per_s": round(middle(rate["ktop"])), "ring_events_per_s": round(middle(rate["ring"])), "reader_events_per_s": round(1e9 / each), "lost": sum(k["lost"] for k in ktops),
            "not_counted": round(sum(k["missing"] for k in ktops)), "cpu_ns_per_event": round(each, 1)}


def from_memory():
    """Decoder throughput on a backlog: synthetic sub-buffers of two CPUs, without the kernel."""
    program = os.path.join(HERE, "../build/tests/bench_syscalls")
    if not os.path.exists(program):
        print("build/tests/bench_syscalls is not built (make benches): the decoder alone is not measured")
        return None
    out = subprocess.run([program, "20"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    print("\n".join(out[:-1]), flush=True)
    return json.loads(out[-1])


def main():
    global LOAD, CLOCK
    need_root()
    if not shutil.which("cc"):
        skip("needs cc")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 6000000
    work = tempfile.mkdtemp(prefix="ktop-bench-")
    undo.append(lambda: shutil.rmtree(work, ignore_errors=True))
    LOAD = os.path.join(work, "syscalls_load")
    subprocess.run(["cc", "-O2", "-o", LOAD, os.path.join(HERE, "data/syscalls_load.c"), "-lpthread"], check=True)
    with open("/sys/devices/system/clocksource/clocksource0/current_clocksource") as f:
        CLOCK = "local" if f.read().strip() == "tsc" else "mono"
    trace = Tracefs()
    undo.append(trace.close)
    cpus = sorted(os.sched_getaffinity(0))
    result = {"one_cpu": rounds_of(trace, cpus[-1:], rounds, calls)}
    result["peers_to_none"] = peers(trace, cpus[-1:], calls)
    if len(cpus) > 1:
        result["all_cpus"] = rounds_of(trace, cpus, rounds, calls)
    result["from_memory"] = from_memory()
    print(json.dumps(result))


if __name__ == "__main__":
    status = 1
    try:
        main()
        status = 0
    except SystemExit as e:
        status = e.code
    finally:
        for step in reversed(undo):
            step()
    sys.exit(status)
