# A disk answers in 150 ms; a process reads from it, one block after the other.
import os

from incident import decoy, disk_reader, fuse_disk, go, loop_disk

loop = loop_disk(fuse_disk(64, 150000)[0], "--direct-io=on")
decoy()
disk_reader("reader", loop)
go((0, os.path.basename(loop)))
