# A server resets its connections; a client connects 300 times per second.
from incident import decoy, go, python

decoy()
server = python("resetter", "import socket, struct, time\nlistener = socket.create_server(('127.0.0.1', 0), backlog=64)\nopen('/proc/self/comm', 'w').write('resetter')\n"
                "import os, sys\nif not os.fork():\n    while True:\n        try:\n            s = socket.create_connection(listener.getsockname())\n            s.recv(1)\n"
                "        except OSError:\n            pass\n        time.sleep(0.003)\nwhile True:\n    s = listener.accept()[0]\n"
                "    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))\n    s.close()")
go((server, "resetter"))
