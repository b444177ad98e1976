# A FUSE daemon is stopped; a task reads from its file system.
import os
import signal
import time

from incident import decoy, fuse_disk, go, python

path, daemon = fuse_disk(16, 100, "fileserver")
decoy()
python("reader", "import os, sys, time\nfd = os.open(sys.argv[1], os.O_RDONLY)\nos.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
       "at = 0\nwhile True:\n    os.pread(fd, 4096, at % (16 << 20))\n    at += 1 << 20\n    time.sleep(0.2)\n"
       "    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)", path)
time.sleep(1)
os.kill(daemon.pid, signal.SIGSTOP)
go((daemon, "fileserver"))
os.kill(daemon.pid, signal.SIGKILL)  # its requests fail
