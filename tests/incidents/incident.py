"""Shared by the scripts that bring incidents about: programs from source, a busy decoy, and their end."""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

DIRECTORY = tempfile.mkdtemp(prefix="ktop-incident-", dir="/var/tmp")
running = []
servers = []  # those of them that end last: file systems are unmounted before
undo = []  # functions, last first


def _end(processes):
    for process in processes:
        if process.poll() is None:
            process.kill()
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


def go(*culprits, kinds=()):
    """The incident begins; waits until it should end."""
    if kinds:
        print("kinds", *kinds)
    for process, name in culprits:
        print("culprit", process if isinstance(process, int) else process.pid, name)
    print("go", flush=True)
    sys.stdin.read()
