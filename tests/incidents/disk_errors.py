# The file behind a disk was cut short: reads beyond its end fail.
import os

from incident import DIRECTORY, decoy, disk_reader, go, loop_disk

image = os.path.join(DIRECTORY, "image")
with open(image, "wb") as file:
    file.truncate(64 << 20)
loop = loop_disk(image)
os.truncate(image, 8 << 20)
decoy()
disk_reader("reader", loop, pause=0.001)
go((0, os.path.basename(loop)))
