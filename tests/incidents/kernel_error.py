# The kernel finds a file system to be broken: an image of zeros with a valid magic number only.
import os
import subprocess
import time

from incident import DIRECTORY, decoy, go, skip, undo

if os.geteuid():
    skip("needs root")
image, mount = os.path.join(DIRECTORY, "image"), os.path.join(DIRECTORY, "mnt")
os.mkdir(mount)
with open(image, "wb") as file:
    file.truncate(16 << 20)
loop = subprocess.run(["losetup", "-f", "--show", image], check=True, capture_output=True, text=True).stdout.strip()
undo.append(lambda: subprocess.run(["losetup", "-d", loop], check=False))
decoy()
subprocess.run(["mount", "-t", "ext4", loop, mount], check=False, stderr=subprocess.DEVNULL)
go((0, "EXT4-fs (" + os.path.basename(loop) + ")"))
