"""For tests of ktop's use of kernel tracing: a tracefs mount private to the test, and ktop processes that are always ended."""
import os
import re
import subprocess
import sys
import time

from ktop import KTOP, SLOW, need_root, skip  # noqa: F401 (scripts import them from here)



def wait_for(what, seconds, condition):
    """Waits until condition() is true; returns the seconds waited."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > seconds:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.01)
    return time.monotonic() - start


def never_idle():
    """Starts one SCHED_IDLE busy loop per CPU; the caller must kill them, and they exit with it. Some kernels omit scheduler events and
    perf records while a CPU's idle task runs; with these loops no CPU is ever idle."""
    code = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)); os.sched_setaffinity(0, {%d})\nwhile os.getppid() == %d: pass"
    return [subprocess.Popen([sys.executable, "-c", code % (cpu, os.getpid())]) for cpu in sorted(os.sched_getaffinity(0))]


class Overlay:
    """The program WORK/static in another mount and PID namespace, on an overlay that only that namespace has, where it is /program and,
    by an absolute link, /link. pid is None if no such namespace can be made here."""

    def __init__(self, work, start):
        script = f"""
set -e
mount -t tmpfs none {work}/layers
mkdir -p {work}/layers/lower {work}/layers/upper {work}/layers/work {work}/layers/root
cp {work}/static {work}/layers/lower/program
mount -t overlay overlay -o lowerdir={work}/layers/lower,upperdir={work}/layers/upper,workdir={work}/layers/work {work}/layers/root
ln -s /program {work}/layers/root/link
exec chroot {work}/layers/root {start}
"""
        os.makedirs(f"{work}/layers", exist_ok=True)
        self.helper = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "sh", "-c", script],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = None
        if self.helper.stdout.readline():
            with open(f"/proc/{self.helper.pid}/task/{self.helper.pid}/children") as f:
                self.pid = int(f.read().split()[0])

    def do(self, what):
        self.helper.stdin.write(what + "\n")
        self.helper.stdout.readline()

    def end(self):
        self.helper.stdin.close()
        self.helper.wait(10)
        self.helper.stdout.close()


class Tracefs:
    """tracefs of a helper process in a private mount namespace: the machine's mounts do not change."""

    def __init__(self):
        self.helper = subprocess.Popen(
            ["unshare", "-m", "--propagation", "private", "sh", "-c",
             "mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing || exit 1; echo ok; exec sleep 600"],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        if self.helper.stdout.readline() != "ok\n":
            self.close()
            skip("tracefs cannot be mounted here")
        self.path = f"/proc/{self.helper.pid}/root/sys/kernel/tracing"
        self.inside = ["nsenter", f"--mount=/proc/{self.helper.pid}/ns/mnt"]

    def close(self):
        self.helper.kill()
        self.helper.wait()
        self.helper.stdout.close()

    def instances(self):
        return os.listdir(f"{self.path}/instances")

    def of(self, pid):
        return [name for name in self.instances() if re.match(rf"ktop-{pid}-\d+-", name)]

    def read(self, file):
        try:
            with open(f"{self.path}/{file}") as f:
                return f.read()
        except OSError:  # it was removed meanwhile
            return ""

    def write(self, file, text, append=False):
        fd = os.open(f"{self.path}/{file}", os.O_WRONLY | (os.O_APPEND if append else 0))  # open() would seek, which tracefs refuses
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)

    def enabled(self, pid):
        """The process's instances that have an enabled event."""
        return [n for n in self.of(pid) if self.read(f"instances/{n}/events/enable").strip() in ("1", "X")]


def uprobes_tracefs():
    """Tracefs of a kernel with uprobes, for root; else the script is skipped."""
    need_root("uprobes")
    trace = Tracefs()
    if not os.path.exists(f"{trace.path}/uprobe_events"):
        trace.close()
        skip("this kernel has no uprobe_events")
    return trace


def guard_of(pid):
    """PID of that ktop's guard process, or None."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as f:
                    if f.read().rstrip(b"\0") == b"ktop-guard of %d" % pid:
                        return int(entry)
            except OSError:
                pass
    return None


def start_time(pid):
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rpartition(")")[2].split()[19])


class Ktop:
    """A ktop in batch mode that traces block events, in a new session."""

    def __init__(self, trace, mounted=False, out=None, delay="0.5"):
        self.trace = trace
        self.p = subprocess.Popen((trace.inside if mounted else []) + [KTOP, "--batch", "--pane", "health", "--format", "json", "--delay", delay],
                                  stdin=subprocess.DEVNULL, stdout=out or subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  start_new_session=True)
        self.pid = self.p.pid
        try:
            wait_for("block tracing", 10 * SLOW, lambda: trace.enabled(self.pid) or self.p.poll() is not None)
            assert self.p.poll() is None, f"ktop exited with {self.p.returncode}"
        except BaseException:
            self.end()
            raise

    def signal(self, number, group=False):
        (os.killpg if group else os.kill)(self.pid, number)

    def end(self):
        if self.p.poll() is None:
            self.p.kill()
        self.p.wait()


def gone(trace, pid):
    return not trace.of(pid) and not guard_of(pid)


def dead_pid():
    p = subprocess.Popen(["true"])
    p.wait()
    return p.pid


