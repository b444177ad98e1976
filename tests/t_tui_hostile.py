#!/usr/bin/env python3
# needs: nothing (san beside); names with escape sequences, newlines and invalid UTF-8 are never written raw to the terminal or files; quoted filters find names that look like filters
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from terminal import KTOP, Terminal

bad = []
# Names that look like filter terms or parts of them; each is also a substring of another.
quoted = [b"ktq", b"ktq pid=1", b">5ms ktq", b" ktq ", b'"ktq"', b"ktq\\", b'ktq\\" b', b"comm=ktq", b"ktq,/a b"]
children = []


def named(name):
    """Starts a sleeping process with that name."""
    children.append(subprocess.Popen([sys.executable, "-c", "import sys,time\nopen('/proc/self/comm','wb').write(%r)\nprint(flush=True)\ntime.sleep(300)" % name],
                                     stdout=subprocess.PIPE))
    children[-1].stdout.readline()


def in_quotes(name):
    return '"' + name.decode().replace("\\", "\\\\").replace('"', '\\"') + '"'


def pids_on(t, pids, expected):
    """PIDs of these on the redrawn screen, and its text; returns as soon as only `expected` is there, or after 20 redraws."""
    for _ in range(20):
        t.send("\x0c")
        text = re.sub(rb"\033\[[0-9;?]*[a-zA-Z]", b" ", t.pump(0.4)).decode(errors="replace")
        shown = [pid for pid in pids if re.search(rf"\b{pid}\b", text)]
        if shown == [expected]:
            break
    return shown, text


def names_are_found():
    for name in quoted:
        named(name)
    pids = ",".join(str(child.pid) for child in children)
    for name in quoted:
        out = subprocess.run([KTOP, "-b", "-P", "tasks", "-F", "json", "-n", "1", "-d", "0.2", "-p", pids, "--filter", f"comm={in_quotes(name)} pid>1"],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True)
        found = [row["comm"] for line in out.stdout.splitlines() for row in json.loads(line)["tables"]["tasks"]]
        if found != [name.decode()]:
            bad.append(f"--filter comm={in_quotes(name)} finds {found} {out.stderr}")
    t = Terminal([KTOP, "-d", "0.3", "-p", pids, "-P", "tasks"], 120, 40)
    t.pump(1)
    for name in quoted:
        t.send(f"\\\x15comm={in_quotes(name)}\r")
        expected = str(children[quoted.index(name)].pid)
        shown, text = pids_on(t, pids.split(","), expected)
        if shown != [expected]:
            bad.append(f"the filter {name} shows {shown}: {text}")
    for text, answer in ('comm="ktq', "missing closing quote"), ('comm="ktq"x', "follows a closing quote"):
        t.send(f"\\\x15{text}\r")
        if not t.wait_for(answer.encode(), 5):
            bad.append(f"{text} is not reported as invalid: {t.pump(0.1)}")
        t.send("\033")
        t.pump(0.2)
    t.send("q")
    if t.wait(10):
        bad.append("exit status is not 0 after the filters")
    t.end()
    for text, code in ('comm="ktq', 2), ('"ktq" pid=1', 2), ('"pid=1"', 0):
        out = subprocess.run([KTOP, "-b", "-P", "tasks", "-n", "1", "-d", "0.1", "--filter", text], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if out.returncode != code or (code and (out.stdout or out.stderr.count("\n") != 1)):
            bad.append(f"--filter {text}: {out.returncode} {out.stderr}")


folder = tempfile.mkdtemp()
evil = b"\033[31mEV\nIL\xff\x9b5m"
names = [evil, b"\033]0;EV\x07IL", b"EV\xe2\x80\xaeIL\x85"]
try:
    names_are_found()
    for name in names:
        path = os.path.join(folder.encode(), name)
        shutil.copy(shutil.which("sleep"), path)
        children.append(subprocess.Popen([path, b"60"]))
        # busy for a while, with the hostile text as name and argument
        children.append(subprocess.Popen([sys.executable, "-c", "import sys\nopen('/proc/self/comm','wb').write(%r)\n"
                                          "import time\nend=time.time()+40\nwhile time.time()<end: pass" % name[:15], name]))
    t = Terminal([KTOP, "-d", "0.3", "--filter", "EV"], 120, 40)
    t.pump(1.5)
    for keys in "1", "2", "H", "5", "X", "2", "\\EV\033", "/EV\r", "n", "h", " ", "[", "q":
        t.send(keys)
        t.pump(0.4)
    t.send("q")
    status = t.wait(10)
    raw = t.raw
    t.end()
    if status != 0:
        bad.append(f"wait status {status}: {raw[-300:]!r}")
    if b"EV" not in raw:
        bad.append("invalid test: the name is not on the screen")
    for sequence in (b"\033[31mEV", b"EV\nIL", b"\xff", b"\x9b5m", b"\033]0;", b"\x07IL", "\u202eIL".encode(), b"\xc2\x85", b"\x85IL"):
        if sequence in raw.replace(b"\033[?12l", b""):
            at = raw.index(sequence)
            bad.append(f"raw {sequence!r} on the terminal: {raw[max(0, at - 60):at + 40]!r}")
    raw.decode("utf-8")
    for form in "text", "csv", "json":
        out = subprocess.run([KTOP, "-b", "-P", "triage,tasks", "-F", form, "-n", "2", "-d", "0.3"], stdin=subprocess.DEVNULL,
                             capture_output=True, check=True).stdout
        text = out.decode("utf-8")
        if "EV" not in text:
            bad.append(f"{form}: the name is missing")
        wrong = sorted({hex(ord(c)) for c in text if (ord(c) < 32 and c != "\n" and c != "\t") or 0x7f <= ord(c) <= 0x9f or c in "\u2028\u2029\u202e"})
        if wrong:
            bad.append(f"{form}: control characters {wrong}")
        if form == "json":
            for line in text.splitlines():
                json.loads(line)
finally:
    for child in children:
        child.kill()
        child.wait()
    shutil.rmtree(folder)

print("\n".join("FAIL: " + line for line in bad) or "ok")
sys.exit(bool(bad))
