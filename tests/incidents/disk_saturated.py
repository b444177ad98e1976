# Many threads of a process read from a disk that serves one request in 5 ms; another process reads a block per second.
import os

from incident import decoy, fuse_disk, go, loop_disk, python

loop = loop_disk(fuse_disk(64, 5000)[0])
read = ("import mmap, os, random, sys, threading, time\nfd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)\ndef run(pause):\n    block = mmap.mmap(-1, 4096)\n"
        "    while True:\n        os.preadv(fd, [block], random.randrange(16000) * 4096)\n        time.sleep(pause)\n")
decoy()
python("patient", read + "run(1)", loop)
scanner = python("scanner", read + "for _ in range(24):\n    threading.Thread(target=run, args=(0,)).start()", loop)
go((scanner, "scanner"), (0, os.path.basename(loop)))
