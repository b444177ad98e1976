#!/usr/bin/env python3
# needs: root, tracefs, cc (san beside); the probes pane: exact counts, arguments and results of programs that count themselves, lost returns, containers, errors, and nothing left
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from ktop import Batch, KTOP, SLOW, check, failed, is_after, rows_of, skip_part
from terminal import Terminal
from tracing import Overlay, uprobes_tracefs, guard_of, wait_for

# Calls work() N times with known arguments on request, deep() with a known depth, and passes a USDT probe with a semaphore.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __x86_64__
unsigned short probe_semaphore __attribute__((section(".probes"), used));
#define PROBE(value, text)                                                                                             \
    __asm__ volatile("990: nop\n"                                                                                      \
                     ".pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n.4byte 992f-991f,994f-993f,3\n"             \
                     "991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b\n.8byte _.stapsdt.base\n"               \
                     ".8byte probe_semaphore\n.asciz \"test\"\n.asciz \"hit\"\n.asciz \"-4@%0 8@%1\"\n"                 \
                     "994: .balign 4\n.popsection\n"                                                                   \
                     ".ifndef _.stapsdt.base\n.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"     \
                     ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.popsection\n.endif\n"    \
                     : : "r"(value), "r"(text))
#endif

__attribute__((noinline)) int work(int number, const char *text) {
    __asm__ volatile("" : : : "memory");
    return number * 2 + text[0];
}

__attribute__((noinline)) int deep(int left) {
    int result = left ? deep(left - 1) + 1 : 0;
    __asm__ volatile("" : "+r"(result));
    return result;
}

int main(void) {
    char line[64];
    long sum = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%d\n", getpid());
    while (fgets(line, sizeof line, stdin)) {
        int n = atoi(line + 1);
        if (line[0] == 'w')
            for (int i = 0; i < n; i++)
                sum += work(i, i % 2 ? "odd" : "even");
        else if (line[0] == 'd')
            sum += deep(n - 1);
#ifdef __x86_64__
        else if (line[0] == 'u')
            for (int i = 0; i < n && probe_semaphore; i++)
                PROBE(i, "usdt");
        else if (line[0] == 's')
            sum = probe_semaphore;
#endif
        printf("%c %ld\n", line[0], sum);
    }
    return 0;
}
"""


class Program:
    """The program, which does what it is told."""

    def __init__(self, *command):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.own_pid = int(self.p.stdout.readline())  # in its PID namespace

    def do(self, what):
        self.p.stdin.write(what + "\n")
        answer = self.p.stdout.readline().split()
        assert answer[0] == what[0], answer
        return int(answer[1])

    def end(self):
        self.p.stdin.close()
        self.p.wait(10)
        self.p.stdout.close()


def ktop(*arguments):
    return subprocess.run([KTOP, "--batch", "--pane", "probes", "--format", "json", "-d", "0.2", "-n", str(2 * SLOW), *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60 * SLOW)


def run_while(load, *arguments):
    """Runs load() once ktop records; reads frames until two are quiet. Returns the hits, the last row of each probe with the sums of
    `missed` and `entries`, and the frames."""
    batch = Batch("probes", *arguments, delay=0.3)
    try:
        batch.frame()
        frames, quiet = [batch.frame()], 0
        for _ in range(30 * SLOW):
            if frames[0]["tables"]["probes"] or not any("first scan" in note["text"] for note in frames[0]["notes"]):
                break
            frames = [batch.frame()]
        if not frames[0]["tables"]["probes"]:
            raise SystemExit(f"no probe: {frames[0]['notes']}")
        load()
        done = time.time()
        while quiet < 2:
            frames.append(batch.frame())
            if is_after(frames[-1], "probes", done):
                quiet = quiet + 1 if not any(row["hits"] for row in frames[-1]["tables"]["probes"]) else 0
            if len(frames) > 200:
                raise SystemExit("hits do not end")
    finally:
        batch.end()
    rows = {row["probe"]: dict(row) for row in frames[-1]["tables"]["probes"]}
    for name, row in rows.items():
        for column in ("missed", "entries"):
            row[column] = sum(r[column] or 0 for r in rows_of(frames, "probes", "probes") if r["probe"] == name)
    return [e for f in frames for e in reversed(f["events"])], rows, frames  # the newest comes first


def build(work):
    with open(f"{work}/program.c", "w") as f:
        f.write(PROGRAM)
    kinds = {"pie": ["-pie", "-fPIE"], "fixed": ["-no-pie"], "static": ["-static"], "static_pie": ["-static-pie", "-fPIE"],
             "aligned": ["-pie", "-fPIE", "-Wl,-z,max-page-size=0x200000", "-Wl,-z,separate-code"]}
    for name, flags in kinds.items():
        subprocess.run(["cc", "-O1", "-g", "-fno-optimize-sibling-calls", *flags, "-o", f"{work}/{name}", f"{work}/program.c"], check=True)
    return list(kinds)


def right_work(hits, rows, n, what, pid=None):
    """N calls of work(), with their arguments and results."""
    calls = [e for e in hits if e["probe"] == "work"]
    returns = [e for e in hits if e["probe"] == "back"]
    good = check(rows["work"]["total"] == n and rows["back"]["total"] == n, f"{what}: {rows['work']['total']:g} calls and {rows['back']['total']:g} returns of {n}")
    good &= check([e["args"] for e in calls] == [f'number={i} text="{"odd" if i % 2 else "even"}"' for i in range(n)], f"{what}: the arguments are those of the program")
    good &= check([int(e["args"].split("=")[1]) for e in returns] == [2 * i + ord("o" if i % 2 else "e") for i in range(n)], f"{what}: so are the results")
    good &= check(rows["back"]["missed"] == 0 and rows["back"]["entries"] == n and rows["back"]["in_flight"] == 0, f"{what}: no return is missed")
    if pid:
        good &= check({e["pid"] for e in hits} == {pid}, f"{what}: the PID is the program's")
    return good


def work_probes(path):
    registers = ("%di", "%si") if os.uname().machine == "x86_64" else ("%x0", "%x1")
    return ["--probe", f"p {path}:work number={registers[0]}:s32 text=+0({registers[1]}):string", "--probe", f"r:back {path}:work ret=$retval:s32"]


def programs(work, kinds):
    for kind in kinds:
        program = Program(f"{work}/{kind}")
        hits, rows, _ = run_while(lambda: program.do("w500"), *work_probes(f"{work}/{kind}"))
        right_work(hits, rows, 500, kind, program.p.pid)
        program.end()
    # Stripped, with its symbols in a debug file beside it.
    for command in (["objcopy", "--only-keep-debug", f"{work}/pie", f"{work}/split.debug"],
                    ["objcopy", "--strip-all", f"--add-gnu-debuglink={work}/split.debug", f"{work}/pie", f"{work}/split"]):
        subprocess.run(command, check=True)
    program = Program(f"{work}/split")
    hits, rows, _ = run_while(lambda: program.do("w100"), *work_probes(f"{work}/split"))
    right_work(hits, rows, 100, "symbols in a debug file")
    program.end()


def only_the_process(work):
    one, other = Program(f"{work}/pie"), Program(f"{work}/pie")
    hits, rows, _ = run_while(lambda: (other.do("w70"), one.do("w50"), other.do("w70")), "--pid", str(one.p.pid), *work_probes(f"{work}/pie"))
    right_work(hits, rows, 50, "--pid", one.p.pid)
    one.end()
    other.end()


def of_a_user(work):
    """-u: the hits of others are counted and not listed, also of programs that exited before they were looked up; those are counted."""
    os.chmod(work, 0o755)
    stays = subprocess.Popen([f"{work}/pie"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, user=65534)
    stays.stdout.readline()

    def load():
        for _ in range(20):
            subprocess.run([f"{work}/pie"], input="w1\n", stdout=subprocess.DEVNULL, text=True, check=True)
        stays.stdin.write("w30\n")
        stays.stdout.readline()

    hits, rows, frames = run_while(load, "-u", "nobody", *work_probes(f"{work}/pie"))
    unknown = sum(int(m[1]) for f in frames for m in (re.match(r"(\d+) hits are not listed", note["text"]) for note in f["notes"]) if m)
    check(rows["work"]["total"] == rows["back"]["total"] == 50, f"-u: {rows['work']['total']:g} calls of all users are counted (50)")
    check(len(hits) == 60 and {hit["pid"] for hit in hits} == {stays.pid}, f"-u: {len(hits)} hits of the user are listed (60), of {len({hit['pid'] for hit in hits})} process")
    check(0 < unknown <= 40, f"-u: {unknown} hits of programs that exited are counted as not listed (at most 40)")
    stays.stdin.close()
    stays.wait(10)


def lost_returns(work):
    """The kernel keeps 64 nested return addresses of a thread (uretprobes): of 100 nested calls it reports 64 returns and counts none as missed."""
    program = Program(f"{work}/pie")
    hits, rows, _ = run_while(lambda: [program.do("d100") for _ in range(5)] + [program.do("d64")], "--probe", f"{work}/pie:deep%return $retval:s32")
    row = rows["deep__return"]
    check(row["total"] == 5 * 64 + 64 and row["entries"] == 564, f"nested calls: {row['total']:g} returns of {row['entries']:g} calls")
    check(row["missed"] == 5 * 36 and row["in_flight"] == 0, f"nested calls: {row['missed']:g} returns are missed, {row['in_flight']:g} in flight (180 and 0)")
    program.end()


def usdt(work, kinds):
    if os.uname().machine != "x86_64":
        skip_part("the program's USDT note is for x86-64")
        return
    for kind in kinds:
        program = Program(f"{work}/{kind}")
        check(program.do("s") == 0, f"{kind}: the USDT semaphore is 0 before")
        hits, rows, _ = run_while(lambda: program.do("u300"), "--probe", f"p {work}/{kind}:test:hit")
        args = [re.match(r"arg1=(\d+) arg2=\d+$", e["args"]) for e in hits]
        check(rows["test_hit"]["total"] == 300 and all(args) and [int(m[1]) for m in args] == list(range(300)),
              f"{kind}: {rows['test_hit']['total']:g} of 300 USDT hits, with their arguments: {hits[0]['args'] if hits else None}")
        check(program.do("s") == 0, f"{kind}: the USDT semaphore is 0 again")
        program.end()


def containers(work, kinds):
    """A program of another mount and PID namespace, on an overlay that only that namespace has, behind an absolute link."""
    program = Overlay(work, "/link")
    if not program.pid:
        skip_part("no overlay or namespace can be made here")
        return
    for path in ("/program", "/link"):
        hits, rows, _ = run_while(lambda: program.do("w200"), "--pid", str(program.pid), *work_probes(path))
        right_work(hits, rows, 200, f"overlay in another mount and PID namespace, {path}", program.pid)
    program.end()


def filters(work):
    program = Program(f"{work}/pie")
    register = "%di" if os.uname().machine == "x86_64" else "%x0"
    hits, rows, _ = run_while(lambda: program.do("w100"), "--probe", f"p {work}/pie:work n={register}:s32 if n >= 90")
    check(rows["work"]["total"] == 10 and [e["args"] for e in hits] == [f"n={i}" for i in range(90, 100)], "a filter: 10 of 100 calls, the right ones")
    program.end()


def rare_and_frequent(work):
    """The list has the hits of a rare probe beside those of a frequent one."""
    program = Program(f"{work}/pie")
    hits, rows, _ = run_while(lambda: (program.do("w6"), program.do("d5000")), "--probe", f"p:rare {work}/pie:work", "--probe", f"p:often {work}/pie:deep")
    check(rows["rare"]["total"] == 6 and rows["often"]["total"] == 5000, f"{rows['rare']['total']:g} and {rows['often']['total']:g} hits of 6 and 5000")
    check([e["probe"] for e in hits].count("rare") == 6 and hits == sorted(hits, key=lambda e: e["time_s"]), f"all hits of the rare probe are among the {len(hits)} that are listed, in order")
    program.end()


def rate(work):
    """A frequent function is refused, with "!" it is recorded, and without it is stopped when it becomes frequent."""
    program = Program(f"{work}/pie")
    spec = f"p {work}/pie:work"
    # A limit that the program is above on any machine: each hit takes up to 20 us, more beside other programs.
    limit = ("--test", "probe_limit=2000")
    load = f"(while :; do echo w1000000; done) | {work}/pie >/dev/null"
    ended = subprocess.Popen(["sh", "-c", load], start_new_session=True)
    try:
        time.sleep(0.3)
        frames = [json.loads(line) for line in ktop(*limit, "--probe", spec).stdout.splitlines()]
        notes = " ".join(note["text"] + (note.get("fix") or "") for frame in frames for note in frame["notes"])
        check(re.search(r"work: \d+ hits/s, above the limit of 2000: between \d+ and \d+ % of a CPU in the traced programs; begin the probe with ! to record it", notes),
              f"a frequent function is refused: {notes}")
        frames = [json.loads(line) for line in ktop(*limit, "--probe", spec, "--probe", f"p {work}/pie:deep", "--group", "probes:work by comm").stdout.splitlines()]
        rows = {row["probe"]: row for row in frames[-1]["tables"]["probes"]}
        check(rows and rows["work"]["state"] == "refused" and rows["work"]["hits"] is None and rows["deep"]["state"] == "on" and rows["deep"]["hits"] == 0,
              f"of two probes, the rare one is recorded: {rows}")
        check(any("work: " in note["text"] and "above the limit of 2000" in note["text"] for note in frames[-1]["notes"]), "and a note says why the other one is not")
        frames = [json.loads(line) for line in ktop(*limit, "--probe", "!" + spec).stdout.splitlines()]
        check(frames[-1]["tables"]["probes"] and frames[-1]["tables"]["probes"][0]["hits_per_s"] > 2000, "with ! it is recorded")
    finally:
        os.killpg(ended.pid, signal.SIGKILL)
        ended.wait()
    batch = Batch("probes", *limit, "--probe", spec, delay=0.3)
    batch.frame()
    ended = subprocess.Popen(["sh", "-c", load], start_new_session=True)
    try:
        for _ in range(20):
            row = batch.frame()["tables"]["probes"][0]
            if row["state"] == "stopped":
                break
        check(row["state"] == "stopped", f"a probe that becomes frequent is stopped: {row}")
        after = [batch.frame() for _ in range(3)][-1]
        check(after["tables"]["probes"][0]["hits"] == 0 and any("work is stopped" in note["text"] for note in after["notes"]), "it stays so, and the pane says it")
    finally:
        os.killpg(ended.pid, signal.SIGKILL)
        ended.wait()
        batch.end()
    program.end()


def errors(work, trace):
    libc = next(line.split()[-1] for line in open("/proc/self/maps") if "libc.so" in line)
    cases = [
        (f"p {work}/pie:wrk", "wrk: the file has no such function; did you mean work?"),
        (f"p {work}/pie:fgets", "fgets: the file only calls it through its PLT: probe the library that defines it"),
        (f"p {libc}:strlen", "strlen is an IFUNC: it only selects the function that is called; probe that one"),
        (f"p {work}/pie:work a=%nosuch", 'the kernel refuses the probe at "%nosuch": '),
        (f"p {work}/pie:work   a=+0(%di):nosuch", 'the kernel refuses the probe at "nosuch": '),
        (f"p {work}/pie:work a=$stack if nosuch > 1", "work_2: the kernel refuses the filter"),
        (f"p {work}/none:work", "No such file or directory"),
        (f"p {work}/program.c:work", "not an ELF file"),
        (f"p {work}/pie:other:hit", "other:hit: the file has no such USDT probe; did you mean test:hit?"),
        (f"p {work}/pie:work+4096", "the offset is behind its end"),
    ]
    if not os.path.exists(f"{trace.path}/kprobe_events"):
        cases.append(("p vfs_read", "vfs_read: this kernel has no kprobes (CONFIG_KPROBES is off); uprobes and USDT work"))
    for spec, sentence in cases:
        p = ktop("--probe", f"p {work}/pie:work", "--probe", spec)
        check(p.returncode == 1 and not p.stdout and p.stderr.startswith("ktop: --probe: ") and sentence in p.stderr and p.stderr.count("\n") == 1,
              f"{spec}: {p.stderr.strip()}")
    if shutil.which("go"):
        with open(f"{work}/main.go", "w") as f:
            f.write('package main\n\nimport "os"\n\n//go:noinline\nfunc work() int { return os.Getpid() }\n\nfunc main() { println(work()) }\n')
        made = subprocess.run(["go", "build", "-o", f"{work}/gone", f"{work}/main.go"], env={**os.environ, "GOCACHE": f"{work}/cache", "GO111MODULE": "off"},
                              capture_output=True, text=True)
        if made.returncode:
            skip_part(f"go build: {made.stderr.strip()[:80]}")
        else:
            p = ktop("--probe", f"r {work}/gone:main.work")
            check(p.returncode == 1 and "is a Go program: a return probe would crash it" in p.stderr, f"Go: {p.stderr.strip()}")
            p = ktop("--probe", f"p {work}/gone:main.work")
            check(p.returncode == 0, f"Go: the entry is allowed {p.stderr}")


def state_of(trace, pid=0):
    """Tracing state that probes can change, without that of other ktops, which come and go."""
    def others(text):
        owner = re.search(r"ktop[-_](\d+)[-_]\d+[-_]", text)
        return owner and int(owner[1]) != pid

    files = [name for name in ("dynamic_events", "uprobe_events", "kprobe_events", "set_event", "tracing_on", "current_tracer") if os.path.exists(f"{trace.path}/{name}")]
    state = {name: trace.read(name).splitlines() for name in files}
    state["instances"], state["events"] = sorted(trace.instances()), sorted(os.listdir(f"{trace.path}/events"))
    return {name: [line for line in lines if not others(line)] for name, lines in state.items()}


def difference(one, other):
    return [f"{name}: {sorted(set(one[name]) ^ set(other[name]))}" for name in one if one[name] != other[name]]


def nothing_left(work, trace):
    """After a clean end, SIGTERM, SIGKILL at different moments, and SIGKILL of the guard as well, with another tool's probe beside."""
    trace.write("uprobe_events", f"p:ktopfan/mine {work}/pie:0x1000\n", append=True)
    before = state_of(trace)
    # Many long probes: their list is read in more than one piece.
    probes = [x for i in range(7) for x in ("--probe", f"r:probe_with_a_long_name_{i} {work}/pie:work " + " ".join(f"argument{k}=$retval:u64" for k in range(30)))]
    command = [KTOP, "--batch", "--pane", "probes", "-d", "0.1", *probes]
    try:
        for round_, (number, delay) in enumerate([(None, 0), (signal.SIGTERM, 0.5)] + [(signal.SIGKILL, i * 0.04) for i in range(20)]):
            p = subprocess.Popen(command + (["-n", "3"] if number is None else []), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if number is not None:
                time.sleep(delay * SLOW)
                p.send_signal(number)
            p.wait(30 * SLOW)
            wait_for("the end of the guard", 10 * SLOW, lambda: not guard_of(p.pid))
            # A guard that never ran before the end of ktop has no name of its own yet.
            end = time.monotonic() + 10 * SLOW
            while state_of(trace, p.pid) != before and time.monotonic() < end:
                time.sleep(0.05)
            if state_of(trace, p.pid) != before:
                check(False, f"round {round_} ({number}, {delay:.2f} s) left something: {difference(before, state_of(trace, p.pid))}")
                return
        check(True, "nothing is left after an end, SIGTERM, and SIGKILL at 20 moments")
        # The guard dies with it: the next start removes what is left.
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("its probes", 20 * SLOW, lambda: any(trace.read(f"instances/{n}/tracing_on").strip() == "1" for n in trace.of(p.pid) if "probes" in n and "rate" not in n))
        os.kill(guard_of(p.pid), signal.SIGKILL)
        p.kill()
        p.wait()
        check(state_of(trace, p.pid) != before, "without a guard the probes stay")
        subprocess.run([KTOP, "-b", "-P", "health", "-d", "0.5", "-n", "2"], stdout=subprocess.DEVNULL, timeout=60 * SLOW, check=True)
        check(state_of(trace, p.pid) == before, "the next start removes them, and not the other tool's")
    finally:
        trace.write("uprobe_events", "-:ktopfan/mine\n", append=True)


def keys(work):
    """In a terminal: E adds a probe, an error puts the cursor at its place, D removes the probe."""
    program = Program(f"{work}/pie")
    register = "%di" if os.uname().machine == "x86_64" else "%x0"
    t = Terminal([KTOP, "-P", "probes", "-d", "0.3"], 160, 40)
    try:
        check(t.wait_for(b"no probe is set", 20 * SLOW), "without a probe the pane says how to add one")
        t.send("E")
        check(t.wait_for(b"probe (p PATH:FUNCTION"), "E asks for a probe")
        t.send(f"p {work}/pie:work n=%bad\r")
        check(t.wait_for(b'refuses the probe at "%bad"', 10 * SLOW), "an error has the kernel's words")
        t.pump(0.5)
        t.send(f"\x0b{register}:s32\r")  # the cursor is at the error: Ctrl-K deletes the rest
        check(t.wait_for(b"1 probe is recorded", 10 * SLOW), "the cursor is at the place of the error")
        t.pump(0.7)
        program.do("w3")
        check(t.wait_for(b"n=2", 10 * SLOW), "the hits are listed")
        t.send("\x1b[B")
        t.pump(0.3)
        t.send("D")
        check(t.wait_for(b"no probe is recorded", 10 * SLOW), "D removes the selected probe")
        t.send("q")
        check(t.wait(10 * SLOW) == 0, "q ends ktop")
    finally:
        t.end()
        program.end()


def main():
    trace = uprobes_tracefs()
    work = tempfile.mkdtemp(prefix="ktop-probes-")
    try:
        kinds = build(work)
        programs(work, kinds)
        only_the_process(work)
        of_a_user(work)
        lost_returns(work)
        usdt(work, kinds)
        containers(work, kinds)
        filters(work)
        rare_and_frequent(work)
        rate(work)
        errors(work, trace)
        nothing_left(work, trace)
        keys(work)
    finally:
        shutil.rmtree(work)
        trace.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
