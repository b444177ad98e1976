#!/usr/bin/env python3
# needs: root, tracefs, cc (beside); groups, latencies and stacks of the probes pane, against a program that counts its own calls
import collections
import os
import shutil
import subprocess
import sys
import tempfile

from ktop import Batch, KTOP, SLOW, check, failed, rows_of
from terminal import Terminal
from tracing import uprobes_tracefs

# Each line of input: one round of ROUND calls of work(), each from outer().
ROUND = 400
PROGRAM = r"""
#include <stdio.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) int work(int number, const char *text) {
    struct timespec pause = {0, 200000};
    if (number %% 100 == 0)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, 0);
    return number + text[0];
}

__attribute__((noinline)) int outer(int number, const char *text) {
    int result = work(number, text);
    __asm__ volatile("" : "+r"(result));
    return result + 1;
}

int main(void) {
    char line[16];
    long sum = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        for (int i = 0; i < %d; i++)
            sum += outer(i, i %% 4 ? "three" : "one");
        printf("%%ld\n", sum);
    }
    return 0;
}
""" % ROUND


class Program:
    def __init__(self, path):
        self.p = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def round(self):
        self.p.stdin.write("\n")
        self.p.stdout.readline()

    def end(self):
        self.p.stdin.close()
        self.p.wait(10)
        self.p.stdout.close()


def probes_of(path):
    first, second = ("%di", "%si") if os.uname().machine == "x86_64" else ("%x0", "%x1")
    return [f"p {path}:work number={first}:s32 text=+0({second}):string", f"r:back {path}:work ret=$retval:s32"]


def exact(path):
    """Counts, sums, ranges and histograms by argument are those of the program."""
    work, back = probes_of(path)
    batch = Batch("probes", "--probe", work, "--probe", back, "--group", "probes:work by text,comm of number", "--group", "probes:back by ret",
                  "--latency", "probes:work probes:back", delay=0.5)
    program = Program(path)
    try:
        batch.frame(), batch.frame()
        program.round()
        frames = [batch.frame() for _ in range(3)]
    finally:
        batch.end()
        program.end()
    check(not sum(f["lost_events"] for f in frames), "no hit is lost")
    numbers = {"one": [i for i in range(ROUND) if i % 4 == 0], "three": [i for i in range(ROUND) if i % 4]}
    for text, values in numbers.items():
        rows = [r for r in rows_of(frames, "probe_groups", "probes") if r["probe"] == "work" and r["key"] == text]
        check(rows and all(r["key2"] == os.path.basename(path) and r["value_field"] == "number" for r in rows), f"{text}: the second key is the command")
        check(sum(r["count"] for r in rows) == len(values) and sum(r["sum"] for r in rows) == sum(values), f"{text}: {sum(r['count'] for r in rows)} hits of {len(values)}, sum {sum(r['sum'] for r in rows)}")
        check(rows and min(r["min"] for r in rows) == min(values) and max(r["max"] for r in rows) == max(values), f"{text}: smallest and largest argument")
        hists = [h for f in frames for h in f["histograms"]["probe_values"] if h["key"] == text]
        check(sum(h["count"] for h in hists) == len(values) and sum(h["sum"] for h in hists) == sum(values), f"{text}: the histogram has the same arguments")
    want = collections.Counter(str(i + ord("o" if i % 4 == 0 else "t")) for i in range(ROUND))
    got = collections.Counter()
    for r in rows_of(frames, "probe_groups", "probes"):
        if r["probe"] == "back":
            got[r["key"]] += r["count"]
    others = got.pop("others", 0)
    check(sum(got.values()) + others == ROUND and all(got[k] == want[k] for k in got), f"results: {sum(got.values())} + {others} others of {ROUND}")
    pairs = [r for r in rows_of(frames, "probe_latencies", "probes") if r["key"] == "all"]
    check(sum(r["count"] for r in pairs) == ROUND and pairs[0]["pair"] == "work -> back", f"{sum(r['count'] for r in pairs)} latencies of {ROUND}")
    slow = [e for f in frames for e in f["events"] if e["probe"] == "back" and e["latency_us"] and e["latency_us"] >= 200]
    ret = {int(e["args"].split("=")[1]) for e in slow}
    check({i + ord("o") for i in range(0, ROUND, 100)} <= ret, f"the calls that sleep for 200 us are among the slow ones: {len(slow)}")


def stacks(path):
    """Each hit with the functions that led to it, the caller of a function at its entry included."""
    work, back = probes_of(path)
    batch = Batch("probes", "--probe", work, "--probe", back, "--stacks", delay=0.5)
    program = Program(path)
    try:
        batch.frame(), batch.frame()
        program.round()
        frames = [batch.frame() for _ in range(3)]
    finally:
        batch.end()
        program.end()
    hits = [e for f in frames for e in f["events"]]
    for probe, wanted in (("work", "work < outer < main"), ("back", "outer < main")):
        got = [e["user_stack"] or "" for e in hits if e["probe"] == probe]
        check(len(got) == ROUND and all(text == wanted or text.startswith(wanted + " < ") for text in got), f"{probe}: {len(got)} stacks: {got[:1]}")
    check(all(e["stack"] is None and "ktop" not in e["args"] for e in hits), "a probe of a file has no kernel stack, and no argument is added")


def others(path, trace):
    """What else traces is a note of the pane, and a line of the doctor."""
    instance = f"{trace.path}/instances/t-others-{os.getpid()}"
    trace.write("uprobe_events", f"p:t_others/mine {path}:0x1000\n", append=True)
    os.mkdir(instance)
    try:
        with open(f"{instance}/events/sched/sched_process_exec/enable", "w") as f:
            f.write("1")
        wanted = (f"event sched:sched_process_exec in the instance t-others-{os.getpid()}", "of tracefs")
        batch = Batch("probes", delay=0.3)
        frame = batch.frame()
        batch.end()
        notes = [note["text"] for note in frame["notes"] if note["text"].startswith("other tracers: ")]
        check(len(notes) == 1 and all(text in notes[0] for text in wanted), f"a note names other tracers: {notes}")
        doctor = subprocess.run([KTOP, "--doctor"], capture_output=True, text=True, timeout=120 * SLOW).stdout
        lines = [line for line in doctor.splitlines() if "other tracers" in line]
        check(lines and wanted[0] in " ".join(doctor.split()), f"the doctor names them: {lines}")
    finally:
        os.rmdir(instance)
        trace.write("uprobe_events", "-:t_others/mine\n", append=True)


def errors(path):
    work, _ = probes_of(path)
    for option, value, wanted in (("--group", "probes:wrk by number", "did you mean work?"),
                                  ("--group", "probes:work by numbr", "did you mean number?"),
                                  ("--group", "probes:work by xyzzy", "for example number"),
                                  ("--group", "probes:work by number of text", "is not a number"),
                                  ("--group", "probes:work number", "expected PROBE by FIELD"),
                                  ("--latency", "probes:work sched:sched_switch", "expected PROBE[FIELD] PROBE[FIELD]"),
                                  ("--latency", "probes:work[text] probes:work[number]", "cannot be compared")):
        p = subprocess.run([KTOP, "-b", "-P", "probes", "-n", "1", "--probe", work, option, value], stdin=subprocess.DEVNULL, capture_output=True,
                           text=True, timeout=60 * SLOW)
        check(p.returncode == 1 and p.stderr.startswith(f"ktop: {option}: ") and wanted in p.stderr and p.stderr.count("\n") == 1,
              f"{option} {value}: {p.stderr.strip()}")


def keys(path):
    work, _ = probes_of(path)
    program = Program(path)
    t = Terminal([KTOP, "-P", "probes", "-d", "0.3", "--probe", work], 160, 50)
    try:
        check(t.wait_for(b"uprobe", 20 * SLOW), "the probe is listed")
        t.send("E")
        check(t.wait_for(b"group PROBE by ARG"), "E names groups")
        t.send("group work by txt\r")
        check(t.wait_for(b"did you mean text?", 10 * SLOW), "a wrong argument is refused")
        t.pump(0.5)
        t.send("\x01\x0bgroup work by text of number\r")
        check(t.wait_for(b"1 probe is recorded", 10 * SLOW), "a group is added by the prompt")
        t.send("\x1b[B")
        t.pump(0.3)
        t.send("D")
        check(t.wait_for(b"no probe is recorded", 10 * SLOW), "D removes a probe with its group")
        for text in (work, "group work by text of number"):
            t.send("E")
            t.wait_for(b"group PROBE by ARG")
            t.send(text + "\r")
            check(t.wait_for(b"1 probe is recorded", 10 * SLOW), f"added again: {text[:5]}")
        t.send("Y")
        for _ in range(10):
            program.round()
            if t.wait_for(b"Value histogram", 1):
                break
        else:
            check(False, "Y shows the histogram of the values")
        t.send("q")
        check(t.wait(10 * SLOW) == 0, "q ends ktop")
    finally:
        t.end()
        program.end()


def main():
    trace = uprobes_tracefs()
    work = tempfile.mkdtemp(prefix="ktop-probes-")
    try:
        with open(f"{work}/program.c", "w") as f:
            f.write(PROGRAM)
        subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", f"{work}/grouped", f"{work}/program.c"], check=True)
        exact(f"{work}/grouped")
        stacks(f"{work}/grouped")
        others(f"{work}/grouped", trace)
        errors(f"{work}/grouped")
        keys(f"{work}/grouped")
    finally:
        shutil.rmtree(work)
        trace.close()
    sys.exit(1 if failed else 0)


main()
