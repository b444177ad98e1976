# A receiver of a TCP connection does not read: its window is closed, and the sender waits.
from incident import decoy, go, python
import socket

probe = socket.create_server(("127.0.0.1", 0))
port = probe.getsockname()[1]
probe.close()
decoy()
reader = python("reader", f"import socket, time\nlistener = socket.create_server(('127.0.0.1', {port}))\ns = listener.accept()[0]\ns.recv(100)\ntime.sleep(1000)")
python("sender", f"import socket, time\ns = None\nwhile not s:\n    try:\n        s = socket.create_connection(('127.0.0.1', {port}))\n    except OSError:\n        time.sleep(0.1)\nwhile True:\n    s.sendall(b'x' * 65536)")
go((reader, "reader"))
