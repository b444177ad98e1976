# A seventh of the memory is reserved as huge pages that no program uses.
import os
import re

from incident import decoy, go, skip, sysctl

info = dict(re.findall(r"(\w+): +(\d+)", open("/proc/meminfo").read()))
if os.geteuid() or "Hugepagesize" not in info:
    skip("needs root and huge pages")
if int(info["MemAvailable"]) < int(info["MemTotal"]) / 3:
    skip("too little memory is available")
decoy()
sysctl("vm/nr_hugepages", int(info["MemTotal"]) // 7 // int(info["Hugepagesize"]))
go()
