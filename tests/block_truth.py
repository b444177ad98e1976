"""An independent reference for tests: block events of a tracefs instance, read as text, and I/Os matched from them. It shares no code and
no rules with ktop: a bio completes when all its sectors have completed, whatever it was merged with or split into; a request's arrival is
that of its earliest bio, or the first event for its sectors."""
import bisect, collections, os, re

TRACING = "/sys/kernel/tracing"
SUB_BITS = 6
EVENTS = "block_bio_queue block_bio_complete block_rq_issue block_rq_requeue block_rq_complete".split()
# Further events that ktop uses.
OTHERS = ("block_io_start block_rq_insert block_rq_merge block_rq_error block_split block_bio_backmerge block_bio_frontmerge "
          "block_bio_remap").split()


def bucket(value):
    """Bucket of ktop's histograms: 64 per power of two."""
    value = int(value)
    if value < 1 << SUB_BITS:
        return value
    shift = value.bit_length() - 1 - SUB_BITS
    return ((shift + 1) << SUB_BITS) + ((value >> shift) & ((1 << SUB_BITS) - 1))


def key_of(rwbs, flush=False):
    """Operation and flags as ktop names them."""
    flags = rwbs[2:] if rwbs[:2] in ("FW", "FF") else rwbs[1:]
    op = "F" if flush or rwbs[:2] == "FF" else rwbs[1] if rwbs[0] == "F" and rwbs[1:2] == "W" else rwbs[0]
    return (op if op in "RWFD" else "N") + "".join(c for c in "FASM" if c in flags)


# A completed I/O, times in ns. Request: arrival (None: not traced) and issue. Bio: issue is its arrival.
# merged: another request was merged into it; which arrival counts is then undefined.
Done = collections.namedtuple("Done", "kind key device sector bytes arrival issue end pid comm merged", defaults=[False])


class Disk:
    """I/Os in flight on one disk."""

    def __init__(self, number, out):
        self.number, self.out = number, out
        self.bios = []  # [sector, end, key, stamp, pid, comm, sectors left, None or completion of its data], by sector
        self.flushes, self.arrivals = [], []
        self.flush_submitter = None  # of the last bio with a flush: a worker issues the flush itself
        self.issued = collections.defaultdict(list)
        self.merged = []  # sectors of requests merged into another
        self.twice = 0  # bios with sectors already in flight: which one completes first is ambiguous
        self.longest = 1

    def done(self, kind, key, sector, sectors, arrival, issue, end, pid, comm):
        merged = kind == "request" and sector is not None and any(sector <= s < sector + sectors for s in self.merged)
        if merged:
            self.merged = [s for s in self.merged if not sector <= s < sector + sectors]
        self.out.append(Done(kind, key, self.number, sector, sectors * 512, arrival, issue, end, pid, comm, merged))

    def over(self, sector, end):
        """Bios that overlap these sectors."""
        at = bisect.bisect_left(self.bios, [sector - self.longest])
        while at < len(self.bios) and self.bios[at][0] < end:
            if self.bios[at][1] > sector:
                yield self.bios[at]
            at += 1

    def bio_queue(self, stamp, submitter, rwbs, sector, sectors):
        if "F" in rwbs:
            self.flush_submitter = submitter
        if not sectors:
            if rwbs[0] == "F":
                self.flushes.append((stamp, key_of(rwbs, True), submitter))
            return
        self.twice += any(bio[7] is None for bio in self.over(sector, sector + sectors))
        self.longest = max(self.longest, sectors)
        tail = "F" in rwbs
        bisect.insort(self.bios, [sector, sector + sectors, key_of(rwbs), stamp, *submitter, sectors, None, tail])

    def bio_end(self, bio, stamp):
        self.bios.remove(bio)
        self.done("bio", bio[2], bio[0], bio[1] - bio[0], None, bio[3], stamp, bio[4], bio[5])

    def bio_complete(self, stamp, sector, sectors):
        """On a disk without requests; a driver that advances the bio traces its end sector, and length 0."""
        for bio in self.bios:
            if bio[1] == sector + sectors and (bio[0] == sector or not sectors):
                self.bio_end(bio, stamp)
                return

    def start(self, stamp, sector, sectors):
        if sectors:
            self.arrivals.append((sector, stamp))

    def issue(self, stamp, submitter, rwbs, sector, sectors):
        key = key_of(rwbs)
        if key[0] in "FN":
            submitter = self.flush_submitter if key[0] == "F" and self.flush_submitter else submitter
            self.issued[key[0]].append([key, stamp, None, sectors, 0, *submitter, sector])
            return
        mine = [a for a in self.arrivals if sector <= a[0] < sector + sectors]
        self.arrivals = [a for a in self.arrivals if not sector <= a[0] < sector + sectors] if mine else self.arrivals
        bios = list(self.over(sector, sector + sectors))
        arrival = min((bio[3] for bio in bios), default=None) or min((a[1] for a in mine), default=None)
        first = next((bio for bio in bios if bio[0] <= sector < bio[1]), None)
        pid, comm = (first[4], first[5]) if first else submitter
        self.issued[sector].append([key, stamp, arrival, sectors, sectors, pid, comm, sector])

    def requeue(self, stamp, sector):
        for request in self.issued.get(sector, [])[:1]:
            self.issued[sector].remove(request)
            self.arrivals.append((sector, request[2] or request[1]))

    def complete(self, stamp, rwbs, sector, sectors):
        key = key_of(rwbs)
        if key[0] in "FN":
            if self.issued[key[0]]:
                r = self.issued[key[0]].pop(0)
                self.done("request", r[0], None, r[3], None, r[1], stamp, r[5], r[6])
            return
        if not sectors:
            self.sequence_end(stamp, sector)
            return
        self.sectors_end(stamp, sector, sectors)
        waiting = self.issued.get(sector, [])
        request = next((r for r in waiting if r[4] == sectors), waiting[0] if waiting else None)
        if not request:
            return
        waiting.remove(request)
        request[4] -= sectors
        if request[4] > 0:
            self.issued[sector + sectors].append(request)
        else:
            self.done("request", request[0], request[7], request[3], request[2], request[1], stamp, request[5], request[6])
        if not waiting:
            del self.issued[sector]

    def sectors_end(self, stamp, sector, sectors):
        for bio in list(self.over(sector, sector + sectors)):
            if bio[7] is not None:
                continue
            bio[6] -= min(bio[1], sector + sectors) - max(bio[0], sector)
            if bio[6] > 0:
                continue
            if bio[8]:
                bio[7] = stamp
            else:
                self.bio_end(bio, stamp)

    def sequence_end(self, stamp, sector):
        """A completion of length 0: of a write with a postflush, or of an empty flush."""
        for bio in self.bios:
            if bio[7] is not None and sector in (bio[0], bio[1]):
                self.bio_end(bio, stamp)
                return
        if self.flushes:
            begun, key, submitter = self.flushes.pop(0)
            self.done("bio", key, None, 0, None, begun, stamp, *submitter)

    def end(self):
        for bio in [b for b in self.bios if b[7] is not None]:  # no flush followed
            self.bio_end(bio, bio[7])


class Trace:
    """The block events of a tracefs instance: as text, which has every field, and in the raw format, which has times in ns."""

    LINE = re.compile(r"^\s*.{1,16}-(\d+)\s+\[(\d+)\]\s+\S+\s+[\d.]+: (block_\w+): (.*?)(?: \[([^\[\]]*)\])?$")
    FIELDS = re.compile(r"^(\d+),(\d+) (\w+) (?:(?:\d+ )?\(.*?\) )?(\d+) [+/] (\d+)")

    def __init__(self, path):
        self.dir = path

    def write(self, name, text):
        with open(f"{self.dir}/{name}", "w") as f:
            f.write(text)

    def only(self, numbers):
        """Records only these disks, so that I/O of others does not fill the buffer."""
        devs = [int(major) << 20 | int(minor) for major, minor in (number.split(":") for number in numbers)]
        for event in EVENTS + OTHERS:
            if os.path.exists(f"{self.dir}/events/block/{event}"):
                self.write(f"events/block/{event}/filter", " || ".join(f"dev == {dev}" for dev in devs))

    def text(self, raw):
        self.write("options/raw", str(raw))
        with open(self.dir + "/trace", errors="replace") as f:
            return [line for line in f if line[0] != "#"]

    def events(self):
        """(ns, (pid, comm), event, rest). The instance must have no other reader; tracing is off meanwhile."""
        self.write("tracing_on", "0")
        for cpu in os.listdir(self.dir + "/per_cpu"):
            with open(f"{self.dir}/per_cpu/{cpu}/stats") as f:
                assert "\noverrun: 0\n" in f.read(), "the second instance lost events"
        plain, raw = self.text(0), self.text(1)
        self.write("options/raw", "0")
        self.write("tracing_on", "1")
        assert len(plain) == len(raw), "the two readings of one instance differ"
        for line, other in zip(plain, raw):
            found = self.LINE.match(line)
            if not found:
                continue
            pid, cpu, event, rest, comm = found.groups()
            same, there, stamp = map(int, other.split()[:3])
            assert (same, there) == (int(pid), int(cpu)), f"the two readings of one instance differ: {line} {other}"
            yield stamp, (same, comm), event, rest

    def ios(self, since=0):
        """I/Os started and completed since then, in ns of CLOCK_MONOTONIC; and by disk the number of bios with sectors already in flight."""
        disks, out = {}, []
        self.kinds = collections.Counter()  # events
        for stamp, submitter, event, rest in sorted(self.events(), key=lambda e: e[0]):
            found = self.FIELDS.match(rest)
            if not found or stamp < since:
                continue
            self.kinds[event] += 1
            major, minor, rwbs, sector, sectors = found.groups()
            number, sector, sectors = f"{major}:{minor}", int(sector), int(sectors)
            disk = disks.setdefault(number, Disk(number, out))
            if event == "block_bio_queue":
                disk.bio_queue(stamp, submitter, rwbs, sector, sectors)
            elif event == "block_bio_complete":
                disk.bio_complete(stamp, sector, sectors)
            elif event in ("block_io_start", "block_rq_insert"):
                disk.start(stamp, sector, sectors)
            elif event == "block_rq_issue":
                disk.issue(stamp, submitter, rwbs, sector, sectors)
            elif event == "block_rq_merge":
                disk.merged.append(sector)
            elif event == "block_rq_requeue":
                disk.requeue(stamp, sector)
            elif event == "block_rq_complete":
                disk.complete(stamp, rwbs, sector, sectors)
        for disk in disks.values():
            disk.end()
        return out, {disk.number: disk.twice for disk in disks.values()}


class Truth(Trace):
    """A second instance, independent of ktop's."""

    def __init__(self, numbers, kib=16384):
        super().__init__(f"{TRACING}/instances/truth-{os.getpid()}")
        os.mkdir(self.dir)
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", str(kib))
        self.only(numbers)
        for event in EVENTS:
            if os.path.exists(f"{self.dir}/events/block/{event}"):
                self.write(f"events/block/{event}/enable", "1")

    def finish(self):
        self.write("events/enable", "0")
        found = self.ios()
        self.remove()
        return found

    def remove(self):
        if os.path.isdir(self.dir):
            self.write("events/enable", "0")
            os.rmdir(self.dir)


def trace_of(pid):
    """That ktop's instance for block events."""
    names = [n for n in os.listdir(TRACING + "/instances") if re.fullmatch(rf"ktop-{pid}-\d+-block", n)]
    return Trace(f"{TRACING}/instances/{names[0]}")


def disk_of(path):
    """Name and MAJOR:MINOR of the disk that holds the file, or None."""
    st = os.stat(path).st_dev
    at = os.path.realpath(f"/sys/dev/block/{os.major(st)}:{os.minor(st)}")
    if not os.path.isdir(at) or "/virtual/" in at:
        return None
    if os.path.exists(at + "/partition"):
        at = os.path.dirname(at)
    with open(at + "/dev") as f:
        return os.path.basename(at), f.read().strip()
