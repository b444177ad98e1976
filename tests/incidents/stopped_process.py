# A process that writes into a pipe is stopped; the reader waits.
import os
import signal
import sys
import time

from incident import decoy, go, start

decoy()
reading, writing = os.pipe()
writer = start("feeder", [sys.executable, "-c", "import os, time\nwhile True:\n    os.write(1, b'x' * 1000)\n    time.sleep(0.01)"], stdout=writing)
start("eater", [sys.executable, "-c", "import os\nwhile True:\n    os.read(0, 100000)"], stdin=reading)
time.sleep(1)
os.kill(writer.pid, signal.SIGSTOP)
go((writer, "feeder"))
