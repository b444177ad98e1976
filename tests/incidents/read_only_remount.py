# The kernel makes a file system read-only after an error: ext4 on a loop device, errors=remount-ro. Where it cannot be given an error, a remount.
import os
import shutil
import subprocess
import time

from incident import DIRECTORY, decoy, go, skip, undo

if os.geteuid():
    skip("needs root")
if not shutil.which("mkfs.ext4"):
    skip("no mkfs.ext4")
image, mount = os.path.join(DIRECTORY, "image"), os.path.join(DIRECTORY, "mnt")
os.mkdir(mount)
with open(image, "wb") as file:
    file.truncate(16 << 20)
subprocess.run(["mkfs.ext4", "-q", image], check=True)
loop = subprocess.run(["losetup", "-f", "--show", image], check=True, capture_output=True, text=True).stdout.strip()
undo.append(lambda: subprocess.run(["losetup", "-d", loop], check=False))
subprocess.run(["mount", "-o", "errors=remount-ro", loop, mount], check=True)
undo.append(lambda: subprocess.run(["umount", mount], check=False))
decoy()
trigger = f"/sys/fs/ext4/{os.path.basename(loop)}/trigger_fs_error"
time.sleep(1.5)  # ktop must have listed it while it was writable
if os.path.exists(trigger):
    with open(trigger, "w") as file:
        file.write("triggered by a test")
else:
    subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
go((0, os.path.basename(loop)))
