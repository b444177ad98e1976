# A process takes 20 MB every 0.1 s.
from incident import decoy, go, python

decoy()
go((python("leaker", "import time\nkept = []\nwhile True:\n    kept.append(b'x' * 20000000)\n    time.sleep(0.1)"), "leaker"))
