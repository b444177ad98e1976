# Four threads of a container compute; its limit is a fifth of a CPU.
from incident import cgroup, decoy, enter, go, python

procs = cgroup("cpu", {"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": 20000}, {"cpu.max": "20000 100000"})
decoy()
go((python("container", "import os\n" + enter(procs) + "for _ in range(3):\n    if not os.fork():\n        break\nwhile True:\n    pass"), "container"), (0, "ktop-incident"),
   kinds=("cpu_limit",))
