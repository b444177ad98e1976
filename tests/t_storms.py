#!/usr/bin/env python3
# needs: once beside; root; a call that fails in a loop, and signals: the finding has the process, the call, the error and the signal
import json
import subprocess
import sys
import time

from ktop import KTOP, SLOW, check, failed, need_root

need_root("BPF")
POLLER = "import os\nr, w = os.pipe()\nos.set_blocking(r, False)\nwhile True:\n    try:\n        os.read(r, 1)\n    except BlockingIOError:\n        pass"
RECEIVER = "import signal, time\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\nprint(flush=True)\nwhile True:\n    time.sleep(10)"
SENDER = "import os, sys\nwhile True:\n    os.kill(int(sys.argv[1]), 10)"


def python(source, *arguments, **options):
    return subprocess.Popen([sys.executable, "-c", source, *map(str, arguments)], stdin=subprocess.DEVNULL, text=True, **options)


def found(kind, culprit, words):
    """A finding of that kind with these words, within a minute: on a machine that others keep busy it takes more windows."""
    ktop = subprocess.Popen([KTOP, "-b", "-P", "triage", "-F", "json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    seen, end = "", time.monotonic() + 60 * SLOW
    try:
        while time.monotonic() < end:
            for row in json.loads(ktop.stdout.readline())["tables"]["findings"]:
                if row["kind"] == kind:
                    seen = f"{row['culprit_pid']} {row['evidence']}"
                    if row["culprit_pid"] == culprit and all(word in row["evidence"] for word in words):
                        return True, seen
        return False, seen
    finally:
        ktop.terminate()
        ktop.wait()
        ktop.stdout.close()


processes = []
try:
    processes.append(python(POLLER))
    check(*found("failing_calls", processes[0].pid, [f"(pid {processes[0].pid}) calls read in a loop", "EAGAIN"]))
    processes[0].kill()
    receiver = python(RECEIVER, stdout=subprocess.PIPE)
    processes.append(receiver)
    receiver.stdout.readline()
    sender = python(SENDER, receiver.pid)
    processes.append(sender)
    check(*found("signal_storm", sender.pid, ["SIGUSR1"]))
finally:
    for process in reversed(processes):
        process.kill()
        process.wait()
sys.exit(1 if failed else 0)
