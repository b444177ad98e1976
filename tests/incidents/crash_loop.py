# A supervisor starts a program that crashes, again and again.
from incident import build, decoy, go, python

decoy()
worker = build("worker", "#include <unistd.h>\nint main(void) { usleep(100000); return *(volatile int *)0; }")
go((python("supervisor", f"import subprocess, time\nwhile True:\n    subprocess.call(['{worker}'])\n    time.sleep(0.5)"), "supervisor"))
