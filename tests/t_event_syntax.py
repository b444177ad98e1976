#!/usr/bin/env python3
# needs: root, perf 6.1 (beside); ktop accepts or rejects each event string of a table as perf stat does, with the same perf_event_attr
import json
import os
import re
import subprocess
import sys

from ktop import KTOP, TOP, skip

ATTRS = os.path.join(TOP, "build/tests/event_attrs")
BATCH, BREAKPOINTS = 24, 3  # strings per ktop run; x86 has four hardware breakpoints

GOOD = """
cycles cpu-cycles instructions:u cache-references cache-misses:k branches branch-instructions branch-misses bus-cycles ref-cycles
stalled-cycles-frontend idle-cycles-backend
cs context-switches cpu-clock task-clock faults page-faults minor-faults major-faults migrations cpu-migrations alignment-faults
emulation-faults dummy bpf-output cgroup-switches
L1-dcache L1-dcache-loads L1-dcache-load-misses L1-dcache-prefetch-misses l1d-read-miss L1-icache-load-misses LLC-loads
LLC-load-misses LLC-misses-loads LLC-load-load LLC-loads-refs L2-stores LLC-speculative-read dTLB-store-misses Data-TLB-loads
iTLB-load-misses branch branch-loads branch-load-misses bpu node node-prefetches
cs:u cs:k cs:h cs:uk cs:ukh cs:G cs:H cs:GH cs:I cs:p cs:ppp cs:P cs:uS cs:D cs:e cs:W cs:b cycles:ukhGHpPSDeWb cs:
cs// cs//u cs/config=1/ cs/config=0x1,config1=2/u cs/config2=3/ cs/period=5/ cs/name=foo/ cs/name=a-b.c:d/k cs/metric-id=x/ cs/percore/
LLC-loads/config1=1/u
r1a8 r1a8:u rFFFF r1a8/config1=1/ 1:3 1:3:u 0x1:0x3 1:99 99:1 4:0x1a8
mem:0x1000 mem:4096 mem:0x1000:rw mem:0x1000:x mem:0x1000:u mem:0x1000:rw:u mem:0x1000/4:w mem:0x1000/8:r mem:0x1000/3 mem:0x1000:
msr/tsc/ msr/TSC/ msr/tsc=1/ msr/event=tsc/ msr/event=0/ msr/event=0,event=0/ msr/config=0/ msr/r0/ msr// msr/tsc/D
msr/tsc,name=foo/ msr/tsc,period=100/ msr/tsc/u tsc
software// software/config=3/ software/config=99/ breakpoint// uprobe// uprobe/retprobe/
sched:sched_switch sched:sched_switch:u sched:sched_w*
{cs,cpu-clock} {cs} {cs,cs:u}:k {cs:u,cpu-clock}:D mygroup{cs,faults}:S {cs},{cs},dummy {cs,cpu-clock}:W cs,cs:u,msr/tsc/ {cs,msr/tsc/}
""".split() + ["cs, cs:u", " cs", "msr/ tsc /", "msr /tsc/"]

BAD = """
cycels Cycles CS LLC-LOADS llc-loads speculative-read L1-icache-stores iTLB-stores LLC-loads-misses-refs L1-dcache-foo
inst_retired.any foo.o cycles+1 1 1: 1x:3 r rZZ r12345678123456789
cs, ,cs cs,,cs cs/ cs/event=1/ cs/foo/ cs/config=zz/ cs/config3=1/ cs/name=/ cs/inherit/ cs/time=1/ cs/freq=100/ cs/call-graph=fp/
cs:Z cs:uu cs:kkk cs:u:k cs:pppp :u
{} cs} {cs}:Z {cs,{cs}} {cs}{cs} {cs}cs cs{cs} {cs}u {cs}: {cs,}
mem: mem:zz mem:0x1000:q mem:0x1000:rr mem:0x1000/4/u
msr/tsc msr/tsc/Z msr/tsc/:u msr/foo/ msr/event=/ msr/event=foo/ msr/tsc=2/ msr/event=0x1ffffffffffffffff/ msr/event=0,,/ msr/,event=0/
msr/tsc/u/ msr/tsc// nopmu/x/ cpu/event=1/ uprobe/retprobe=2/ /tsc/ // /
sched: sched:nope sched-x:y sched:sched_switch:Z sched:sched_switch/foo=1/ s*:nope
""".split() + ["", "cs cs", "cs/name=a b/"]

# Intentional differences: string, perf's result, ktop's result, reason.
DIFFERENT = [
    ("cs;", "good", "bad", "perf ignores unknown letters"),
    ("cs@", "good", "bad", "the same"),
    ("{cs,cs", "good", "bad", "perf treats the missing brace as part of the name"),
    ("duration_time", "good", "bad", "a clock that perf itself reads, not a kernel event"),
    ("{cycles,cs}", "fatal", "good", "perf exits if the group leader does not open; ktop shows it as refused and counts the others"),
    ("tracepoint/config=1/", "fatal", "good", "the same: no tracepoint has this ID"),
    ("msr/tsc/G", "good", "refused", "if the PMU cannot count guests, perf drops the modifier and counts the host"),
    ("msr/event/", "good", "bad", "perf ignores that the term has no value, and uses 1 for the 64-bit field"),
    ("uprobe:/proc/self/exe:main", "bad", "good", "an extension of perf's syntax"),
]

SHARED = {"type": "type", "config": "config", "{ bp_addr, config1 }": "config1", "{ bp_len, config2 }": "config2", "bp_type": "bp_type",
          "exclude_user": "eu", "exclude_kernel": "ek", "exclude_hv": "eh", "exclude_host": "eH", "exclude_guest": "eG",
          "exclude_idle": "eI", "precise_ip": "precise", "pinned": "pinned", "exclusive": "exclusive"}
wrong = []


def perf(text):
    """Returns perf stat's result (bad, fatal or good), and for each event the attributes first tried on CPU 0 and whether it opened."""
    argv = ["unshare", "-m", "--propagation", "private", "sh", "-c",
            'mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null; exec perf stat -a -vv -e "$1" -- true', "perf", text]
    p = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=dict(os.environ, LC_ALL="C"), errors="replace")
    if p.returncode == 129:
        return "bad", []
    events, attr, current = [], None, None
    for line in p.stderr.splitlines():
        field = re.match(r"  (\S.*?)  +(\S+)$", line)
        tried = re.match(r"sys_perf_event_open: pid -1  cpu (\d+) .*?(= \d+)?$", line)
        if line == "perf_event_attr:":
            attr = {}
        elif field and attr is not None:
            attr[field.group(1)] = field.group(2)
        elif tried:
            current = current or {"attr": attr, "cpu": int(tried.group(1)), "open": False}
            if tried.group(2):
                current["open"] = True
                events.append(current)
                current = None
        elif line.endswith("event is not supported by the kernel.") and current:
            events.append(current)
            current = None
    if current:
        events.append(current)
    if not events and p.returncode:
        return "bad", []
    return "fatal" if p.returncode else "good", [e for e in events if e["cpu"] == 0]


def number(value):
    return int(value, 0) if value else 0


def ours(text):
    p = subprocess.run([ATTRS, text], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    events = []
    for line in p.stdout.splitlines():
        name, _, rest = line.partition("\t")
        events.append(dict(word.split("=", 1) for word in rest.split(" ") if "=" in word) | {"name": name})
    return {0: "good", 2: "bad"}.get(p.returncode, f"exit {p.returncode}"), events, p.stderr


def same_events(text, theirs, mine):
    if len(theirs) != len(mine):
        wrong.append(f"'{text}': perf opens {len(theirs)} events, ktop {len(mine)}")
        return
    want = sorted(tuple(number(e["attr"].get(field)) for field in SHARED) + (e["open"],) for e in theirs)
    have = sorted(tuple(number(e[field]) for field in SHARED.values()) + (e["open"] == "ok",) for e in mine)
    if want != have:
        wrong.append(f"'{text}': perf opens {want}, ktop {have} of {list(SHARED.values())}")


def run_bad(text):
    p = subprocess.run([KTOP, "--batch", "-n", "1", "-d", "0.1", "-e", text], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    if p.returncode != 2 or p.stdout or len(p.stderr.splitlines()) != 1 or not p.stderr.startswith("ktop: --event: "):
        wrong.append(f"'{text}': exit {p.returncode}, {p.stdout!r}, {p.stderr!r}")


def run_good(texts, expected):
    """One run with all strings: each event has its row, counted or refused as when it was opened alone."""
    argv = [KTOP, "--batch", "--pane", "cpus", "--format", "json", "-n", "1", "-d", "0.2"]
    for text in texts:
        argv += ["-e", text]
    p = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    if p.returncode:
        wrong.append(f"{texts}: exit {p.returncode}, {p.stderr}")
        return
    frame = json.loads(p.stdout)
    rows = [row for row in frame["tables"]["counters"] if row["cpu"] == 0]
    want = [event for text in texts for event in expected[text]]
    if [row["event"] for row in rows] != [event["name"] for event in want]:
        wrong.append(f"{texts}: rows {[row['event'] for row in rows]}")
        return
    for row, event in zip(rows, want):
        if (row["state"] == "refused") != (event["open"] != "ok") or (row["state"] == "refused") != (row["value"] is None):
            wrong.append(f"'{event['name']}' {event['open']}: {row}")
        if row["state"] == "refused" and not any(note["text"] and note["fix"] for note in frame["notes"]):
            wrong.append(f"'{event['name']}' is refused without a reason")


def batches(texts):
    batch = []
    for text in texts:
        if len(batch) == BATCH or sum("mem:" in t for t in batch) == BREAKPOINTS:
            yield batch
            batch = []
        batch.append(text)
    yield batch


def main():
    if os.geteuid() != 0:
        skip("needs root: CPU-wide events")
    version = subprocess.run(["sh", "-c", "perf --version"], capture_output=True, text=True).stdout
    if not version.startswith("perf version 6.1."):
        skip(f"written for the event syntax of perf 6.1; installed: {version.strip() or 'none'}")
    subprocess.run(["make", "-s", "--no-print-directory", "-C", TOP, "build/tests/event_attrs"], check=True)
    expected = {}
    for text in GOOD + BAD:
        theirs, events = perf(text)
        mine, have, error = ours(text)
        want = "good" if text in GOOD else "bad"
        if theirs != want or mine != want:
            wrong.append(f"'{text}' should be {want}: perf: {theirs}, ktop: {mine} {error.strip()}")
        elif want == "good":
            same_events(text, events, have)
        expected[text] = have
    for text, theirs_want, mine_want, why in DIFFERENT:
        theirs, mine, have = perf(text)[0], *ours(text)[:2]
        if mine == "good" and mine_want == "refused":
            mine = "refused" if all(e["open"] != "ok" for e in have) else "good"
        print(f"intentional: '{text}': perf {theirs}, ktop {mine}: {why}")
        if (theirs, mine) != (theirs_want, mine_want):
            wrong.append(f"'{text}': expected perf {theirs_want}, ktop {mine_want}")
    for text in BAD:
        run_bad(text)
    for batch in batches(GOOD):
        run_good(batch, expected)
    print(f"{len(GOOD)} good and {len(BAD)} bad strings, {len(DIFFERENT)} intentional differences")
    for line in wrong:
        print("FAIL:", line)
    sys.exit(1 if wrong else 0)


main()
