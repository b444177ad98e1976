#!/usr/bin/env python3
# needs: nothing (san beside); arrows, Home, End and similar keys in every form that terminals send, whatever terminfo says; B on a finding
import os
import sys
import tempfile

from terminal import KTOP, Terminal

FORMS = {
    "up": ("\033[A", "\033OA"), "down": ("\033[B", "\033OB"), "left": ("\033[D", "\033OD"), "right": ("\033[C", "\033OC"),
    "home": ("\033[H", "\033OH", "\033[1~", "\033[7~"), "end": ("\033[F", "\033OF", "\033[4~", "\033[8~"),
    "page up": ("\033[5~",), "page down": ("\033[6~",),
}
bad = []


def responds(t, what, keys):
    """Checks that the keys cause output; without keys there is none."""
    t.quiet(0.05)
    t.send(keys)
    if not t.read(1):
        bad.append(f"{what} {keys!r} has no effect")


def in_help(t, term):
    t.send("h")
    if not t.wait_for(b"help: triage", 10):
        bad.append(f"{term}: no help")
        return
    for key, away in (("end", "home"), ("home", "end"), ("down", "home"), ("up", "end"), ("page down", "home"), ("page up", "end")):
        for form in FORMS[key]:
            t.send(FORMS[away][0])
            responds(t, f"{term}: {key}", form)
    t.send("\033")
    t.quiet(0.3)


def in_prompt(t, term):
    for left in FORMS["left"]:
        for right in FORMS["right"]:
            t.send("/abc" + left + left + "X" + right + "Y")
            if not t.wait_for(b"aXbYc", 3):
                bad.append(f"{term}: {left!r} and {right!r} do not move the cursor: {t.raw[-200:]!r}")
            t.raw = b""
            t.send("\033")
            t.quiet(0.05)


def to_begin():
    """A finding that always holds: its key B leads back to its first frame, and g to the newest one."""
    with tempfile.TemporaryDirectory(prefix="t_tui_keys.") as home:
        os.mkdir(home + "/ktop", 0o755)
        with open(home + "/ktop/thresholds", "w") as f:
            f.write("memory_low.available_pct = 1000\nmemory_low.critical_available_pct = 1000\n")
        os.chmod(home + "/ktop/thresholds", 0o644)
        t = Terminal([KTOP, "-P", "triage", "-d", "0.5", "--filter", "no such task"], columns=160, rows=40, env={"XDG_CONFIG_HOME": home})
        try:
            if not t.wait_for(b" memory available", 20):
                bad.append("a threshold of a file causes no finding")
            t.pump(3)
            t.send("\033[H")  # the first finding
            t.quiet(0.2)
            t.raw = b""
            t.send("B")
            if not t.wait_for(b"s before the newest frame; g: live", 10):
                bad.append(f"B does not go back: {t.raw[-300:]!r}")
            t.send("gq")
            if t.wait(5) != 0:
                bad.append(f"after B and g: wait status {t.status}")
        finally:
            t.end()


to_begin()
for term in ("xterm-256color", "screen", "linux", "vt100"):
    t = Terminal([KTOP, "-P", "triage", "-d", "60"], env={"TERM": term})
    try:
        t.wait_for(b"triage", 10)
        t.quiet(0.5)
        in_help(t, term)
        in_prompt(t, term)
        t.send("\033[1;5A\033[200~\033[[E\033[99~q")  # sequences that ktop ignores; q quits
        if t.wait(5) != 0:
            bad.append(f"{term}: wait status {t.status}")
    finally:
        t.end()

print("\n".join("FAIL: " + line for line in bad) or "ok")
sys.exit(bool(bad))
