#!/usr/bin/env python3
# needs: root, cc, perf (once); the sampled instructions are those of perf, and annotate shows the known hottest line of a program
import collections
import math
import os
import re
import subprocess
import sys
import tempfile
import time

from ktop import HERE, KTOP, SLOW, Batch, check, failed, need_root, skip, tries
from terminal import Terminal

HZ, SECONDS = 999, 3
SOURCE = os.path.join(HERE, "data", "annotate_load.c")
HOTTEST = next(n for n, line in enumerate(open(SOURCE), 1) if "the hottest line" in line)


def perf_samples(load, directory):
    """{offset in the file: samples} as perf sees the load. The program is static: an address is an offset and a constant."""
    data = os.path.join(directory, "perf.data")
    perf = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HZ), "-o", data, "-p", str(load.pid), "--", "sleep", str(SECONDS)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return perf, data


def perf_read(data, base):
    out = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], capture_output=True, text=True).stdout
    counts = collections.Counter()
    for line in out.splitlines():
        ip, _, symbol = line.strip().partition(" ")
        if symbol.strip() in ("divide", "mix"):
            counts[int(ip, 16) - base] += 1
    return counts


def load_base(program):
    """Address minus file offset of the executable segment."""
    out = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        fields = line.split()
        if fields and fields[0] == "LOAD" and "E" in "".join(fields[6:-1]):
            return int(fields[2], 16) - int(fields[1], 16)
    raise SystemExit("no executable segment")


def close(a, n_a, b, n_b):
    """Two counts of the same share: within four standard deviations of their difference."""
    share = (a + b) / (n_a + n_b)
    sigma = math.sqrt(share * (1 - share) * (1 / n_a + 1 / n_b))
    return abs(a / n_a - b / n_b) <= 4 * sigma + 1 / min(n_a, n_b)


def same_instructions(load, program, directory):
    ktop = Batch("profile", "-n", "1", "-p", str(load.pid), "--frequency", str(HZ), delay=SECONDS)
    perf, data = perf_samples(load, directory)
    frame = ktop.frame()
    ktop.end()
    perf.wait()
    theirs = perf_read(data, load_base(program))
    rows = [r for r in frame["tables"]["addresses"] if r["symbol"] in ("divide", "mix")]
    ours = collections.Counter({r["offset"]: r["samples"] for r in rows})
    n, m = sum(ours.values()), sum(theirs.values())
    if not check(n > 300 and m > 300, f"{n} samples by ktop, {m} by perf"):
        return False
    by_symbol = collections.Counter()
    for row in frame["tables"]["symbols"]:
        by_symbol[row["symbol"]] += row["samples"]
    good = check(sum(by_symbol[s] for s in ("divide", "mix")) == n and frame["series"]["profile_addresses_dropped"] == 0,
                 "the samples of the instructions add up to those of the functions")
    good &= check(all(r["pid"] == load.pid and r["dso"] == program for r in rows), "they have the process and its file")
    for offset, _ in (ours + theirs).most_common(6):
        a, b = ours[offset], theirs[offset]
        good &= check(close(a, n, b, m), f"{offset:#x}: {100 * a / n:.1f} % by ktop, {100 * b / m:.1f} % by perf")
    return good


def annotated(directory):
    """The file that the key w writes of the annotated function."""
    path = os.path.join(directory, "x.annotate.txt")
    if os.path.exists(path):
        os.unlink(path)
    t = Terminal([KTOP, "-P", "profile", "-d", "0.5", "--frequency", str(HZ)], 120, 40)
    try:
        if not t.wait_for(b"divide", 30 * SLOW):
            check(False, "the flame graph does not show the function")
            return None
        time.sleep(2)
        t.pump(0.1)
        t.send("/divide\r")
        t.pump(0.5)
        t.send("a")
        if not check(t.wait_for(b"hottest", 20 * SLOW), "the key a opens the function, with its lines"):
            return None
        t.send("w")
        t.wait_for(b"write", 10 * SLOW)
        t.send("\x15" + path + "\r")
        end = time.monotonic() + 10 * SLOW
        while time.monotonic() < end and not (os.path.exists(path) and os.path.getsize(path)):
            t.pump(0.2)
        t.pump(0.3)
        t.send("q")
        t.wait(10)
    finally:
        t.end()
    return open(path).read() if os.path.exists(path) else None


def hottest_line(program, directory):
    text = annotated(directory)
    if not check(text, "the annotated function was written"):
        return False
    print("  " + text.replace("\n", "\n  "))
    lines, shares, divides = collections.Counter(), 0.0, None
    for line in text.splitlines()[1:]:
        source = re.match(r"^ *([0-9.]+%)? *annotate_load\.c:(\d+)  (.*)$", line)
        if source:
            lines[int(source[2])] += float((source[1] or "0%")[:-1])
            continue
        share = re.match(r"^ *([0-9.]+)% ", line)
        shares += float(share[1]) if share else 0
        if re.search(r"\b[us]?div[lq]?\b", line):
            divides = line
    good = check(bool(lines) and lines.most_common(1)[0][0] == HOTTEST,
                 f"line {HOTTEST} is the hottest: {lines.most_common(3)}")
    good &= check("the hottest line" in text, "its text is shown")
    good &= check(divides is not None, "the division is among the instructions")
    good &= check(abs(shares - 100) < 1, f"the instructions have {shares:.1f} % of the function's samples")
    known = set(re.findall(r"^ *([0-9a-f]+):\t", subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "--disassemble=divide", program], capture_output=True, text=True).stdout, re.M))
    shown = set(re.findall(r"^(?: *[0-9.]+%)? +([0-9a-f]+)  [a-z]", text, re.M))
    return good & check(shown == known, f"the {len(known)} addresses of the function are objdump's")


need_root("sampling whole CPUs")
if subprocess.run(["perf", "--version"], capture_output=True).returncode != 0:
    skip("needs perf")
with tempfile.TemporaryDirectory() as directory:
    program = os.path.join(directory, "annotate_load")
    subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-no-pie", "-o", program, SOURCE], check=True)
    load = subprocess.Popen([program])
    try:
        time.sleep(0.3)
        tries("ktop's sampled instructions are perf's", 3, lambda: same_instructions(load, program, directory))
        tries("annotate shows the hottest line", 2, lambda: hottest_line(program, directory))
    finally:
        load.kill()
        load.wait()
sys.exit(1 if failed else 0)
