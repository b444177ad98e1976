#!/usr/bin/env python3
# needs: nothing (san beside); random keys, sizes, clicks and stops, while tasks start and exit: no crash, no hang
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from terminal import Terminal, KTOP

SECONDS = float(os.environ.get("MONKEY_SECONDS", "8"))
SEED = int(os.environ.get("MONKEY_SEED", "0")) or 20260131
SIZES = [(80, 24), (120, 40), (200, 50), (40, 10), (1, 1), (3, 2), (20, 5), (400, 100), (80, 3), (79, 24), (65535, 65535)]
KEYS = list("0123456789FPXhH?/\\nN<>If [ ]{}bgdrpoOvVtmacxyzGjk ") + [
    "\t", "\033[Z", "\r", "\033", "\177", "\033[A", "\033[B", "\033[C", "\033[D", "\033[5~", "\033[6~", "\033[H", "\033[F",
    "\033OP", "\033OS", "\033[15~", "\033[3~", "\033[99~", "\x0c", "\xe4", "\u202e", "\x00", "\033[<0;5;3M", "\033[<0;5;3m",
    "\033[<64;10;10M", "\033[<0;300;300M", "\033[M !!", "pid=1\r", "\\pid=1\r", "\\\r", "/a\r", "d0.1\r", "d\x151\r", "d\x15bad\r",
    "b-5\r", "b12:30\r", "b-99999\r", "[[[[", "{{{{", "g", "\\comm=\r", "w\033", "\\" + "x" * 300 + "\r"]

work = tempfile.TemporaryDirectory()
os.chdir(work.name)  # "w" and what follows it may write files
random.seed(SEED)
bad = []
churn = subprocess.Popen(["sh", "-c", "while :; do /bin/true; sleep 0.02; done"])
t = Terminal([KTOP, "-d", "0.1", "--history", "1M"], 80, 24)
ends = time.monotonic() + SECONDS
last = []
try:
    t.pump(1)
    while time.monotonic() < ends and not bad:
        what = random.random()
        if what < 0.10:
            size = random.choice(SIZES)
            last.append(size)
            t.resize(*size)
        elif what < 0.12:
            last.append("stop")
            os.kill(t.pid, signal.SIGSTOP)
            time.sleep(0.3)
            os.kill(t.pid, signal.SIGCONT)
        else:
            key = random.choice(KEYS)
            if key == "q":
                continue
            last.append(key)
            t.send(key)
        t.pump(random.choice([0, 0, 0.01, 0.05]))
        if len(last) % 40 == 0:
            t.send("\033")
            t.pump(0.1)
            t.raw = t.raw[-4000:]
        if t.closed or os.waitid(os.P_PID, t.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            bad.append(f"ktop exited: {t.raw[-1500:]!r}")
    # ktop must still respond: close any prompt or help, restore a usual size, then a resize must redraw the screen.
    if not bad:
        for key in "\033", "\033", "\033", "g":
            t.send(key)
            t.pump(0.15)
        t.resize(80, 24)
        t.pump(0.5)
        t.raw = b""
        t.resize(100, 30)
        for _ in range(20):  # a sanitizer build may need long for a frame
            t.pump(1)
            if len(t.raw) >= 300:
                break
        if len(t.raw) < 300:
            bad.append(f"ktop no longer responds: {t.raw!r}")
        t.send("\033")
        t.pump(0.2)
        t.send("q")
        status = t.wait(15)
        if status != 0:
            bad.append(f"wait status {status}: {t.raw[-1500:]!r}")
finally:
    churn.kill()
    churn.wait()
    t.end()
for word in bad:
    print(word)
if bad:
    print(f"seed {SEED}, the last of {len(last)} steps: {last[-60:]!r}")
sys.exit(1 if bad else 0)
