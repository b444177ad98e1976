# A process makes files until its file system has no inodes left.
from incident import decoy, disk_image, ext4, go, loop_disk, python

image = disk_image(64)
mount = ext4(loop_disk(image), "-N", "1000")
decoy()
go((python("sessions", "import os, sys, time\nn = 0\nwhile True:\n    try:\n        open(os.path.join(sys.argv[1], f's{n}'), 'w').close()\n        n += 1\n    except OSError:\n        pass\n    time.sleep(0.002)",
           mount), "sessions"), kinds=("filesystem_full",))
