# A FUSE daemon is stopped; a task reads from its file system.
import os
import signal
import subprocess
import time

from incident import DIRECTORY, decoy, go, python, skip, start, undo

if not os.path.exists("/dev/fuse"):
    skip("no /dev/fuse")
mount = os.path.join(DIRECTORY, "mnt")
server = os.path.join(DIRECTORY, "fileserver")
os.mkdir(mount)
subprocess.run(["cc", "-O2", "-o", server, os.path.join(os.path.dirname(__file__), "../slowfuse.c"), "-lpthread"], check=True)
daemon = start("fileserver.run", [server, mount, "16", "100"])
undo.append(lambda: subprocess.run(["umount", "-l", mount], check=False))
for _ in range(50):
    if os.path.exists(os.path.join(mount, "disk")):
        break
    time.sleep(0.1)
decoy()
reader = python("reader", "import os, sys, time\nfd = os.open(sys.argv[1], os.O_RDONLY)\nos.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
                "at = 0\nwhile True:\n    os.pread(fd, 4096, at % (16 << 20))\n    at += 1 << 20\n    time.sleep(0.2)\n"
                "    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)", os.path.join(mount, "disk"))
time.sleep(1)
os.kill(daemon.pid, signal.SIGSTOP)
undo.append(lambda: None)
go((daemon, "fileserver"))
os.kill(daemon.pid, signal.SIGKILL)  # its requests fail
