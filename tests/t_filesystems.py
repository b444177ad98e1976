#!/usr/bin/env python3
# needs: root (san beside); full file systems are reported, also one mounted while ktop runs; figures as in df(1)
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

from ktop import KTOP, skip

if os.geteuid() != 0:
    skip("needs root")
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x20000):  # CLONE_NEWNS: mounts made here are private and end with this process
    skip("cannot create a mount namespace")
subprocess.run(["mount", "--make-rprivate", "/"], check=True)

bad = []
here = tempfile.mkdtemp()


def mount(name, options):
    path = os.path.join(here, name)
    os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "night", path], check=True)
    return path


def fill(path):
    with open(os.path.join(path, "all"), "wb", buffering=0) as f:
        try:
            while True:
                f.write(bytes(65536))
        except OSError:
            pass


def frame(ktop):
    line = ktop.stdout.readline()
    if not line:
        raise RuntimeError(f"ktop ended with {ktop.wait()}")
    return json.loads(line)["tables"]


def until(ktop, condition):
    """Returns the first frame that meets the condition, and the number of frames read; after 40 s the last frame, and None."""
    end, frames = time.monotonic() + 40, 0
    while time.monotonic() < end:
        tables, frames = frame(ktop), frames + 1
        if condition(tables):
            return tables, frames
    return tables, None


def found(tables, path):
    return [f for f in tables["findings"] if f["kind"] == "filesystem_full" and f" {path} " in f["evidence"]]


def local(path):
    """Whether the file system can fill up and statvfs on it cannot block: ktop reads only these."""
    with open("/proc/self/mounts") as f:
        mounts = [line.split()[:4] for line in f]
    return any((source.startswith("/dev/") or kind in ("tmpfs", "zfs", "overlay")) and not kind.startswith("fuse")
               and "ro" not in options.split(",") for source, where, kind, options in mounts if where == path)


first = mount("a room", "size=32m")
ktop = subprocess.Popen([KTOP, "-b", "-P", "triage", "-F", "json", "-d", "0.3"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
try:
    tables = frame(ktop)
    if found(tables, first):
        bad.append(f"an empty file system is reported as full: {found(tables, first)}")
    for mount_point, is_now in ((first, "full"), (mount("files", "size=32m,nr_inodes=40"), "without inodes")):
        if is_now == "full":
            fill(mount_point)
        else:
            for i in range(39):
                open(os.path.join(mount_point, str(i)), "w").close()
        tables, frames = until(ktop, lambda tables: found(tables, mount_point))
        if not frames:
            bad.append(f"{mount_point} is {is_now}, but there is no finding: {tables}")
            continue
        finding = found(tables, mount_point)[0]
        if finding["severity"] != "critical" or finding["resource"] != "filesystem" or ("inodes" in finding["evidence"]) != (is_now != "full"):
            bad.append(f"{is_now}: {finding}")
        print(f"{is_now}: reported in frame {frames}: {finding['evidence']}")
    rows = {row["mount"]: row for row in tables["filesystems"]}
    for path in first, "/":
        is_ = os.statvfs(path)
        row = rows.get(path)
        if not row and not local(path):
            print(f"{path} is not local or is read-only: not compared")
        elif not row:
            bad.append(f"{path} is not listed: {sorted(rows)}")
        elif path == first and (row["size_kib"] != 32768 or row["available_kib"] != 0 or row["used_pct"] != 100 or row["type"] != "tmpfs"):
            bad.append(f"{path}: {row}")
        elif row["size_kib"] != is_.f_blocks * is_.f_frsize / 1024 or abs(row["available_kib"] - is_.f_bavail * is_.f_frsize / 1024) > 1 << 20:
            bad.append(f"{path}: {row}, statvfs: {is_}")
    # An unmounted file system disappears from the list.
    subprocess.run(["umount", first], check=True)
    if not until(ktop, lambda tables: not found(tables, first) and first not in [row["mount"] for row in tables["filesystems"]])[1]:
        bad.append("unmounted, but still listed")
finally:
    ktop.terminate()
    ktop.wait()
    subprocess.run(["umount", os.path.join(here, "a room")], stderr=subprocess.DEVNULL)
    subprocess.run(["umount", os.path.join(here, "files")], stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-r", "--one-file-system", here])

print("\n".join("FAIL: " + line for line in bad) or "ok")
sys.exit(bool(bad))
