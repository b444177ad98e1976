#!/usr/bin/env python3
# needs: cc (once); the task table against the kernel's own figures: CPU, faults, I/O, waking sleepers, short-lived processes, threads
"""ktop in batch mode beside known loads: as root with taskstats, and as an unprivileged user
from /proc alone. Arguments select parts: t_tasks.py [root] [user]."""
import datetime
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from ktop import HERE, KTOP, check, failed, perf_events, skip, skip_part, tries

undo = []  # cleanup functions, called in reverse order at exit
NOBODY = 65534  # UID and GID of the user nobody


class Late(Exception):
    """A frame with a late task table: it repeats the previous figures, and the next frame covers two intervals.
    The argument is the share of the time in which ktop waited for a CPU."""


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
    """ktop in batch mode with the tasks pane; frames are read one by one."""

    def __init__(self, user, *args, delay=1.0):
        def become():
            if os.geteuid() == 0:  # higher priority than the loads: if ktop waits for a CPU, its table is late
                os.setpriority(os.PRIO_PROCESS, 0, -15)
            if user:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)

        self.p = subprocess.Popen([KTOP, "--batch", "--pane", "tasks", "--format", "json", "-d", str(delay), *args],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=become)
        undo.append(self.end)
        self.strict = False  # whether a late table raises Late, because figures are summed over frames

    def frame(self):
        start, before = time.monotonic(), waits(self.p.pid)
        line = self.p.stdout.readline()
        if not line:
            raise RuntimeError("ktop exited with %s" % self.p.wait())
        frame = json.loads(line)
        if self.strict and any(n["text"].startswith("tasks has not answered") for n in frame["notes"]):
            raise Late(most_waited(self.p.pid, before) / (time.monotonic() - start))
        self.rows = frame["tables"]["tasks"]
        self.interval = frame["intervals_s"].get("tasks") or 0  # null: the rows repeat the previous frame
        self.end_s = datetime.datetime.fromisoformat(frame["time"].replace("Z", "+00:00")).timestamp()
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


def close(*all):
    for x in all:
        x.end()


def in_time(measure, user):
    """Repeats a measurement in which a task table was late: sums over frames need new figures in each frame."""
    waited = []

    def once():
        try:
            measure(user)
            return not failed or None
        except Late as late:
            print(f"      the table was late, ktop waited for a CPU for {100 * late.args[0]:.0f} % of the time: trying again", flush=True)
            waited.append(late.args[0])
            return False

    if not tries(f"{measure.__name__}, without a late table", 4, once) and len(waited) == 4:
        if min(waited) > 0.1:
            skip_part(f"{measure.__name__}: ktop waited for a CPU for more than 10 % of the time in 4 tries")
        else:
            check(False, "the table is not late: " + measure.__name__)


def cpu_s(pid):
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0]) / 1e9


def host_busy_s():
    with open("/proc/stat") as f:
        return sum(map(int, f.readline().split()[1:4])) / os.sysconf("SC_CLK_TCK")


def sleeper_wakes(user):
    """One of 2,000 sleepers starts to burn CPU. The total shown is compared after the task is stopped: a frame is
    printed some time after it was measured, so before that the kernel's figure is ahead of ktop's."""
    load = Load("idle", 2000)
    ktop = Ktop(user)
    try:
        sleeper_beside(user, load, ktop)
    finally:
        close(ktop, load)


def sleeper_beside(user, load, ktop):
    for _ in range(4):
        ktop.frame()
    ktop.strict = True
    ktop.frame()
    rows, before = len(ktop.rows), ktop.row(load.last)["cpu_pct"]
    used, busy = cpu_s(load.last), host_busy_s()
    os.kill(load.last, signal.SIGUSR1)
    while cpu_s(load.last) == used:  # it may wait for a CPU
        time.sleep(0.001)
    woke = time.time()
    seen, shown, all_tasks, first = [], 0, 0, None
    for n in range(5):
        ktop.frame()
        pct = ktop.row(load.last)["cpu_pct"]
        seen.append(pct)
        if first is None and ktop.end_s > woke + 0.02:  # this frame must include CPU time used before that
            first = sum(seen) > 0
        shown += pct * ktop.interval / 100
        all_tasks += sum(r["cpu_pct"] or 0 for r in ktop.rows) * ktop.interval / 100
        if n == 2:
            os.kill(load.last, signal.SIGSTOP)
    truth, host = cpu_s(load.last) - used, host_busy_s() - busy
    check(rows >= 2000, "2,000 sleepers are listed")
    with open(f"/proc/{ktop.p.pid}/status") as f:
        table = int(re.search(r"FDSize:\s*(\d+)", f.read())[1])
    check(table >= 1024, f"its table of descriptors ({table}) need not grow while its threads wait")
    check(before == 0, "a sleeper uses no CPU")
    check(max(seen) <= 100.5, f"never above 100.5 %: {seen} %")
    check(first, f"its CPU time is in the frame in which it woke up: {seen}")
    check(abs(shown - truth) < 0.03 + 0.05 * truth, f"woken: {shown:.3f} s shown, schedstat: {truth:.3f}")
    check(abs(all_tasks - host) < 0.3 + 0.2 * host or (user and all_tasks < host),
          f"all tasks together {all_tasks:.2f} s, the host {host:.2f}")


def until(ktop, seconds, done):
    """Reads frames until done() is true or the time is over; returns done()."""
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


def exec_detected(ktop, how):
    """A process execs a program of the same name: ktop reads its arguments again only because of the kernel's exec event."""
    shell = subprocess.Popen(["sh", "-c", "for i in 1 2 3 4 5 6; do read x; done; exec sh -c 'read x; : it is another'"],
                             stdin=subprocess.PIPE)
    undo.append(lambda: (shell.kill(), shell.wait()))
    for _ in range(6):
        ktop.frame()
        command = (ktop.row(shell.pid) or {}).get("command")
        shell.stdin.write(b"x\n")
        shell.stdin.flush()
    check("for i in" in (command or ""), f"{how}: the waiting shell is shown")
    check(until(ktop, 20, lambda: (ktop.row(shell.pid)["command"] or "").startswith("sh -c read x; : it is")),
          f"{how}: exec is detected: {ktop.row(shell.pid)['command']}")
    shell.kill()
    shell.wait()


def switching(user):
    """ktop gets an event per context switch only at a low switch rate; its figures are correct either way."""
    idle, ping = Load("idle", 2000), Load("ping", min(os.sched_getaffinity(0)))
    os.kill(ping.pid, signal.SIGUSR1)
    ktop = Ktop(user, delay=0.5)
    try:
        switching_beside(ktop, idle, ping)
    finally:
        close(ktop, ping, idle)


def waits(pid):
    """Run-queue wait of each thread of the process, in seconds."""
    out = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
            out[tid] = int(f.read().split()[1]) / 1e9
    return out


def most_waited(pid, before):
    return max(s - before.get(tid, 0) for tid, s in waits(pid).items())


def switching_beside(ktop, idle, ping):
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    for _ in range(4):
        ktop.frame()
    least = perf_events(ktop.p.pid)
    os.kill(ping.pid, signal.SIGUSR2)
    ktop.frame()

    def counted(what):
        """Waits until ktop has the switch events open; skips the part and returns None if other processes switch too often."""
        end, rate = time.monotonic() + 30, 0
        while perf_events(ktop.p.pid) != least + cpus and time.monotonic() < end:
            before, start = host_switches(), time.monotonic()
            ktop.frame()
            rate = max(0.7 * rate, (host_switches() - before) / (time.monotonic() - start))
        if perf_events(ktop.p.pid) != least + cpus and rate > 3000:
            skip_part(f"switching: this machine switches {rate:.0f} times a second without the test")
            return None
        check(perf_events(ktop.p.pid) == least + cpus, what + f" ({perf_events(ktop.p.pid)} events, {least} without)")
        return True

    if not counted("few switches: each is counted by an event"):
        return
    exec_detected(ktop, "counted")
    if not counted("switch events are still open"):
        return
    ktop.strict = True
    ktop.frame()
    ktop.frame()
    truth, shown = switches(ping.pid), 0
    start, theirs, mine = time.monotonic(), waits(ktop.p.pid), waits("self")
    os.kill(ping.pid, signal.SIGUSR1)
    while perf_events(ktop.p.pid) != least and time.monotonic() < start + 20:
        time.sleep(0.02)
    took, waited = time.monotonic() - start, most_waited(ktop.p.pid, theirs) + most_waited("self", mine)
    check(took < 1 + waited, f"overload: events closed after {took:.2f} s, {waited:.2f} of them waiting for a CPU")
    used, burnt, n, stopped, slowed = cpu_s(idle.last), 0, 0, 0, 0
    # Each load runs until there is enough to compare, and for two frames more.
    while not (stopped and slowed and n > max(stopped, slowed) + 1) and n < 120:
        if n == 2:
            os.kill(idle.last, signal.SIGUSR1)
        if n >= 4 and not stopped and cpu_s(idle.last) - used > 0.1:
            os.kill(idle.last, signal.SIGSTOP)
            stopped = n
        if n >= 6 and not slowed and switches(ping.pid) - truth > 20000:
            os.kill(ping.pid, signal.SIGUSR2)
            slowed = n
        ktop.frame()
        shown += ktop.row(ping.pid)["context_switches_per_s"] * ktop.interval
        burnt += ktop.row(idle.last)["cpu_pct"] * ktop.interval / 100
        n += 1
    ktop.strict = False
    truth, used = switches(ping.pid) - truth, cpu_s(idle.last) - used
    check(truth > 20000 and abs(shown - truth) < 0.02 * truth, f"{truth} switches of the process, {shown:.0f} shown")
    check(used > 0.1 and abs(burnt - used) < 0.03 + 0.05 * used, f"a woken sleeper ran for {used:.3f} s, {burnt:.3f} shown")
    if not counted("low switch rate again: events open again"):
        return
    os.kill(ping.pid, signal.SIGUSR1)
    ktop.frame()
    ktop.frame()
    exec_detected(ktop, "not counted")
    check(perf_events(ktop.p.pid) == least, "overload again: events are closed")


def stat(pid):
    """Fields of /proc/PID/stat, starting with the state."""
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()


def faults_and_bytes(user):
    path = os.path.join(TMP, "written")
    open(path, "w").close()
    def once():
        touch, write = Load("touch", 5000), Load("write", path, 8 << 20)
        ktop = Ktop(user)
        try:
            return faults_beside(user, ktop, touch, write, path, 8 << 20)
        finally:
            close(ktop, touch, write)
            open(path, "w").close()

    # Rates cover the interval between two readings of the table, but are multiplied by the frame's, which differs slightly.
    tries("faults of 5,000 pages touched", 3, once)


def faults_beside(user, ktop, touch, write, path, size):
    ktop.frame()
    ktop.strict = True
    ktop.frame()
    time.sleep(0.1)
    before = int(stat(touch.pid)[7])
    os.kill(touch.pid, signal.SIGUSR1)
    os.kill(write.pid, signal.SIGUSR1)
    faults = written = switched = 0
    end, more = time.monotonic() + 60, 3  # frames to read after the loads are done
    while more and time.monotonic() < end:
        if int(stat(touch.pid)[7]) >= before + 5000 and os.path.getsize(path) == size and stat(write.pid)[0] == "S":
            more -= 1
        ktop.frame()
        faults += ktop.row(touch.pid)["minor_faults_per_s"] * ktop.interval
        bytes_per_s = ktop.row(write.pid)["write_bytes_per_s"]
        written = None if bytes_per_s is None or written is None else written + bytes_per_s * ktop.interval
        switched += (ktop.row(write.pid)["context_switches_per_s"] or 0) * ktop.interval
    if not check(4500 < faults < 5500, f"5,000 pages touched, {faults:.0f} minor faults"):
        return False
    check(switched >= 1, f"the writer has {switched:.0f} context switches")
    if user:
        check(written is None, "another user's I/O is null")
    elif subprocess.run(["stat", "-f", "-c", "%T", TMP], capture_output=True, text=True).stdout.strip() == "tmpfs":
        skip_part("bytes written: no disk under " + TMP)
    else:
        check(written is not None and abs(written - size) < 0.1 * size, f"{size} bytes written, {written} shown")
    return True


def short_lives(user):
    """Many processes start and exit within an interval; with short intervals some do so while the table is read."""
    for delay, n in (2.0, 500), (0.2, 1500):
        ktop = Ktop(user, delay=delay)
        ktop.frame()
        time.sleep(0.3)
        spawner = subprocess.Popen(["sh", "-c", "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done; echo done; read x" % n],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        undo.append(lambda p=spawner: (p.kill(), p.wait()))
        try:
            lives_beside(ktop, spawner, n)
        finally:
            close(ktop)


def lives_beside(ktop, spawner, n):
    """Reads frames until all have exited, however long that takes, and one frame more."""
    mine, end, more = [], time.monotonic() + 90, 2
    ktop.strict = True
    while more and time.monotonic() < end:
        more -= bool(select.select([spawner.stdout], [], [], 0)[0])
        ktop.frame()
        mine += [r for r in ktop.rows if r["ppid"] == spawner.pid and r["state"] == "X" and r["comm"] == "true"]
    pids = [r["pid"] for r in mine]
    check(len(pids) == n and len(set(pids)) == n, f"{n} short-lived processes, {len(pids)} shown as exited")
    # The kernel drops taskstats records if the listener does not get a CPU in time: values are then unknown, never wrong.
    known = [r for r in mine if (r["user"], r["exit_code"]) == ("root", 0) and r["cpu_pct"] is not None]
    wrong = [r for r in mine if r["user"] not in ("root", None) or r["exit_code"] not in (0, None)]
    check(len(known) >= 0.99 * n and not wrong, f"{len(known)} of them with user, exit code and CPU time, wrong: {wrong}")
    ktop.strict = False
    spawner.kill()
    spawner.wait()
    check(until(ktop, 30, lambda: ktop.row(spawner.pid, ended=True) is not None), "the killed shell is shown as exited")
    check((ktop.row(spawner.pid, ended=True) or {}).get("exit_code") == 9, "with the signal that killed it")
    ktop.strict = True  # a late table repeats its rows
    ktop.frame()
    check(ktop.row(spawner.pid, ended=True) is None, "shown for one frame only")


def threads(user):
    load = Load("threads", 30)
    ktop = Ktop(user, "-H", delay=0.5)

    def mine(least):
        return [r for r in ktop.rows if r["pid"] == load.pid and (r["cpu_pct"] or 0) >= least]

    for _ in range(3):
        ktop.frame()
    until(ktop, 20, lambda: len(mine(0)) == 31)
    check(len(mine(0)) == 31 and len({r["tid"] for r in mine(0)}) == 31, f"31 threads, {len(mine(0))} rows")
    os.kill(load.pid, signal.SIGUSR1)
    until(ktop, 20, lambda: mine(1))  # 1 %: dozens of tasks may share each CPU
    busy = mine(1)
    check(len(busy) == 1 and busy[0]["tid"] != load.pid, "one of them burns: " + str([r["cpu_pct"] for r in busy]))
    close(ktop, load)


def names(user):
    hostile = b"\x1b[2J)\n\xff x"
    load = Load("name", os.fsdecode(hostile))
    ktop = Ktop(user, "-p", str(load.pid), delay=0.5)
    ktop.frame()
    check(len(ktop.rows) == 1, "-p shows only this process")
    comm = ktop.rows[0]["comm"]
    check("\x1b" not in comm and "\n" not in comm and ")" in comm, "a hostile name is escaped: " + comm)
    ktop.end()
    load.end()


def main():
    global TMP, LOAD
    words = sys.argv[1:] or ["root", "user"]
    if not shutil.which("cc"):
        skip("no C compiler")
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
            copy = os.path.join(TMP, "ktop")  # executable for any user
            shutil.copy(KTOP, copy)
            os.chmod(copy, 0o755)
            globals()["KTOP"] = copy
        print("--", "an unprivileged user" if user else "root", flush=True)
        names(user and os.geteuid() == 0)
        in_time(faults_and_bytes, user and os.geteuid() == 0)
        threads(user and os.geteuid() == 0)
        if not user:
            in_time(short_lives, False)
            in_time(switching, False)
        in_time(sleeper_wakes, user and os.geteuid() == 0)
    return 1 if failed else 0


try:
    status = main()
finally:
    for f in reversed(undo):
        f()
sys.exit(status)
