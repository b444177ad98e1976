# A process writes a file in a tmpfs, which takes memory.
import os
import subprocess

from incident import DIRECTORY, decoy, go, python, skip, undo

if os.geteuid():
    skip("needs root")
mount = os.path.join(DIRECTORY, "mnt")
os.mkdir(mount)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12g", "none", mount], check=True)
undo.append(lambda: subprocess.run(["umount", "-l", mount], check=False))
decoy()
# 300 MB/s also where each write is slow: at half of that memory lasts longer than the rule's limit.
go((python("shmwriter", "import sys, time\nbegin = time.time()\nwith open(sys.argv[1], 'wb', buffering=0) as file:\n    while True:\n        file.write(b'x' * 20000000)\n"
           "        time.sleep(max(0, begin + file.tell() / 3e8 - time.time()))\n        if file.tell() > 5e9:\n            time.sleep(1000)", os.path.join(mount, "blob")), "shmwriter"))
