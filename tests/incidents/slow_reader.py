# A receiver of a TCP connection reads a little at a time: the sender waits for it.
from incident import decoy, go, python
import socket

probe = socket.create_server(("127.0.0.1", 0))
port = probe.getsockname()[1]
probe.close()
decoy()
reader = python("reader", f"import socket, time\nlistener = socket.create_server(('127.0.0.1', {port}))\ns = listener.accept()[0]\nwhile True:\n    s.recv(2000)\n    time.sleep(0.2)")
python("sender", f"import socket, time\ns = None\nwhile not s:\n    try:\n        s = socket.create_connection(('127.0.0.1', {port}))\n    except OSError:\n        time.sleep(0.1)\nwhile True:\n    s.sendall(b'x' * 65536)")
go((reader, "reader"), kinds=["zero_window"])
