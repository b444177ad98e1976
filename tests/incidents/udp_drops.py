# A receiver of UDP reads too slowly.
from incident import decoy, go, python
import socket

probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
probe.bind(("127.0.0.1", 0))
port = probe.getsockname()[1]
probe.close()
decoy()
receiver = python("receiver", f"import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)\ns.bind(('127.0.0.1', {port}))\n"
                  "while True:\n    s.recv(2000)\n    time.sleep(0.05)")
python("sender", f"import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nwhile True:\n    s.sendto(b'x' * 200, ('127.0.0.1', {port}))\n    time.sleep(0.001)")
go((receiver, "receiver"))
