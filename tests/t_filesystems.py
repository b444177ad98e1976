#!/usr/bin/env python3
# needs: root; (san) file systems that are full are named, also one mounted meanwhile; figures as df(1) has them
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
if libc.unshare(0x20000):  # CLONE_NEWNS: what is mounted here is nobody else's, and goes with this process
    skip("no mount namespace of its own")
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


def until(ktop, so):
    """The first frame of which it is so, and how many there were till then; after long enough the last one, and None."""
    end, frames = time.monotonic() + 40, 0
    while time.monotonic() < end:
        tables, frames = frame(ktop), frames + 1
        if so(tables):
            return tables, frames
    return tables, None


def found(tables, path):
    return [f for f in tables["findings"] if f["kind"] == "filesystem_full" and f" {path} " in f["evidence"]]


def local(path):
    """Whether it is one that can fill up and always answers: no other is asked."""
    with open("/proc/self/mounts") as f:
        mounts = [line.split()[:4] for line in f]
    return any((source.startswith("/dev/") or kind in ("tmpfs", "zfs", "overlay")) and not kind.startswith("fuse")
               and "ro" not in options.split(",") for source, where, kind, options in mounts if where == path)


first = mount("a room", "size=32m")
ktop = subprocess.Popen([KTOP, "-b", "-P", "triage", "-F", "json", "-d", "0.3"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
try:
    tables = frame(ktop)
    if found(tables, first):
        bad.append(f"an empty one is full: {found(tables, first)}")
    for mount_point, is_now in ((first, "full"), (mount("files", "size=32m,nr_inodes=40"), "without inodes")):
        if is_now == "full":
            fill(mount_point)
        else:
            for i in range(39):
                open(os.path.join(mount_point, str(i)), "w").close()
        tables, frames = until(ktop, lambda tables: found(tables, mount_point))
        if not frames:
            bad.append(f"{mount_point} is {is_now}, and nothing says so: {tables}")
            continue
        said = found(tables, mount_point)[0]
        if said["severity"] != "critical" or said["resource"] != "filesystem" or ("inodes" in said["evidence"]) != (is_now != "full"):
            bad.append(f"{is_now}: {said}")
        print(f"{is_now}: told in frame {frames}: {said['evidence']}")
    rows = {row["mount"]: row for row in tables["filesystems"]}
    for path in first, "/":
        is_ = os.statvfs(path)
        row = rows.get(path)
        if not row and not local(path):
            print(f"{path} is not local, or read-only: not compared")
        elif not row:
            bad.append(f"{path} is not listed: {sorted(rows)}")
        elif path == first and (row["size_kib"] != 32768 or row["available_kib"] != 0 or row["used_pct"] != 100 or row["type"] != "tmpfs"):
            bad.append(f"{path}: {row}")
        elif row["size_kib"] != is_.f_blocks * is_.f_frsize / 1024 or abs(row["available_kib"] - is_.f_bavail * is_.f_frsize / 1024) > 1 << 20:
            bad.append(f"{path}: {row}, statvfs says {is_}")
    # What goes, goes from the list.
    subprocess.run(["umount", first], check=True)
    if not until(ktop, lambda tables: not found(tables, first) and first not in [row["mount"] for row in tables["filesystems"]])[1]:
        bad.append("unmounted, and still there")
finally:
    ktop.terminate()
    ktop.wait()
    subprocess.run(["umount", os.path.join(here, "a room")], stderr=subprocess.DEVNULL)
    subprocess.run(["umount", os.path.join(here, "files")], stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-r", "--one-file-system", here])

print("\n".join("FAIL: " + line for line in bad) or "ok")
sys.exit(bool(bad))
