# A foreign instance of tracefs records sched_switch, and no process reads it.
import os
import subprocess

from incident import DIRECTORY, decoy, go, skip, undo

if os.geteuid():
    skip("needs root")
mount, name = os.path.join(DIRECTORY, "tracing"), f"left-{os.getpid()}"
os.mkdir(mount)


def tracefs(command):
    """The command in a mount namespace of its own, with tracefs as its directory."""
    return subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tracefs nodev {mount} && cd {mount}/instances && {command}"], check=False,
                          stderr=subprocess.DEVNULL).returncode


def clean():
    tracefs(f"rmdir {name}")
    os.rmdir(mount)


undo.append(clean)
if tracefs(f"mkdir {name} && echo 8 >{name}/buffer_size_kb && echo 1 >{name}/events/sched/sched_switch/enable"):
    skip("no tracefs")
decoy()
go((0, name))
