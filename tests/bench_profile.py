#!/usr/bin/env python3
"""CPU time of a profile as folded stacks, ktop against perf, in turns on the same load:
    bench_profile.py [ROUNDS [SECONDS]]
perf is `perf record -F 99 -a -g` with `perf script` folded by a small awk program. Prints both in CPU seconds per round, and their ratio
with a 95 % interval of its mean. Not part of the tests: it needs a quiet machine, perf(1) and root."""
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from ktop import HERE, KTOP

FOLD = r"""
/^[^ \t#]/ { comm = $1; n = 0; next }
/^[ \t]+[0-9a-f]/ { frames[n++] = $2; next }
/^$/ { if (!n) next; line = comm; while (n) line = line ";" frames[--n]; count[line]++ }
END { for (line in count) print line, count[line] }"""


def cpu_of(commands):
    """CPU seconds of the commands and all that they waited for. perf record aborts now and then: another try."""
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        good = all(not subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode for command in commands)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if good:
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    sys.exit(f"failed three times: {commands}")


def loads(directory):
    """A busy C program, a busy interpreter, and a shell that starts processes."""
    source = lambda name: os.path.join(HERE, "data", name)
    library, program = os.path.join(directory, "libprofile.so"), os.path.join(directory, "profile_load")
    flags = ["-O1", "-fno-omit-frame-pointer", "-I", os.path.join(HERE, "data")]
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-o", library, source("profile_lib.c")], check=True)
    subprocess.run(["cc", *flags, "-o", program, source("profile_load.c"), library, f"-Wl,-rpath,{directory}"], check=True)
    python = "import json\nwhile True: json.loads(json.dumps([{'a': i, 'b': str(i)} for i in range(200)]))"
    shell = "while :; do ls -lR /usr/include/linux >/dev/null; sleep 0.05; done"
    return [[program, "shares"], [sys.executable, "-c", python], ["sh", "-c", shell]]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    ratios = []
    with tempfile.TemporaryDirectory(prefix="ktop-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as directory:
        data, fold = os.path.join(directory, "perf.data"), os.path.join(directory, "fold.awk")
        open(fold, "w").write(FOLD)
        perf = [f"perf record -q -F 99 -a -g -o {data} -- sleep {seconds}", f"perf script -i {data} | awk -f {fold}"]
        ktop = [f"{KTOP} -b -P profile -n 1 -d {seconds} --format folded"]
        running = [subprocess.Popen(c, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True) for c in loads(directory)]
        try:
            time.sleep(1)
            for n in range(rounds):
                order = (ktop, perf) if n % 2 else (perf, ktop)
                cost = {id(commands): cpu_of(commands) for commands in order}
                ratios.append(cost[id(ktop)] / cost[id(perf)])
                print(f"round {n + 1}: ktop {cost[id(ktop)]:.3f} s, perf {cost[id(perf)]:.3f} s, ratio {ratios[-1]:.2f}", flush=True)
        finally:
            for p in running:
                os.killpg(p.pid, 15)
                p.wait()
    mean = statistics.mean(ratios)
    half = 1.96 * statistics.stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else float("nan")
    print(f"ratio of ktop's CPU time to perf's: {mean:.2f} +- {half:.2f} ({rounds} rounds of {seconds} s)")


main()
