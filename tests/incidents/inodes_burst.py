# A process takes all inodes of a file system within a moment; later calls of it fail.
from incident import decoy, disk_image, ext4, go, loop_disk, python

image = disk_image(64)
mount = ext4(loop_disk(image), "-N", "1000")
decoy()
go((python("spooler", "import os, sys, time\ntime.sleep(2.5)\nn = 0\nwhile True:\n    try:\n        open(os.path.join(sys.argv[1], f's{n}'), 'w').close()\n        n += 1\n    except OSError:\n        time.sleep(0.02)",
           mount), "spooler"), kinds=("filesystem_full",))
