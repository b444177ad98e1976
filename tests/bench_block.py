#!/usr/bin/env python3
# needs: root, fio, loop devices; cost of tracing block I/O at a high rate, for the traced program and for ktop
"""bench_block.py [ROUNDS [SECONDS [PROGRAM...]]]: fio does 4 KiB random reads at queue depth 32 from a loop device over tmpfs during the
whole run. The phases of each round: no tracing; a bare ring buffer with the same events and no reader; the same with one dd per CPU as reader;
ktop; other builds of ktop. In the ktop phase ktop is also stopped and continued several times a second, which leaves its ring without a reader:
adjacent turns see the same machine state, so they resolve 1 % where whole rounds do not. IOPS come from the device's own counters; results are
medians of the phases and of the ratios within each round. CPU time of ktop's thread per event and per I/O; CPU time of fio and the loop
worker per I/O, which other load disturbs less than IOPS. The last line is JSON."""
import json
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from tracing import Tracefs, need_root, skip, wait_for, KTOP

EVENTS = ("block_rq_insert block_rq_issue block_rq_requeue block_rq_merge block_rq_error block_rq_complete block_bio_queue "
          "block_bio_complete block_split block_bio_backmerge block_bio_frontmerge").split()
JOBS = 1
TURN = 0.08  # seconds; the ring holds all events of a stopped turn
DRAIN = 0.05  # seconds between ktop's drains; turns start at a random time between two
undo = []  # cleanup functions, called in reverse order at exit, also after a failure


def completed(device):
    with open(f"/sys/block/{device}/stat") as f:
        return int(f.read().split()[0])


def load_cpu_ns():
    """CPU time of fio and the loop device's worker, which other load disturbs less than IOPS."""
    total = 0
    for pid in os.listdir("/proc"):
        try:
            with open(f"/proc/{pid}/comm") as f:
                comm = f.read()
            if comm.startswith("fio") or "loop" in comm or comm.startswith(("kworker/u", "iou-")):
                for tid in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
                        total += int(f.read().split()[0])
        except OSError:
            pass
    return total


class Nothing:
    def __init__(self, _trace):
        pass

    def measured(self):
        pass

    def end(self):
        return {}


class Bare:
    """A trace instance with ktop's events, the default clock, a large buffer and no reader."""

    def __init__(self, trace):
        self.path = f"{trace.path}/instances/bench-{os.getpid()}"
        self.trace = trace
        os.mkdir(self.path)
        undo.append(self.end)
        name = os.path.relpath(self.path, trace.path)
        try:
            trace.write(name + "/buffer_subbuf_size_kb", "64")
        except OSError:
            pass
        trace.write(name + "/buffer_size_kb", "16384")
        for event in EVENTS:
            if os.path.exists(f"{self.path}/events/block/{event}"):
                trace.write(f"{name}/events/block/{event}/enable", "1")

    def measured(self):
        pass

    def end(self):
        if os.path.exists(self.path):
            self.trace.write(os.path.relpath(self.path, self.trace.path) + "/events/enable", "0")
            os.rmdir(self.path)
        return {}


class Reader(Bare):
    """The minimum cost of a reader: one dd per CPU copies whole sub-buffers, woken when the buffer is half full."""

    def __init__(self, trace):
        self.readers = []
        super().__init__(trace)
        for cpu in os.listdir(self.path + "/per_cpu"):
            self.readers.append(subprocess.Popen(["dd", f"if={self.path}/per_cpu/{cpu}/trace_pipe_raw", "of=/dev/null", "bs=64K"],
                                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def end(self):
        for reader in self.readers:
            reader.kill()
            reader.wait()
        self.readers = []
        return super().end()


class Ktop:
    program = KTOP

    def __init__(self, trace):
        self.out = tempfile.TemporaryFile("w+")
        self.p = subprocess.Popen(trace.inside + [self.program, "--batch", "--pane", "health", "--format", "json"],
                                  stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.DEVNULL, start_new_session=True)
        undo.append(self.kill)
        wait_for("block tracing", 10, lambda: trace.enabled(self.p.pid))
        self.begin = None

    def cpu_ns(self, name):
        total = 0
        for tid in os.listdir(f"/proc/{self.p.pid}/task"):
            with open(f"/proc/{self.p.pid}/task/{tid}/comm") as f:
                if name in f.read():
                    with open(f"/proc/{self.p.pid}/task/{tid}/schedstat") as f:
                        total += int(f.read().split()[0])
        return total

    def measured(self):
        now = time.monotonic(), self.cpu_ns("ktop-block"), self.cpu_ns("")
        if self.begin:
            seconds = now[0] - self.begin[0]
            self.cpu = (now[1] - self.begin[1]) / seconds
            self.all = (now[2] - self.begin[2]) / seconds
        self.begin, self.offset = now, os.fstat(self.out.fileno()).st_size

    def kill(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def end(self):
        self.p.terminate()
        self.p.wait()
        self.out.seek(0)
        rates, lost = [], 0
        for line in self.out.read(self.offset).split("\n")[:-1]:  # whole lines before the turns: the first turns lose events until the buffer has grown
            for row in json.loads(line)["tables"]["collectors"]:
                if row["collector"] == "block":
                    rates.append(row.get("events_per_s") or 0)
                    lost += row.get("lost") or 0
        rate = statistics.median(rates[1:-1] or rates or [0])
        return {"events_per_s": rate, "lost": lost, "cpu_ns": self.cpu, "all_ns": self.all}


def detach(device):
    """Detaches the loop device; retries while I/O of fio is still in flight."""
    for _ in range(50):
        subprocess.run(["losetup", "-d", "/dev/" + os.path.basename(device)], capture_output=True)
        if not os.path.exists(f"/sys/block/{os.path.basename(device)}/loop/backing_file"):
            return
        time.sleep(0.1)


def median_within(values):
    """95 % confidence interval of the median, from order statistics (binomial distribution)."""
    values, n = sorted(values), len(values)
    below, k = 0.0, 0
    while (below := below + math.comb(n, k) / 2**n) <= 0.025:
        k += 1
    return values[max(k - 1, 0)], values[n - 1 - max(k - 1, 0)]


def turn(device, settle):
    time.sleep(settle)
    begin, at = completed(device), time.monotonic()
    time.sleep(TURN)
    return (completed(device) - begin) / (time.monotonic() - at)


def turns(ktop, device, seconds):
    """Ratios of the IOPS while ktop runs to the mean of the adjacent turns, in which it is stopped and its ring keeps recording."""
    ratios, before, running, end = [], 0, 0, time.monotonic() + seconds
    while time.monotonic() < end:
        ktop.send_signal(signal.SIGSTOP)
        stopped = turn(device, 0.02)
        ktop.send_signal(signal.SIGCONT)
        if before:
            ratios.append(2 * running / (before + stopped))
        before = stopped
        running = turn(device, 0.06 + random.uniform(0, DRAIN))
    return ratios


def phase(kind, trace, device, seconds):
    tracer = kind(trace)
    time.sleep(0.3 if kind is not Ktop else 1.2)
    tracer.measured()
    begin, at, cpu = completed(device), time.monotonic(), load_cpu_ns()
    time.sleep(seconds)
    n = completed(device) - begin
    ios, cpu = n / (time.monotonic() - at), (load_cpu_ns() - cpu) / n
    tracer.measured()
    paired = turns(tracer.p, device, 3 * seconds) if isinstance(tracer, Ktop) else []
    return ios, cpu, paired, tracer.end()


def main():
    need_root()
    if not shutil.which("fio"):
        skip("needs fio")
    if not os.path.exists("/dev/loop-control"):
        skip("this kernel has no loop devices")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3
    kinds = {"none": Nothing, "ring": Bare, "reader": Reader, "ktop": Ktop}
    for number, other in enumerate(sys.argv[3:]):
        kinds[f"other{number + 1}"] = type("Other", (Ktop,), {"program": other})
    trace = Tracefs()
    undo.append(trace.close)
    work = tempfile.mkdtemp(prefix="ktop-bench-", dir="/dev/shm")
    undo.append(lambda: shutil.rmtree(work, ignore_errors=True))
    with open(work + "/disk", "wb") as f:
        for _ in range(128):
            f.write(os.urandom(1 << 20))
    device = subprocess.run(["losetup", "-f", "--show", work + "/disk"], check=True, capture_output=True, text=True).stdout.strip()
    undo.append(lambda: detach(device))
    fio = subprocess.Popen(["fio", "--name=bench", f"--filename={device}", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=io_uring",
                            "--thread", "--iodepth=32", "--iodepth_batch_submit=16", "--iodepth_batch_complete_max=16", "--time_based",
                            f"--runtime={int(rounds * len(kinds) * (4 * seconds + 3) + 20)}", "--norandommap", "--randrepeat=0", "--gtod_reduce=1", f"--numjobs={JOBS}", "--output=/dev/null"], start_new_session=True)
    undo.append(lambda: (fio.terminate(), fio.wait()))
    device = os.path.basename(device)
    try:  # prefer its autogroup: otherwise changes of other load dominate the measurement
        with open(f"/proc/{fio.pid}/autogroup", "w") as f:
            f.write("-15")
    except OSError:
        pass
    time.sleep(1.5)
    if fio.poll() is not None:
        skip("fio does not run here")
    iops, costs, paired, ktops = ({k: [] for k in kinds} for _ in range(4))
    for number in range(rounds):
        for name in list(kinds) if number % 2 else reversed(kinds):
            ios, cost, ratios, figures = phase(kinds[name], trace, device, seconds)
            iops[name].append(ios)
            costs[name].append(cost)
            paired[name] += ratios
            if figures:
                ktops[name].append(dict(figures, ios=ios))
        print(f"round {number + 1}: " + ", ".join(f"{k} {v[-1]:,.0f} IOPS" for k, v in iops.items()), flush=True)
    middle = statistics.median
    result = {"iops": {k: round(middle(v)) for k, v in iops.items()},
              "load_cpu_ns_per_io": {k: round(middle(v)) for k, v in costs.items()}}
    for name in kinds:
        for base in {"none": ["ring"], "ring": [], "reader": ["ring"]}.get(name, ["ring", "reader"]):
            result[f"{name}_to_{base}"] = round(middle(iops[name]) / middle(iops[base]), 4)
            ratios = [k / r for k, r in zip(iops[name], iops[base])]
            result[f"{name}_to_{base}_paired"] = round(middle(ratios), 4)
            result[f"{name}_to_{base}_95"] = [round(v, 4) for v in median_within(ratios)]
        if ktops[name]:
            figures = {"events_per_s": round(middle(k["events_per_s"] for k in ktops[name])),
                       "lost": sum(k["lost"] for k in ktops[name]),
                       "cpu_ns_per_event": round(middle(k["cpu_ns"] / (k["events_per_s"] or 1) for k in ktops[name]), 1),
                       "cpu_ns_per_io": round(middle(k["cpu_ns"] / k["ios"] for k in ktops[name])),
                       "cpu_pct": round(middle(k["all_ns"] for k in ktops[name]) / 1e7, 2)}
            result.update(figures if name == "ktop" else {name: figures})
            result[f"{name}_to_stopped_pairs"] = len(paired[name])
            result[f"{name}_to_stopped"] = round(middle(paired[name]), 4)
            result[f"{name}_to_stopped_95"] = [round(v, 4) for v in median_within(paired[name])]
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
