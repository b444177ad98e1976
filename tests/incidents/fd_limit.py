# A server that never closes its connections reaches its limit of descriptors, and spins on accept.
from incident import decoy, go, python

decoy()
go((python("server", "import resource, socket, time\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\nlistener = socket.create_server(('127.0.0.1', 0))\nkept = []\n"
           "while True:\n    try:\n        kept.append(socket.create_connection(listener.getsockname()))\n        kept.append(listener.accept())\n"
           "    except OSError:\n        time.sleep(0.01)\n    time.sleep(0.02)"), "server"))
