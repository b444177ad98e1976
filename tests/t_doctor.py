#!/usr/bin/env python3
# needs: san; --doctor lists what works and what does not, each with a fix, as root and as an unprivileged user, and leaves nothing behind
import contextlib
import os
import re
import shutil
import struct
import subprocess
import tempfile

import tracing
from tracing import KTOP

EXPECTED = ["rights", "file descriptors", "delays of tasks", "scheduler statistics", "tracefs", "trace instances", "function tracer", "kprobes",
          "uprobes", "pressure", "hardware counters", "software counters", "block events", "process table", "taskstats"]


def doctor(*before, program=KTOP):
    p = subprocess.run([*before, program, "--doctor"], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p
    assert not p.stderr, p.stderr
    works, broken, last = {}, {}, None
    for line in p.stdout.splitlines():
        if not line.strip():
            break
        fix = re.match(r" +fix: (.+)", line)
        if fix:
            broken[last] += (fix[1],)
            continue
        words = re.match(r"(.+?)  +(works|does not)  +(\S.*)", line)
        assert words, f"unexpected line: {line!r}"
        last = words[1]
        if words[2] == "works":
            works[last] = words[3]
        else:
            broken[last] = (words[3],)
    for name, (reason, *fix) in broken.items():
        assert len(fix) == 1, f"no fix for {name}: {reason}"
    for name in EXPECTED:
        assert any(name in found for found in [*works, *broken]), f"no line about {name}"
    assert not set(works) & set(broken)
    return works, broken


def entry(program):
    """File offset of the program's entry point."""
    with open(program, "rb") as f:
        head = f.read(64)
        start, table, size, n = (*struct.unpack_from("<QQ", head, 24), *struct.unpack_from("<HH", head, 54))
        for i in range(n):
            f.seek(table + i * size)
            kind, _, offset, address, _, length = struct.unpack("<IIQQQQ", f.read(40))
            if kind == 1 and address <= start < address + length:
                return start - address + offset
    raise AssertionError(f"no entry in {program}")


def probe_hits(trace, file, place, cause):
    """Whether the test's own probe is recorded when hit; None: the kernel does not support or accept it."""
    name = f"t_doctor_{os.getpid()}"
    instance = f"instances/{name}"
    enable = f"{instance}/events/{name}/hit/enable"
    with contextlib.ExitStack() as undo:  # each undo step runs, also if others fail
        try:
            trace.write(file, f"p:{name}/hit {place}\n", append=True)
        except OSError:
            return None
        undo.callback(trace.write, file, f"-:{name}/hit\n", append=True)
        os.mkdir(f"{trace.path}/{instance}")
        undo.callback(os.rmdir, f"{trace.path}/{instance}")
        trace.write(enable, "1")
        undo.callback(trace.write, enable, "0")
        cause()
        return "hit:" in trace.read(f"{instance}/trace")


def probes_checked(trace, works, broken):
    """The doctor's result for each kind of probe equals that of the test's own probe."""
    true = os.path.realpath(shutil.which("true"))
    for name, hits in (("kprobes", probe_hits(trace, "kprobe_events", "vfs_read", lambda: trace.read("current_tracer"))),
                       ("uprobes", probe_hits(trace, "uprobe_events", f"{true}:{entry(true):#x}", lambda: subprocess.run([true], check=True)))):
        print(f"{name}: {'not available' if hits is None else 'recorded' if hits else 'not recorded'}; {works.get(name) or broken[name][0]}")
        assert (name in works) == bool(hits), (name, hits, works, broken)
        if hits:
            assert works[name] == "a probe was inserted, hit and removed"
        elif hits is not None:
            assert "not recorded" in broken[name][0], broken


def as_root():
    trace = tracing.Tracefs()
    try:
        probes = trace.read("dynamic_events"), trace.read("uprobe_events"), trace.read("kprobe_events")
        instances = set(trace.instances())
        for inside in ([], trace.inside):
            works, broken = doctor(*inside)
            assert "tracefs" in works and "trace instances" in works, broken
            probes_checked(trace, works, broken)
            if not os.path.exists(f"{trace.path}/kprobe_events"):
                assert "CONFIG_KPROBE_EVENTS" in broken["kprobes"][0]
            if "function tracer" in broken and "function" in trace.read("available_tracers").split():
                assert "listed" in broken["function tracer"][0] or "no call is recorded" in broken["function tracer"][0], broken
        left = {name for name in set(trace.instances()) - instances if name.endswith("-doctor")}
        assert not left, left
        assert probes == (trace.read("dynamic_events"), trace.read("uprobe_events"), trace.read("kprobe_events"))
        refused = doctor(*trace.inside, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program=public(KTOP))[1]
        assert "root" in refused["tracefs"][1], refused
        lacks = doctor("unshare", "-m", "--propagation", "private", "sh", "-c", "mountpoint -q /sys/kernel/tracing || "
                       'mount -t tracefs nodev /sys/kernel/tracing; mount -o remount,bind,ro /sys/kernel/tracing && exec "$0" "$@"')[1]
        for what in "trace instances", "block events":
            assert "mounted read-only" in lacks[what][0] and "remount,bind,rw" in lacks[what][1], lacks[what]
    finally:
        trace.close()
    if "/san-" not in KTOP:  # sanitizers need /proc; ktop finds a mounted tracefs without /proc
        lacks = doctor("unshare", "-m", "--propagation", "private", "sh", "-c", 'umount -l /sys/kernel/tracing 2>/dev/null; umount -l /proc && exec "$0" "$@"')[1]
        assert "/proc is not mounted" in lacks["tracefs"][0] and "mount" in lacks["tracefs"][1], lacks


copies = []


def public(program):
    """A copy of the program that any user may execute, whatever the build folder's permissions."""
    if not copies:
        folder = tempfile.TemporaryDirectory()
        os.chmod(folder.name, 0o755)
        copies.append(folder)
        subprocess.run(["cp", program, f"{folder.name}/ktop"], check=True)
        os.chmod(f"{folder.name}/ktop", 0o755)
    return f"{copies[0].name}/ktop"


def as_unprivileged(*before):
    works, broken = doctor(*before, program=public(KTOP) if before else KTOP)
    assert "rights" in broken and "CAP_PERFMON" in broken["rights"][0], broken
    assert "root" in broken["tracefs"][1] or "root" in broken["trace instances"][1], broken
    with open("/proc/sys/kernel/perf_event_paranoid") as f:
        paranoid = int(f.read())
    software = next(name for name in [*works, *broken] if name.startswith("software counters"))
    if paranoid > 0:
        assert f"perf_event_paranoid is {paranoid}" in broken[software][0], broken
        assert "CAP_PERFMON" in broken[software][0] or "CAP_SYS_ADMIN" in broken[software][0]


if os.geteuid() == 0:
    as_root()
    as_unprivileged("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
else:
    as_unprivileged()
