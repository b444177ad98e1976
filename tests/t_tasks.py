#!/usr/bin/env python3
# needs: cc; the task table against the kernel's own figures: CPU, faults, I/O, waking sleepers, short lives, threads
"""The program in batch JSON beside loads whose truth is known. As root with taskstats, and again as an ordinary user
from the files alone. Arguments choose: t_tasks.py [root] [user]."""
import datetime
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from ktop import HERE, KTOP, check, failed, skip, skip_part, tries

undo = []
NOBODY = 65534


class Late(Exception):
    """A frame without the table's own figures: it repeats those of the one before, and the next one holds two intervals.
    What it carries is the share of the time in which ktop waited for a CPU."""


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
        def become():
            if os.geteuid() == 0:  # ahead of the loads: a frame that waits for a CPU has no figures of its own
                os.setpriority(os.PRIO_PROCESS, 0, -15)
            if user:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)

        self.p = subprocess.Popen([KTOP, "--batch", "--pane", "tasks", "--format", "json", "-d", str(delay), *args],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=become)
        undo.append(self.end)
        self.adds_up = False  # whether what frames say is summed up

    def frame(self):
        start, before = time.monotonic(), waits(self.p.pid)
        line = self.p.stdout.readline()
        if not line:
            raise RuntimeError("ktop ended with %s" % self.p.wait())
        frame = json.loads(line)
        if self.adds_up and any(n["text"].startswith("tasks has not answered") for n in frame["notes"]):
            raise Late(most_waited(self.p.pid, before) / (time.monotonic() - start))
        self.rows = frame["tables"]["tasks"]
        self.interval = frame["intervals_s"].get("tasks") or 0  # null: the rows are those of the frame before
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
    """Sums over frames are compared only where the table had figures of its own in each of them."""
    waited = []

    def once():
        try:
            measure(user)
            return not failed or None
        except Late as late:
            print(f"      the table was late, ktop waited for a CPU for {100 * late.args[0]:.0f} % of the time: once more", flush=True)
            waited.append(late.args[0])
            return False

    if not tries(f"{measure.__name__}, with the table in time", 4, once) and len(waited) == 4:
        if min(waited) > 0.1:
            skip_part(f"{measure.__name__}: ktop waited for a CPU for more than 10 % of the time in 4 tries")
        else:
            check(False, "the table is in time: " + measure.__name__)


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
    try:
        sleeper_beside(user, load, ktop)
    finally:
        close(ktop, load)


def sleeper_beside(user, load, ktop):
    for _ in range(4):
        ktop.frame()
    ktop.adds_up = True
    ktop.frame()
    rows, before = len(ktop.rows), ktop.row(load.last)["cpu_pct"]
    used, busy = cpu_s(load.last), host_busy_s()
    os.kill(load.last, signal.SIGUSR1)
    while cpu_s(load.last) == used:  # its CPU may be long in coming
        time.sleep(0.001)
    woke = time.time()
    seen, shown, everybody, first = [], 0, 0, None
    for n in range(5):
        ktop.frame()
        pct = ktop.row(load.last)["cpu_pct"]
        seen.append(pct)
        if first is None and ktop.end_s > woke + 0.02:  # of what it used before that it has all
            first = sum(seen) > 0
        shown += pct * ktop.interval / 100
        everybody += sum(r["cpu_pct"] or 0 for r in ktop.rows) * ktop.interval / 100
        if n == 2:
            os.kill(load.last, signal.SIGSTOP)
    truth, host = cpu_s(load.last) - used, host_busy_s() - busy
    check(rows >= 2000, "2,000 sleepers are there")
    check(before == 0, "a sleeper uses nothing")
    check(max(seen) <= 100.5, f"never above what is possible: {seen} %")
    check(first, f"it stands in the frame that it woke in: {seen}")
    check(abs(shown - truth) < 0.03 + 0.05 * truth, f"woken: {shown:.3f} s shown, the kernel says {truth:.3f}")
    check(abs(everybody - host) < 0.3 + 0.2 * host or (user and everybody < host),
          f"all tasks together {everybody:.2f} s, the host {host:.2f}")


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
    check(until(ktop, 20, lambda: (ktop.row(shell.pid)["command"] or "").startswith("sh -c read x; : it is")),
          f"{how}: it has become another: {ktop.row(shell.pid)['command']}")
    shell.kill()
    shell.wait()


def switching(user):
    """Switches are heard of one by one only while there are few of them; what is shown is right either way."""
    idle, ping = Load("idle", 2000), Load("ping", min(os.sched_getaffinity(0)))
    os.kill(ping.pid, signal.SIGUSR1)
    ktop = Ktop(user, delay=0.5)
    try:
        switching_beside(ktop, idle, ping)
    finally:
        close(ktop, ping, idle)


def waits(pid):
    """How long each thread of the process has waited for a CPU."""
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
            skip_part(f"switching: this machine switches {rate:.0f} times a second without the test")
            return None
        check(perf_events(ktop) == least + cpus, what + f" ({perf_events(ktop)} events, {least} without)")
        return True

    if not heard("few switches: each is heard of"):
        return
    becomes_another(ktop, "heard")
    if not heard("they still are"):
        return
    ktop.adds_up = True
    ktop.frame()
    ktop.frame()
    truth, shown = switches(ping.pid), 0
    start, theirs, mine = time.monotonic(), waits(ktop.p.pid), waits("self")
    os.kill(ping.pid, signal.SIGUSR1)
    while perf_events(ktop) != least and time.monotonic() < start + 20:
        time.sleep(0.02)
    took, waited = time.monotonic() - start, most_waited(ktop.p.pid, theirs) + most_waited("self", mine)
    check(took < 1 + waited, f"a torrent: no more after {took:.2f} s, {waited:.2f} of them without a CPU")
    used, burnt, n, stopped, calm = cpu_s(idle.last), 0, 0, 0, 0
    # Each goes on for so long that there is something to compare, and two frames after both.
    while not (stopped and calm and n > max(stopped, calm) + 1) and n < 120:
        if n == 2:
            os.kill(idle.last, signal.SIGUSR1)
        if n >= 4 and not stopped and cpu_s(idle.last) - used > 0.1:
            os.kill(idle.last, signal.SIGSTOP)
            stopped = n
        if n >= 6 and not calm and switches(ping.pid) - truth > 20000:
            os.kill(ping.pid, signal.SIGUSR2)
            calm = n
        ktop.frame()
        shown += ktop.row(ping.pid)["context_switches_per_s"] * ktop.interval
        burnt += ktop.row(idle.last)["cpu_pct"] * ktop.interval / 100
        n += 1
    ktop.adds_up = False
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


def stat(pid):
    """From the state on."""
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

    # Rates are over the time between two readings of the table, and are multiplied by the frame's: not quite the same.
    tries("faults of 5,000 pages touched", 3, once)


def faults_beside(user, ktop, touch, write, path, size):
    ktop.frame()
    ktop.adds_up = True
    ktop.frame()
    time.sleep(0.1)
    before = int(stat(touch.pid)[7])
    os.kill(touch.pid, signal.SIGUSR1)
    os.kill(write.pid, signal.SIGUSR1)
    faults = written = switched = 0
    end, more = time.monotonic() + 60, 3  # frames, once all is done
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
    check(switched >= 1, f"the writer was switched away {switched:.0f} times")
    if user:
        check(written is None, "another user's I/O is null")
    elif subprocess.run(["stat", "-f", "-c", "%T", TMP], capture_output=True, text=True).stdout.strip() == "tmpfs":
        skip_part("bytes written: no disk under " + TMP)
    else:
        check(written is not None and abs(written - size) < 0.1 * size, f"{size} bytes written, {written} shown")
    return True


def short_lives(user):
    """Many that begin and end within an interval, and, of those in short intervals, some while the table is read."""
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
    """Until all have lived, however long that takes, and for a frame more."""
    mine, end, more = [], time.monotonic() + 90, 2
    ktop.adds_up = True
    while more and time.monotonic() < end:
        more -= bool(select.select([spawner.stdout], [], [], 0)[0])
        ktop.frame()
        mine += [r for r in ktop.rows if r["ppid"] == spawner.pid and r["state"] == "X" and r["comm"] == "true"]
    pids = [r["pid"] for r in mine]
    check(len(pids) == n and len(set(pids)) == n, f"{n} short lives, {len(pids)} shown as ended")
    # The kernel drops the account of one whose listener did not get a CPU in time: then it is not known, and never wrong.
    known = [r for r in mine if (r["user"], r["exit_code"]) == ("root", 0) and r["cpu_pct"] is not None]
    wrong = [r for r in mine if r["user"] not in ("root", None) or r["exit_code"] not in (0, None)]
    check(len(known) >= 0.99 * n and not wrong, f"{len(known)} of them with user, exit code and CPU time, wrong: {wrong}")
    ktop.adds_up = False
    spawner.kill()
    spawner.wait()
    check(until(ktop, 30, lambda: ktop.row(spawner.pid, ended=True) is not None), "the killed shell stands as ended")
    check((ktop.row(spawner.pid, ended=True) or {}).get("exit_code") == 9, "with the signal that killed it")
    ktop.adds_up = True  # a late table repeats its rows
    ktop.frame()
    check(ktop.row(spawner.pid, ended=True) is None, "for one frame only")


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
    until(ktop, 20, lambda: mine(1))  # where dozens share each CPU it is not more
    busy = mine(1)
    check(len(busy) == 1 and busy[0]["tid"] != load.pid, "one of them burns: " + str([r["cpu_pct"] for r in busy]))
    close(ktop, load)


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
            copy = os.path.join(TMP, "ktop")  # where anybody may reach it
            shutil.copy(KTOP, copy)
            os.chmod(copy, 0o755)
            globals()["KTOP"] = copy
        print("--", "an ordinary user" if user else "root", flush=True)
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
