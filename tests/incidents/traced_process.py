# A tracer (strace) was left on at a busy process.
import shutil
import time

from incident import decoy, go, python, skip, start

if not shutil.which("strace"):
    skip("no strace")
decoy()
busy = python("database", "import os, time\nfd = os.open('/dev/null', os.O_WRONLY)\nwhile True:\n    for i in range(200):\n        os.write(fd, b'x')\n    time.sleep(0.001)")
time.sleep(0.5)
tracer = start("tracer", ["strace", "-q", "-o", "/dev/null", "-p", str(busy.pid)])
go((tracer, "tracer"))
