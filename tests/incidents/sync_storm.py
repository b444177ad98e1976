# A process calls fsync after each small write to a slow disk (1 ms per request); another one calls it once per second.
import os

from incident import decoy, ext4, fuse_disk, go, loop_disk, python

disk = ext4(loop_disk(fuse_disk(256, 1000)[0]))
decoy()
write = "import os, sys, time\nfd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)\nwhile True:\n    os.write(fd, b'x' * 100)\n    os.fsync(fd)\n"
committer = python("committer", write, os.path.join(disk, "journal"))
python("database", write + "    time.sleep(1)\n", os.path.join(disk, "data"))
go((committer, "committer"))
