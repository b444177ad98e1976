# Four busy processes may run only on one CPU, while another one is idle.
import os

from incident import decoy, go, python, skip

cpus = sorted(os.sched_getaffinity(0))
if len(cpus) < 2:
    skip("needs two CPUs")
decoy()
workers = [python("worker", f"import os\nos.sched_setaffinity(0, [{cpus[0]}])\nwhile True:\n    pass") for i in range(4)]
go(*((worker, "worker") for worker in workers))
