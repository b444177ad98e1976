# A process copies zeros in the kernel as fast as it can.
import subprocess

from incident import decoy, go, start

decoy()
go((start("copier", ["dd", "if=/dev/zero", "of=/dev/null", "bs=16M"], stderr=subprocess.DEVNULL), "copier"))
