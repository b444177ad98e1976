# A link loses packets (a token bucket with a short queue, to a network namespace); a process sends through it.
import os
import subprocess

from incident import decoy, go, python, skip, undo

name = f"kt{os.getpid() % 100000}"
near, far = name + "a", name + "b"


def ip(*words):
    return subprocess.run(words, check=False, capture_output=True, text=True)


if os.geteuid() or ip("ip", "netns", "add", name).returncode:
    skip("needs root and ip netns")
undo.append(lambda: ip("ip", "netns", "del", name))
made = ip("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", name)
if made.returncode:
    skip(f"no veth: {made.stderr.strip()}")
undo.append(lambda: ip("ip", "link", "del", near))
ip("ip", "addr", "add", "10.53.53.1/30", "dev", near)
ip("ip", "link", "set", near, "up")
ip("ip", "netns", "exec", name, "ip", "addr", "add", "10.53.53.2/30", "dev", far)
ip("ip", "netns", "exec", name, "ip", "link", "set", far, "up")
made = ip("tc", "qdisc", "add", "dev", near, "root", "tbf", "rate", "10mbit", "burst", "5kb", "limit", "8kb")
if made.returncode:
    skip(f"no tbf: {made.stderr.strip()}")
decoy()
receive = "import socket\nlistener = socket.create_server(('10.53.53.2', 5001))\ns = listener.accept()[0]\nwhile s.recv(1 << 20):\n    pass"
receiver = subprocess.Popen(["ip", "netns", "exec", name, "python3", "-c", receive], start_new_session=True)
undo.append(receiver.wait)
undo.append(receiver.kill)
sender = python("uploader", "import socket, time\ns = None\nwhile not s:\n    try:\n        s = socket.create_connection(('10.53.53.2', 5001))\n    except OSError:\n        time.sleep(0.1)\n"
                "while True:\n    s.sendall(b'x' * 65536)")
go((sender, "uploader"))
