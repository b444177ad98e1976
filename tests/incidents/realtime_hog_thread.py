# A task at real-time priority 50 uses a CPU for which a thread of a process waits that is not its first one.
from incident import decoy, go, python, realtime_cpus

cpus = realtime_cpus()
decoy()
python("server", f"""import os, threading, time
os.sched_setaffinity(0, [{cpus[0]}])
def work():
    os.sched_setaffinity(0, [{cpus[-1]}])  # of this thread
    while True:
        pass
threading.Thread(target=work, daemon=True).start()
time.sleep(600)
""")
go((python("spinner", f"import os, time\nos.sched_setaffinity(0, [{cpus[-1]}])\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))\n"
           "end = time.monotonic() + 60\nwhile time.monotonic() < end:\n    pass"), "spinner"), kinds=["realtime_hog"])
