# A process sends signals to another one in a loop.
from incident import decoy, go, python

decoy()
receiver = python("receiver", "import signal, time\nsignal.signal(signal.SIGUSR1, lambda *a: None)\nwhile True:\n    time.sleep(1)")
go((python("notifier", f"import os, signal, time\ntime.sleep(0.3)\nwhile True:\n    os.kill({receiver.pid}, signal.SIGUSR1)"), "notifier"))
