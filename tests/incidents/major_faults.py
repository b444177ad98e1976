# A process reads through a mapped file of 256 MB, of which its control group may cache 48 MB.
import os

from incident import cgroup, decoy, disk_image, enter, ext4, go, loop_disk, python

image = disk_image(400)
path = os.path.join(ext4(loop_disk(image)), "data")
with open(path, "wb") as file:
    file.write(os.urandom(256 << 20))
    os.fsync(file.fileno())
procs = cgroup("memory", {"memory.limit_in_bytes": 48 << 20}, {"memory.max": 48 << 20})
decoy()
walker = python("walker", "import mmap, os, random, sys\n" + enter(procs) + "fd = os.open(sys.argv[1], os.O_RDONLY)\nos.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
                "data = mmap.mmap(fd, 256 << 20, prot=mmap.PROT_READ)\ndata.madvise(mmap.MADV_RANDOM)\nwhile True:\n    data[random.randrange(65536) * 4096]", path)
go((walker, "walker"), (0, "ktop-incident"), kinds=("major_faults", "memory_pressure"))
