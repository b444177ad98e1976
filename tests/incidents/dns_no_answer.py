# A name server does not answer; programs that look up names wait for it.
from incident import decoy, go, python, skip
import socket

address = "127.53.53.53"
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    probe.bind((address, 53))
except OSError as error:
    skip(f"port 53 cannot be used: {error}")
probe.close()
decoy()
python("silent", f"import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('{address}', 53))\ntime.sleep(1000)")
query = r"b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01'"
client = python("resolver", f"import socket, time\ntime.sleep(0.3)\nwhile True:\n    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n    s.connect(('{address}', 53))\n"
                f"    s.settimeout(5)\n    s.send({query})\n    try:\n        s.recv(512)\n    except OSError:\n        pass\n    s.close()")
go((client, "resolver"))
