#!/usr/bin/env python3
# needs: nothing (san beside); terminal types: with and without colours and UTF-8, tiny and huge, and unsupported ones
import concurrent.futures
import os
import re
import subprocess
import sys

from ktop import SLOW
from terminal import KTOP, Terminal

bad = []
COLOR = re.compile(rb"\033\[[0-9;:]*(?:3[0-7]|4[0-7]|9[0-7]|38[;:])[0-9;:]*m")


def run(name, env, columns=80, rows=24, args=(), keys="hq12345q"):
    t = Terminal([KTOP, "-d", "0.3", *args], columns, rows, env)
    try:
        t.read(20)  # the first output: a start takes long beside other tests
        t.pump(1.2 * min(SLOW, 3))
        for key in keys[:-1]:
            t.send(key)
            t.pump(0.05)
        t.send("q")
        t.pump(0.1)
        t.send("q")
        status = t.wait(10)
        if status != 0:
            bad.append(f"{name}: wait status {status}: {t.raw[-300:]!r}")
        return t.raw
    finally:
        t.end()


def expect(name, condition, raw):
    if not condition:
        bad.append(f"{name}: {raw[:600]!r}")


def check(name, env, judge, *size, args=(), keys="hq12345q"):
    """Starts a check; checks run in parallel, because they mostly wait."""
    def one():
        raw = run(name, env, *size, args=args, keys=keys)
        if judge:
            judge(raw)
    checks.append(terminals.submit(one))


def draws(term):
    def judge(raw):
        expect(f"{term}: draws", b"triage" in raw, raw)
        expect(f"{term}: colours", bool(COLOR.search(raw)) == (term != "vt100"), raw)
    return judge


def utf8(raw):
    raw.decode("utf-8")
    expect("UTF-8: draws UTF-8 characters", max(raw) > 127, raw)


checks = []
terminals = concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count())
for term in ("xterm", "xterm-256color", "screen", "tmux-256color", "linux", "vt100", "xterm-direct"):
    check(term, {"TERM": term}, draws(term), keys="12345[ q")
check("unknown xterm", {"TERM": "xterm-of-tomorrow"},
      lambda raw: expect("an unknown xterm type is treated as xterm", b"triage" in raw and b"taken for" in raw, raw), keys="q")
check("no database", {"TERM": "xterm-256color", "TERMINFO": "/nonexistent", "TERMINFO_DIRS": "/nonexistent", "HOME": "/nonexistent"},
      lambda raw: expect("draws with the built-in terminal description", b"triage" in raw, raw), keys="q")
check("NO_COLOR", {"NO_COLOR": "1"}, lambda raw: expect("NO_COLOR: no colour", not COLOR.search(raw) and b"triage" in raw, raw), keys="12345q")
check("ascii", {}, lambda raw: expect("--ascii: only ASCII", max(raw) < 128, bytes(b for b in raw if b > 127)), args=["--ascii"], keys="12345hq")
check("C locale", {"LC_ALL": "C", "LANG": "C"}, lambda raw: expect("C locale: only ASCII", max(raw) < 128, bytes(b for b in raw if b > 127)),
      keys="12345q")
check("UTF-8", {"LC_ALL": "C.UTF-8"}, utf8, keys="12345q")
for columns, rows in ((40, 10), (19, 24), (80, 4), (1, 1), (3, 2), (20, 5), (400, 120), (65535, 65535)):
    check(f"{columns}x{rows}", {}, None, columns, rows, keys="12345/abc\r\\xyz\r[]{}  Hfq")
for one in checks:
    one.result()

for term in ("dumb", "no-such-terminal", "", "\033]0;x\007no\nsuch"):
    t = Terminal([KTOP], env={"TERM": term})
    status = t.wait(5)
    text = t.raw.decode(errors="replace").strip()
    if status is None or os.waitstatus_to_exitcode(status) != 1 or text.count("\n") or "\033" in text or "--batch" not in text:
        bad.append(f"TERM={term}: wait status {status}, output {text!r}")
    t.end()
p = subprocess.run([KTOP], stdin=subprocess.DEVNULL, capture_output=True, text=True)
if p.returncode != 1 or "--batch" not in p.stderr or p.stderr.count("\n") != 1 or p.stdout:
    bad.append(f"no terminal: {p}")

print("\n".join("FAIL: " + line for line in bad) or "ok")
sys.exit(bool(bad))
