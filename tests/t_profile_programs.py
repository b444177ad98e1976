#!/usr/bin/env python3
# needs: root, cc, clang++, rustc, go, perf (once); programs of many kinds show their shares of CPU time, and whole stacks at least as often as in perf
"""Every program measures the CPU time of its own functions while it runs (tests/data/profile/parts.h): that is the truth that the
samples are compared with. All run at the same time; ktop samples them first, then perf, both with copies of 8 KiB of stack."""
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from ktop import HERE, Batch, check, failed, need_root, skip, skip_part, tries

HZ, SECONDS = 999, 8
PERF_HZ, PERF_SECONDS = 199, 3
DATA = os.path.join(HERE, "data", "profile")
PLAIN = {"seven": "seven", "three": "three"}
# Where a thread begins: a stack whose outermost frame is another one is not whole.
STARTS = re.compile(r"_start$|_dl_start_user$|__libc_start_call_main$|(__)?clone3?$|thread_start$|_rt0_|runtime\.(goexit|mstart|rt0_go)|\[[^]]*ld-linux")


class Program:
    """name: also that of its process. functions: name in the program's output: regular expression of the frame's name.
    callers: the same: regular expression of its callers, outermost first."""

    def __init__(self, name, functions, build, callers=None, ways=(), whole=True):
        self.name, self.functions, self.build, self.callers, self.ways, self.whole = name, functions, build, callers or {}, ways, whole


def needs(*tools):
    def decorate(build):
        build.needs = tools
        return build
    return decorate


def c(source, *flags):
    @needs("cc")
    def build(out):
        subprocess.run(["cc", "-O2", "-o", out, os.path.join(DATA, source), *flags], check=True)
    return build


@needs("cc")
def shared(out):
    library = os.path.join(os.path.dirname(out), "libpf_shared.so")
    c("library.c", "-shared", "-fPIC")(library)
    c("shared.c", library, f"-Wl,-rpath,{os.path.dirname(out)}")(out)


@needs("cc")
def initial(out):
    library = os.path.join(os.path.dirname(out), "libpf_initial.so")
    c("initial.c", "-shared", "-fPIC")(library)
    c("plain.c", "-Wl,--no-as-needed", library, f"-Wl,-rpath,{os.path.dirname(out)}")(out)


def go(*flags):
    @needs("/usr/bin/go")
    def build(out):
        environment = dict(os.environ, GO111MODULE="off", GOCACHE=os.path.join(os.path.dirname(out), "go-cache"), GOFLAGS="")
        subprocess.run(["/usr/bin/go", "build", *flags, "-o", out, os.path.join(DATA, "work.go")], check=True, env=environment)
    return build


def rust(*flags):
    @needs("/usr/bin/rustc")
    def build(out):
        subprocess.run(["/usr/bin/rustc", "-O", *flags, "-o", out, os.path.join(DATA, "work.rs")], check=True)
    return build


@needs("clang++")
def cpp(out):
    subprocess.run(["clang++", "-O2", "-o", out, os.path.join(DATA, "templates.cpp")], check=True)


FRAMELESS = ("-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
PLAIN_CALLERS = {"seven": r";main;run_seven;outer$", "three": r";main;run_three;outer$"}
GO = {"linear": r"main\.linear\.do", "shifted": r"main\.shifted"}
GO_CALLERS = {"linear": r"goexit[^;]*;main\.main\.func1;main\.work;main\.caller;main\.\(\*linear\)\.do$",
              "shifted": r"goexit[^;]*;main\.main\.func1;main\.work$"}
JIT = {"jit_loop": "jit_loop", "native": "native"}
JIT_CALLERS = {"jit_loop": r";main;run_loop$", "native": r";main;run_native;jit_between_\[j\]$"}
PROGRAMS = [
    Program("pf_deep", {"deep_leaf": "deep_leaf", "low_leaf": "low_leaf"}, c("deep.c", "-O1", "-fno-omit-frame-pointer"),
            {"deep_leaf": r";main;run_deep" + 101 * ";descend" + "$", "low_leaf": r";main;run_low" + 21 * ";descend" + "$"}),
    Program("pf_cpp", {"mix": r"shop::Mixer<.*>::mix$|shop::Mixer<.*>::mix\(", "sort": r"shop::apply<"}, cpp,
            {"mix": r";main;shop::Worker<shop::Mixer<unsigned long, 7> >::work$"}),
    Program("pf_rust", {"linear": r"work::linear$", "shifted": r"work::shifted$"}, rust()),
    Program("pf_rustv0", {"linear": r"work::repeat::<work::Linear>", "shifted": r"work::repeat::<work::Shifted>"}, rust("-Csymbol-mangling-version=v0")),
    Program("pf_ehframe", PLAIN, c("plain.c", "-fomit-frame-pointer"), PLAIN_CALLERS),
    Program("pf_debugframe", PLAIN, c("plain.c", "-g", *FRAMELESS), PLAIN_CALLERS),
    Program("pf_bare", PLAIN, c("plain.c", *FRAMELESS), whole=False),
    Program("pf_shared", {"library_work": "library_work", "called_back": "called_back"}, shared,
            {"library_work": ";main$", "called_back": ";main;run_back;library_calls$"}),
    Program("pf_initial", PLAIN, initial, {"seven": r";construct;work;run_seven;outer$", "three": r";construct;work;run_three;outer$"}),
    Program("pf_signal", {"interrupted": "interrupted", "handler_work": "handler_work"}, c("signal.c"), {"handler_work": r";main;.*;handler$"}),
    Program("pf_tail", {"tail_first": "tail_first", "tail_last": "tail_last", "leaves": "leaves"}, c("tail.c"),
            {"tail_first": ";main$", "tail_last": ";main$", "leaves": ";main;run_leaves;abandoned$"}),
    Program("pf_jit", JIT, c("jit.c"), JIT_CALLERS),
    Program("pf_static", PLAIN, c("plain.c", "-static"), PLAIN_CALLERS),
    Program("pf_staticpie", PLAIN, c("plain.c", "-static-pie"), PLAIN_CALLERS),
    Program("pf_go", GO, go(), GO_CALLERS),
    Program("pf_gostrip", GO, go("-ldflags=-s -w"), GO_CALLERS),
    Program("pf_deleted", PLAIN, c("plain.c"), PLAIN_CALLERS, ways=("deleted",)),
    Program("pf_ns", JIT, c("jit.c"), JIT_CALLERS, ways=("namespace",)),
]


class Running:
    def __init__(self, program, path):
        self.program = program
        command = [path]
        if "namespace" in program.ways:
            # The file and its perf map are in a file system that only its mount namespace has; its PID there is 1.
            inner = f"exec 3<{path} && mount -t tmpfs none /tmp && cd /tmp && cat <&3 >{program.name} && exec 3<&- && chmod 700 {program.name} && exec /tmp/{program.name}"
            command = ["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c", inner]
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if self.p.stdout.readline() != "ready\n":
            raise SystemExit(f"{program.name} does not run")
        if "deleted" in program.ways:
            os.unlink(path)

    def end(self):
        """{function: share of its CPU time}."""
        text, _ = self.p.communicate()
        ns = {name: int(value) for name, value in (line.split() for line in text.splitlines())}
        return {name: value / ns["total"] for name, value in ns.items() if name != "total"}


class Paths:
    """The stacks of one program: [(frames, outermost first; samples)]."""

    def __init__(self):
        self.list = []

    def add(self, frames, samples):
        self.list.append((frames, samples))

    def count(self, wanted=lambda frames: True):
        return sum(samples for frames, samples in self.list if wanted(frames))

    def whole(self):
        return self.count(lambda frames: bool(STARTS.match(frames[0])))

    def of(self, functions):
        """{function: samples}: of the innermost of them that is on the stack."""
        samples = dict.fromkeys(functions, 0)
        for name, _, n in self.split(functions):
            samples[name] += n
        return samples

    def split(self, functions):
        """(the innermost of the functions on a stack, its callers, samples)."""
        for frames, n in self.list:
            for i, frame in reversed(list(enumerate(frames))):
                name = next((name for name, pattern in functions.items() if re.match(pattern, frame)), None)
                if name:
                    yield name, ";".join(frames[:i]), n
                    break


def of_ktop():
    # In a session of its own: else its thread that reads symbols shares the autogroup of all these programs.
    ktop = Batch("profile", "-n", "1", "--frequency", str(HZ), "--call-graph", "dwarf,8192", delay=SECONDS, start_new_session=True)
    try:
        frame = ktop.frame()
    finally:
        ktop.end()
    paths = {program.name: Paths() for program in PROGRAMS}
    for path in frame["trees"]["cpu"]:
        text, samples = path.rsplit(" ", 1)
        comm, *frames = text.split(";")
        if comm in paths and frames:
            paths[comm].add(frames, int(samples))
    return frame, paths


def of_perf(directory):
    file = os.path.join(directory, "perf.data")
    # Without build IDs: perf 6.1 aborts now and then while it collects them.
    subprocess.run(["perf", "record", "-q", "-a", "--no-buildid", "--no-buildid-cache", "-F", str(PERF_HZ), "--call-graph", "dwarf,8192",
                    "-o", file, "--", "sleep", str(PERF_SECONDS)], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    names = ",".join(program.name for program in PROGRAMS)
    text = subprocess.run(["perf", "script", "-i", file, "--comms", names, "-F", "comm,ip,sym,dso", "--no-inline"],
                          capture_output=True, text=True, errors="replace").stdout
    os.unlink(file)
    paths = {program.name: Paths() for program in PROGRAMS}
    for sample in text.split("\n\n"):
        comm, *frames = sample.strip("\n").split("\n")
        if comm.strip() in paths and frames:
            paths[comm.strip()].add([re.sub(r"\+0x[0-9a-f]+$", "", f.split(None, 1)[1].rsplit(" (", 1)[0]) for f in reversed(frames)], 1)
    return paths


def percent(part, whole):
    return 100 * part / whole if whole else math.nan


def shares_hold(program, truth, ktop, perf):
    """Prints a row for each function. Whether the samples agree with its CPU time within three standard deviations, and one sample of the
    edge of the interval."""
    n, n_perf = ktop.count(), perf.count() if perf else 0
    good = check(n >= 50, f"{program.name}: {n} samples")
    found, found_perf = ktop.of(program.functions), perf.of(program.functions) if perf else {}
    for name, share in truth.items():
        sigma = math.sqrt(n * share * (1 - share))
        print(f"{program.name:14} {name:13}{100 * share:8.1f}{percent(found[name], n):8.1f} +-{percent(3 * sigma, n):4.1f}"
              f"{percent(found_perf.get(name, 0), n_perf):8.1f}{percent(ktop.whole(), n):11.1f}{percent(perf.whole() if perf else 0, n_perf):11.1f}", flush=True)
        good &= abs(found[name] - share * n) <= 3 * sigma + 1 or check(False, f"{program.name}: share of {name}")
    return good


def stacks_hold(program, ktop, perf):
    n, whole = ktop.count(), ktop.whole()
    if program.whole:
        check(whole >= 0.97 * n - 1, f"{program.name}: {whole} of {n} stacks are whole")
    else:
        marked = ktop.count(lambda frames: frames[0] == "[broken stack]")
        check(not whole and marked >= 0.9 * n, f"{program.name}: {marked} of {n} stacks are marked as broken")
    for name, pattern in program.callers.items():
        all_of = [(callers, samples) for found, callers, samples in ktop.split(program.functions) if found == name]
        right = sum(samples for callers, samples in all_of if re.search(pattern, callers))
        wrong = max((x for x in all_of if not re.search(pattern, x[0])), key=lambda x: x[1], default=("", 0))[0]
        total = sum(samples for _, samples in all_of)
        check(right >= 0.97 * total - 1, f"{program.name}: {right} of {total} samples of {name} have its callers" + (f", others {wrong[-100:]}" if wrong else ""))
    if perf and n and perf.count():
        p, q = whole / n, perf.whole() / perf.count()
        sigma = math.sqrt(p * (1 - p) / n + q * (1 - q) / perf.count())
        check(p >= q - 3 * sigma, f"{program.name}: {100 * p:.1f} % of its stacks are whole, {100 * q:.1f} % in perf (of {perf.count()})")


class Comparison:
    def __init__(self, directory, programs):
        self.directory, self.programs, self.perf, self.stacks = directory, programs, None, None

    def once(self):
        running = []
        try:
            for program in self.programs:
                path = os.path.join(self.directory, program.name)
                shutil.copy(path + ".built", path)
                running.append(Running(program, path))
            time.sleep(0.3)
            frame, ktop = of_ktop()
            if self.perf is None and shutil.which("perf"):
                self.perf = of_perf(self.directory)
        finally:
            truth = {r.program.name: r.end() for r in running}
        if self.stacks is None:
            self.stacks = frame, ktop
        print(f"{'program':14} {'function':13}{'CPU %':>8}{'ktop %':>8} {'3 sd':>6}{'perf %':>8}{'ktop whole':>11}{'perf whole':>11}")
        good = [shares_hold(p, truth[p.name], ktop[p.name], self.perf and self.perf[p.name]) for p in self.programs]
        return all(good)


def built(directory):
    """The programs that a compiler for is installed."""
    programs = []
    for program in PROGRAMS:
        missing = [tool for tool in program.build.needs if not shutil.which(tool)]
        if missing:
            skip_part(f"{program.name}: {missing[0]} is not installed")
            continue
        program.build(os.path.join(directory, program.name + ".built"))
        programs.append(program)
    return programs


def main():
    need_root("sampling of all CPUs")
    directory = tempfile.mkdtemp(prefix="ktop-programs-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    try:
        programs = built(directory)
        if not programs:
            skip("needs a C compiler")
        comparison = Comparison(directory, programs)
        tries("shares of CPU time", 3, comparison.once)
    finally:
        shutil.rmtree(directory)
    if comparison.perf is None:
        skip_part("perf is not installed")
    frame, ktop = comparison.stacks
    for program in programs:
        stacks_hold(program, ktop[program.name], comparison.perf and comparison.perf[program.name])
    notes = [note["text"] for note in frame["notes"]]
    check(any("of pf_bare's stacks are broken: pf_bare has no unwind table" in text for text in notes), f"a note names what has no table: {notes}")
    for name in ("pf_gostrip", "pf_deleted", "pf_ns"):
        check(not any(name in text for text in notes), f"{name} has its symbols")
    sys.exit(1 if failed else 0)


main()
