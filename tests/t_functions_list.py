#!/usr/bin/env python3
# needs: root, tmux, cc (beside); the list of functions while a pattern is typed: kernel, files, their functions, call graph, hostile names; Tab, arrows, Enter counts; keys stay fast
import os
import re
import subprocess
import sys
import tempfile
import time

from ktop import KTOP, SLOW, check, failed, need_root, skip, skip_part, tries
from terminal import Terminal

# Calls its functions N times for each line "N". One has a name that is patched below.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#define FUNCTION(name) __attribute__((noinline)) void name(void) { __asm__ volatile(""); }
FUNCTION(ktl_alpha_one)
FUNCTION(ktl_alpha_two)
FUNCTION(ktl_beta)
FUNCTION(ktl_evil_ABCDEFGH)
int main(void) {
    char line[64];
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        for (int i = 0; i < atoi(line); i++) {
            ktl_alpha_one();
            ktl_alpha_two();
            ktl_beta();
            ktl_evil_ABCDEFGH();
        }
    return 0;
}
"""
EVIL = b"ktl_evil_\x1b[2J\xff\xc3\xa9\x07"


class Screen:
    """ktop in tmux, whose screen is read as text."""

    def __init__(self, command, columns=80, rows=24):
        self.name = f"ktop-list-{os.getpid()}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), command)

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-L", self.name, *arguments], capture_output=True, text=True).stdout

    def lines(self):
        return self.tmux("capture-pane", "-p").splitlines()

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def sees(self, pattern, what, seconds=15):
        until = time.monotonic() + seconds * SLOW
        while time.monotonic() < until:
            if re.search(pattern, "\n".join(self.lines())):
                return check(True, what)
            time.sleep(0.1)
        print("\n".join(self.lines()))
        return check(False, what)

    def prompt(self, text, what):
        return self.sees(r"(?m)^functions.*: " + re.escape(text) + r"\s*\Z", what)

    def again(self, text):
        """Another text in place of the one in the prompt."""
        self.keys("C-u")
        self.type(text)

    def end(self):
        self.keys("Escape")
        self.keys("q")
        time.sleep(0.5)
        self.tmux("kill-server")


def build(work):
    path = f"{work}/ktlprog"
    with open(f"{work}/p.c", "w") as f:
        f.write(PROGRAM)
    subprocess.run(["cc", "-O1", "-o", path, f"{work}/p.c"], check=True)
    data = open(path, "rb").read()
    assert data.count(b"ktl_evil_ABCDEFGH") and len(EVIL) == len(b"ktl_evil_ABCDEFGH")
    open(path, "wb").write(data.replace(b"ktl_evil_ABCDEFGH", EVIL))
    return path


def threads(name):
    """Threads of ktop of that name."""
    found = 0
    for pid in os.listdir("/proc"):
        try:
            if pid.isdigit() and os.path.samefile(f"/proc/{pid}/exe", KTOP):
                found += sum(open(f"/proc/{pid}/task/{tid}/comm").read() == name + "\n" for tid in os.listdir(f"/proc/{pid}/task"))
        except OSError:
            pass
    return found


def kernel(screen):
    symbols = open("/proc/kallsyms").read()
    if " vfs_readlink" not in symbols:
        skip_part("/proc/kallsyms has no symbols")
        return
    screen.again("vfs_rea")
    screen.sees(r"(?m)^ \d+ of \d{3,} files and kernel functions .*Tab.*\n vfs_read$", "functions of the kernel that begin with the text")
    screen.again("vfs_readl")
    screen.sees(r" \d of ", "they follow the text")
    screen.keys("Tab")
    screen.prompt("vfs_readlink", "Tab completes the only one")
    screen.again("vfs_raedlink")
    screen.sees(r"none of \d+ files and kernel functions matches; did you mean vfs_readlink\?", "a misspelt name has the nearest one")
    screen.again("graph vfs_read,vfs_readl")
    screen.sees(r"(?m)^ \d of \d{3,} kernel functions .*\n vfs_readlink$", "those for a call graph, behind a comma")
    screen.keys("Tab")
    screen.prompt("graph vfs_read,vfs_readlink", "Tab replaces only that one")
    screen.again("graph vfs_read de")
    time.sleep(0.3)
    check(not re.search(r" of \d+ ", "\n".join(screen.lines())), "other words of a call graph have no list")


def program(screen, p):
    screen.again("ktlpr")
    screen.sees(r"(?m)^ 1 of \d+ files.*\n ktlprog:$", "a program that runs is listed")
    screen.keys("Tab")
    screen.prompt("ktlprog:", "Tab takes the file")
    screen.type("ktl_")
    screen.sees(r"(?m)^ 4 of \d+ functions .*\n ktl_alpha_one\n ktl_alpha_two\n ktl_beta\n ktl_evil_\\e\[2J\\xffé\\a|\\x07$", "its functions are listed, hostile names escaped")
    screen.type("ev")
    screen.keys("Tab")
    screen.prompt("ktlprog:ktl_evil_??2J*é?", "bytes that cannot be typed are taken as ? and *")
    screen.keys("Enter")
    screen.sees(r"1 function in 1 process|1 function ", "that pattern names the function", 30)
    screen.keys("E")
    screen.type("ktlprog:alph")
    screen.sees(r"(?m)^ 2 of \d+ functions", "a text within the name")
    screen.again("ktlprog:ktl_al")
    screen.keys("Tab")
    screen.prompt("ktlprog:ktl_alpha_", "Tab completes what both have, also if it is typed before the list is there")
    screen.keys("Down")
    screen.keys("Down")
    screen.prompt("ktlprog:ktl_alpha_two", "Down takes a name")
    screen.keys("Up")
    screen.prompt("ktlprog:ktl_alpha_one", "Up takes the one before")
    screen.keys("Enter")
    screen.sees(r"2 functions", "Enter adds it", 30)
    check(threads("ktop-names") == 0, "the prompt is closed: its thread is gone")
    time.sleep(0.5)
    p.stdin.write("700\n")
    p.stdin.flush()
    screen.sees(r"ktl_alpha_one +[1-9]\d", "its calls are counted")


def latency(how):
    """Echo of keys while names are read, in ms: the median, and the worst."""
    t = Terminal(how)
    answers = []
    try:
        t.wait_for(b"no function is chosen", 20 * SLOW)
        t.pump(1)
        for text in ("vfs_", "zqzqz", "libc.so.6:pth", "graph tcp_") * 2:
            t.send("E")
            for ch in text:
                t.quiet(0.004, 0.5)
                start = time.monotonic()
                t.send(ch)
                if t.read(2):
                    answers.append((t.last - start) * 1000)
            t.send("\x07")
            t.pump(0.1)
        t.send("q")
        check(t.wait(10 * SLOW) == 0, "q ends ktop")
    finally:
        t.end()
    answers.sort()
    print(f"{len(answers)} keys while names are read: p50 {answers[len(answers) // 2]:.1f} ms, p90 {answers[len(answers) * 9 // 10]:.1f} ms, max {answers[-1]:.1f} ms")
    return check(answers[len(answers) // 2] < 10 * SLOW, "keys are answered within 10 ms")


def others():
    """Tracepoints and probes have their own names; other prompts have none."""
    screen = Screen(f"{KTOP} -P events")
    try:
        screen.sees(r"(?m) live *$", "the pane events")
        screen.keys("E")
        screen.type("freeze sched:sched_swit")
        screen.sees(r"(?m)^ \d of \d+ tracepoints .*\n sched:sched_switch$", "tracepoints that begin with the text")
        screen.keys("Tab")
        screen.type(" if next_")
        screen.sees(r"freeze sched:sched_switch if next_", "Tab takes one")
        check(not re.search(r" of \d+ ", "\n".join(screen.lines())), "a filter has no list")
        screen.keys("Escape")
        screen.keys("P")
        screen.keys("E")
        screen.type("p libc.so.6:pthread_creat")
        screen.sees(r"(?m)^ \d of \d+ functions .*\n pthread_create$", "functions of a file for a probe")
        screen.keys("Escape")
        screen.keys("/")
        screen.keys("Tab")
        screen.keys("Down")
        screen.type("xyz")
        screen.sees(r"search: xyz", "a search has no list")
    finally:
        screen.end()


def replay(work):
    """A recording has no list: nothing can be chosen."""
    path = f"{work}/recording"
    subprocess.run([KTOP, "--batch", "-P", "functions", "-n", "2", "-d", "0.2", "-r", path], stdout=subprocess.DEVNULL, check=True)
    screen = Screen(f"{KTOP} -R {path} -P functions")
    try:
        screen.sees(r"REPLAY", "a recording is shown")
        screen.keys("E")
        screen.sees(r"a recording has the functions of its time", "in a recording no function is added, and no list shown")
        check(threads("ktop-names") == 0, "and no names are read")
    finally:
        screen.end()


def main():
    need_root("uprobes")
    if subprocess.run(["sh", "-c", "command -v tmux cc"], capture_output=True).returncode:
        skip("needs tmux and cc")
    with tempfile.TemporaryDirectory(prefix="ktop-list-") as work:
        path = build(work)
        p = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        screen = Screen(f"{KTOP} -P functions -d 0.5")
        try:
            screen.sees(r"no function is chosen", "the pane functions")
            screen.keys("E")
            screen.sees(r"(?m)^ \d+ of \d+ files", "the empty prompt lists files")
            kernel(screen)
            program(screen, p)
        finally:
            screen.end()
            p.stdin.close()
            p.wait(10)
            p.stdout.close()
        replay(work)
    others()
    tries("keys within 10 ms while names are read", 3, lambda: latency([KTOP, "-P", "functions", "-d", "1"]))
    sys.exit(1 if failed else 0)


main()
