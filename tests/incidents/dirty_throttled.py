# A process writes to a slow disk (20 ms per request) with a dirty limit of 16 MB; another one writes a little.
import os

from incident import decoy, ext4, fuse_disk, go, loop_disk, python, undo

disk = ext4(loop_disk(fuse_disk(512, 20000)[0]), "-O", "^has_journal")
old = {name: open(f"/proc/sys/vm/{name}").read() for name in ("dirty_ratio", "dirty_background_ratio")}


def restore():
    for name, value in old.items():
        with open(f"/proc/sys/vm/{name}", "w") as file:
            file.write(value)


undo.append(restore)
for name, value in (("dirty_bytes", 16 << 20), ("dirty_background_bytes", 8 << 20)):
    with open(f"/proc/sys/vm/{name}", "w") as file:
        file.write(str(value))
decoy()
writer = python("bulkwriter", "import sys\nwith open(sys.argv[1], 'wb', buffering=0) as file:\n    while True:\n        file.write(b'x' * 1000000)\n        if file.tell() > 300e6:\n            file.seek(0)",
                os.path.join(disk, "big"))
python("smallwriter", "import sys, time\nwith open(sys.argv[1], 'wb', buffering=0) as file:\n    while True:\n        file.write(b'x' * 100000)\n        time.sleep(0.1)\n"
       "        if file.tell() > 30e6:\n            file.seek(0)", os.path.join(disk, "small"))
go((writer, "bulkwriter"))
