# The server behind a disk is stopped; a process waits for its read.
import os
import signal
import time

from incident import decoy, fuse_disk, go, loop_disk, python

path, daemon = fuse_disk(64, 500)
loop = loop_disk(path)
decoy()
python("reader", "import mmap, os, random, sys, time\nfd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)\nblock = mmap.mmap(-1, 4096)\n"
       "while True:\n    os.preadv(fd, [block], random.randrange(16000) * 4096)\n    time.sleep(0.01)", loop)
time.sleep(1)
os.kill(daemon.pid, signal.SIGSTOP)
go((daemon, "slowdisk"), (0, os.path.basename(loop)), kinds=("disk_hung", "dead_server"))
os.kill(daemon.pid, signal.SIGCONT)
