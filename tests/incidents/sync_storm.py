# A process calls fsync after each small write to a slow disk (1 ms per request); another one calls it once per second.
import os
import subprocess
import time

from incident import DIRECTORY, decoy, go, python, servers, skip, start, undo

if not os.path.exists("/dev/fuse") or os.geteuid():
    skip("needs root and /dev/fuse")
mount, disk = os.path.join(DIRECTORY, "fuse"), os.path.join(DIRECTORY, "disk")
os.mkdir(mount)
os.mkdir(disk)
server = os.path.join(DIRECTORY, "slowdisk")
subprocess.run(["cc", "-O2", "-o", server, os.path.join(os.path.dirname(__file__), "../slowfuse.c"), "-lpthread"], check=True)
servers.append(start("slowdisk.run", [server, mount, "256", "1000"]))
undo.append(lambda: subprocess.run(["umount", "-l", mount], check=False))
for _ in range(50):
    if os.path.exists(os.path.join(mount, "disk")):
        break
    time.sleep(0.1)
loop = subprocess.run(["losetup", "-f", "--show", os.path.join(mount, "disk")], check=True, capture_output=True, text=True).stdout.strip()
undo.append(lambda: subprocess.run(["losetup", "-d", loop], check=False))
subprocess.run(["mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", loop], check=True)
subprocess.run(["mount", loop, disk], check=True)
undo.append(lambda: subprocess.run(["umount", disk], check=False))
decoy()
write = "import os, sys, time\nfd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)\nwhile True:\n    os.write(fd, b'x' * 100)\n    os.fsync(fd)\n"
committer = python("committer", write, os.path.join(disk, "journal"))
python("database", write + "    time.sleep(1)\n", os.path.join(disk, "data"))
go((committer, "committer"))
