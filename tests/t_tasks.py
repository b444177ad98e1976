#!/usr/bin/env python3
# needs: cc; the task table against the kernel's own figures: CPU, faults, I/O, waking sleepers, short lives, threads
"""The program in batch JSON beside loads whose truth is known. As root with taskstats, and again as an ordinary user
from the files alone. Arguments choose: t_tasks.py [root] [user]."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

KTOP = os.path.abspath(os.environ.get("KTOP", "build/ktop"))
HERE = os.path.dirname(os.path.abspath(__file__))
undo = []
failed = []
NOBODY = 65534


def check(ok, what):
    print(("ok    " if ok else "FAIL  ") + what, flush=True)
    if not ok:
        failed.append(what)


class Load:
    def __init__(self, *args):
        self.p = subprocess.Popen([LOAD, *map(str, args)], stdout=subprocess.PIPE, text=True)
        undo.append(self.end)
        self.last = int(self.p.stdout.readline().split()[1])
        self.pid = self.p.pid

    def end(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()


class Ktop:
    """Frames one by one, as they come."""

    def __init__(self, user, *args, delay=1.0):
        become = (lambda: (os.setgroups([]), os.setgid(NOBODY), os.setuid(NOBODY))) if user else None
        self.p = subprocess.Popen([KTOP, "--batch", "--pane", "tasks", "--format", "json", "-d", str(delay), *args],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=become)
        undo.append(self.end)

    def frame(self):
        line = self.p.stdout.readline()
        if not line:
            raise RuntimeError("ktop ended with %s" % self.p.wait())
        frame = json.loads(line)
        self.rows = frame["tables"]["tasks"]
        self.interval = frame["interval_s"]
        return frame

    def row(self, tid, ended=False):
        found = [r for r in self.rows if r["tid"] == tid and (r["state"] == "X") == ended]
        return found[0] if found else None

    def end(self):
        if self.p.poll() is None:
            self.p.terminate()
            try:
                self.p.wait(5)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()
        self.p.stdout.close()


def cpu_s(pid):
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0]) / 1e9


def host_busy_s():
    with open("/proc/stat") as f:
        return sum(map(int, f.readline().split()[1:4])) / os.sysconf("SC_CLK_TCK")


def sleeper_wakes(user):
    """One of 2,000 that were left alone burns. What is shown of it is compared when it is stopped, over the whole: a
    frame comes some time after it was measured, so at any moment before the kernel is ahead of what has been shown."""
    load = Load("idle", 2000)
    ktop = Ktop(user)
    for _ in range(4):
        ktop.frame()
    check(len(ktop.rows) >= 2000, "2,000 sleepers are there")
    check(ktop.row(load.last)["cpu_pct"] == 0, "a sleeper uses nothing")
    used, busy = cpu_s(load.last), host_busy_s()
    os.kill(load.last, signal.SIGUSR1)
    shown, everybody, first = 0, 0, None
    for n in range(5):
        ktop.frame()
        row = ktop.row(load.last)
        first = n if first is None and row["cpu_pct"] > 0 else first
        check(row["cpu_pct"] <= 100.5, f"never above what is possible: {row['cpu_pct']} %")
        shown += row["cpu_pct"] * ktop.interval / 100
        everybody += sum(r["cpu_pct"] or 0 for r in ktop.rows) * ktop.interval / 100
        if n == 2:
            os.kill(load.last, signal.SIGSTOP)
    truth, host = cpu_s(load.last) - used, host_busy_s() - busy
    # One frame of grace: it may have been cut already when the signal went out.
    check(first is not None and first <= 1, f"it stands in the frame that it woke in: number {first}")
    check(abs(shown - truth) < 0.03 + 0.05 * truth, f"woken: {shown:.3f} s shown, the kernel says {truth:.3f}")
    check(abs(everybody - host) < 0.3 + 0.2 * host or (user and everybody < host),
          f"all tasks together {everybody:.2f} s, the host {host:.2f}")
    ktop.end()
    load.end()


def perf_events(ktop):
    n = 0
    for fd in os.listdir(f"/proc/{ktop.p.pid}/fd"):
        try:
            n += "perf_event" in os.readlink(f"/proc/{ktop.p.pid}/fd/{fd}")
        except FileNotFoundError:
            pass
    return n


def until(ktop, seconds, done):
    """Frames until it is so, or that long."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        ktop.frame()
    return done()


def host_switches():
    with open("/proc/stat") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("ctxt "))


def switches(pid):
    with open(f"/proc/{pid}/status") as f:
        return sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)


def becomes_another(ktop, how):
    """A program of the same name: only the kernel's word of it has its arguments read again."""
    shell = subprocess.Popen(["sh", "-c", "for i in 1 2 3 4 5 6; do read x; done; exec sh -c 'read x; : it is another'"],
                             stdin=subprocess.PIPE)
    undo.append(lambda: (shell.kill(), shell.wait()))
    for _ in range(6):
        ktop.frame()
        command = (ktop.row(shell.pid) or {}).get("command")
        shell.stdin.write(b"x\n")
        shell.stdin.flush()
    check("for i in" in (command or ""), f"{how}: a shell that waits")
    check(until(ktop, 3, lambda: (ktop.row(shell.pid)["command"] or "").startswith("sh -c read x; : it is")),
          f"{how}: it has become another: {ktop.row(shell.pid)['command']}")
    shell.kill()
    shell.wait()


def switching(user):
    """Switches are heard of one by one only while there are few of them; what is shown is right either way."""
    idle, ping = Load("idle", 2000), Load("ping", min(os.sched_getaffinity(0)))
    os.kill(ping.pid, signal.SIGUSR1)
    ktop = Ktop(user, delay=0.5)
    switching_beside(ktop, idle, ping)
    for x in ktop, ping, idle:
        x.end()


def switching_beside(ktop, idle, ping):
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    for _ in range(4):
        ktop.frame()
    least = perf_events(ktop)
    os.kill(ping.pid, signal.SIGUSR2)
    ktop.frame()

    def heard(what):
        """Waits for it; or says that others switch too much for it, and is None."""
        end, rate = time.monotonic() + 30, 0
        while perf_events(ktop) != least + cpus and time.monotonic() < end:
            before, start = host_switches(), time.monotonic()
            ktop.frame()
            rate = max(0.7 * rate, (host_switches() - before) / (time.monotonic() - start))
        if perf_events(ktop) != least + cpus and rate > 3000:
            print(f"      this machine switches {rate:.0f} times a second without us: not compared")
            return None
        check(perf_events(ktop) == least + cpus, what + f" ({perf_events(ktop)} events, {least} without)")
        return True

    if not heard("few switches: each is heard of"):
        return
    becomes_another(ktop, "heard")
    if not heard("they still are"):
        return
    ktop.frame()
    ktop.frame()
    truth, shown = switches(ping.pid), 0
    os.kill(ping.pid, signal.SIGUSR1)
    start = time.monotonic()
    while perf_events(ktop) != least and time.monotonic() < start + 3:
        time.sleep(0.02)
    check(time.monotonic() < start + 1, f"a torrent: no more after {time.monotonic() - start:.2f} s")
    used, burnt = cpu_s(idle.last), 0
    for n in range(9):
        if n == 2:
            os.kill(idle.last, signal.SIGUSR1)
        if n == 4:
            os.kill(idle.last, signal.SIGSTOP)
        if n == 6:
            os.kill(ping.pid, signal.SIGUSR2)
        ktop.frame()
        shown += ktop.row(ping.pid)["context_switches_per_s"] * ktop.interval
        burnt += ktop.row(idle.last)["cpu_pct"] * ktop.interval / 100
    truth, used = switches(ping.pid) - truth, cpu_s(idle.last) - used
    check(truth > 20000 and abs(shown - truth) < 0.02 * truth, f"{truth} switches of its own, {shown:.0f} shown")
    check(used > 0.1 and abs(burnt - used) < 0.03 + 0.05 * used, f"a sleeper woke for {used:.3f} s, {burnt:.3f} shown")
    if not heard("calm again: heard again"):
        return
    os.kill(ping.pid, signal.SIGUSR1)
    ktop.frame()
    ktop.frame()
    becomes_another(ktop, "not heard")
    check(perf_events(ktop) == least, "a torrent again: not heard")


def faults_and_bytes(user):
    touch, size = Load("touch", 5000), 8 << 20
    path = os.path.join(TMP, "written")
    write = Load("write", path, size)
    ktop = Ktop(user)
    ktop.frame()
    time.sleep(0.1)
    os.kill(touch.pid, signal.SIGUSR1)
    os.kill(write.pid, signal.SIGUSR1)
    faults = written = switches = 0
    for _ in range(3):
        ktop.frame()
        faults += ktop.row(touch.pid)["minor_faults_per_s"] * ktop.interval
        bytes_per_s = ktop.row(write.pid)["write_bytes_per_s"]
        written = None if bytes_per_s is None or written is None else written + bytes_per_s * ktop.interval
        switches += (ktop.row(write.pid)["context_switches_per_s"] or 0) * ktop.interval
    check(4900 < faults < 5400, f"5,000 pages touched, {faults:.0f} minor faults")
    check(switches >= 1, f"the writer was switched away {switches:.0f} times")
    if user:
        check(written is None, "another user's I/O is null")
    elif subprocess.run(["stat", "-f", "-c", "%T", TMP], capture_output=True, text=True).stdout.strip() == "tmpfs":
        print("      no disk under " + TMP + ": bytes not compared")
    else:
        check(written is not None and abs(written - size) < 0.1 * size, f"{size} bytes written, {written} shown")
    for x in ktop, touch, write:
        x.end()


def short_lives(user):
    """500 that begin and end within an interval."""
    ktop = Ktop(user, delay=2.0)
    ktop.frame()
    time.sleep(0.3)
    spawner = subprocess.Popen(["sh", "-c", "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done; sleep 8"])
    undo.append(spawner.kill)
    pids = []
    for _ in range(2):
        ktop.frame()
        mine = [r for r in ktop.rows if r["ppid"] == spawner.pid and r["state"] == "X" and r["comm"] == "true"]
        pids += [r["pid"] for r in mine]
    check(len(pids) == 500 and len(set(pids)) == 500, f"500 short lives, {len(pids)} shown as ended")
    check(all(r["user"] == "root" and r["exit_code"] == 0 and r["cpu_pct"] is not None for r in mine),
          "with user, exit code and CPU time")
    spawner.kill()
    spawner.wait()
    ktop.frame()
    check(ktop.row(spawner.pid, ended=True) is not None, "the killed shell stands as ended")
    check(ktop.row(spawner.pid, ended=True)["exit_code"] == 9, "with the signal that killed it")
    ktop.frame()
    check(ktop.row(spawner.pid, ended=True) is None, "for one frame only")
    ktop.end()


def threads(user):
    load = Load("threads", 30)
    ktop = Ktop(user, "-H", delay=0.5)
    for _ in range(3):
        ktop.frame()
    mine = [r for r in ktop.rows if r["pid"] == load.pid]
    check(len(mine) == 31 and len({r["tid"] for r in mine}) == 31, f"31 threads, {len(mine)} rows")
    os.kill(load.pid, signal.SIGUSR1)
    ktop.frame()
    ktop.frame()
    busy = [r for r in ktop.rows if r["pid"] == load.pid and (r["cpu_pct"] or 0) > 5]
    check(len(busy) == 1 and busy[0]["tid"] != load.pid, "one of them burns: " + str([r["cpu_pct"] for r in busy]))
    ktop.end()
    load.end()


def names(user):
    hostile = b"\x1b[2J)\n\xff x"
    load = Load("name", os.fsdecode(hostile))
    ktop = Ktop(user, "-p", str(load.pid), delay=0.5)
    ktop.frame()
    check(len(ktop.rows) == 1, "-p shows this one only")
    comm = ktop.rows[0]["comm"]
    check("\x1b" not in comm and "\n" not in comm and ")" in comm, "a hostile name comes escaped: " + comm)
    ktop.end()
    load.end()


def main():
    global TMP, LOAD
    words = sys.argv[1:] or ["root", "user"]
    if not shutil.which("cc"):
        print("skipped: no C compiler")
        return 77
    TMP = tempfile.mkdtemp(prefix="t_tasks.", dir="/var/tmp")
    undo.append(lambda: shutil.rmtree(TMP, ignore_errors=True))
    os.chmod(TMP, 0o755)
    LOAD = os.path.join(TMP, "load")
    subprocess.run(["cc", "-O1", "-o", LOAD, os.path.join(HERE, "data", "tasks_load.c"), "-lpthread"], check=True)
    if os.geteuid() != 0:
        words = ["user"]
    for word in words:
        user = word == "user"
        if user and os.geteuid() == 0:
            copy = os.path.join(TMP, "ktop")  # where anybody may reach it
            shutil.copy(KTOP, copy)
            os.chmod(copy, 0o755)
            globals()["KTOP"] = copy
        print("--", "an ordinary user" if user else "root", flush=True)
        names(user and os.geteuid() == 0)
        faults_and_bytes(user and os.geteuid() == 0)
        threads(user and os.geteuid() == 0)
        if not user:
            short_lives(False)
            switching(False)
        sleeper_wakes(user and os.geteuid() == 0)
    return 1 if failed else 0


try:
    status = main()
finally:
    for f in reversed(undo):
        f()
sys.exit(status)
