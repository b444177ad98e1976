# Sixteen processes read from a disk that answers in 80 ms.
import os

from incident import decoy, fuse_disk, go, loop_disk, python

loop = loop_disk(fuse_disk(64, 80000)[0], "--direct-io=on")
decoy()
for _ in range(16):
    python("worker", "import mmap, os, random, sys\nfd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)\nblock = mmap.mmap(-1, 4096)\n"
           "while True:\n    os.preadv(fd, [block], random.randrange(16000) * 4096)", loop)
go((0, os.path.basename(loop)), kinds=("disk_saturated", "disk_latency"))
