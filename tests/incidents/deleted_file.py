# A process keeps a deleted file open that fills a disk.
import os
import subprocess
import time

from incident import DIRECTORY, decoy, go, python, skip, undo

if os.geteuid():
    skip("needs root")
mount, image = os.path.join(DIRECTORY, "mnt"), os.path.join(DIRECTORY, "image")
os.mkdir(mount)
with open(image, "wb") as file:
    file.truncate(300 << 20)
subprocess.run(["mkfs.ext4", "-q", image], check=True)
subprocess.run(["mount", "-o", "loop", image, mount], check=True)
undo.append(lambda: subprocess.run(["umount", "-l", mount], check=False))
decoy()
holder = python("holder", "import os, sys, time\nfile = open(sys.argv[1], 'wb', buffering=0)\nos.unlink(sys.argv[1])\n"
                "for i in range(262):\n    file.write(b'x' * 1000000)\ntime.sleep(1000)", os.path.join(mount, "blob"))
go((holder, "holder"))
