# A process writes to a slow disk (5 ms per request) with a dirty limit of 16 MB; another one writes a little.
import os
import subprocess
import sys
import time

from incident import DIRECTORY, decoy, go, python, servers, skip, start, undo

if not os.path.exists("/dev/fuse") or os.geteuid():
    skip("needs root and /dev/fuse")
mount, disk = os.path.join(DIRECTORY, "fuse"), os.path.join(DIRECTORY, "disk")
os.mkdir(mount)
os.mkdir(disk)
server = os.path.join(DIRECTORY, "slowdisk")
subprocess.run(["cc", "-O2", "-o", server, os.path.join(os.path.dirname(__file__), "../slowfuse.c"), "-lpthread"], check=True)
servers.append(start("slowdisk.run", [server, mount, "512", "20000"]))
undo.append(lambda: subprocess.run(["umount", "-l", mount], check=False))
for _ in range(50):
    if os.path.exists(os.path.join(mount, "disk")):
        break
    time.sleep(0.1)
image = os.path.join(DIRECTORY, "image")
loop = subprocess.run(["losetup", "-f", "--show", os.path.join(mount, "disk")], check=True, capture_output=True, text=True).stdout.strip()
undo.append(lambda: subprocess.run(["losetup", "-d", loop], check=False))
subprocess.run(["mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", "-O", "^has_journal", loop], check=True)
subprocess.run(["mount", loop, disk], check=True)
undo.append(lambda: subprocess.run(["umount", disk], check=False))
old = {name: open(f"/proc/sys/vm/{name}").read() for name in ("dirty_ratio", "dirty_background_ratio")}


def restore():
    for name, value in old.items():
        with open(f"/proc/sys/vm/{name}", "w") as file:
            file.write(value)


undo.append(restore)
for name, value in (("dirty_bytes", 16 << 20), ("dirty_background_bytes", 8 << 20)):
    with open(f"/proc/sys/vm/{name}", "w") as file:
        file.write(str(value))
decoy()
writer = python("bulkwriter", "import sys\nwith open(sys.argv[1], 'wb', buffering=0) as file:\n    while True:\n        file.write(b'x' * 1000000)\n        if file.tell() > 300e6:\n            file.seek(0)",
                os.path.join(disk, "big"))
python("smallwriter", "import sys, time\nwith open(sys.argv[1], 'wb', buffering=0) as file:\n    while True:\n        file.write(b'x' * 100000)\n        time.sleep(0.1)\n"
       "        if file.tell() > 30e6:\n            file.seek(0)", os.path.join(disk, "small"))
go((writer, "bulkwriter"))
