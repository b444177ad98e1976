# Many threads of a process read from a disk that serves one request in 5 ms; another process reads a block per second.
import os

from incident import decoy, disk_reader, fuse_disk, go, loop_disk

loop = loop_disk(fuse_disk(64, 5000)[0])
decoy()
disk_reader("patient", loop, pause=1)
scanner = disk_reader("scanner", loop, threads=24)
go((scanner, "scanner"), (0, os.path.basename(loop)))
