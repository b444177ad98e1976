# A server does not accept; clients connect.
from incident import decoy, go, python
import socket

probe = socket.create_server(("127.0.0.1", 0))
port = probe.getsockname()[1]
probe.close()
decoy()
server = python("sleeper", f"import socket, time\nlistener = socket.socket()\nlistener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\nlistener.bind(('127.0.0.1', {port}))\n"
                "listener.listen(1)\ntime.sleep(1000)")
python("clients", f"import socket, time\ntime.sleep(0.5)\nkept = []\nwhile True:\n    s = socket.socket()\n    s.setblocking(False)\n    s.connect_ex(('127.0.0.1', {port}))\n    kept.append(s)\n"
       "    if len(kept) > 200:\n        kept.pop(0).close()\n    time.sleep(0.02)")
go((server, "sleeper"))
