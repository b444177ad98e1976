#!/usr/bin/env python3
# needs: root, tracefs, cc (asan beside); the preset exec: one row per process life, with parent, directory, status, time, CPU and memory
import os
import re
import shutil
import subprocess
import sys
import tempfile

from ktop import Batch, SLOW, check, failed, need_root

# Ends as its arguments say: exit STATUS, signal NUMBER, cpu MS, rss MIB, threads N, exec (itself, twice).
PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void *burn(void *ms) {
    struct timespec t;
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < (long)ms);
    return 0;
}
int main(int argc, char **argv) {
    long n = argc > 2 ? atol(argv[2]) : 0;
    if (!strcmp(argv[1], "exit")) return n;
    if (!strcmp(argv[1], "signal")) { raise(n); pause(); }
    if (!strcmp(argv[1], "cpu")) burn((void *)n);
    if (!strcmp(argv[1], "sleep")) usleep(n * 1000);
    if (!strcmp(argv[1], "rss")) { char *m = malloc(n << 20); for (long i = 0; i < n << 20; i += 4096) m[i] = 1; free(m); }
    if (!strcmp(argv[1], "threads")) {
        pthread_t t[16];
        for (long i = 0; i < n; i++) pthread_create(&t[i], 0, burn, (void *)50);
        for (long i = 0; i < n; i++) pthread_join(t[i], 0);
    }
    if (!strcmp(argv[1], "exec")) { execl(argv[0], argv[0], n ? "exec" : "exit", n ? "0" : "7", argv[3], NULL); }
    return 0;
}
"""
# The children of one parent, whose PIDs it prints: they are forked, never by a shell.
PARENT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) { // N PROGRAM: N programs, one after the other, with known statuses
    char status[16], name[16];
    for (int i = 0; i < atoi(argv[1]); i++) {
        snprintf(status, sizeof status, "%d", i % 200);
        snprintf(name, sizeof name, "life%05d", i);
        if (!fork()) { execl(argv[2], argv[2], "exit", status, name, NULL); _exit(99); }
        wait(NULL);
    }
    return 0;
}
"""


class Frames:
    """Frames of ktop while a load runs, until the last program has ended."""

    def __init__(self, load, delay=0.25, preset="exec", options=()):
        self.lives, self.running, self.notes, self.lost, self.events = {}, {}, [], 0, []
        batch = Batch("events", "--preset", preset, *options, delay=delay)
        batch.frame()
        batch.frame()
        loads = load()
        for frame in batch.frames_after("events", lambda: all(p.poll() is not None for p in loads)):
            rows = frame["tables"]["programs"]
            for row in rows:
                key = (row["pid"], row["time_s"])
                if row["status"] == "running":
                    self.running[key] = row
                elif key in self.lives:
                    check(False, f"two rows of one life: {row}")
                else:
                    self.lives[key] = row
            self.notes += [note["text"] for note in frame["notes"]]
            self.lost += frame["lost_events"] + frame["events_left_out"]
            self.events += frame["events"]
        [p.wait() for p in loads]
        batch.end()

    def noted(self, words):
        return sum(int(m[1]) for m in (re.match(rf"(\d+) {words}", note) for note in self.notes) if m)


def compiled(work, name, code):
    with open(f"{work}/{name}.c", "w") as f:
        f.write(code)
    subprocess.run(["cc", "-O1", "-w", "-o", f"{work}/{name}", f"{work}/{name}.c", "-lpthread"], check=True)
    return f"{work}/{name}"


def many(work, program, parent):
    """10,000 programs with known names and statuses, as fast as one parent starts them."""
    n = 10000
    pid = []

    def load():
        p = subprocess.Popen([parent, str(n), program], cwd=work)
        pid.append(p.pid)
        return [p]

    seen = Frames(load)
    mine = [row for row in seen.lives.values() if row["ppid"] == pid[0]]
    by_name = {}
    for row in mine:
        m = re.fullmatch(rf"{program} exit (\d+) (life\d+)", row["args"] or "")
        if m:
            by_name[m[2]] = (int(m[1]), row)
    wrong = [row for number, row in by_name.values() if row["status"] not in (str(number), None) or row["comm"] != "program" or row["parent"] != "parent" or row["cwd"] != work]
    missing = seen.noted("programs are not in the table") + seen.noted("programs are in no row") + seen.noted("programs that ended are in no row")
    check(len(mine) + missing >= n and len(mine) <= n, f"{n} programs: {len(mine)} rows, {missing} counted as missing")
    check(len(by_name) == len(mine) and not wrong, f"{len(by_name)} with their arguments, wrong: {wrong[:2]}")
    unknown = sum(row["status"] is None for row in mine)
    check(unknown == seen.noted("programs ended with unknown status"), f"{unknown} with unknown status")


def known_ends(work, program):
    """Known signals and statuses, CPU time, memory, threads, and a process that runs three programs."""
    ends = [(["exit", "0"], "0"), (["exit", "3"], "3"), (["exit", "255"], "255"), (["signal", "9"], "SIGKILL"), (["signal", "15"], "SIGTERM"),
            (["signal", "11"], "SIGSEGV"), (["signal", "1"], "SIGHUP"), (["cpu", "100"], "0"), (["rss", "64"], "0"), (["threads", "4"], "0"), (["sleep", "300"], "0"),
            (["exec", "1", "again"], "7")]
    processes = {}

    def load():
        for arguments, _ in ends:
            processes[arguments[0] + (arguments[1] if len(arguments) > 1 else "")] = subprocess.Popen([program, *arguments], cwd=work)
        return list(processes.values())

    seen = Frames(load)
    rows = {row["pid"]: row for row in seen.lives.values()}
    for arguments, status in ends:
        row = rows.get(processes[arguments[0] + arguments[1]].pid, {})
        check((row.get("status") or "").replace(", core dumped", "") == status and row.get("ppid") == os.getpid(), f"{' '.join(arguments)}: {row.get('status')}, parent {row.get('ppid')}")

    def of(name):
        return rows.get(processes[name].pid, {})
    check(90e3 <= (of("cpu100").get("cpu_us") or 0) <= 140e3, f"100 ms of CPU: {of('cpu100').get('cpu_us')} us")
    check(180e3 <= (of("threads4").get("cpu_us") or 0) <= (260e3 if SLOW == 1 else 400e3), f"4 threads of 50 ms: {of('threads4').get('cpu_us')} us")
    check(65536 <= (of("rss64").get("rss_max_kib") or 0) <= 75000, f"64 MiB, freed before the end: {of('rss64').get('rss_max_kib')} KiB")
    check(300e3 <= (of("sleep300").get("lifetime_us") or 0) <= 800e3 * SLOW, f"300 ms asleep: {of('sleep300').get('lifetime_us')} us")
    check(of("exec1").get("execs") == 3 and of("exec1").get("args") == f"{program} exit 7 again", f"three programs of one process: {of('exec1').get('execs')}, {of('exec1').get('args')}")
    check(all(of(name).get("cwd") == work for name in processes), "working directories")


def directories(work, program):
    """Working directories below mounts, at a mount's root, removed, and deeper than ktop reads; long arguments."""
    mount = f"{work}/mount"
    os.makedirs(mount)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "ktop-exec", mount], check=True)
    try:
        deep = "/".join(["d"] * 40)
        for path in ("a/b", "removed", "bound", deep):
            os.makedirs(f"{mount}/{path}")
        subprocess.run(["mount", "--bind", f"{mount}/a", f"{mount}/bound"], check=True)
        places = {"/": "/", mount: mount, f"{mount}/a/b": f"{mount}/a/b", f"{mount}/bound/b": f"{mount}/bound/b", f"{mount}/bound": f"{mount}/bound",
                  f"{mount}/removed": f"{mount}/removed (deleted)", f"{mount}/{deep}": None}
        rows = {}

        def in_removed():
            os.chdir(f"{mount}/removed")
            os.rmdir(f"{mount}/removed")

        def load():
            loads = []
            for i, (place, _) in enumerate(places.items()):
                removed = place.endswith("/removed")
                loads.append(subprocess.Popen([program, "exit", "0", f"place{i}"], cwd=None if removed else place, preexec_fn=in_removed if removed else None))
            loads.append(subprocess.Popen([program, "exit", "0", "long", "x" * 7000]))
            loads.append(subprocess.Popen([program, "exit", "0", "longer", "x" * 9000]))
            return loads

        for row in Frames(load).lives.values():
            if (row["args"] or "").startswith(f"{program} exit 0 "):
                rows[row["args"].split()[3]] = row
        for i, (place, expected) in enumerate(places.items()):
            check(rows.get(f"place{i}", {"cwd": "no row"})["cwd"] == expected, f"directory {place.replace(work, '')[:40]}: {rows.get(f'place{i}', {}).get('cwd')}")
        check(rows.get("long", {"args": ""})["args"] == f"{program} exit 0 long {'x' * 7000}", "an argument of 7,000 bytes is whole")
        check(rows.get("longer", {"args": ""})["args"].endswith("x ..."), "one of 9,000 bytes is cut and marked")
    finally:
        subprocess.run(["umount", f"{mount}/bound"], stderr=subprocess.DEVNULL)
        subprocess.run(["umount", mount], check=True)


def filtered(work, program, parent):
    """-u and -p --children: programs that exit at once, and not those of others that run meanwhile."""
    n = 200
    shell = subprocess.Popen(["sh"], stdin=subprocess.PIPE, cwd=work)
    others = []

    def load(user=None):
        others[:] = [subprocess.Popen([parent, str(n), program], cwd=work)]
        if user is not None:
            return [subprocess.Popen([parent, str(n), program], cwd="/", user=user), *others]
        shell.stdin.write(f"{parent} {n} {program}\nexec true\n".encode())
        shell.stdin.flush()
        return [shell, *others]

    def judge(what, seen, mine):
        alien = [row["pid"] for row in [*seen.lives.values(), *seen.running.values(), *seen.events] if row["ppid"] == others[0].pid]
        opens = [row for row in seen.events if row["event"].startswith("call:open") and row["comm"] == "program" and row["path"] == "/etc/ld.so.cache"]
        execs = [row for row in seen.events if row["event"] == "sched:sched_process_exec" and row["comm"] == "program"]
        check(len(mine) == n and not alien, f"{what}: {len(mine)} of {n} lives, {len(alien)} rows of the others")
        check(len(opens) == n and len(execs) == n, f"{what}: {len(opens)} opens and {len(execs)} execs of {n}, lost {seen.lost}, {set(seen.notes)}")

    os.chmod(work, 0o755)
    seen = Frames(lambda: load(65534), preset="exec,open", options=("-u", "nobody"))
    judge("--user", seen, [row for row in seen.lives.values() if row["comm"] == "program"])
    seen = Frames(load, preset="exec,open", options=("-p", str(shell.pid), "--children"))
    judge("--pid --children", seen, [row for row in seen.lives.values() if row["comm"] == "program"])


def main():
    need_root()
    work = os.path.realpath(tempfile.mkdtemp(prefix="ktop-exec-"))
    try:
        program, parent = compiled(work, "program", PROGRAM), compiled(work, "parent", PARENT)
        known_ends(work, program)
        directories(work, program)
        filtered(work, program, parent)
        many(work, program, parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
