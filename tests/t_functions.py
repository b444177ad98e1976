#!/usr/bin/env python3
# needs: root, cc (san beside); the functions pane: exact counts and times of functions of running programs, threads, recursion, children, containers, refusals
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from ktop import Batch, KTOP, SLOW, check, failed, frame_time, is_after, need_root, rows_of, skip_part
from tracing import Overlay

# Calls its functions N times on request: work, deep (nested), nap (sleeps), from threads that start now, from a child.
PROGRAM = r"""
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static jmp_buf out;

__attribute__((noinline)) int work(int number) {
    __asm__ volatile("" : "+r"(number));
    return number * 2;
}

__attribute__((noinline)) void first(void) {
    __asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) void last(void) {
    __asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) void hop(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    __asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) int deep(int left) {
    int result = left ? deep(left - 1) + 1 : 0;
    __asm__ volatile("" : "+r"(result));
    return result;
}

__attribute__((noinline)) void nap(int us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) void outer(int us) {
    nap(us);
    __asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) void leave(int number) {
    __asm__ volatile("" : "+r"(number));
    longjmp(out, 1);
}

static void *thread(void *n) {
    for (long i = 0; i < (long)n; i++)
        work((int)i);
    return NULL;
}

int main(void) {
    char line[64];
    volatile long sum = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%d\n", getpid());
    while (fgets(line, sizeof line, stdin)) {
        int n = atoi(line + 1);
        pthread_t threads[4];
        if (line[0] == 'w')
            for (int i = 0; i < n; i++)
                sum += work(i);
        else if (line[0] == 'd')
            sum += deep(n - 1);
        else if (line[0] == 'b')
            first();
        else if (line[0] == 'e')
            last();
        else if (line[0] == 'h')
            hop(n);
        else if (line[0] == 'n')
            nap(n);
        else if (line[0] == 'o')
            outer(n);
        else if (line[0] == 'j')
            for (volatile int i = 0; i < n; i++) {
                if (!setjmp(out))
                    leave(i);
            }
        else if (line[0] == 't') {
            for (int i = 0; i < 4; i++)
                pthread_create(&threads[i], NULL, thread, (void *)(long)n);
            for (int i = 0; i < 4; i++)
                pthread_join(threads[i], NULL);
        } else if (line[0] == 'f') {
            int status = -1;
            pid_t child = fork();
            if (!child) {
                thread((void *)(long)n);
                _exit(7);
            }
            waitpid(child, &status, 0);
            sum = status;
        }
        printf("%c %ld\n", line[0], sum);
    }
    return 0;
}
"""

CPP = r"""
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

namespace shop {
__attribute__((noinline)) int order(int number) {
    if (number % 2)
        throw std::runtime_error("odd");
    return number;
}
}

int main() {
    char line[64];
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%d\n", getpid());
    while (fgets(line, sizeof line, stdin)) {
        long sum = 0;
        for (int i = 0; i < atoi(line + 1); i++)
            try {
                sum += shop::order(i);
            } catch (const std::exception &) {
                sum++;
            }
        printf("%c %ld\n", line[0], sum);
    }
}
"""


class Program:
    def __init__(self, *command):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.own_pid = int(self.p.stdout.readline())  # in its PID namespace
        self.pid = self.p.pid

    def do(self, what):
        self.p.stdin.write(what + "\n")
        answer = self.p.stdout.readline().split()
        assert answer and answer[0] == what[0], f"{what}: {answer}"
        return int(answer[1])

    def end(self):
        self.p.stdin.close()
        self.p.wait(10)
        self.p.stdout.close()


def ktop(*arguments, n=2):
    return subprocess.run([KTOP, "--batch", "--pane", "functions", "--format", "json", "-d", "0.2", "-n", str(n), *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60 * SLOW)


def run_while(load, *arguments, want=1, listed=0):
    """Runs load() once `want` probes are there; reads frames until two are quiet and `listed` calls are. Returns sums by function, and the frames."""
    batch = Batch("functions", *arguments, delay=0.3)
    try:
        frames = [batch.frame()]
        for _ in range(60 * SLOW):
            if (frames[0]["series"].get("function_probes") or 0) >= want:
                break
            frames = [batch.frame()]
        else:
            raise SystemExit(f"no probe: {frames[0]['notes']}")
        load()
        quiet, done = 0, time.time()
        while quiet < 2 or (sum(len(f["events"]) for f in frames) < listed and len(frames) < 60):
            frames.append(batch.frame())
            quiet = quiet + is_after(frames[-1], "functions", done) if not any(row["calls"] for row in frames[-1]["tables"]["functions"]) else 0
            if len(frames) > 200:
                raise SystemExit("calls do not end")
    finally:
        batch.end()
    sums = {}
    for frame in frames:
        seconds = frame["intervals_s"]["functions"] or 0  # 0: these rows were in the frame before
        for row in frame["tables"]["functions"] if seconds else []:
            of = sums.setdefault(row["function"], {"calls": 0, "missed": 0, "returned": 0, "time_us": 0, "max_us": 0})
            of["calls"] += row["calls"]
            of["missed"] += row["missed"] or 0
            of["max_us"] = max(of["max_us"], row["max_us"] or 0)
            of["time_us"] += (row["total_us_per_s"] or 0) * seconds
            of.update({k: row[k] for k in ("in_flight", "object", "processes", "timed")})
        for hist in frame["histograms"].get("function_latency", []):
            of = sums[hist["function"]]
            of["returned"] += hist["count"]
            if hist["count"] != sum(bucket[2] for bucket in hist["buckets"]):
                raise SystemExit(f"the buckets of a histogram do not add up: {hist}")
    return sums, frames


def build(work):
    with open(f"{work}/program.c", "w") as f:
        f.write(PROGRAM)
    kinds = {"pie": ["-pie", "-fPIE"], "fixed": ["-no-pie"], "static": ["-static"], "static_pie": ["-static-pie", "-fPIE"],
             "aligned": ["-pie", "-fPIE", "-Wl,-z,max-page-size=0x200000", "-Wl,-z,separate-code"]}
    for name, flags in kinds.items():
        subprocess.run(["cc", "-O1", "-g", "-pthread", "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer", "-D_GNU_SOURCE", *flags, "-o", f"{work}/{name}", f"{work}/program.c"], check=True)
    return list(kinds)


def programs(work, kinds):
    for kind in kinds:
        program = Program(f"{work}/{kind}")
        sums, _ = run_while(lambda: [program.do("w700"), program.do("t200"), program.do("n30000")], "--pid", str(program.pid), "-f", f"{kind}:work",
                            "-f", f"{work}/{kind}:nap", want=2)
        check(sums["work"]["calls"] == sums["work"]["returned"] == 1500 and not sums["work"]["missed"] and not sums["work"]["in_flight"],
              f"{kind}: 1500 calls and returns, 800 of them of threads that started later: {sums['work']}")
        check(sums["nap"]["calls"] == 1 and 30000 <= sums["nap"]["max_us"] <= 2e6 and 29000 <= sums["nap"]["time_us"] <= 2e6,
              f"{kind}: a call of 30 ms took {sums['nap']['max_us']:g} us, {sums['nap']['time_us']:g} us in all")
        program.end()
    # Stripped, with its symbols in a debug file beside it.
    for command in (["objcopy", "--only-keep-debug", f"{work}/pie", f"{work}/split.debug"],
                    ["objcopy", "--strip-all", f"--add-gnu-debuglink={work}/split.debug", f"{work}/pie", f"{work}/split"]):
        subprocess.run(command, check=True)
    program = Program(f"{work}/split")
    sums, _ = run_while(lambda: program.do("w100"), "--pid", str(program.pid), "-f", "split:wor*")
    check(sums["work"]["calls"] == 100, f"symbols in a debug file: {sums}")
    program.end()


def recursion(work):
    """The kernel follows 64 nested calls of a thread; the others are missed, which shows when the stack is used again."""
    program = Program(f"{work}/pie")
    sums, _ = run_while(lambda: [program.do(what) for what in ("d64", "d50", "d100", "d100")], "--pid", str(program.pid), "-f", "pie:deep")
    check(sums["deep"]["calls"] == 314 and sums["deep"]["returned"] == 64 + 50 + 2 * 64, f"nested calls: 314 calls, 242 returns: {sums['deep']}")
    check(sums["deep"]["missed"] == 36 and sums["deep"]["in_flight"] == 36, f"36 are missed, 36 are not found yet: {sums['deep']}")
    sums, _ = run_while(lambda: program.do("j40"), "--pid", str(program.pid), "-f", "pie:leave")
    check(sums["leave"]["calls"] == 40 and sums["leave"]["returned"] == 0 and sums["leave"]["missed"] == 39, f"calls that longjmp leaves: {sums['leave']}")
    program.end()


def slow(work):
    """An injected delay of 20 ms is what a limit of 15 ms lists, with its argument, its thread and its callers."""
    program = Program(f"{work}/pie")
    _, frames = run_while(lambda: [program.do(what) for what in ("o100", "n200", "o20000", "o300", "n400")], "--pid", str(program.pid), "-f", "pie:nap > 15ms", listed=1)
    calls = [e for f in frames for e in f["events"] if int(e["args"].split(",")[0]) == 20000]
    others = [e for f in frames for e in f["events"] if e not in calls]
    check(len(calls) == 1, f"the slow call is listed once: {calls}")
    check(all(e["latency_us"] > 15000 for e in others), f"others only if the machine delayed them: {others}")
    if calls:
        call = calls[0]
        check(20000 <= call["latency_us"] <= 3e6 and call["pid"] == call["tid"] == program.pid and call["comm"] == "pie" and call["function"] == "nap", f"{call}")
        check(call["caller"] == "outer" and call["stack"].startswith("outer < main"), f"its callers: {call['stack']}")
        check(abs(call["time_s"] - time.time()) < 120, "its time is of now")
    program.end()


def only_the_process(work):
    """Another process of the same file, and a child, have no breakpoint: neither is counted nor disturbed."""
    one, other = Program(f"{work}/pie"), Program(f"{work}/pie")
    statuses = []
    sums, frames = run_while(lambda: [other.do("w300"), one.do("w50"), statuses.append(one.do("f300")), other.do("w300"), one.do("w7")],
                             "--pid", str(one.pid), "-f", "pie:work")
    check(sums["work"]["calls"] == 57, f"57 calls of the process, none of another one or of a child: {sums['work']}")
    check(os.waitstatus_to_exitcode(statuses[0]) == 7, f"the child is not disturbed: {statuses}")
    check({row["pid"] for f in frames for row in f["tables"]["by_process"]} == {one.pid}, "by process there is only this one")
    one.end()
    other.end()


def every_process(work):
    """Without --pid: processes that run, and one that starts later."""
    name = "every_one"
    shutil.copy(f"{work}/pie", f"{work}/{name}")
    one, other, later = Program(f"{work}/{name}"), Program(f"{work}/{name}"), []
    batch = Batch("functions", "-f", f"{name}:work", delay=0.3)
    try:
        def until(probes):
            for _ in range(60 * SLOW):
                frame = batch.frame()
                if (frame["series"].get("function_probes") or 0) >= probes:
                    return
            raise SystemExit(f"{probes} probes: {frame['series']} {frame['notes']}")

        until(2)
        one.do("w30"), other.do("w70")
        later.append(Program(f"{work}/{name}"))
        until(3)
        later[0].do("w500")
        done, frame = time.time(), batch.frame()
        while frame_time(frame) - frame["interval_s"] <= done:
            frame = batch.frame()
    finally:
        batch.end()
    calls = {}
    for row in rows_of(batch.frames, "by_process", "functions"):
        calls[row["pid"]] = calls.get(row["pid"], 0) + row["calls"]
    check(calls == {one.pid: 30, other.pid: 70, later[0].pid: 500}, f"three processes, one of them started later: {calls}")
    check(batch.frames[-1]["tables"]["functions"][0]["processes"] == 3, "PROCS is 3")
    check(not any("call_graph" in note["text"] for frame in batch.frames for note in frame["notes"]), "no note about the call graph, which is not shown")
    for program in (one, other, *later):
        program.end()


def notes_of(frames):
    return " ".join(note["text"] for frame in frames for note in frame["notes"])


def some_cpus(work):
    """A call counts on the CPU of its entry, also if it returns on another one; one that does not count leaves nothing behind."""
    online = sorted(os.sched_getaffinity(0))
    if len(online) < 2:
        skip_part("one CPU")
        return
    here, there = online[:2]
    programs = []
    for cpu in (here, there):
        programs.append(Program("taskset", "-c", str(cpu), f"{work}/pie"))
    one, other = programs
    pids = ["--pid", f"{one.pid},{other.pid}"]
    load = lambda: [one.do("w300"), other.do("w500"), one.do("d40"), other.do("d50"), one.do("w4")]
    for cpus, calls, nested in ((here, 304, 40), (there, 500, 50), (f"{here},{there}", 804, 90)):
        sums, frames = run_while(load, *pids, "--trace-cpus", str(cpus), "-f", "pie:work", "-f", "pie:deep", want=4)
        check(sums["work"]["calls"] == sums["work"]["returned"] == calls and sums["deep"]["calls"] == sums["deep"]["returned"] == nested,
              f"--trace-cpus {cpus}: {calls} and {nested} calls: {sums}")
        check(not sums["work"]["missed"] and not sums["work"]["in_flight"], f"none is missed: {sums['work']}")
        check(f"only calls that are entered on the CPUs {cpus} are counted" in notes_of(frames), f"the pane says so: {notes_of(frames)[:200]}")
    hops = lambda: [one.do(f"h{cpu}") for _ in range(10) for cpu in (there, here)]
    sums, _ = run_while(hops, *pids, "--trace-cpus", str(here), "-f", "pie:hop", want=2)
    check(sums["hop"]["calls"] == sums["hop"]["returned"] == 10 and not sums["hop"]["missed"] and not sums["hop"]["in_flight"],
          f"10 of 20 calls that change their CPU are entered on CPU {here}: {sums['hop']}")
    for program in programs:
        program.end()
    for cpus, sentence in (("", "expected CPU numbers"), ("9999", "this machine has the CPUs 0 to "), ("1-0", "the range 1-0 is reversed: write 0-1")):
        p = ktop(f"--trace-cpus={cpus}")
        check(p.returncode == 2 and sentence in p.stderr and p.stderr.count("\n") <= 2, f"--trace-cpus={cpus}: {p.stderr.strip()}")


def start_stop(work):
    """Nothing counts until a start function is entered, nor after a stop function."""
    program = Program(f"{work}/pie")
    pid = ["--pid", str(program.pid)]
    load = lambda: [program.do(what) for what in ("w70", "b", "w200", "b", "d10", "e", "w500", "d20", "b", "w3", "t25", "e", "e", "w9")]
    sums, frames = run_while(load, *pid, "-f", "pie:work", "-f", "pie:deep", "-f", "start pie:first", "-f", "stop pie:last", want=4)
    check(sums["work"]["calls"] == sums["work"]["returned"] == 303 and sums["deep"]["calls"] == sums["deep"]["returned"] == 10,
          f"start and stop: 303 and 10 calls: {sums}")
    check(not sums["work"]["missed"] and not sums["work"]["in_flight"], f"none is missed: {sums['work']}")
    check((sums["first"]["calls"], sums["first"]["timed"], sums["last"]["calls"], sums["last"]["timed"]) == (3, "start", 3, "stop"), f"their own calls: {sums}")
    words = notes_of(frames[:1])
    check("nothing is counted: no start function was entered yet; started 0 times" in words, f"before: {words}")
    words = notes_of(frames[-1:])
    check("nothing is counted: a stop function was entered; started 2 times" in words, f"after: {words}")
    sums, frames = run_while(lambda: [program.do(what) for what in ("w30", "e", "w40")], *pid, "-f", "pie:work", "-f", "stop pie:last", want=2)
    check(sums["work"]["calls"] == 30 and "calls are counted now" in notes_of(frames[:1]), f"without a start function it counts at once: {sums}")
    # The call that starts counts itself; one that goes on beyond the stop is timed.
    sums, frames = run_while(lambda: [program.do(what) for what in ("d5", "w6", "e", "w8")], *pid, "-f", "pie:*or[k]", "-f", "pie:deep", "-f", "start pie:deep",
                             "-f", "stop pie:last", want=3)
    check(sums["deep"]["calls"] == sums["deep"]["returned"] == 5 and sums["work"]["calls"] == 6, f"a start function that is counted: {sums}")
    check("started 1 time" in notes_of(frames[-1:]), notes_of(frames[-1:]))
    p = ktop(*pid, "-f", "start pie:first", "-f", "stop pie:f*")
    check(p.returncode == 1 and "first is both a start and a stop function: remove one of them" in p.stderr, f"both: {p.stderr.strip()}")
    p = ktop(*pid, "-f", "start pie:first > 10ms")
    check(p.returncode == 1 and "calls of start and stop functions are not listed: remove the time" in p.stderr, f"a limit: {p.stderr.strip()}")
    program.end()


def containers(work):
    """A program of another mount and PID namespace, on an overlay that only that namespace has."""
    program = Overlay(work, "/program")
    if not program.pid:
        skip_part("no overlay or namespace can be made here")
        return
    sums, _ = run_while(lambda: program.do("w200"), "--pid", str(program.pid), "-f", "program:work")
    check(sums["work"]["calls"] == sums["work"]["returned"] == 200, f"overlay in another mount and PID namespace: {sums['work']}")
    program.end()


def deleted(work):
    """A program whose file was replaced, as by an upgrade."""
    shutil.copy(f"{work}/pie", f"{work}/gone")
    program = Program(f"{work}/gone")
    os.unlink(f"{work}/gone")
    sums, _ = run_while(lambda: program.do("w80"), "--pid", str(program.pid), "-f", "gone:work")
    check(sums["work"]["calls"] == 80, f"a deleted file: {sums['work']}")
    program.end()


def exceptions(work):
    """A return probe would end a program whose exception passes through it: no times, but with !."""
    if not shutil.which("c++"):
        skip_part("no C++ compiler")
        return
    with open(f"{work}/shop.cc", "w") as f:
        f.write(CPP)
    subprocess.run(["c++", "-O1", "-o", f"{work}/shop", f"{work}/shop.cc"], check=True)
    program = Program(f"{work}/shop")
    sums, frames = run_while(lambda: program.do("x101"), "--pid", str(program.pid), "-f", "shop:shop::ord*")
    check(sums["shop::order"]["calls"] == 101 and sums["shop::order"]["timed"] == "unwinds" and not sums["shop::order"]["returned"],
          f"C++: counted, not timed: {sums}")
    check(frames[-1]["tables"]["functions"][0]["avg_us"] is None, "no time is shown")
    check(any("an exception that passes through a return probe ends the program" in note["text"] for note in frames[-1]["notes"]), "the pane says why")
    sums, _ = run_while(lambda: program.do("x1"), "--pid", str(program.pid), "-f", "!shop:shop::ord*")
    check(sums["shop::order"]["calls"] == sums["shop::order"]["returned"] == 1, f"with ! it is timed: {sums}")
    check(program.do("x101") == 2600, "the program lives")
    program.end()


def go(work):
    if not shutil.which("go"):
        skip_part("no Go")
        return
    with open(f"{work}/main.go", "w") as f:
        f.write('package main\n\nimport (\n\t"bufio"\n\t"fmt"\n\t"os"\n)\n\n//go:noinline\nfunc work(n int) int { return n + os.Getpid() }\n\n'
                'func main() {\n\tfmt.Println(os.Getpid())\n\tin := bufio.NewScanner(os.Stdin)\n\tsum := 0\n\tfor in.Scan() {\n\t\t'
                'for i := 0; i < 300; i++ {\n\t\t\tsum += work(i)\n\t\t}\n\t\tfmt.Println("x", sum)\n\t}\n}\n')
    made = subprocess.run(["go", "build", "-o", f"{work}/gone_go", f"{work}/main.go"], env={**os.environ, "GOCACHE": f"{work}/cache", "GO111MODULE": "off"},
                          capture_output=True, text=True)
    if made.returncode:
        skip_part(f"go build: {made.stderr.strip()[:80]}")
        return
    program = Program(f"{work}/gone_go")
    sums, _ = run_while(lambda: program.do("x1"), "--pid", str(program.pid), "-f", "gone_go:main.work")
    # A function whose stack grows is entered again.
    check(300 <= sums["main.work"]["calls"] <= 310 and sums["main.work"]["timed"] == "Go" and not sums["main.work"]["returned"], f"Go: counted, not timed: {sums}")
    program.end()


def rate(work):
    """What costs too much is refused, with ! it is counted, and without it is stopped when it becomes frequent. A bound of 1 % of a CPU is
    passed on a busy machine as well."""
    bound = ["--test", "function_bound_pct=1"]
    program = Program(f"{work}/pie")
    ended = subprocess.Popen(["sh", "-c", f"(while :; do echo w1000000; done) | {work}/pie >/dev/null"], start_new_session=True)
    try:
        words = ""
        for _ in range(20):
            frames = [json.loads(line) for line in ktop(*bound, "-f", f"{work}/pie:work").stdout.splitlines()]
            words = " ".join(note["text"] for frame in frames for note in frame["notes"])
            if "calls/s would cost" in words:
                break
        check(re.search(r"\d+ calls/s would cost the programs \d+ % of a CPU, above the limit of 1, most of it in work: choose other functions, or begin the pattern with !", words),
              f"a choice that costs much is refused: {words}")
        frames = [json.loads(line) for line in ktop(*bound, "-f", f"!{work}/pie:work", n=4).stdout.splitlines()]
        check(max((row["calls"] for f in frames for row in f["tables"]["functions"]), default=0) > 100, "with ! it is counted")
        check(max(f["series"]["function_cost_pct"] or 0 for f in frames) > 1, f"with its cost: {frames[-1]['series']}")
    finally:
        os.killpg(ended.pid, signal.SIGKILL)
        ended.wait()
    batch = Batch("functions", *bound, "--pid", str(program.pid), "-f", "pie:work", delay=0.3)
    for _ in range(60 * SLOW):
        if batch.frame()["series"].get("function_probes"):
            break
    try:
        program.p.stdin.write("w5000\n" * 400)
        program.p.stdin.flush()
        for _ in range(200):
            frame = batch.frame()
            stop = [note for note in frame["notes"] if "counting is stopped" in (note.get("fix") or "")]
            if stop:
                break
        check(stop and re.search(r"the probes cost the programs \d+ % of a CPU, most of it in work", stop[0]["text"]), f"one that becomes frequent is stopped: {frame['notes']}")
        batch.frame()
        check(all(batch.frame()["tables"]["functions"][0]["calls"] == 0 for _ in range(2)), "it stays so")
        program.p.stdin.close()
        program.p.stdout.read()
    finally:
        batch.end()
    program.p.wait(60)


def errors(work):
    program = Program(f"{work}/pie")
    cases = [
        ("pie:wrk", "wrk: pie has no such function; did you mean work?"),
        ("pie:nanosleep", "nanosleep: the file only calls it through its PLT: choose the library that defines it"),
        ("libc.so.6:strlen", "strlen is an IFUNC: it only selects the function that is called"),
        ("libc:malloc", "the process does not map a file named libc; did you mean libc.so.6?"),
        ("nosuch.so:x", "the process does not map a file named nosuch.so"),
        ("/nosuch/file:x", "the process does not map a file with the path /nosuch/file"),
        ("libc.so.6:*", "functions match, more than the limit of 256: give a longer name, or one file"),
        ("pie:work > 10", "expected a time with its unit after >, for example > 10ms"),
        ("pie:", "expected the name of a function"),
    ]
    for spec, sentence in cases:
        p = ktop("--pid", str(program.pid), "-f", spec)
        check(p.returncode == 1 and not p.stdout and p.stderr.startswith("ktop: --function: ") and sentence in p.stderr and p.stderr.count("\n") == 1,
              f"{spec}: {p.stderr.strip()}")
    p = ktop("-f", f"{work}/none:work")
    check(p.returncode == 1 and "No such file or directory" in p.stderr, f"a missing file: {p.stderr.strip()}")
    doctor = subprocess.run([KTOP, "--doctor"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * SLOW).stdout
    p = ktop("-f", "vfs_read")
    if re.search(r"functions of the kernel +works", doctor):
        check(p.returncode == 0, f"a function of the kernel: {p.stderr.strip()}")
    else:
        check(p.returncode == 1 and "functions of the kernel cannot be counted: kprobe_multi: " in p.stderr and "functions of programs can (FILE:GLOB)" in p.stderr,
              f"a function of the kernel: {p.stderr.strip()}")
    p = ktop("-f", "")
    check(p.returncode == 2 and "--function needs a pattern" in p.stderr, f"an empty pattern: {p.stderr.strip()}")
    program.end()


def main():
    need_root("uprobes")
    with tempfile.TemporaryDirectory() as work:
        kinds = build(work)
        errors(work)
        programs(work, kinds)
        recursion(work)
        slow(work)
        only_the_process(work)
        every_process(work)
        some_cpus(work)
        start_stop(work)
        containers(work)
        deleted(work)
        exceptions(work)
        go(work)
        rate(work)
    sys.exit(1 if failed else 0)


main()
