# A client opens and closes connections until every local port is in TIME-WAIT, where no process has them any more.
from incident import decoy, go, python, sysctl

sysctl("net/ipv4/ip_local_port_range", "40000 40255")
decoy()
client = python("opener", "import os, socket, time\nlistener = socket.create_server(('127.0.0.1', 30998), backlog=512)\n"
                "if not os.fork():\n    while True:\n        listener.accept()[0].recv(1)\n"
                "open('/proc/self/comm', 'w').write('opener')\n"
                "while True:\n    try:\n        socket.create_connection(('127.0.0.1', 30998)).close()\n"
                "    except OSError:\n        time.sleep(0.05)\n    time.sleep(0.005)")
go((client, "opener"), kinds=["local_ports"])
