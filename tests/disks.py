"""For tests of the disk pane on the real kernel: loop devices over tmpfs, ktop in batch, sums over its frames."""
import ctypes, fcntl, json, os, re, shutil, signal, struct, subprocess, sys, tempfile, time

from ktop import KTOP, Batch, check, failed, frame_time, skip, skip_part, tries  # noqa: F401

undo = []  # called in reverse order at exit, also after a failure


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def read(path):
    with open(path, errors="replace") as f:
        return f.read()


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, **options).stdout


def need(*tools):
    if os.geteuid() != 0:
        skip("needs root: makes loop devices")
    for tool in tools:
        if not shutil.which(tool):
            skip(f"needs {tool}")
    if not os.path.exists("/dev/loop-control"):
        skip("this kernel has no loop devices")
    if os.environ.get("KTOP_TEST_PRIVATE") != "1":  # a private mount namespace
        os.environ["KTOP_TEST_PRIVATE"] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])


def tmpfs():
    work = tempfile.mkdtemp(prefix="ktop-disks-")
    undo.append(lambda: shutil.rmtree(work, ignore_errors=True))
    run("mount", "-t", "tmpfs", "none", work)
    undo.append(lambda: subprocess.run(["umount", "-l", work], capture_output=True))
    return work


BLKPG, BLKPG_ADD, BLKPG_DEL = 0x1269, 1, 2


def partitions(path):
    """Names and numbers of the partitions, in order."""
    folder = "/sys/block/" + os.path.basename(path)
    found = [(name, int(read(f"{folder}/{name}/partition"))) for name in os.listdir(folder) if os.path.exists(f"{folder}/{name}/partition")]
    return sorted(found, key=lambda p: p[1])


def blkpg(path, what, number, begin=0, size=0):
    part = ctypes.create_string_buffer(struct.pack("qqi64s64s", begin, size, number, b"", b"").ljust(152, b"\0"), 152)
    with open(path, "rb") as f:
        fcntl.ioctl(f, BLKPG, struct.pack("iiiP", what, 0, 152, ctypes.addressof(part)))


def partitions_clear(path):
    """Removes the partitions; False if one is in use."""
    for _, number in partitions(path):
        try:
            blkpg(path, BLKPG_DEL, number)
        except OSError as problem:
            print(f"partition {number} of {path}: {problem}", flush=True)
    return not partitions(path)


class Loop:
    def __init__(self, work, mib, direct=False):
        self.file = tempfile.mktemp(dir=work)
        with open(self.file, "wb") as f:
            for _ in range(mib):
                f.write(b"\0" * (1 << 20))
        self.attach(self.file)

    def attach(self, file, *options):
        """Attaches a device without partitions: a free one may have stale ones. A device whose partitions are in use is held until another
        one is found."""
        refused = []
        try:
            while True:
                self.path = run("losetup", "-f", "--show", *options, file).strip()
                if partitions_clear(self.path):
                    break
                refused.append(self.path)
                if len(refused) == 8:
                    raise SystemExit(f"the partitions of {', '.join(refused)} cannot be removed")
        finally:
            for path in refused:
                subprocess.run(["losetup", "-d", path], capture_output=True)
        undo.append(self.detach)
        self.name = os.path.basename(self.path)
        self.number = read(f"/sys/block/{self.name}/dev").strip()
        self.settings = {file: read(file).split("[")[-1].split("]")[0].strip()
                         for file in (f"/sys/block/{self.name}/queue/{name}" for name in ("scheduler", "nr_requests"))}

    def partition(self, begin, size):
        """Creates a partition of `size` bytes; returns its name."""
        before = partitions(self.path)
        blkpg(self.path, BLKPG_ADD, before[-1][1] + 1 if before else 1, begin, size)
        return next(name for name, number in partitions(self.path) if (name, number) not in before)

    def detach(self):
        """May be called twice: the device may have another owner by then."""
        if not self.path:
            return
        for file, value in self.settings.items():  # the scheduler first: it resets nr_requests
            if read(file).split("[")[-1].split("]")[0].strip() != value:
                write(file, value)
        partitions_clear(self.path)
        subprocess.run(["losetup", "-d", self.path], capture_output=True)
        self.path = None


class Over(Loop):
    """A loop device over an existing file."""

    def __init__(self, path, *options):
        self.attach(path, *options)


def slow_disk(work, delay_us, *options):
    """A loop device over a file system that delays each request by delay_us (tests/slowfuse.c), without limiting concurrency."""
    if not os.path.exists("/dev/fuse"):
        skip("this kernel has no FUSE")
    program, point = os.path.join(work, "slowfuse"), tempfile.mkdtemp(dir=work)
    if not os.path.exists(program):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slowfuse.c")
        run("cc", "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-o", program, source, "-lpthread")
    first = ["chrt", "-f", "1"] if shutil.which("chrt") else []
    process = subprocess.Popen([*first, program, point, "32", str(int(delay_us))])

    def remove():
        subprocess.run(["umount", "-l", point], capture_output=True)
        process.kill()
        process.wait()

    undo.append(remove)
    for _ in range(250):
        if os.path.exists(point + "/disk"):
            return Over(point + "/disk", *options)
        time.sleep(0.02)
    raise SystemExit("slowfuse does not serve")


def seconds(frame, collector="block"):
    """Interval of this source's rates; 0 if they are those of the previous frame."""
    return frame["intervals_s"].get(collector) or 0


class Ktop(Batch):
    """ktop with the disk pane, after its first frame."""

    def __init__(self, *arguments, delay=0.5, env=None):
        super().__init__("disk", *arguments, delay=delay, env={**os.environ, **(env or {})})
        self.process = self.p
        undo.append(self.stop)
        self.frame()

    def finish(self, seconds=0.02):
        """Reads frames until one ends `seconds` after now, then stops ktop."""
        now = time.time()
        while frame_time(self.frames[-1]) < now + seconds:
            self.frame()
        self.stop()

    def finish_counted(self, disks, settled=lambda frame: True):
        """finish() once n I/Os of each disk are counted, since under load some are in a later frame, and the last frame is settled. Flushes
        are subtracted: the kernel counts them as writes too."""
        latest = time.time() + 10  # many frames of before may wait in the pipe
        while not (settled(self.frames[-1]) and
                   all(self.count("io_latency", device=d) >= n - self.count("io_total", "F", device=d) for d, n in disks.items())):
            if frame_time(self.frame()) > latest:
                break
        self.finish()

    def stop(self):
        self.end()

    def hists(self, name, op="", **keys):
        """Histograms of that name whose operation starts with op."""
        return [h for f in self.frames for h in f["histograms"].get(name, [])
                if (h.get("op") or "").startswith(op) and all(h[k] == v for k, v in keys.items())]

    def count(self, name, op="", **keys):
        return sum(h["count"] for h in self.hists(name, op, **keys))

    def mean(self, name, op="", **keys):
        found = [h for h in self.hists(name, op, **keys) if h["count"]]
        return sum(h["sum"] for h in found) / max(1, sum(h["count"] for h in found))

    def rows(self, table, **keys):
        return [r for f in self.frames for r in f["tables"].get(table, []) if all(r[k] == v for k, v in keys.items())]

    def notes(self):
        return " | ".join(n["text"] for f in self.frames for n in f["notes"])

    def lost(self):
        return sum(f["lost_events"] for f in self.frames)


def diskstats(name):
    """Reads, writes, discards and flushes completed."""
    for line in read("/proc/diskstats").splitlines():
        f = line.split()
        if f[2] == name:
            return [int(f[3]), int(f[7]), int(f[14]), int(f[18])]
    raise SystemExit(f"{name} is not in /proc/diskstats")


def fio(*arguments, first=()):
    """Jobs of fio's report; first: a command prefix."""
    out = run(*first, "fio", *arguments, "--output-format=json")
    return json.loads(out[out.index("{"):])["jobs"]


def ending(main):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        main()
    finally:
        for action in reversed(undo):
            try:
                action()
            except Exception as problem:
                print(f"cleaning up: {problem}")
    sys.exit(1 if failed else 0)
