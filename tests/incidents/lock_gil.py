# Four threads of Python compute: one at a time.
from incident import decoy, go, python

decoy()
go((python("giller", "import threading\ndef run():\n    n = 0\n    while True:\n        n += 1\n"
           "for i in range(4):\n    threading.Thread(target=run).start()"), "giller"), kinds=("lock_contention",))
