#!/usr/bin/env python3
# needs: root, fio, loop devices, FUSE; the disk pane's latencies equal the text of a second trace instance, known delays and fio's own, its counts /proc/diskstats
"""Three truths of the disk pane.

text    p50, p99 and max of io_latency within one bucket of what is computed I/O by I/O from the text of an independent
        tracefs instance that records the same fio run (real file and loop device over tmpfs, depth 1 and 32);
        counts equal to /proc/diskstats
delay   on a loop device over a FUSE file that delays: within 3 % of the delay plus what the same stack costs without
fio     there, within 5 % of fio's own `lat` percentiles
Arguments choose: t_disk_truth.py [text] [delay].
"""
import bisect, calendar, json, os, re, shutil, signal, subprocess, sys, tempfile, time

KTOP = os.environ.get("KTOP", "build/ktop")
HERE = os.path.dirname(os.path.abspath(__file__))
TRACING = "/sys/kernel/tracing"
SUB_BITS = 6
undo = []  # called backwards at the end, whatever happens


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def read(path):
    with open(path, errors="replace") as f:
        return f.read()


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, **options).stdout


def bucket(ns):
    """The bucket of ktop's histograms: 64 to a power of two."""
    ns = int(ns)
    if ns < 1 << SUB_BITS:
        return ns
    shift = ns.bit_length() - 1 - SUB_BITS
    return ((shift + 1) << SUB_BITS) + ((ns >> shift) & ((1 << SUB_BITS) - 1))


def rank(count, q):
    return max(1, -(-count * q // 1))  # nearest rank: ceil(q * n)


class Hist:
    """Histograms of several frames together."""

    def __init__(self, items):
        self.count = sum(h["count"] for h in items)
        self.max = max((h["max"] for h in items if h["count"]), default=0)
        merged = {}
        for h in items:
            assert sum(b[2] for b in h["buckets"]) == h["count"], "a bucket is missing"
            for low, high, n in h["buckets"]:
                merged[(low, high)] = merged.get((low, high), 0) + n
        self.buckets = sorted((low, high, n) for (low, high), n in merged.items())

    def quantile_us(self, q):
        seen, want = 0, rank(self.count, q)
        for low, high, n in self.buckets:
            seen += n
            if seen >= want:
                return min((low + high) / 2, self.max)
        return float("nan")


class Ktop:
    """The program in batch mode; frames are read as they come."""

    def __init__(self, delay=0.5):
        self.process = subprocess.Popen([KTOP, "--batch", "--pane", "disk", "--format", "json", "-d", str(delay)],
                                        stdout=subprocess.PIPE, text=True)
        undo.append(self.stop)
        self.frames = []
        self.frame()  # it is up, and its buffers are clean

    def frame(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("ktop ended early")
        self.frames.append(json.loads(line))

    def finish(self):
        """All frames up to one that ends after now, then the end of the program."""
        now = time.time()
        while frame_time(self.frames[-1]) < now + 0.02:
            self.frame()
        self.stop()

    def hists(self, name, **keys):
        return Hist([h for f in self.frames for h in f["histograms"].get(name, [])
                     if all((h[k] or "")[:1] == v if k == "op" else h[k] == v for k, v in keys.items())])

    def lost(self):
        return sum(f["lost_events"] for f in self.frames)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(10)


def frame_time(frame):
    date, _, rest = frame["time"].partition("T")
    h, m, s = rest.rstrip("Z").split(":")
    day = calendar.timegm(time.strptime(date, "%Y-%m-%d"))
    return day + int(h) * 3600 + int(m) * 60 + float(s)


class Text:
    """A second instance: its text is the truth. With the x86-tsc clock the text has every cycle; other clocks print
    microseconds only, too coarse for a fast disk."""

    EVENT = re.compile(r"^\s*(.{1,16})-(\d+)\s+\[\d+\]\s+\S+\s+([\d.]+): (block_rq_\w+|tracing_mark_write): (.*)$")
    FIELDS = re.compile(r"^(\d+),(\d+) (\w+) (?:\d+ )?\(.*?\) (\d+) \+ (\d+)")

    def __init__(self):
        self.dir = f"{TRACING}/instances/truth-{os.getpid()}"
        os.mkdir(self.dir)
        undo.append(self.remove)
        clocks = read(self.dir + "/trace_clock")
        self.cycles = "x86-tsc" in clocks
        write(self.dir + "/trace_clock", "x86-tsc" if self.cycles else "mono")
        write(self.dir + "/buffer_size_kb", "16384")
        for event in ("block_rq_issue", "block_rq_complete"):
            write(f"{self.dir}/events/block/{event}/enable", "1")
        self.mark()

    def mark(self):
        """A mark whose wall time is known, so that the text's times can be converted."""
        best = None
        for _ in range(5):
            before = time.time()
            write(self.dir + "/trace_marker", f"at {len(undo)}\n")
            after = time.time()
            if best is None or after - before < best[1] - best[0]:
                best = (before, after)
        self.marks = getattr(self, "marks", []) + [best]

    def remove(self):
        if os.path.isdir(self.dir):
            write(self.dir + "/events/enable", "0")
            os.rmdir(self.dir)

    def ios(self, device):
        """Finished I/Os of the device: (op, latency in ns, wall time of the end, comm)."""
        self.mark()
        write(self.dir + "/events/enable", "0")
        for cpu in os.listdir(self.dir + "/per_cpu"):
            stats = read(f"{self.dir}/per_cpu/{cpu}/stats")
            assert "\noverrun: 0\n" in stats, "the second instance lost events"
        events, marks = [], []
        for line in read(self.dir + "/trace").splitlines():
            found = self.EVENT.match(line)
            if not found:
                continue
            comm, _, at, event, rest = found.groups()
            stamp = int(at) if self.cycles else int(at.replace(".", "")) * 1000
            if event == "tracing_mark_write":
                marks.append(stamp)
                continue
            fields = self.FIELDS.match(rest)
            events.append((stamp, event, comm, fields.groups()))
        events.sort(key=lambda e: e[0])  # the text is by time already, but for equal times
        first, last = marks[2], marks[-3]  # of five each; the middle one
        span = sum(self.marks[-1]) / 2 - sum(self.marks[0]) / 2
        ns_per_stamp = span * 1e9 / (last - first) if self.cycles else 1.0
        wall = lambda stamp: sum(self.marks[0]) / 2 + (stamp - first) * ns_per_stamp / 1e9
        open_ios, done = {}, []
        for stamp, event, comm, (major, minor, rwbs, sector, sectors) in events:
            if f"{major}:{minor}" != device or not int(sectors):
                continue
            if event == "block_rq_issue":
                open_ios.setdefault(sector, []).append((stamp, comm))
            elif open_ios.get(sector):
                issued, by = open_ios[sector].pop(0)
                done.append((rwbs[0], (stamp - issued) * ns_per_stamp, wall(stamp), by))
        self.remove()
        return done


def diskstats(name):
    for line in read("/proc/diskstats").splitlines():
        fields = line.split()
        if fields[2] == name:
            return int(fields[3]), int(fields[7])
    raise SystemExit(f"{name} is not in /proc/diskstats")


def fio(filename, depth, ios, size="32M"):
    # At depth 1 it mostly sleeps; ahead of others when it wakes, it measures the disk and not the wait for a CPU.
    first = ["chrt", "-f", "1"] if depth == 1 and shutil.which("chrt") else []
    out = run(*first, "fio", "--name=truth", f"--filename={filename}", "--rw=randread", "--bs=4k", "--direct=1",
              "--ioengine=libaio" if depth > 1 else "--ioengine=psync", f"--iodepth={depth}", f"--size={size}",
              f"--io_size={ios * 4}k", "--norandommap", "--randrepeat=0", "--lat_percentiles=1", "--percentile_list=50:90:99",
              "--output-format=json")
    return json.loads(out[out.index("{"):])["jobs"][0]["read"]


def loop_over(path):
    device = run("losetup", "-f", "--show", path).strip()
    undo.append(lambda: subprocess.run(["losetup", "-d", device], capture_output=True))
    return device


def disk_of(path):
    """Name and number of the disk that holds the file."""
    st = os.stat(path).st_dev
    at = os.path.realpath(f"/sys/dev/block/{os.major(st)}:{os.minor(st)}")
    if not os.path.isdir(at) or "/virtual/" in at and "loop" not in at:
        return None
    if os.path.exists(at + "/partition"):
        at = os.path.dirname(at)
    return os.path.basename(at), read(at + "/dev").strip()


def text_once(what, filename, name, number, depth, ios):
    text = Text()
    ktop = Ktop()
    before = diskstats(name)
    fio(filename, depth, ios)
    after = diskstats(name)
    ktop.finish()
    begin, end = frame_time(ktop.frames[0]), frame_time(ktop.frames[-1])
    ktop.frames = ktop.frames[1:]
    ours = ktop.hists("io_latency", device=name, op="R")
    truth = [io for io in text.ios(number) if io[0] == "R" and begin < io[2] <= end]
    ns = sorted(io[1] for io in truth)
    others = sum(io[3] != "fio" for io in truth)
    figures = []
    for label, mine, theirs in (("p50", ours.quantile_us(0.5), ns[int(rank(len(ns), 0.5)) - 1]),
                                ("p99", ours.quantile_us(0.99), ns[int(rank(len(ns), 0.99)) - 1]),
                                ("max", ours.max, ns[-1])):
        figures.append((label, mine, theirs / 1000, abs(bucket(mine * 1000) - bucket(theirs))))
    stats = after[0] - before[0]
    # Others' reads on a shared disk fall into the frames and not between the two looks at diskstats, or the edges.
    count_ok = ours.count == stats == len(ns) if not others else stats <= ours.count <= stats + others + 2
    # One bucket, or what a bucket of 3 % holds: below 8 us ktop's are finer than two recordings of one event agree.
    ok = all(f[3] <= 1 or abs(f[1] / f[2] - 1) <= 0.03 for f in figures) and count_ok and ktop.lost() == 0
    print(f"{'ok  ' if ok else 'no  '}text {what} depth {depth}: "
          + ", ".join(f"{label} {mine:.1f} us, text {theirs:.1f} ({off} buckets)" for label, mine, theirs, off in figures)
          + f"; count {ours.count}, text {len(ns)} ({others} not fio's), diskstats {stats}; lost {ktop.lost()}")
    return ok


def text_truth(work):
    path = os.path.join(work, "img")
    run("truncate", "-s", "32M", path)
    run("dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=32", "conv=notrunc")
    loop = loop_over(path)
    name = os.path.basename(loop)
    cases = [("loop over tmpfs", loop, name, read(f"/sys/block/{name}/dev").strip())]
    file = tempfile.NamedTemporaryFile(dir=os.environ.get("KTOP_TEST_DISK", "/var/tmp"), prefix="ktop-truth-")
    undo.append(file.close)
    disk = disk_of(file.name)
    if disk:
        file.write(os.urandom(32 << 20))
        file.flush()
        os.fsync(file.fileno())
        cases.append(("real file", file.name, *disk))
    else:
        print("note: /var/tmp is on no disk with request events: the case of a real file is left out")
    good = True
    for what, filename, name, number in cases:
        for depth, ios in ((1, 8000), (32, 20000)):
            # Two recordings of one event are a moment apart; when an interrupt falls between, the maximum differs.
            good &= any(text_once(what, filename, name, number, depth, ios) for _ in range(3))
    return good


def slow_disk(work, program, delay_us):
    point = os.path.join(work, f"slow{delay_us}")
    os.mkdir(point)
    first = ["chrt", "-f", "1"] if shutil.which("chrt") else []
    process = subprocess.Popen([*first, program, point, "32", str(delay_us)])

    def remove():
        subprocess.run(["umount", "-l", point], capture_output=True)
        process.kill()
        process.wait()

    undo.append(remove)
    for _ in range(100):
        if os.path.exists(point + "/disk"):
            return loop_over(point + "/disk")
        time.sleep(0.02)
    raise SystemExit("slowfuse does not serve")


def delay_once(device, ios):
    name = os.path.basename(device)
    ktop = Ktop()
    before = diskstats(name)
    fios = fio(device, 1, ios)
    after = diskstats(name)
    ktop.finish()
    ours = ktop.hists("io_latency", device=name, op="R")
    counts = ours.count == after[0] - before[0] and ktop.lost() == 0
    if not counts:
        print(f"no   count {ours.count}, diskstats {after[0] - before[0]}, lost {ktop.lost()}")
    return ours, fios["lat_ns"]["percentile"], counts


def delay_truth(work):
    program = os.path.join(work, "slowfuse")
    run("cc", "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-o", program, os.path.join(HERE, "slowfuse.c"), "-lpthread")
    bare, _, good = delay_once(slow_disk(work, program, 0), 2000)
    base = bare.quantile_us(0.5)
    print(f"     delay 0: p50 {base:.1f} us, count {bare.count}")
    for delay_us, ios in ((1000, 600), (5000, 200), (20000, 80)):
        device = slow_disk(work, program, delay_us)
        for _ in range(4):
            ours, fios, counts = delay_once(device, ios)
            p50, wanted = ours.quantile_us(0.5), delay_us + base
            off = 100 * (p50 / wanted - 1)
            pairs = [(q, ours.quantile_us(q / 100), fios[f"{q}.000000"] / 1000) for q in (50, 90, 99)]
            ok = counts and abs(off) <= 3 and all(abs(mine / theirs - 1) <= 0.05 for _, mine, theirs in pairs)
            print(f"{'ok  ' if ok else 'no  '}delay {delay_us} us: p50 {p50:.1f}, wanted {wanted:.1f} ({off:+.1f} %); "
                  + ", ".join(f"p{q} {mine:.1f}, fio {theirs:.1f}" for q, mine, theirs in pairs) + f"; count {ours.count}")
            if ok:
                break
        good &= ok
    return good


def main():
    if os.geteuid() != 0:
        skip("needs root: makes a trace instance, loop devices and a FUSE mount")
    for tool in ("fio", "losetup", "cc"):
        if not shutil.which(tool):
            skip(f"needs {tool}")
    if os.environ.get("KTOP_TRUTH_PRIVATE") != "1":  # what it mounts is nobody else's
        os.environ["KTOP_TRUTH_PRIVATE"] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    wanted = sys.argv[1:] or ["text", "delay"]
    if not os.path.exists(TRACING + "/instances"):
        if subprocess.run(["mount", "-t", "tracefs", "nodev", TRACING], capture_output=True).returncode:
            skip("tracefs cannot be mounted")
    if not os.path.exists("/dev/loop-control"):
        skip("this kernel has no loop devices")
    work = tempfile.mkdtemp(prefix="ktop-truth-")
    undo.append(lambda: shutil.rmtree(work, ignore_errors=True))
    run("mount", "-t", "tmpfs", "none", work)
    undo.append(lambda: subprocess.run(["umount", "-l", work], capture_output=True))
    good = True
    if "text" in wanted:
        good &= text_truth(work)
    if "delay" in wanted:
        if os.path.exists("/dev/fuse"):
            good &= delay_truth(work)
        else:
            print("skipped: this kernel has no FUSE")
            sys.exit(77 if good else 1)
    return 0 if good else 1


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
try:
    status = main()
finally:
    for action in reversed(undo):
        try:
            action()
        except Exception as problem:
            print(f"cleaning up: {problem}")
sys.exit(status)
