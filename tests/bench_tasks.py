#!/usr/bin/env python3
# needs: cc; CPU time per refresh of the task table, memory and first paint, compared with top, htop and btop
"""bench_tasks.py [TASKS...]: each program on a 200x50 terminal with a delay of 1 s and N sleeping processes (100, 2000, 10000).

All programs run at the same time, so that other load affects all of them equally; the target is the ratio to btop."""
import fcntl
import json
import os
import pty
import shutil
import struct
import statistics
import subprocess
import sys
import tempfile
import termios
import threading
import time

KTOP = os.path.abspath(os.environ.get("KTOP", "build/ktop"))
HERE = os.path.dirname(os.path.abspath(__file__))
SETTLE, SECONDS = 12, 15


class Screen:
    """A program on its own pseudo-terminal, whose output is read and counted."""

    def __init__(self, name, *argv, home):
        self.name, self.bytes, self.rows, self.seen = name, 0, None, b""
        self.start = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
            os.environ.update(TERM="xterm-256color", LANG="C.UTF-8", HOME=home, XDG_CONFIG_HOME=home)
            os.execvp(argv[0], argv)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while data := os.read(self.fd, 65536):
                self.bytes += len(data)
                if self.rows is None:
                    # Five rows: the user column has "root" at least five times. Earlier output contains no user name.
                    self.seen += data
                    if self.seen.count(b"root") >= 5:
                        self.rows = time.monotonic() - self.start
        except OSError:
            pass

    def cpu_ms(self):
        total = 0
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{tid}/schedstat") as f:
                total += int(f.read().split()[0]) / 1e6
        return total

    def rss_mib(self):
        with open(f"/proc/{self.pid}/status") as f:
            return next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmRSS"))

    def end(self):
        try:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)


def first_rows(n, commands, home, times=9):
    """Time from the start of each program to its first task rows, in turns; prints median and worst, returns the median in ms."""
    took = {name: [] for name, *_ in commands}
    for _ in range(times):
        for name, *argv in commands:
            screen = Screen(name, *argv, home=home)
            end = screen.start + 3
            while screen.rows is None and time.monotonic() < end:
                time.sleep(0.005)
            took[name].append((screen.rows or 3) * 1000)
            screen.end()
    for name, ms in took.items():
        print(f"{n:6} tasks  {name:6} first rows of the table after {statistics.median(ms):6.1f} ms (worst {max(ms):.1f})", flush=True)
    return {name: statistics.median(ms) for name, ms in took.items()}


def measure(n, load, home):
    sleepers = subprocess.Popen([load, "idle", str(n)], stdout=subprocess.PIPE, text=True)
    screens = []
    try:
        sleepers.stdout.readline()
        time.sleep(1)
        os.makedirs(home + "/btop", exist_ok=True)
        with open(home + "/btop/btop.conf", "w") as f:
            f.write("update_ms = 1000\nshown_boxes = \"proc\"\n")
        commands = [("ktop", KTOP, "-P", "tasks", "-d", "1"), ("btop", "btop"), ("htop", "htop", "-d", "10"),
                    ("top", "top", "-d", "1")]
        commands = [c for c in commands if shutil.which(c[1])]
        static = os.path.join(os.path.dirname(KTOP), "static", "ktop")
        rows = first_rows(n, commands + [("static", static, "-P", "tasks", "-d", "1")] * os.path.exists(static), home) if n == 2000 else {}
        if rows:
            print(f"{'ok' if rows['ktop'] <= 30 else 'FAIL'}: first rows within 30 ms: ktop takes {rows['ktop']:.1f}")
        for name, *argv in commands:
            screens.append(Screen(name, *argv, home=home))
            time.sleep(0.5)
        time.sleep(SETTLE)
        before = [(s.cpu_ms(), s.bytes) for s in screens]
        time.sleep(SECONDS)
        after = [(s.cpu_ms(), s.bytes) for s in screens]
        cost = {s.name: (b[0] - a[0]) / SECONDS for s, a, b in zip(screens, before, after)}
        row = {"tasks": n}
        for s, a, b in zip(screens, before, after):
            row[s.name] = {"cpu_ms": round(cost[s.name], 2), "rss_mib": round(s.rss_mib(), 1), "bytes": round((b[1] - a[1]) / SECONDS),
                           "first_ms": rows.get(s.name)}
            ratio = f"{cost[s.name] / cost['btop']:6.2f} x btop" if cost.get("btop") else ""
            print(f"{n:6} tasks  {s.name:5} {cost[s.name]:7.2f} ms/refresh  {ratio}  rss {s.rss_mib():5.1f} MiB  "
                  f"{(b[1] - a[1]) / SECONDS / 1024:5.1f} KiB/refresh", flush=True)
        return row
    finally:
        for s in screens:
            s.end()
        sleepers.kill()
        sleepers.wait()


def main():
    sizes = [int(a) for a in sys.argv[1:]] or [100, 2000, 10000]
    home = tempfile.mkdtemp(prefix="bench_tasks.")
    try:
        load = os.path.join(home, "load")
        subprocess.run(["cc", "-O1", "-o", load, os.path.join(HERE, "data", "tasks_load.c"), "-lpthread"], check=True)
        ok, rows = True, []
        for n in sizes:
            rows.append(measure(n, load, home))
            cost = {name: own["cpu_ms"] for name, own in rows[-1].items() if name != "tasks"}
            if n >= 10000 and cost.get("btop"):
                ok = cost["ktop"] <= cost["btop"] / 4
                print(f"{'ok' if ok else 'FAIL'}: a quarter of btop's CPU time is {cost['btop'] / 4:.1f} ms, ktop takes {cost['ktop']:.1f}")
        print(json.dumps(rows))  # for `make bench`
        return 0 if ok else 1
    finally:
        shutil.rmtree(home, ignore_errors=True)


sys.exit(main())
