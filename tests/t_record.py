#!/usr/bin/env python3
# needs: root, tmux (loud, brief: equality stream); record and replay: replay equals live output, the terminal, full disk, SIGKILL, closed pipe, a stream, damaged files
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KTOP = os.environ.get("KTOP", os.path.join(TOP, "build/ktop"))
bad = []


def check(good, what):
    if not good:
        bad.append(what)


def ktop(*args, **more):
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([KTOP, *args], capture_output=True, timeout=90, **more)


def frames(path):
    done = ktop("-b", "-R", path, "-P", "triage", "-F", "json")
    return done.returncode, done.stdout.count(b"\n"), done.stderr.decode()


def equality(folder, panes):
    load = subprocess.Popen(["sh", "-c", "while :; do dd if=/dev/zero of=%s/load bs=64k count=50 conv=fsync 2>/dev/null; done" % folder], start_new_session=True)
    try:
        for form in ("json", "csv", "text"):
            path = f"{folder}/{form}.ktop"
            live = ktop("-b", "-n", "4", "-d", "0.5", "-P", panes, "-F", form, "-r", path)
            replay = ktop("-b", "-P", panes, "-F", form, "-R", path)
            check(live.returncode == 0 and live.stdout, f"{form}: recording: {live.returncode} {live.stderr}")
            check(replay.stdout == live.stdout, f"{form}: the replay differs from the live output")
            check(replay.returncode == 0 and not replay.stderr, f"{form}: replay: {replay.returncode} {replay.stderr}")
        check(os.stat(path).st_mode & 0o7777 == 0o600, "the file mode is not 0600")
        short = ktop("-b", "-P", panes, "-F", "text", "-R", path, "-n", "2")
        headings = [len(re.findall(rb"(?m)^== ", out)) for out in (short.stdout, replay.stdout)]  # a C++ name may hold "== " as well
        check(replay.stdout.startswith(short.stdout) and headings[0] * 2 == headings[1], f"-n with --replay: {headings}")
    finally:
        os.killpg(load.pid, signal.SIGKILL)
        load.wait()


def damage(folder):
    whole = open(f"{folder}/json.ktop", "rb").read()
    for name, content, frames_left, sentence in (
            ("cut", whole[:-200], None, "it is cut within the record at byte"),
            ("flipped", whole[:len(whole) - 300] + bytes([whole[-300] ^ 1]) + whole[len(whole) - 299:], None, "it is damaged at byte"),
            ("foreign", b"#!/bin/sh\necho a foreign file\n", 0, "it is not a ktop recording"),
            ("empty", b"", 0, "it is empty")):
        path = f"{folder}/{name}"
        open(path, "wb").write(content)
        code, n, errors = frames(path)
        check(code == 1 and sentence in errors and errors.count("\n") == 1, f"{name}: {code} {errors}")
        check(n == frames_left if frames_left is not None else 1 <= n < 4, f"{name}: {n} frames")
    refused = ktop("-r", f"{folder}/foreign", "-n", "1")
    check(refused.returncode == 1 and b"not a ktop recording" in refused.stderr, f"a foreign file is not refused: {refused}")
    check(open(f"{folder}/foreign").read().startswith("#!/bin/sh"), "a foreign file was changed")
    for wrong in (["-b", "-r", "-"], ["-r", "x", "-R", "y"], ["-R", "x", "-p", "1"]):
        check(ktop(*wrong).returncode == 2, f"{wrong} is accepted")
    check(ktop("-b", "-R", "/no/such").returncode == 1, "a missing file")


def ends(folder):
    done = ktop("-b", "-n", "2", "-d", "0.2", "-P", "triage", "-r", "/dev/full")
    check(done.returncode == 1 and b"No space left" in done.stderr and done.stdout.count(b"== ") == 2, f"/dev/full: {done}")
    os.mkdir(f"{folder}/small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", f"{folder}/small"], check=True)
    try:
        full = ktop("-d", "0.1", "-n", "200", "-P", "tasks,disk", "-r", f"{folder}/small/r")
        check(full.returncode == 1 and b"No space left" in full.stderr, f"full disk: {full.returncode} {full.stderr}")
        code, n, errors = frames(f"{folder}/small/r")
        check(code == 1 and n >= 1 and "cut within" in errors, f"after a full disk: {code} {n} {errors}")
    finally:
        subprocess.run(["umount", f"{folder}/small"], check=True)
    path = f"{folder}/killed"
    run = subprocess.Popen([KTOP, "-d", "0.2", "-r", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(3)
    run.kill()
    run.wait()
    code, n, errors = frames(path)
    check(code == 1 and n >= 3 and "without an end mark" in errors, f"after SIGKILL: {code} {n} {errors}")
    run = subprocess.Popen([KTOP, "-d", "0.1", "-r", "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdout.read(100)
    run.stdout.close()
    check(run.wait(20) == 0 and not run.stderr.read(), "a closed pipe is not a silent, normal end")
    run = subprocess.Popen([KTOP, "-d", "0.1", "-r", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(2)
    run.send_signal(signal.SIGTERM)
    check(run.wait(20) == 0, "SIGTERM does not end a recording with status 0")
    code, n, errors = frames(path)
    check(code == 0 and n >= 2 and not errors, f"after SIGTERM: {code} {n} {errors}")


def stream():
    both = subprocess.run(f"{KTOP} -d 0.2 -n 3 -P disk -r - | {KTOP} -b -R - -P disk,sched -F json", shell=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    check(both.returncode == 0 and both.stdout.count(b"\n") == 6 and not both.stderr, f"a stream: {both.returncode} {both.stderr}")
    cut = subprocess.run(f"{KTOP} -d 0.2 -n 3 -r - | head -c 30000 | {KTOP} -b -R - -F json", shell=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    check(b"it is cut within" in cut.stderr or b"end mark" in cut.stderr or cut.stdout.count(b"\n") == 3, f"a cut stream: {cut.stderr}")


class Tmux:
    def __init__(self, command):
        self.name = f"ktop-record-{os.getpid()}"
        subprocess.run(["tmux", "-L", self.name, "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", command], check=True)

    def screen(self):
        return subprocess.run(["tmux", "-L", self.name, "capture-pane", "-p"], capture_output=True, text=True).stdout

    def keys(self, *keys):
        subprocess.run(["tmux", "-L", self.name, "send-keys", *keys], check=True)

    def wait(self, pattern, seconds=15):
        until = time.time() + seconds
        while time.time() < until:
            found = re.search(pattern, self.screen())
            if found:
                return found
            time.sleep(0.1)
        bad.append(f"no {pattern!r} on the screen:\n{self.screen()}")
        return None

    def end(self):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], capture_output=True)


def terminal(folder):
    path = f"{folder}/by-key"
    tmux = Tmux(f"{KTOP} -d 0.3")
    try:
        tmux.wait(r"(?m) live *$")
        tmux.keys("r")
        tmux.wait(r"record to: ktop-.*\.ktop")
        tmux.keys("C-u", path, "Enter")
        tmux.wait(r"REC \d")
        tmux.wait(r"REC [89]")
        tmux.keys("r")
        tmux.wait(r"recorded: .*by-key, \d+ frames")
        check(" REC " not in tmux.screen(), "the REC mark stays")
    finally:
        tmux.keys("q")
        time.sleep(0.5)
        tmux.end()
    code, n, errors = frames(path)
    check(code == 0 and n >= 8, f"by key: {code} {n} {errors}")
    for how in (f"{KTOP} -R {path} -d 0.5", f"cat {path} | {KTOP} -R -"):
        tmux = Tmux(f"sh -c '{how}'")
        try:
            tmux.wait("REPLAY")
            clock = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d"
            if "cat" not in how:
                tmux.keys("Space")
                tmux.wait("frozen")
                before = re.search(clock, tmux.screen()).group()
                time.sleep(1.2)
                check(re.search(clock, tmux.screen()).group() == before, "a frozen replay keeps playing")
                tmux.keys("]")
                tmux.wait(r"skipped 1 frame; Space plays")
                check(re.search(clock, tmux.screen()).group() >= before and "frozen" in tmux.screen(), "a frozen replay does not step forward")
                tmux.keys("g")
            tmux.wait(r"(?m)end of the recording| end *$")
            last = re.search(clock, tmux.screen()).group()
            tmux.keys("{")
            tmux.wait("rewound")
            check(re.search(clock, tmux.screen()).group() < last, "a replay does not step back")
            tmux.keys("r")
            tmux.wait("recording already")
            for pane in "23456789X":
                tmux.keys(pane)
            tmux.keys("g", "q")
            time.sleep(0.5)
        finally:
            tmux.end()


def main():
    panes = ",".join(line.split()[0] for line in ktop("--list", "panes").stdout.decode().splitlines() if line.strip())
    with tempfile.TemporaryDirectory() as folder:
        parts = {"equality": lambda: equality(folder, panes), "damage": lambda: damage(folder), "ends": lambda: ends(folder), "stream": stream,
                 "terminal": lambda: terminal(folder)}
        for part in sys.argv[1:] or parts:
            parts[part]()
    for line in bad:
        print("FAIL:", line)
    sys.exit(1 if bad else 0)


main()
