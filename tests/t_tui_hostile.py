#!/usr/bin/env python3
# needs: nothing (san beside); names with escape sequences, newlines and broken UTF-8 never reach the terminal or the files raw
import json
import os
import shutil
import subprocess
import sys
import tempfile

from terminal import KTOP, Terminal

bad = []
folder = tempfile.mkdtemp()
evil = b"\033[31mEV\nIL\xff\x9b5m"
names = [evil, b"\033]0;EV\x07IL", b"EV\xe2\x80\xaeIL\x85"]
children = []
try:
    for name in names:
        path = os.path.join(folder.encode(), name)
        shutil.copy(shutil.which("sleep"), path)
        children.append(subprocess.Popen([path, b"60"]))
        # busy for a moment, under that name, with that in its arguments
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
        bad.append("the test is blind: the name is not on the screen")
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
