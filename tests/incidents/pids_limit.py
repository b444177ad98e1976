# A process forks until its cgroup refuses.
import os
import time

from incident import decoy, go, python, skip, undo

at = "/sys/fs/cgroup/pids" if os.path.isdir("/sys/fs/cgroup/pids") else "/sys/fs/cgroup"
group = os.path.join(at, f"ktop-incident-{os.getpid()}")
try:
    os.mkdir(group)
    undo.append(lambda: (time.sleep(0.3), os.rmdir(group)))
    with open(os.path.join(group, "pids.max"), "w") as file:
        file.write("40")
except OSError as error:
    skip(f"no pids controller: {error}")
decoy()
go((python("forker", f"import os, time\nopen('{group}/cgroup.procs', 'w').write(str(os.getpid()))\nn = 0\nwhile True:\n    try:\n        if not os.fork():\n"
           "            import ctypes\n            ctypes.CDLL(None).prctl(1, 9)\n            time.sleep(1000)\n    except OSError:\n        time.sleep(0.05)\n    time.sleep(0.02)"), "forker"))
