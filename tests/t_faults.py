#!/usr/bin/env python3
# needs: root, cc (loud); page faults by mapping against a known load: exact while every fault is sampled, within the shown error at a high fault rate
import os
import shutil
import subprocess
import sys
import tempfile

from ktop import HERE, Batch, skip, tries

EXPECTED = {"file": 299, "[heap]": 200, "[stack]": 100, "kernel": 70, "cold": 40}
BUDGET = 5000  # FAULTS_BUDGET


def rows_of(frame, pid):
    return [r for r in frame["tables"]["fault_mappings"] if r["pid"] == pid]


def count(load, directory):
    """ktop's figures for the known faults, by mapping: [samples, faults, expected error in faults, kernel faults, major faults, kinds]."""
    ktop = Batch("memory")
    program = subprocess.Popen([load, "count", directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == "ready\n"
        ktop.frame()
        frame = ktop.frame()  # the program's startup faults are over
        assert not [r for r in rows_of(frame, program.pid) if r["mapping"] and r["mapping"].endswith("/file")], frame
        program.stdin.write("\n")
        program.stdin.flush()
        minor, major = map(int, program.stdout.readline().split())
        assert minor + major >= sum(EXPECTED.values()), (minor, major)
        seen = {}
        quiet = 0
        while quiet < 2:  # until the rings hold no more of its faults
            frame = ktop.frame()
            rows = rows_of(frame, program.pid)
            quiet = 0 if rows else quiet + 1
            for row in rows:
                name = os.path.basename(row["mapping"] or "-")
                assert row["comm"] == "fault_load" and (row["mapping"] is None) == (row["kind"] is None), row
                faults = (row["minor_faults_per_s"] + row["major_faults_per_s"]) * frame["interval_s"]
                sums = seen.setdefault(name, [0, 0, 0, 0, 0, set()])
                for i, value in enumerate((row["samples"], faults, faults * row["error_pct"] / 100, faults * row["kernel_pct"] / 100,
                                           row["major_faults_per_s"] * frame["interval_s"])):
                    sums[i] += value
                sums[5].add(row["kind"])
        return seen, minor, major
    finally:
        program.stdin.close()
        program.stdout.close()
        program.wait()
        ktop.end()


def compare(seen, minor, major):
    """Returns the list of differences; empty on success."""
    wrong = []
    for name, expected in EXPECTED.items():
        samples, faults, error, kernel, majors, kinds = seen.get(name, [0, 0, 0, 0, 0, set()])
        exact = error == 0
        print(f"{name}: {expected} expected, {samples} samples, {faults:.1f} counted, +- {error:.1f}, {kernel:.1f} in kernel mode, {majors:.1f} major")
        if (samples != expected) if exact else abs(faults - expected) > 2 * error + 0.02 * expected:
            wrong.append(name)
        if abs(faults - expected) > 2 * error + 0.1 * expected:  # the intervals of frame and collector differ slightly
            wrong.append(f"rate of {name}")
        want_kernel = faults if name == "kernel" else 0
        if abs(kernel - want_kernel) > 2 * error + 0.001 * faults:
            wrong.append(f"kernel's share of {name}")
        if kinds != {name.strip("[]") if name.startswith("[") else "file"}:
            wrong.append(f"kind of {name}: {kinds}")
        if exact and name == "cold" and major and abs(majors - major) > 0.1 * major + 1:
            wrong.append(f"major faults: {majors} of {major}")
    return wrong


def idle_when_hidden():
    """The collector is idle while no pane shows it."""
    ktop = Batch("health")
    try:
        ktop.frame()
        row = next(r for r in ktop.frame()["tables"]["collectors"] if r["collector"] == "faults")
        perf = [f for f in os.listdir(f"/proc/{ktop.p.pid}/task") if open(f"/proc/{ktop.p.pid}/task/{f}/comm").read() == "ktop-faults\n"]
        assert len(perf) == 1 and not row["events_per_s"] and not row["cpu_pct"], row
    finally:
        ktop.end()


def high_rate(load):
    """Far more faults than the sampling budget: rates stay correct, and the cost is bounded."""
    program = subprocess.Popen([load, "storm"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ktop = Batch("memory", delay=1)
    try:
        for _ in range(3):
            ktop.frame()
        frame = ktop.frame()
        rows = rows_of(frame, program.pid)
        task = next(r for r in frame["tables"]["top_faulters"] if r["pid"] == program.pid)
        faults = sum(r["minor_faults_per_s"] + r["major_faults_per_s"] for r in rows)
        truth = task["minor_faults_per_s"] + task["major_faults_per_s"]
        samples = sum(r["samples"] for r in frame["tables"]["fault_mappings"])
        # Memory that was unmapped and remapped before the lookup has an unknown mapping.
        memory = [r for r in rows if r["mapping"] in ("[anon]", "[unmapped]", None)]
        print(f"high rate: {truth:.0f} faults/s, {faults:.0f} by mapping, {samples} samples, lost {frame['lost_events']}; "
              + ", ".join(f"{r['mapping']} {r['share_pct']:.1f} % +- {r['error_pct']:.1f}" for r in rows))
        assert abs(faults - truth) < 0.15 * truth, "the rates by mapping do not add up to the task's rate"
        assert sum(r["share_pct"] for r in memory) > 95, rows
        assert sum(r["share_pct"] for r in memory if r["mapping"]) > 50, rows
        assert abs(sum(r["share_pct"] for r in rows) - 100) < 0.01, rows
        if truth > 4 * BUDGET:
            assert 0 < max(memory, key=lambda r: r["share_pct"])["error_pct"] < 20 and samples < truth / 2, "faults are not sampled"
        assert samples <= 2.5 * BUDGET * os.cpu_count() * 2 * frame["interval_s"], "more samples than the budget"
    finally:
        program.stdin.close()
        program.stdout.close()
        program.wait()
        ktop.end()


def main():
    if os.geteuid() != 0:
        skip("needs root: page faults of all CPUs")
    if not shutil.which("cc"):
        skip("needs a C compiler for the load")
    directory = tempfile.mkdtemp(prefix="ktop-faults-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    try:
        load = os.path.join(directory, "fault_load")
        subprocess.run(["cc", "-O1", "-o", load, os.path.join(HERE, "data", "fault_load.c")], check=True)

        def once():
            seen, minor, major = count(load, directory)
            wrong = compare(seen, minor, major)
            if wrong:
                print("differs:", wrong)
            elif not any(sums[2] for sums in seen.values()):
                print("exact")
                return True
            within.append(not wrong)
            return False

        # A high fault rate of another program on the same CPU lowers the sampling ratio; ktop then shows an error bound, which must hold.
        within = []
        exact = tries("page faults by mapping, exact", 5, once)
        idle_when_hidden()
        high_rate(load)
    finally:
        shutil.rmtree(directory)
    sys.exit(0 if exact or any(within) else 1)


main()
