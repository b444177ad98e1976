#!/usr/bin/env python3
# needs: the program (beside, once); the man page and the README document every option, pane, column, key and series, and no other options
import json
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KTOP = os.environ.get("KTOP", os.path.join(TOP, "build/ktop"))
bad = []


def ktop(*args):
    return subprocess.run([KTOP, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout


def main():
    page = open(os.path.join(TOP, "man/ktop.8"), encoding="utf-8").read()
    plain = page.replace("\\-", "-").replace("\\(aq", "'").replace("\\&", "").replace("\\(rs", "\\")
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", os.path.join(TOP, "man/ktop.8")], capture_output=True, text=True)
    if lint.stdout.strip():
        bad.append("mandoc: " + lint.stdout)

    usage = ktop("--help")
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", usage))
    documented = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", plain))
    for name in sorted(options - documented):
        bad.append(f"man page: option {name} is missing")
    for name in sorted(documented - options):
        bad.append(f"man page: option {name} does not exist")

    panes = [line.split()[0] for line in ktop("--list", "panes").splitlines() if line.strip()]
    if len(panes) < 7:
        bad.append(f"--list panes lists only {panes}")
    readme = open(os.path.join(TOP, "README.md"), encoding="utf-8").read()
    for name in panes:
        if not re.search(rf"(?m)^\.S[SH] .*\b{name}\b|\\fB{name}\\fR|^\.B {name}\b", plain):
            bad.append(f"man page: pane {name} is missing")
        if f"`{name}`" not in readme:
            bad.append(f"README: pane {name} is missing")
    # Columns and series: names with at least one underscore or letter, first on their lines.
    names = set(re.findall(r"(?m)^\s+([a-z][a-z0-9_]*)\s{2,}", ktop("--list", "columns")))
    if len(names) < 100:
        bad.append(f"--list columns lists only {len(names)} columns")
    words = set(re.findall(r"[a-z][a-z0-9_]*", plain))
    for name in sorted(names - words):
        bad.append(f"man page: column {name} is missing")
    # Also series that appear only in output files, not on a screen.
    series = set()
    for line in ktop("-b", "-n", "1", "-d", "0.1", "-F", "json", "-P", ",".join(panes)).splitlines():
        series |= set(json.loads(line)["series"])
    if len(series) < 60:
        bad.append(f"the JSON has only {len(series)} series")
    for name in sorted(series - names):
        bad.append(f"--list columns: series {name} of the JSON is missing")
    # man/update generates the section COLUMNS; the sample has titles of all kinds.
    made = subprocess.run([os.path.join(TOP, "man/update"), "--check"], capture_output=True, text=True, env={**os.environ, "KTOP": KTOP})
    if made.returncode:
        bad.append("the man page's COLUMNS section is out of date: run man/update\n" + made.stdout + made.stderr)
    update = {"__name__": "update", "__file__": os.path.join(TOP, "man/update")}
    exec(compile(open(update["__file__"], encoding="utf-8").read(), update["__file__"], "exec"), update)
    listed = ("pane: Pane\ntable: What it is.\n  a_pid                      OF PID   id         The process, text of it.\n"
              "  b_pct                      OF THE LIMIT percent    How much.\n  c_per_s                    N/s      per second Its text.\n"
              "  e                          LLCMISS/s per second Misses.\nother: Another.\n  c_per_s                    N/s      per second Its text.\n"
              "\nseries: Series\n  d                          Calls per second of all\n")
    page = "".join(update["columns"](listed))
    for line in ("OF PID (id; table): The process, text of it.", "OF THE LIMIT (percent; table): How much.", "N/s (per second; table, other): Its text.", "Calls per second of all",
                 "LLCMISS/s (per second; table): Misses.", "\\fItable\\fR: What it is."):
        if f"\n{line}\n" not in page:
            bad.append(f"man/update does not generate {line!r}, but {page!r}")
    try:
        list(update["columns"]("pane: Pane\ntable: What it is.\n  a_pid                      OF PID   apples     The process.\n"))
        bad.append("man/update accepts an unknown unit")
    except SystemExit:
        pass
    for picture in re.findall(r"\((screenshots/[^)]*)\)", readme):
        if not os.path.exists(os.path.join(TOP, picture)):
            bad.append(f"README: {picture} does not exist")
    for line in bad:
        print("FAIL:", line)
    sys.exit(1 if bad else 0)


main()
