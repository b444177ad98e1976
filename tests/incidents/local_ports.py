# A client connects again and again, until it has no local port left.
from incident import decoy, go, python, sysctl

sysctl("net/ipv4/ip_local_port_range", "40000 40255")
decoy()
client = python("client", "import socket, time\nlistener = socket.create_server(('127.0.0.1', 30999))\nkept = []\n"
                "while True:\n    try:\n        kept.append(socket.create_connection(('127.0.0.1', 30999)))\n        kept.append(listener.accept()[0])\n"
                "    except OSError:\n        time.sleep(0.1)\n    time.sleep(0.005)")
go((client, "client"))
