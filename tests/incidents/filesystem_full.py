# A process fills a file system of 400 MB.
import os
import subprocess

from incident import DIRECTORY, decoy, go, python, skip, undo

if os.geteuid():
    skip("needs root")
mount = os.path.join(DIRECTORY, "mnt")
os.mkdir(mount)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "none", mount], check=True)
undo.append(lambda: subprocess.run(["umount", "-l", mount], check=False))
decoy()
go((python("filler", "import sys, time\nwith open(sys.argv[1], 'wb', buffering=0) as file:\n    while True:\n        try:\n            file.write(b'x' * 4000000)\n"
           "        except OSError:\n            pass\n        time.sleep(0.05)", os.path.join(mount, "log.1")), "filler"))
