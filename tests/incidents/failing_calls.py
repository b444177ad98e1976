# A program reads a non-blocking pipe in a loop instead of waiting for it.
from incident import decoy, go, python

decoy()
go((python("poller", "import os\nr, w = os.pipe()\nos.set_blocking(r, False)\nwhile True:\n    try:\n        os.read(r, 1)\n    except BlockingIOError:\n        pass"), "poller"))
