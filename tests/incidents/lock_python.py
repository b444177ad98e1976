# Eight threads of Python take turns with a lock (a semaphore, not a mutex).
from incident import decoy, go, python

decoy()
go((python("pylocker", "import threading, time\nlock = threading.Lock()\ndef run():\n    while True:\n        with lock:\n            time.sleep(0.001)\n"
           "for i in range(8):\n    threading.Thread(target=run).start()"), "pylocker"), kinds=("lock_contention",))
