# A client never closes the sockets that its server has closed.
from incident import decoy, go, python

decoy()
go((python("forgetful", "import socket, resource, time\nresource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)\nlistener = socket.create_server(('127.0.0.1', 0))\nkept = []\n"
           "while True:\n    if len(kept) < 800:\n        kept.append(socket.create_connection(listener.getsockname()))\n        listener.accept()[0].close()\n    time.sleep(0.001)"), "forgetful"))
