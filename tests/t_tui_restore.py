#!/usr/bin/env python3
# needs: nothing (san beside); every way to exit restores the terminal: settings, cursor, alternate screen, mouse, keypad
import os
import signal
import sys

from terminal import KTOP, Terminal

bad = []
# ThreadSanitizer's own handler of a crash may wait for a lock that the crashed thread holds.
os.environ["TSAN_OPTIONS"] = ":".join(filter(None, [os.environ.get("TSAN_OPTIONS", ""), *(f"handle_{name}=0" for name in (
    "segv", "abort", "sigbus", "sigtrap", "sigill", "sigfpe"))]))


def check(name, leave, env=None, crash=False):
    t = Terminal([KTOP], env=env)
    before = t.settings()
    try:
        if not t.wait_for(b"triage", 15):
            bad.append(f"{name}: no screen: {t.raw[-300:]!r}")
            return
        t.pump(0.3)
        mark = len(t.raw)
        if t.settings() == before:
            bad.append(f"{name}: invalid test: the settings never changed")
        leave(t)
        status = t.wait(10)
        after = t.raw[mark:]
        if status is None:
            bad.append(f"{name}: still running")
            return
        if t.settings() != before:
            bad.append(f"{name}: the settings are not restored")
        for what, code in (("alternate screen", b"\033[?1049l"), ("cursor", b"\033[?25h"), ("mouse", b"\033[?1000l"), ("keypad", b"\033[?1l")):
            if code not in after and not (what == "mouse" and b"\033[?1006;1000l" in after):
                bad.append(f"{name}: {what} not restored: {after[-200:]!r}")
        died = os.WIFSIGNALED(status) or os.WEXITSTATUS(status) != 0
        if died != crash:
            bad.append(f"{name}: wait status {status}")
    finally:
        t.end()


def key(keys):
    return lambda t: t.send(keys)


def kill(number):
    return lambda t: os.kill(t.pid, number)


check("q", key("q"))
check("Ctrl-C", key("\x03"))
check("Ctrl-\\", key("\x1c"))
check("q after a prompt and the help", lambda t: [(t.send(k), t.pump(0.2)) for k in ("/ab", "\033", "h", "q", "q")])
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGXCPU,
               signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGPWR, signal.SIGRTMIN, signal.SIGRTMAX):
    check(number.name, kill(number))
for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGTRAP, signal.SIGSYS):
    check(number.name, kill(number), crash=True)

# Hangup: the terminal's other end closes, and ktop exits by itself.
t = Terminal([KTOP])
t.wait_for(b"triage", 15)
os.close(t.fd)
pid = t.pid
for _ in range(100):
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        break
    import time
    time.sleep(0.05)
else:
    bad.append("hangup: still running after 5 s")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

print("\n".join("FAIL: " + line for line in bad) or "ok")
sys.exit(bool(bad))
