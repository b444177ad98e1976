# A task at real-time priority 50 uses a CPU that another process is pinned to.
from incident import decoy, go, python, realtime_cpus

cpus = realtime_cpus()
decoy()
pin = f"import os, time\nos.sched_setaffinity(0, [{cpus[-1]}])\n"
python("victim", pin + "while True:\n    pass")
go((python("spinner", pin + "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))\nend = time.monotonic() + 60\n"
           "while time.monotonic() < end:\n    pass"), "spinner"))
