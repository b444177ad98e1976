#!/usr/bin/env python3
# needs: root, cc, FUSE (once); the profile of other processes goes on while a process's library is on a mount that hangs
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from ktop import HERE, SLOW, Batch, check, failed, need_root, skip

DELAY = 1


def build(directory):
    source = lambda name: os.path.join(HERE, "data", name)
    flags = ["-O1", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-I", os.path.join(HERE, "data")]
    out = lambda name: os.path.join(directory, name)
    run = lambda *arguments: subprocess.run(["cc", *arguments], check=True)
    run(*flags, "-shared", "-fPIC", "-o", out("hang.so"), source("hang_lib.c"))
    run(*flags, "-o", out("hang_load"), source("hang_load.c"), "-ldl")
    run(*flags, "-shared", "-fPIC", "-o", out("libprofile.so"), source("profile_lib.c"))
    run(*flags, "-o", out("profile_load"), source("profile_load.c"), out("libprofile.so"), f"-Wl,-rpath,{directory}")
    run("-O2", "-o", out("slowfuse"), os.path.join(HERE, "slowfuse.c"), "-lpthread")


def mount(directory):
    """The mount, with the library as its file, and the process that serves it."""
    place = os.path.join(directory, "mount")
    os.mkdir(place)
    server = subprocess.Popen([os.path.join(directory, "slowfuse"), place, "1", "0"])
    file = os.path.join(place, "disk")
    for _ in range(200):
        if os.path.exists(file):
            break
        time.sleep(0.05)
    with open(os.path.join(directory, "hang.so"), "rb") as library, open(file, "r+b", buffering=0) as disk:
        disk.write(library.read())
    return server, file


def samples_of(frame, comm):
    return [r for r in frame["tables"]["symbols"] if r["comm"] == comm]


def paths_of(frame, comm):
    return [p for p in frame["trees"]["cpu"] if p.startswith(comm + ";")]


def hung(directory, load, stop, go):
    ktop = Batch("profile", "--call-graph", "dwarf", delay=DELAY)
    try:
        stop()
        times, frames = [time.monotonic()], []
        for _ in range(5):
            frames.append(ktop.frame())
            times.append(time.monotonic())
        slowest = max(b - a for a, b in zip(times, times[1:]))
        check(slowest < DELAY + 2 * SLOW, f"frames come while the mount hangs: one took {slowest:.2f} s")
        for frame in frames:
            n = sum(r["samples"] for r in samples_of(frame, "profile_load"))
            check(n >= 5, f"{n} samples of another process")
        last = frames[-1]  # symbols: the thread that hangs is replaced after a second
        known = sum(r["samples"] for r in samples_of(last, "profile_load") if r["symbol"] in ("sixty", "thirty", "lib_ten"))
        check(known >= 5, f"{known} samples of another process have their function")
        whole = [p for p in paths_of(last, "profile_load") if ";main;" in p]
        check(len(whole) >= 0.8 * len(paths_of(last, "profile_load")), f"and their callers: {len(whole)} of {len(paths_of(last, 'profile_load'))} paths")
        check(sum(r["samples"] for r in samples_of(last, "hang_load")) >= 5, f"the process itself is sampled: {paths_of(last, 'hang_load')}")
        check(any("unwind tables hang" in n["text"] for n in last["notes"]), f"a note: {[n['text'] for n in last['notes']]}")
        go()
        for _ in range(12):
            frame = ktop.frame()
            named = [p for p in paths_of(frame, "hang_load") if ";main;hang_spin;hang_inner" in p]
            if named:
                break
        check(named, f"after the mount answers, its callers and functions are known: {paths_of(frame, 'hang_load')}")
        check(load.poll() is None, "the process runs")
        began = time.monotonic()
        stop()
    finally:
        ktop.end()
    check(time.monotonic() - began < 3 * SLOW, f"the end waits for no read: {time.monotonic() - began:.2f} s")


def main():
    need_root("a FUSE mount")
    if not shutil.which("cc"):
        skip("needs a C compiler for the load")
    if not os.path.exists("/dev/fuse"):
        skip("no /dev/fuse")
    directory = tempfile.mkdtemp(prefix="ktop-hang-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    server, loads = None, []
    try:
        build(directory)
        server, file = mount(directory)
        pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        loads.append(subprocess.Popen([os.path.join(directory, "hang_load"), file], **pipe))
        check(loads[0].stdout.readline() == b"spins\n", "the process runs code of the mount")
        loads.append(subprocess.Popen([os.path.join(directory, "profile_load"), "shares"], **pipe))
        hung(directory, loads[0], lambda: server.send_signal(signal.SIGSTOP), lambda: server.send_signal(signal.SIGCONT))
    finally:
        if server:
            server.send_signal(signal.SIGCONT)
        for load in loads:
            load.stdin.close()
            load.wait()
        subprocess.run(["umount", "-l", os.path.join(directory, "mount")], stderr=subprocess.DEVNULL)
        if server:
            server.kill()
            server.wait()
        shutil.rmtree(directory)
    sys.exit(1 if failed else 0)


main()
