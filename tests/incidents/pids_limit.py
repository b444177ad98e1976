# A process forks until its cgroup refuses.
from incident import cgroup, decoy, enter, go, python

procs = cgroup("pids", {"pids.max": 40}, {"pids.max": 40})
decoy()
go((python("forker", "import os, time\n" + enter(procs) + "while True:\n    try:\n        if not os.fork():\n"
           "            time.sleep(1000)\n    except OSError:\n        time.sleep(0.05)\n    time.sleep(0.02)"), "forker"))
