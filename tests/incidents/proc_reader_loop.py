# A script reads the files of all processes by a program that it starts again and again.
from incident import decoy, go, start

decoy()
go((start("watchdog", ["sh", "-c", "while :; do cat /proc/[0-9]*/stat /proc/[0-9]*/status /proc/[0-9]*/smaps >/dev/null 2>&1; done"]), "watchdog"), kinds=("proc_reader",))
