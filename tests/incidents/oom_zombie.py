# The OOM killer kills a process of a cgroup; its parent does not reap it.
from incident import cgroup, decoy, enter, go, python

procs = cgroup("memory", {"memory.limit_in_bytes": 128 << 20}, {"memory.max": 128 << 20})
decoy()
python("parent", "import os, time\ntime.sleep(2)\nif not os.fork():\n    open('/proc/self/comm', 'w').write('eater')\n    " + enter(procs) +
       "    kept = []\n    while True:\n        kept.append(b'x' * 10000000)\n        time.sleep(0.05)\nwhile True:\n    time.sleep(1)")
go((0, "eater"), kinds=("oom_kill",))
