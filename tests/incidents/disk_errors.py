# The file behind a disk was cut short: reads beyond its end fail.
import os

from incident import decoy, disk_image, disk_reader, go, loop_disk

image = disk_image(64)
loop = loop_disk(image)
os.truncate(image, 8 << 20)
decoy()
disk_reader("reader", loop, pause=0.001)
go((0, os.path.basename(loop)))
