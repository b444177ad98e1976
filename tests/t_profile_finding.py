#!/usr/bin/env python3
# needs: root, cc (once); a CPU finding names the hottest user and kernel function of its process, from two seconds of samples that then end
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from ktop import HERE, KTOP, SLOW, Batch, check, failed, need_root, perf_events, skip, skip_part, tries

COMM = "finding_load"
KINDS = ("cpu_saturated", "cpu_pressure", "runaway_task")  # that name functions
WORDS = re.compile(r"; (\d+) % of (?:its|their) CPU time is in (.+?)(?: and (\d+) % in (.+?))?; (\d+) samples")


def build(directory):
    flags = ["-O1", "-g", "-fno-omit-frame-pointer", "-I", os.path.join(HERE, "data")]
    source = lambda name: os.path.join(HERE, "data", name)
    library, program = os.path.join(directory, "libjson.so"), os.path.join(directory, COMM)
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-Wl,-soname,libjson.so", "-o", library, source("finding_lib.c")], check=True)
    subprocess.run(["cc", *flags, "-o", program, source("finding_load.c"), library, "-Wl,-rpath,$ORIGIN", "-lpthread"], check=True)
    stripped = os.path.join(directory, "stripped")
    os.mkdir(stripped)
    for file in library, program:
        shutil.copy(file, stripped)
    subprocess.run(["strip", "-s", os.path.join(stripped, "libjson.so")], check=True)
    return program


def start(program):
    """Two threads, of some priority, so that no other process uses more CPU time. With autogroups the one of its session counts."""
    load = subprocess.Popen([program], stdin=subprocess.PIPE, start_new_session=True, preexec_fn=lambda: os.nice(-5))
    try:
        with open(f"/proc/{load.pid}/autogroup", "w") as file:
            file.write("-5")
    except OSError:  # without autogroups
        pass
    return load


def stop(load):
    load.stdin.close()
    load.wait()


def finding_of(frame):
    """The evidence of the finding about the load, and the whole row."""
    rows = [r for r in frame["tables"].get("findings", []) if r["culprit_comm"] == COMM]
    return (rows[0]["evidence"], rows[0]) if rows else ("", None)


def share_ok(pct, n, share, what):
    """Within three standard deviations and the rounding of the sentence."""
    sigma = 100 * math.sqrt(share * (1 - share) / n)
    return check(abs(pct - 100 * share) <= 3 * sigma + 0.5, f"{what}: {pct} % of {n} samples, {100 * share:.0f} +- {3 * sigma:.1f} expected")


def kernel_truth(load):
    """{kernel function: its share} of the load, by the profile pane."""
    ktop = Batch("profile", "-n", "1", "-p", str(load.pid), delay=2)
    try:
        rows = [r for r in ktop.frame()["tables"]["symbols"] if r["comm"] == COMM]
    finally:
        ktop.end()
    n = sum(r["samples"] for r in rows)
    return {r["symbol"]: r["samples"] / n for r in rows if r["dso"].startswith("[")}


def sentences(ktop, most):
    """Frames of the pane triage until one names the function: the evidence of each, and the last row."""
    evidence, row, seen = "", None, []
    while len(seen) < most and not WORDS.search(evidence):
        frame = ktop.frame()
        if frame["pane"] == "triage":
            evidence, row = finding_of(frame)
            seen.append(evidence)
    return seen, row


def row_of_profile(ktop):
    """The next row of the collector on the health pane."""
    while True:
        frame = ktop.frame()
        if frame["pane"] == "health":
            return next(r for r in frame["tables"]["collectors"] if r["collector"] == "profile")


def named(program, directory):
    """The sentence within 6 s, with the right shares; then nothing is sampled any more; a recording has it."""
    file = os.path.join(directory, "recording")
    if os.path.exists(file):
        os.unlink(file)
    load = start(program)
    try:
        kernel = kernel_truth(load)
        begin, most = time.monotonic(), 0
        ktop = Batch("triage,health", "-r", file, delay=1)
        try:
            first = row_of_profile(ktop)
            before = perf_events(ktop.pid)
            seen, row = sentences(ktop, 14)
            took = time.monotonic() - begin
            words = WORDS.search(seen[-1])
            if not check(words is not None, f"functions in the finding after {took:.1f} s: {seen[-1]}"):
                return False
            # With other load on the machine the finding comes later, or is about another process meanwhile.
            shown = next(i for i, text in enumerate(seen) if text)
            good = check(took - shown <= 6 * SLOW, f"in {took:.1f} s, shown since frame {shown + 2}: {seen[-1]}")
            cost = row_of_profile(ktop)
            good &= check(first["state"] in ("off", "starting") and not first["events_per_s"], f"nothing was sampled before: {first}")
            good &= check("sampled" in cost["detail"] and "for a finding" in cost["detail"] and "% of one CPU" in cost["detail"], f"the cost: {cost}")
            off = row_of_profile(ktop)
            good &= check(off["state"] == "off" and not off["events_per_s"], f"it has stopped: {off}")
            after = perf_events(ktop.pid)
            good &= check(after <= before, f"perf events of ktop: {before} before, {after} after")
        finally:
            ktop.end()
    finally:
        stop(load)
    n = int(words[5])
    good &= check(60 <= n <= 430, f"{n} samples of two threads in two seconds at 99 Hz")
    good &= check(words[2] == "json_parse (libjson.so)", f"the user function: {words[2]}")
    good &= share_ok(int(words[1]), n, 0.7, words[2])
    function = (words[4] or "").removesuffix(" (kernel)")
    if check(words[4] is not None and function in kernel, f"the kernel function: {words[4]}, of {kernel}"):
        good &= check(kernel[function] == max(kernel.values()), f"{function} is the hottest of the kernel")
        good &= share_ok(int(words[3]), n, kernel[function], words[4])
        good &= share_ok(int(words[3]), n, 0.2, "reads of zeros, nearly all in it")
    good &= check(row["pane"] == "profile", f"the pane to look at: {row['pane']}")
    good &= check(sum(bool(WORDS.search(text)) for text in seen) == 1, "no sentence before all samples were there")
    replay = subprocess.run([KTOP, "-b", "-P", "triage", "-F", "json", "-R", file], capture_output=True, check=True, text=True).stdout
    live = [f["tables"]["findings"] for f in ktop.frames if f["pane"] == "triage"]
    again = [json.loads(line)["tables"]["findings"] for line in replay.splitlines()]
    return good & check(len(again) >= len(live) > 3 and again[:len(live)] == live, f"the replay has the same findings in {len(live)} frames")


def unnamed(program):
    """Without symbols; with --no-profile; for a user that may not sample: three at once, the same load."""
    load = start(os.path.join(os.path.dirname(program), "stripped", COMM))
    user = {"user": 65534, "group": 65534, "extra_groups": []}
    refused = int(open("/proc/sys/kernel/perf_event_paranoid").read()) > 0 and os.stat(os.path.dirname(KTOP)).st_mode & 1
    if not refused:
        skip_part("every user may sample, or other users cannot run the program where it is")
    ktops = {"stripped": Batch("triage", delay=1), "off": Batch("triage", "--no-profile", delay=1)}
    if refused:
        ktops["refused"] = Batch("triage", delay=1, **user)
    good = True
    try:
        seen, _ = sentences(ktops["stripped"], 14)
        words = WORDS.search(seen[-1])
        good &= check(words is not None and re.fullmatch(r"\[libjson\.so\+0x[0-9a-f]+\]", words[2]) is not None, f"without symbols: {seen[-1]}")
        for name in [n for n in ("off", "refused") if n in ktops]:
            frames = [ktops[name].frame()["tables"]["findings"] for _ in range(7)]
            cpu = [[r["evidence"] for r in rows if r["kind"] in KINDS] for rows in frames]
            good &= check(sum(map(bool, cpu)) >= 5, f"{name}: findings about CPU time: {cpu[-1]}")
            good &= check(not any("CPU time" in text for texts in cpu for text in texts), f"{name}: no functions")
            good &= check(not any("profile" in r["evidence"] for rows in frames for r in rows), f"{name}: no word of the collector")
    finally:
        for ktop in ktops.values():
            ktop.end()
        stop(load)
    return good


def main():
    need_root("sampling of all CPUs")
    if not shutil.which("cc"):
        skip("needs a C compiler for the load")
    directory = tempfile.mkdtemp(prefix="ktop-finding-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    os.chmod(directory, 0o755)
    try:
        program = build(directory)
        tries("functions in a finding", 3, lambda: named(program, directory))
        tries("findings without functions", 3, lambda: unnamed(program))
    finally:
        shutil.rmtree(directory)
    sys.exit(1 if failed else 0)


main()
