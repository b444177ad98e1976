# A client connects again and again, until it has no local port left.
import os

from incident import decoy, go, python, skip, undo

path = "/proc/sys/net/ipv4/ip_local_port_range"
try:
    old = open(path).read()
    with open(path, "w") as file:
        file.write("40000 40255")
except OSError as error:
    skip(f"the range cannot be set: {error}")


def restore():
    with open(path, "w") as file:
        file.write(old)


undo.append(restore)
decoy()
client = python("client", "import socket, time\nlistener = socket.create_server(('127.0.0.1', 30999))\nkept = []\n"
                "while True:\n    try:\n        kept.append(socket.create_connection(('127.0.0.1', 30999)))\n        kept.append(listener.accept()[0])\n"
                "    except OSError:\n        time.sleep(0.1)\n    time.sleep(0.005)")
go((client, "client"))
