#!/usr/bin/env python3
# needs: root, cgroup memory controller (v1 or v2) (beside); the finding names the process killed at its cgroup's limit, not the machine's largest process
"""A cgroup limited to 48 MiB in which a process allocates until it is killed; another process outside the cgroup uses far more. The finding
must name the cgroup and the killed process, also while that is an unreaped zombie."""
from disks import *

HOLDER = """
import sys, time
kept = [bytearray(b"x" * (1 << 20)) for _ in range(int(sys.argv[1]))]
print("ready", flush=True)
sys.stdin.readline()
while sys.argv[2] == "grow":
    kept.append(bytearray(b"x" * (1 << 20)))
time.sleep(60)
"""
LIMIT_MIB, HELD_MIB, LARGE_MIB = 48, 24, 300


def group():
    """Creates a cgroup with the limit; returns its directory."""
    v1, v2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
    base, limit = (v1, "memory.limit_in_bytes") if os.path.exists(v1 + "/memory.limit_in_bytes") else (v2, "memory.max")
    path = tempfile.mkdtemp(dir=base, prefix="ktop-oom-")
    undo.append(lambda: os.rmdir(path))
    if not os.path.exists(f"{path}/{limit}"):
        skip("no cgroup memory controller")
    write(f"{path}/{limit}", str(LIMIT_MIB << 20))
    for swap in ("memory.memsw.limit_in_bytes", "memory.swap.max"):  # otherwise the memory is swapped out instead
        if os.path.exists(f"{path}/{swap}"):
            write(f"{path}/{swap}", str(LIMIT_MIB << 20) if "memsw" in swap else "0")
    return path


def holder(mib, then, path=None):
    enter = (lambda: write(path + "/cgroup.procs", "0")) if path else None
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(mib), then], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=enter)
    undo.append(lambda: (process.kill(), process.wait(), time.sleep(0.2)))
    if process.stdout.readline() != "ready\n":
        raise SystemExit(f"{mib} MiB do not fit")
    return process


def zombie_is_named():
    """The killed process is not reaped until the finding has been read."""
    path = group()
    small = holder(HELD_MIB, "grow", path)
    ktop = subprocess.Popen([KTOP, "--batch", "--pane", "triage", "--format", "json", "-d", "0.5"], stdout=subprocess.PIPE, text=True)
    undo.append(lambda: (ktop.terminate(), ktop.wait()))
    for _ in range(3):
        ktop.stdout.readline()
    small.stdin.write("\n")
    small.stdin.flush()
    deadline = time.monotonic() + 30
    while open(f"/proc/{small.pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z" and time.monotonic() < deadline:
        time.sleep(0.02)
    found = []
    for _ in range(6):  # the culprit may appear one frame after the count
        frame = json.loads(ktop.stdout.readline())
        found = [f for f in frame["tables"]["findings"] if f["kind"] == "oom_kill"] or found
        if found and found[0]["culprit_pid"]:
            break
    check(found and found[0]["culprit_pid"] == small.pid, f"the killed zombie {small.pid} is named: {found[0]['evidence'] if found else found}")
    check(small.wait(30) == -signal.SIGKILL, "the process was killed by SIGKILL")


def main():
    need()
    if "oom_kill " not in read("/proc/vmstat"):
        skip("this kernel does not count OOM kills")
    path = group()
    large, small = holder(LARGE_MIB, "stay"), holder(HELD_MIB, "grow", path)
    ktop = subprocess.Popen([KTOP, "--batch", "--pane", "triage", "--format", "json", "-d", "0.5"], stdout=subprocess.PIPE, text=True)
    undo.append(lambda: (ktop.terminate(), ktop.wait()))
    for _ in range(3):
        frame = json.loads(ktop.stdout.readline())
        check(not [f for f in frame["tables"]["findings"] if f["kind"] == "oom_kill"], "no finding before the kill")
    small.stdin.write("\n")
    small.stdin.flush()
    check(small.wait(30) == -signal.SIGKILL, "the cgroup's process is killed")
    found = []
    for _ in range(20):
        frame = json.loads(ktop.stdout.readline())
        found = [f for f in frame["tables"]["findings"] if f["kind"] == "oom_kill"]
        if found:
            break
    if not check(len(found) == 1, f"one finding for the kill: {len(found)}"):
        return
    oom = found[0]
    check(oom["severity"] == "critical" and oom["resource"] == "memory" and "cgroup" in oom["evidence"], oom["evidence"])
    check(oom["culprit_pid"] in (small.pid, None) and oom["culprit_pid"] != large.pid, f"{oom['culprit_pid']} is the culprit: killed {small.pid}, largest {large.pid}")
    check(os.path.basename(path) in oom["evidence"], f"the cgroup is named: {os.path.basename(path)}")
    ktop.terminate()
    ktop.wait()
    zombie_is_named()


ending(main)
