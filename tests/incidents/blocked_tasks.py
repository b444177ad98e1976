# Sixteen processes read from a disk that answers in 80 ms.
import os

from incident import decoy, disk_reader, fuse_disk, go, loop_disk

loop = loop_disk(fuse_disk(64, 80000)[0], "--direct-io=on")
decoy()
for _ in range(16):
    disk_reader("worker", loop)
go((0, os.path.basename(loop)), kinds=("disk_saturated", "disk_latency"))
