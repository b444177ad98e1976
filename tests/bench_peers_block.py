#!/usr/bin/env python3
# needs: root, fio, loop devices; cost of monitoring a fast disk with ktop and with its peers, in one run
"""bench_peers_block.py [ROUNDS [SECONDS]]: the load of bench_block.py runs all the time. The phases of each round: no tracing; a bare ring buffer
with ktop's events and no reader; ktop; biolatency, biosnoop and biotop (bcc's libbpf versions); a bpftrace one-liner for the same
histogram; iostat; `cat trace_pipe` of issue and completion (as the shell tools do). For each: IOPS relative to no tracing, CPU time
per I/O of the load with its kernel workers and of the tool itself, and lost events where known. CPU time of BPF programs is part of
the load's. A peer that does not run here is listed with its last line of output. The last line is JSON."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from bench_block import Bare, Ktop, Nothing, completed, detach, undo
from tracing import Tracefs, need_root, skip

HISTOGRAM = ("tracepoint:block:block_rq_issue { @start[args->dev, args->sector] = nsecs; } "
             "tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ { "
             "@us = hist((nsecs - @start[args->dev, args->sector]) / 1000); delete(@start[args->dev, args->sector]); }")
PEERS = {"biolatency": ["biolatency", "1"], "biosnoop": ["biosnoop"], "biotop": ["biotop", "1"],
         "bpftrace": ["bpftrace", "-e", HISTOGRAM], "iostat": ["iostat", "-x", "1"]}
refused = {}


def cpu_ns(pid):
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
            total += int(f.read().split()[0])
    return total


class Refused(Exception):
    pass


class Peer:
    """A peer tool; its CPU time is that of its process only."""

    name = None

    def __init__(self, trace):
        self.output = tempfile.TemporaryFile("w+", errors="replace")
        self.p = subprocess.Popen(trace.inside + PEERS[self.name], stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT,
                                  start_new_session=True)
        undo.append(self.kill)
        time.sleep(1.2)  # BPF programs are loaded by then; the I/O load keeps running
        if self.p.poll() is not None:
            raise Refused(self.last_line())
        self.begin = None

    def last_line(self):
        self.output.seek(0)
        lines = [line.strip() for line in self.output.read(100000).splitlines() if line.strip()]
        return lines[-1][:120] if lines else f"exit status {self.p.returncode}"

    def measured(self):
        if self.p.poll() is not None:
            raise Refused(self.last_line())
        now = time.monotonic(), cpu_ns(self.p.pid)
        if self.begin:
            self.cpu = (now[1] - self.begin[1]) / (now[0] - self.begin[0])
        self.begin = now

    def kill(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def end(self):
        self.p.terminate()
        try:
            self.p.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
        undo.remove(self.kill)
        self.output.seek(0)
        lost = [int(line.split()[1]) for line in self.output if line.startswith("Lost ") and line.split()[1].isdigit()]
        return {"cpu_ns": self.cpu, "lost": sum(lost) if lost else None}


class Pipe(Peer):
    """Issue and completion events as text from trace_pipe, with the default buffer size."""

    def __init__(self, trace):
        self.trace, self.dir = trace, f"instances/pipe-{os.getpid()}"
        os.mkdir(f"{trace.path}/{self.dir}")
        undo.append(self.remove)
        for event in ("block_rq_issue", "block_rq_complete"):
            trace.write(f"{self.dir}/events/block/{event}/enable", "1")
        self.output = open(os.devnull, "r+")
        self.p = subprocess.Popen(["cat", f"{trace.path}/{self.dir}/trace_pipe"], stdout=self.output, stderr=self.output, start_new_session=True)
        undo.append(self.kill)
        self.begin = None

    def overrun(self):
        return sum(int(line.split(":")[1]) for cpu in os.listdir(f"{self.trace.path}/{self.dir}/per_cpu")
                   for line in self.trace.read(f"{self.dir}/per_cpu/{cpu}/stats").splitlines() if line.startswith("overrun"))

    def end(self):
        found = super().end()
        found["lost"] = self.overrun()
        self.remove()
        undo.remove(self.remove)
        return found

    def remove(self):
        if os.path.isdir(f"{self.trace.path}/{self.dir}"):
            self.kill()
            self.trace.write(self.dir + "/events/enable", "0")
            os.rmdir(f"{self.trace.path}/{self.dir}")


def load_cpu_ns(fio):
    """CPU time of fio and the kernel workers (including the loop device's), which other load disturbs less than IOPS."""
    total = cpu_ns(fio)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as f:
                if f.read().startswith("kworker/u"):
                    total += cpu_ns(pid)
        except OSError:  # it exited
            pass
    return total


def phase(kind, trace, device, fio, seconds):
    watcher = kind(trace)
    try:
        time.sleep(0.5)
        watcher.measured()
        begin, at, cpu = completed(device), time.monotonic(), load_cpu_ns(fio)
        time.sleep(seconds)
        n = completed(device) - begin
        ios, cost = n / (time.monotonic() - at), (load_cpu_ns(fio) - cpu) / n
        watcher.measured()
    except Refused:
        undo.remove(watcher.kill)
        raise
    return ios, cost, watcher.end()


def load(work, seconds):
    with open(work + "/disk", "wb") as f:
        for _ in range(128):
            f.write(os.urandom(1 << 20))
    path = subprocess.run(["losetup", "-f", "--show", work + "/disk"], check=True, capture_output=True, text=True).stdout.strip()
    undo.append(lambda: detach(path))
    fio = subprocess.Popen(["fio", "--name=bench", f"--filename={path}", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=io_uring", "--thread",
                            "--iodepth=32", "--iodepth_batch_submit=16", "--iodepth_batch_complete_max=16", "--time_based", f"--runtime={seconds}",
                            "--norandommap", "--randrepeat=0", "--gtod_reduce=1", "--output=/dev/null"], start_new_session=True)
    undo.append(lambda: (fio.terminate(), fio.wait()))
    try:  # prefer its autogroup: otherwise changes of other load dominate the measurement
        with open(f"/proc/{fio.pid}/autogroup", "w") as f:
            f.write("-15")
    except OSError:
        pass
    time.sleep(1.5)
    if fio.poll() is not None:
        skip("fio does not run here")
    return os.path.basename(path), fio.pid


def main():
    need_root()
    if not shutil.which("fio") or not os.path.exists("/dev/loop-control"):
        skip("needs fio and loop devices")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 1.5
    kinds = {"untraced": Nothing, "bare ring": Bare, "ktop": Ktop, "trace_pipe": Pipe}
    for name, command in PEERS.items():
        if shutil.which(command[0]):
            kinds[name] = type("Peer", (Peer,), {"name": name})
        else:
            refused[name] = "not installed"
    trace = Tracefs()
    undo.append(trace.close)
    work = tempfile.mkdtemp(prefix="ktop-bench-", dir="/dev/shm")
    undo.append(lambda: shutil.rmtree(work, ignore_errors=True))
    device, fio = load(work, int(rounds * len(kinds) * (seconds + 5) + 20))
    iops, watchers = {k: [] for k in kinds}, {k: [] for k in kinds}
    for number in range(rounds):
        for name in list(kinds) if number % 2 else reversed(kinds):
            if name in refused:
                continue
            try:
                ios, load_cost, figures = phase(kinds[name], trace, device, fio, seconds)
            except Refused as reason:
                refused[name] = str(reason)
                continue
            iops[name].append(ios)
            watchers[name].append(dict(figures, ios=ios, load_cost=load_cost))
    middle = statistics.median
    print(f"{'':12} {'IOPS':>9} {'/ untraced':>10} {'load CPU/IO':>12} {'own CPU/IO':>11} lost")
    result = {}
    for name in (k for k in kinds if iops[k]):
        paired = middle(a / b for a, b in zip(iops[name], iops["untraced"]))
        cost = middle(w["cpu_ns"] / w["ios"] for w in watchers[name]) if "cpu_ns" in watchers[name][0] else None
        load_cost = middle(w["load_cost"] for w in watchers[name])
        lost = [w["lost"] for w in watchers[name] if w.get("lost") is not None]
        result[name] = {"iops": round(middle(iops[name])), "to_untraced": round(paired, 3), "load_cpu_ns_per_io": round(load_cost),
                        "cpu_ns_per_io": cost and round(cost), "lost": sum(lost) if lost else None}
        print(f"{name:12} {result[name]['iops']:9,} {paired:10.3f} {load_cost:9.0f} ns " + (f"{cost:8.0f} ns " if cost is not None else f"{'-':>11} ")
              + (f"{sum(lost):,}" if lost else "-"))
    for name, why in refused.items():
        print(f"{name:12} does not run here: {why}")
    print(json.dumps(dict(result, refused=refused)))


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
