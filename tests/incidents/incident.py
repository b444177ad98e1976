"""Shared by the scripts that bring incidents about: programs from source, a busy decoy, and their end."""
import atexit
import ctypes
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CLONE_NEWNET = 0x40000000
DIRECTORY = tempfile.mkdtemp(prefix="ktop-incident-", dir="/var/tmp")
running = []
servers = []  # those of them that end last: file systems are unmounted before
undo = []  # functions, last first


def _end(processes):
    for process in processes:
        try:
            os.killpg(process.pid, signal.SIGKILL)  # its children as well, also when it has ended
        except ProcessLookupError:
            pass
    for process in processes:
        process.wait()


def _clean():
    _end([process for process in running if process not in servers])
    for function in reversed(undo):
        function()
    _end(servers)
    shutil.rmtree(DIRECTORY, ignore_errors=True)


atexit.register(_clean)


def skip(reason):
    print("skip", reason, flush=True)
    sys.exit(0)


def start(name, argv, **options):
    """A process of that name, in a session of its own."""
    path = os.path.join(DIRECTORY, name)
    if not os.path.exists(path):  # the kernel names a process after the path that it executes
        os.symlink(shutil.which(argv[0]), path)
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "start_new_session": True, **options}
    running.append(subprocess.Popen([path, *argv[1:]], **options))
    return running[-1]


def build(name, source, *flags):
    """A C program of that name; its path."""
    path = os.path.join(DIRECTORY, name)
    subprocess.run(["cc", "-O1", "-pthread", "-x", "c", "-o", path, "-", *flags], input=source, text=True, check=True)
    return path


def program(name, source, *arguments):
    return start(name, [build(name, source), *map(str, arguments)])


def python(name, source, *arguments):
    return start(name, [sys.executable, "-c", source, *map(str, arguments)])


def decoy():
    """An innocent process that uses half of a CPU."""
    python("innocent", "import time\nwhile True:\n    end = time.monotonic() + 0.01\n    while time.monotonic() < end:\n        pass\n    time.sleep(0.01)")


def realtime_cpus():
    """Two CPUs or more, on which processes may have a real-time priority."""
    if os.geteuid():
        skip("needs root")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        skip("needs two CPUs")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError as error:
        skip(f"no real-time priority: {error.strerror}")
    return cpus


def contained(kind):
    """The incident of that script, with all its processes in a network namespace of their own, as in a container."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) or subprocess.run(["ip", "link", "set", "lo", "up"], check=False).returncode:
        skip("no network namespaces")
    print("kinds", kind, flush=True)
    importlib.import_module(kind)


def sysctl(name, value):
    """A file below /proc/sys, with that value until the end of the script."""
    path = f"/proc/sys/{name}"
    try:
        with open(path, encoding="utf-8") as file:
            old = file.read()
        _write(path, value)
    except OSError as error:
        skip(f"{name} cannot be set: {error}")
    undo.append(lambda: _write(path, old))


def _write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(value))


# ---- disks and control groups ----

def fuse_disk(size_mb, delay_us, name="slowdisk"):
    """A file whose reads and writes each take delay_us (tests/slowfuse.c), and its server."""
    if not os.path.exists("/dev/fuse") or os.geteuid():
        skip("needs root and /dev/fuse")
    mount, program = os.path.join(DIRECTORY, "fuse"), os.path.join(DIRECTORY, name)
    os.mkdir(mount)
    subprocess.run(["cc", "-O2", "-o", program, os.path.join(os.path.dirname(__file__), "../slowfuse.c"), "-lpthread"], check=True)
    server = start(name + ".run", [program, mount, str(size_mb), str(delay_us)])
    servers.append(server)
    undo.append(lambda: subprocess.run(["umount", "-l", mount], check=False))
    path = os.path.join(mount, "disk")
    for _ in range(50):
        if os.path.exists(path):
            break
        time.sleep(0.1)
    return path, server


def disk_image(mib):
    """A file of zeros of that size, for loop_disk: its path."""
    path = os.path.join(DIRECTORY, "image")
    with open(path, "wb") as file:
        file.truncate(mib << 20)
    return path


def loop_disk(path, *options):
    """A loop device on that file: its path."""
    if os.geteuid():
        skip("needs root")
    made = subprocess.run(["losetup", *options, "-f", "--show", path], check=False, capture_output=True, text=True)
    if made.returncode:
        skip(f"no loop device: {made.stderr.strip()}")
    loop = made.stdout.strip()
    undo.append(lambda: subprocess.run(["losetup", "-d", loop], check=False))
    return loop


def ext4(device, *options):
    """A new file system on that device: where it is mounted."""
    mount = os.path.join(DIRECTORY, "mnt")
    os.mkdir(mount)
    subprocess.run(["mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", *options, device], check=True)
    subprocess.run(["mount", device, mount], check=True)
    undo.append(lambda: subprocess.run(["umount", mount], check=False))
    return mount


def cgroup(controller, v1, v2):
    """A new control group with those values of files of cgroup v1, or else of v2: the path of its cgroup.procs."""
    at = os.path.join("/sys/fs/cgroup", controller)
    root, values = (at, v1) if os.path.isdir(at) else ("/sys/fs/cgroup", v2)
    group = os.path.join(root, f"ktop-incident-{os.getpid()}")
    try:
        os.mkdir(group)
        undo.append(lambda: _remove(group))
        for name, value in values.items():
            with open(os.path.join(group, name), "w") as file:
                file.write(str(value))
    except OSError as error:
        skip(f"no {controller} controller: {error}")
    return os.path.join(group, "cgroup.procs")


def _remove(group):
    for _ in range(50):  # tasks that were killed leave it a little later
        try:
            return os.rmdir(group)
        except OSError:
            time.sleep(0.1)


# For the source of a Python program: it enters the control group.
def enter(procs):
    return f"open({procs!r}, 'w').write('0')\n"


READER = """import mmap, os, random, sys, threading, time
disk, threads, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
fd = os.open(disk, os.O_RDONLY | os.O_DIRECT)
blocks = os.lseek(fd, 0, os.SEEK_END) // 4096
def run():
    block = mmap.mmap(-1, 4096)
    while True:
        try:
            os.preadv(fd, [block], random.randrange(blocks) * 4096)
        except OSError:
            pass
        time.sleep(pause)
for _ in range(threads - 1):
    threading.Thread(target=run).start()
run()
"""


def disk_reader(name, disk, threads=1, pause=0, procs=None):
    """A process that reads random blocks, not from the page cache; `procs`: in that control group."""
    return python(name, (enter(procs) if procs else "") + READER, disk, threads, pause)


def go(*culprits, kinds=()):
    """The incident begins; waits until it should end."""
    if kinds:
        print("kinds", *kinds)
    for process, name in culprits:
        print("culprit", process if isinstance(process, int) else process.pid, name)
    print("go", flush=True)
    sys.stdin.read()
