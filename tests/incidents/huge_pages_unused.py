# A seventh of the memory is reserved as huge pages that no program uses.
import os
import re

from incident import decoy, go, skip, undo

path = "/proc/sys/vm/nr_hugepages"
info = dict(re.findall(r"(\w+): +(\d+)", open("/proc/meminfo").read()))
if os.geteuid() or "Hugepagesize" not in info:
    skip("needs root and huge pages")
if int(info["MemAvailable"]) < int(info["MemTotal"]) / 3:
    skip("too little memory is available")
old = open(path).read()


def write(value):
    with open(path, "w") as file:
        file.write(str(value))


undo.append(lambda: write(old))
decoy()
write(int(info["MemTotal"]) // 7 // int(info["Hugepagesize"]))
go()
