# A monitoring program reads the files of all processes again and again.
from incident import decoy, go, python

decoy()
go((python("agent", "import os\nwhile True:\n    for pid in os.listdir('/proc'):\n        if pid.isdigit():\n            for name in ('stat', 'status', 'smaps_rollup', 'io'):\n                try:\n"
           "                    with open(f'/proc/{pid}/{name}', 'rb') as file:\n                        file.read()\n                except OSError:\n                    pass"), "agent"))
