#!/usr/bin/env python3
# needs: root, cc (once); memory of the profile pane with 200 processes of 50 libraries each
import os
import shutil
import subprocess
import sys
import tempfile

from ktop import HERE, SLOW, check, failed, need_root, skip
from terminal import KTOP, Terminal

PROCESSES, LIBRARIES, LIMIT_MIB, SECONDS = 200, 50, 128, 15


def build(directory):
    source = lambda name: os.path.join(HERE, "data", name)
    library = lambda i: os.path.join(directory, f"libmany{i}.so")
    for i in range(LIBRARIES):
        subprocess.run(["cc", "-O1", f"-DN={i}", "-shared", "-fPIC", "-nostdlib", "-o", library(i), source("many_lib.c")], check=True)
    program = os.path.join(directory, "many_load")
    subprocess.run(["cc", "-O1", "-o", program, source("many_load.c"), "-ldl"], check=True)
    return [program, str(PROCESSES), *map(library, range(LIBRARIES))]


def memory(pid):
    """Resident memory in MiB, now and at most."""
    fields = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
    return tuple(int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))


def main():
    need_root("sampling of all CPUs")
    if not shutil.which("cc"):
        skip("needs a C compiler for the load")
    directory = tempfile.mkdtemp(prefix="ktop-many-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    load = terminal = None
    try:
        load = subprocess.Popen(build(directory), stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
        check(len(load.stdout.read(PROCESSES)) == PROCESSES, f"{PROCESSES} processes run with {LIBRARIES} libraries each")
        terminal = Terminal([KTOP, "-P", "profile", "--frequency", "499", "--call-graph", "dwarf"], 120, 40)
        terminal.pump(SECONDS)
        now, most = memory(terminal.pid)
        print(f"  {now:.0f} MiB resident after {SECONDS} s, {most:.0f} MiB at most")
        check(b"many_load" in terminal.raw, "the pane shows the processes")
        check(SLOW > 1 or most <= LIMIT_MIB, f"ktop keeps {most:.0f} of {LIMIT_MIB} MiB")
    finally:
        if terminal:
            terminal.send("q")
            terminal.wait(10)
            terminal.end()
        if load:
            load.stdin.close()
            load.wait()
        shutil.rmtree(directory)
    sys.exit(1 if failed else 0)


main()
