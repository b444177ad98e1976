# A process uses more memory than its control group may have; the rest is swapped to compressed memory (zram).
import os
import subprocess
import time

from incident import cgroup, decoy, enter, go, python, skip, undo

zram = "/sys/block/zram0"
if os.geteuid() or not os.path.isdir(zram) or open(f"{zram}/disksize").read().strip() != "0":
    skip("needs root and an unused zram0")
made = subprocess.run("echo 512M >/sys/block/zram0/disksize && mkswap /dev/zram0 && swapon /dev/zram0", shell=True, check=False, capture_output=True, text=True)
undo.append(lambda: subprocess.run("swapoff /dev/zram0; echo 1 >/sys/block/zram0/reset", shell=True, check=False, stderr=subprocess.DEVNULL))
if made.returncode:
    skip(f"no swap on zram0: {made.stderr.strip()}")
procs = cgroup("memory", {"memory.limit_in_bytes": 64 << 20}, {"memory.max": 64 << 20})
decoy()
toucher = python("toucher", "import mmap, random, time\n" + enter(procs) + "data = mmap.mmap(-1, 160 << 20)\nfor at in range(0, 160 << 20, 4096):\n    data[at] = at >> 12 & 255\n"
                 "while True:\n    data[random.randrange(40960) * 4096] = 1")
time.sleep(1)
# At times the kernel finds no page to reclaim in time, and kills it.
go((toucher, "toucher"), (0, "ktop-incident"), kinds=("swapping", "memory_pressure", "oom_kill"))
