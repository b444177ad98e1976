# A name server elsewhere does not answer; a program sends its queries from a socket that is not connected.
from incident import decoy, go, python, skip, undo
import os
import subprocess

SERVER, ADDRESS = "198.51.100.53", "198.51.100.1"  # of the network for documentation (RFC 5737)
link = f"ktdns{os.getpid()}"


def ip(*words):
    made = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if made.returncode:
        skip(f"no route to nowhere: {made.stderr.strip()}")


ip("link", "add", link, "type", "veth", "peer", "name", f"{link}p")
undo.append(lambda: subprocess.run(["ip", "link", "del", link], check=False))
ip("link", "set", f"{link}p", "up")
ip("link", "set", link, "up")
ip("addr", "add", f"{ADDRESS}/32", "dev", link)
ip("route", "add", f"{SERVER}/32", "dev", link)
ip("neigh", "add", SERVER, "lladdr", "02:00:00:00:00:53", "dev", link, "nud", "permanent")  # of no device
decoy()
# In a container: a new socket for each look-up, as musl does.
once = __name__ == "__main__"
query = r"b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01'"
client = python("resolver", f"import socket, time\ntime.sleep(0.3)\ns = None\nwhile True:\n    if not s or not {once}:\n        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                f"    s.settimeout(5)\n    s.sendto({query}, ('{SERVER}', 53))\n    try:\n        s.recvfrom(512)\n    except OSError:\n        pass")
go((client, "resolver"), kinds=["dns_no_answer"])
