# The link of an interface (one end of a veth pair) goes down and up again and again.
import os
import subprocess
import threading
import time

from incident import decoy, go, skip, undo

near, far = f"kt{os.getpid() % 100000}a", f"kt{os.getpid() % 100000}b"
ip = lambda *words: subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
made = ip("link", "add", near, "type", "veth", "peer", "name", far)
if made.returncode:
    skip(f"no veth: {made.stderr.strip()}")
undo.append(lambda: ip("link", "del", near))
ip("link", "set", near, "up")
decoy()
stop = threading.Event()


def flap():
    while not stop.wait(0.5):
        ip("link", "set", far, "down")
        time.sleep(0.2)
        ip("link", "set", far, "up")


thread = threading.Thread(target=flap, daemon=True)  # else it is waited for before the end
undo.append(thread.join)
undo.append(stop.set)  # the last one is done first
thread.start()
go((0, near))
