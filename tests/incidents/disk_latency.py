# A disk answers in 150 ms; a process reads from it, one block after the other.
import os

from incident import decoy, fuse_disk, go, loop_disk, python

loop = loop_disk(fuse_disk(64, 150000)[0], "--direct-io=on")
decoy()
python("reader", "import mmap, os, random, sys\nfd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)\nblock = mmap.mmap(-1, 4096)\n"
       "while True:\n    os.preadv(fd, [block], random.randrange(16000) * 4096)", loop)
go((0, os.path.basename(loop)))
