# A process starts 250 programs and never waits for them.
from incident import decoy, go, python

decoy()
go((python("neglecter", "import os, time\nfor _ in range(250):\n    if not os.fork():\n        os._exit(0)\n    time.sleep(0.01)\nwhile True:\n    time.sleep(10)"), "neglecter"))
