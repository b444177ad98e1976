#!/usr/bin/env python3
# needs: nothing (san beside); arrows, Home, End and similar keys in every form that terminals send, whatever terminfo says
import sys

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
