# A task at real-time priority 50 uses a CPU that another process is pinned to.
import os

from incident import decoy, go, python, skip

if os.geteuid():
    skip("needs root")
cpus = sorted(os.sched_getaffinity(0))
if len(cpus) < 2:
    skip("needs two CPUs")
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
except OSError as error:
    skip(f"no real-time priority: {error.strerror}")
decoy()
pin = f"import os, time\nos.sched_setaffinity(0, [{cpus[-1]}])\n"
python("victim", pin + "while True:\n    pass")
go((python("spinner", pin + "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))\nend = time.monotonic() + 60\n"
           "while time.monotonic() < end:\n    pass"), "spinner"))
