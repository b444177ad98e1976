# The file behind a disk was cut short: reads beyond its end fail.
import os

from incident import DIRECTORY, decoy, go, loop_disk, python

image = os.path.join(DIRECTORY, "image")
with open(image, "wb") as file:
    file.truncate(64 << 20)
loop = loop_disk(image)
os.truncate(image, 8 << 20)
decoy()
python("reader", "import mmap, os, sys, time\nfd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)\nblock, n = mmap.mmap(-1, 4096), 0\nwhile True:\n    n += 1\n    try:\n"
       "        os.preadv(fd, [block], n % 16000 * 4096)\n    except OSError:\n        pass\n    time.sleep(0.001)", loop)
go((0, os.path.basename(loop)))
