# A process keeps a file lock; three others wait for it.
import os
import time

from incident import DIRECTORY, decoy, go, python

decoy()
source = "import fcntl, sys, time\nfile = open(sys.argv[1], 'w')\nfcntl.lockf(file, fcntl.LOCK_EX)\ntime.sleep(1000)"
path = os.path.join(DIRECTORY, "lock")
keeper = python("keeper", source, path)
time.sleep(0.5)
for i in range(3):
    python("waiter", source, path)
go((keeper, "keeper"))
