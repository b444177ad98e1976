"""A second look at the disks, for tests: the text of the block events of a tracefs instance, and I/Os paired from it in another way than
ktop does. Not from ktop's sources, and not by its rules: a bio ends when all its sectors were completed, whatever it was merged with
or split into; a request's arrival is that of the earliest of its bios, or what else was told first of its sectors."""
import bisect, collections, os, re

TRACING = "/sys/kernel/tracing"
SUB_BITS = 6
EVENTS = "block_bio_queue block_bio_complete block_rq_issue block_rq_requeue block_rq_complete".split()
# ktop looks at these as well.
OTHERS = ("block_io_start block_rq_insert block_rq_merge block_rq_error block_split block_bio_backmerge block_bio_frontmerge "
          "block_bio_remap").split()


def bucket(value):
    """The bucket of ktop's histograms: 64 to a power of two."""
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


# One finished thing, times in ns. Of a request: arrival (None: not told) and issue; of a bio: issue is its arrival.
# joined: another request was merged into it; which of their arrivals counts is the kernel's and ktop's own business.
Done = collections.namedtuple("Done", "kind key device sector bytes arrival issue end pid comm joined", defaults=[False])


class Disk:
    """What is under way on one disk."""

    def __init__(self, number, out):
        self.number, self.out = number, out
        self.bios = []  # [sector, end, key, stamp, pid, comm, sectors left, None or when its data ended], by sector
        self.flushes, self.arrivals = [], []
        self.asker = None  # who sent the last bio that wants the disk's cache flushed: the flush itself is some worker's
        self.issued = collections.defaultdict(list)
        self.merged = []  # sectors of requests that gave way to another
        self.twice = 0  # bios whose sectors another one had under way: which of them ends first cannot be told
        self.longest = 1

    def done(self, kind, key, sector, sectors, arrival, issue, end, pid, comm):
        joined = kind == "request" and sector is not None and any(sector <= s < sector + sectors for s in self.merged)
        if joined:
            self.merged = [s for s in self.merged if not sector <= s < sector + sectors]
        self.out.append(Done(kind, key, self.number, sector, sectors * 512, arrival, issue, end, pid, comm, joined))

    def over(self, sector, end):
        """The bios that have sectors there."""
        at = bisect.bisect_left(self.bios, [sector - self.longest])
        while at < len(self.bios) and self.bios[at][0] < end:
            if self.bios[at][1] > sector:
                yield self.bios[at]
            at += 1

    def bio_queue(self, stamp, who, rwbs, sector, sectors):
        if "F" in rwbs:
            self.asker = who
        if not sectors:
            if rwbs[0] == "F":
                self.flushes.append((stamp, key_of(rwbs, True), who))
            return
        self.twice += any(bio[7] is None for bio in self.over(sector, sector + sectors))
        self.longest = max(self.longest, sectors)
        tail = "F" in rwbs
        bisect.insort(self.bios, [sector, sector + sectors, key_of(rwbs), stamp, *who, sectors, None, tail])

    def bio_ends(self, bio, stamp):
        self.bios.remove(bio)
        self.done("bio", bio[2], bio[0], bio[1] - bio[0], None, bio[3], stamp, bio[4], bio[5])

    def bio_complete(self, stamp, sector, sectors):
        """Of a disk without requests; one that works its way through the bio tells its end, and no length."""
        for bio in self.bios:
            if bio[1] == sector + sectors and (bio[0] == sector or not sectors):
                self.bio_ends(bio, stamp)
                return

    def start(self, stamp, sector, sectors):
        if sectors:
            self.arrivals.append((sector, stamp))

    def issue(self, stamp, who, rwbs, sector, sectors):
        key = key_of(rwbs)
        if key[0] in "FN":
            who = self.asker if key[0] == "F" and self.asker else who
            self.issued[key[0]].append([key, stamp, None, sectors, 0, *who, sector])
            return
        mine = [a for a in self.arrivals if sector <= a[0] < sector + sectors]
        self.arrivals = [a for a in self.arrivals if not sector <= a[0] < sector + sectors] if mine else self.arrivals
        bios = list(self.over(sector, sector + sectors))
        arrival = min((bio[3] for bio in bios), default=None) or min((a[1] for a in mine), default=None)
        first = next((bio for bio in bios if bio[0] <= sector < bio[1]), None)
        pid, comm = (first[4], first[5]) if first else who
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
            self.sequence_ends(stamp, sector)
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
                self.bio_ends(bio, stamp)

    def sequence_ends(self, stamp, sector):
        """A completion of nothing: a write that flushes after itself is over, or a flush alone."""
        for bio in self.bios:
            if bio[7] is not None and sector in (bio[0], bio[1]):
                self.bio_ends(bio, stamp)
                return
        if self.flushes:
            begun, key, who = self.flushes.pop(0)
            self.done("bio", key, None, 0, None, begun, stamp, *who)

    def end(self):
        for bio in [b for b in self.bios if b[7] is not None]:  # it needed no flush after it
            self.bio_ends(bio, bio[7])


class Trace:
    """The block events that an instance of tracefs holds: its text, which has every field, and the same once more in the raw format,
    which has times in ns."""

    LINE = re.compile(r"^\s*.{1,16}-(\d+)\s+\[(\d+)\]\s+\S+\s+[\d.]+: (block_\w+): (.*?)(?: \[([^\[\]]*)\])?$")
    FIELDS = re.compile(r"^(\d+),(\d+) (\w+) (?:(?:\d+ )?\(.*?\) )?(\d+) [+/] (\d+)")

    def __init__(self, path):
        self.dir = path

    def write(self, name, text):
        with open(f"{self.dir}/{name}", "w") as f:
            f.write(text)

    def only(self, numbers):
        """From now on it records these disks alone: what others load meanwhile does not fill it."""
        devs = [int(major) << 20 | int(minor) for major, minor in (number.split(":") for number in numbers)]
        for event in EVENTS + OTHERS:
            if os.path.exists(f"{self.dir}/events/block/{event}"):
                self.write(f"events/block/{event}/filter", " || ".join(f"dev == {dev}" for dev in devs))

    def text(self, raw):
        self.write("options/raw", str(raw))
        with open(self.dir + "/trace", errors="replace") as f:
            return [line for line in f if line[0] != "#"]

    def events(self):
        """(ns, (pid, comm), event, rest). Nobody may read the instance meanwhile; what the disks do then is not recorded."""
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
        """What began and ended since then, times in ns of CLOCK_MONOTONIC; and by disk how many bios had sectors that were under way already."""
        disks, out = {}, []
        self.kinds = collections.Counter()  # of events
        for stamp, who, event, rest in sorted(self.events(), key=lambda e: e[0]):
            found = self.FIELDS.match(rest)
            if not found or stamp < since:
                continue
            self.kinds[event] += 1
            major, minor, rwbs, sector, sectors = found.groups()
            number, sector, sectors = f"{major}:{minor}", int(sector), int(sectors)
            disk = disks.setdefault(number, Disk(number, out))
            if event == "block_bio_queue":
                disk.bio_queue(stamp, who, rwbs, sector, sectors)
            elif event == "block_bio_complete":
                disk.bio_complete(stamp, sector, sectors)
            elif event in ("block_io_start", "block_rq_insert"):
                disk.start(stamp, sector, sectors)
            elif event == "block_rq_issue":
                disk.issue(stamp, who, rwbs, sector, sectors)
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
    """A second instance, which has nothing to do with ktop's."""

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
    """The instance of that ktop's block events."""
    names = [n for n in os.listdir(TRACING + "/instances") if re.fullmatch(rf"ktop-{pid}-\d+-block", n)]
    return Trace(f"{TRACING}/instances/{names[0]}")


def disk_of(path):
    """Name and number of the disk that holds the file, or None."""
    st = os.stat(path).st_dev
    at = os.path.realpath(f"/sys/dev/block/{os.major(st)}:{os.minor(st)}")
    if not os.path.isdir(at) or "/virtual/" in at:
        return None
    if os.path.exists(at + "/partition"):
        at = os.path.dirname(at)
    with open(at + "/dev") as f:
        return os.path.basename(at), f.read().strip()
