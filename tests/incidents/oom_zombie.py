# The OOM killer kills a process of a cgroup; its parent does not reap it.
import os
import time

from incident import decoy, go, python, skip, undo

v1 = os.path.isdir("/sys/fs/cgroup/memory")
group = os.path.join("/sys/fs/cgroup/memory" if v1 else "/sys/fs/cgroup", f"ktop-incident-{os.getpid()}")
try:
    os.mkdir(group)
    undo.append(lambda: (time.sleep(0.3), os.rmdir(group)))
    with open(os.path.join(group, "memory.limit_in_bytes" if v1 else "memory.max"), "w") as file:
        file.write(str(128 << 20))
except OSError as error:
    skip(f"no memory controller: {error}")
decoy()
parent = python("parent", f"import os, time\ntime.sleep(2)\nif not os.fork():\n    open('/proc/self/comm', 'w').write('eater')\n"
                f"    open('{group}/cgroup.procs', 'w').write(str(os.getpid()))\n    kept = []\n    while True:\n        kept.append(b'x' * 10000000)\n        time.sleep(0.05)\n"
                "while True:\n    time.sleep(1)")
go((0, "eater"), kinds=("oom_kill",))
