# The server behind a disk is stopped; a process waits for its read.
import os
import signal
import time

from incident import decoy, disk_reader, fuse_disk, go, loop_disk

path, daemon = fuse_disk(64, 500)
loop = loop_disk(path)
decoy()
disk_reader("reader", loop, pause=0.01)
time.sleep(1)
os.kill(daemon.pid, signal.SIGSTOP)
go((daemon, "slowdisk"), (0, os.path.basename(loop)), kinds=("disk_hung", "dead_server"))
os.kill(daemon.pid, signal.SIGCONT)
