# A process reads as fast as it may from a disk, which is 20 blocks per second by the limit of its control group.
import os

from incident import DIRECTORY, cgroup, decoy, disk_reader, go, loop_disk

image = os.path.join(DIRECTORY, "image")
with open(image, "wb") as file:
    file.write(os.urandom(16 << 20))
loop = loop_disk(image)
number = "%d:%d" % (os.major(os.stat(loop).st_rdev), os.minor(os.stat(loop).st_rdev))
procs = cgroup("blkio", {"blkio.throttle.read_iops_device": f"{number} 20"}, {"io.max": f"{number} riops=20"})
decoy()
reader = disk_reader("limited", loop, procs=procs)
go((reader, "limited"), (0, "ktop-incident"), (0, os.path.basename(loop)))
