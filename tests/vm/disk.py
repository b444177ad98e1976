"""Checks ktop's output for disks of known delays: reads the log of a test in a virtual machine (the lines that tests/vm/lib.sh prints).

References: the configured delay of the disk (it never completes early), the latency measured by the load (an I/O cannot take longer
than the call that submitted it), and the kernel's own counts in /proc/diskstats. The overhead of the emulated machine is the latency of a disk
without delay in the same run.
"""
import collections
import json
import sys

OPS = {"read": "R", "write": "W", "mix": "RW", "fsync": "WF", "discard": "D"}
# Column indices of each operation's count and merges in /proc/diskstats, after the device name.
COUNTED = {"R": (0, 1), "W": (4, 5), "D": (11, 12), "F": (15, None)}

Load = collections.namedtuple("Load", "device delay_us op depth done")


class Hist:
    """A histogram summed over frames, in microseconds."""

    def __init__(self):
        self.count, self.sum, self.min, self.max, self.buckets = 0, 0.0, float("inf"), 0.0, collections.Counter()

    def add(self, h):
        self.count += h["count"]
        self.sum += h["sum"]
        self.min, self.max = min(self.min, h["min"]), max(self.max, h["max"])
        for low, high, n in h["buckets"]:
            self.buckets[low, high] += n

    def quantile(self, q):
        """The bucket that holds the quantile."""
        rank, seen = int((self.count * q * 1000 - 1) // 1000), 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen > rank:
                return bucket
        raise AssertionError("no such quantile")

    def share(self, low_us, high_us):
        return sum(n for (low, high), n in self.buckets.items() if high > low_us and low < high_us) / self.count

    @property
    def mean(self):
        return self.sum / self.count


class Log:
    def __init__(self, path):
        self.loads, self.frames, self.events, self.findings, self.reborn = [], [], [], [], []
        self.stats = collections.defaultdict(dict)
        self.hists = collections.defaultdict(Hist)
        self.wrong = []
        with open(path, errors="backslashreplace") as f:
            for line in f:
                self.read(line.rstrip("\n"))
        for frame in self.frames:
            for h in frame["histograms"].get("io_latency", []):
                self.frame_is_consistent(h)
                self.hists[h["device"], h["op"][0]].add(h)

    def read(self, line):
        word, _, rest = line.partition(" ")
        w = rest.split()
        if word == "load":
            done = dict(zip(w[5::2], map(int, w[6::2])))
            self.loads.append(Load(w[0], int(w[1]) / 1000, w[2], int(w[3]), done))
        elif word == "diskstats":
            self.stats[w[0]][w[3]] = [int(x) for x in w[4:]]
        elif word in ("event", "finding", "frame"):
            {"event": self.events, "finding": self.findings, "frame": self.frames}[word].append(json.loads(rest))
        elif word == "reborn":
            self.reborn.append(rest)

    def check(self, good, what):
        if not good:
            self.wrong.append(what)

    def frame_is_consistent(self, h):
        one = Hist()
        one.add(h)
        self.check(sum(one.buckets.values()) == h["count"], f"{h['device']} {h['op']}: the buckets do not add up to the count")
        for q, name in ((0.5, "p50"), (0.99, "p99")):
            low, high = one.quantile(q)
            self.check(low * 0.999 <= h[name] <= high * 1.001, f"{h['device']} {h['op']}: {name} {h[name]} is not in its bucket {low} to {high}")

    def counts(self):
        """Checks that ktop's counts equal those of the kernel and of the load."""
        requested = collections.Counter()
        for load in self.loads:
            for op, key in (("R", "reads"), ("W", "writes"), ("F", "syncs"), ("D", "discards")):
                requested[load.device, op] += load.done[key]
        for device in sorted({load.device for load in self.loads}):
            for op, (at, merges) in COUNTED.items():
                done = merged = 0
                # A disk that was removed and added again restarts at zero.
                spans = [("before", "gone"), (None, "after")] if device in self.reborn else [("before", "after")]
                for begin, end in spans:
                    row = self.stats[end][device]
                    first = self.stats[begin][device] if begin else [0] * len(row)
                    done += row[at] - first[at]
                    merged += row[merges] - first[merges] if merges else 0
                seen = self.hists[device, op].count
                # The kernel counts the completion of a write's flush as an empty write, which never reaches the disk.
                done -= requested[device, "F"] if op == "W" and done == seen + requested[device, "F"] else 0
                self.check(seen == done, f"{device} {op}: ktop counts {seen}, /proc/diskstats {done}")
                # The kernel reads the partition table of a new disk: I/Os that are not part of the load.
                probes = max(0, done + merged - requested[device, op]) if device in self.reborn and op == "R" else 0
                self.check(done + merged - probes == requested[device, op] and probes <= 8, f"{device} {op}: /proc/diskstats counts {done}, the load {requested[device, op]}")
        print(f"counts: {sum(requested.values())} I/Os requested, {sum(h.count for h in self.hists.values())} measured")
        for frame in self.frames:
            self.check(frame["lost_events"] == 0, f"{frame['lost_events']} events lost")
            for name in ("unmatched_completions", "abandoned_ios"):
                self.check(not frame["series"][name], f"{name} {frame['series'][name]}")

    def latency(self, load, op, base, delay_us=None, timer_us=0, rest_us=0):
        """Checks that latencies are the known delay plus at most 3 % and the machine's overhead.

        Longer delays caused by the guest (p99, mean) must also be in the load's figures: all but rest_us of each call is this I/O.
        """
        delay = load.delay_us if delay_us is None else delay_us
        h, none = self.hists[load.device, op], base(op)
        name = f"{load.device} {op} depth {load.depth}"
        if not h.count:
            self.wrong.append(f"{name}: nothing was measured")
            return
        line = f"{name:28} delay {delay:7.0f} us: min {h.min:9.1f} avg {h.mean:9.1f}"
        for q, word in ((0.5, "p50"), (0.99, "p99")):
            low, high = h.quantile(q)
            most = delay * 1.03 + none.quantile(q)[1] + timer_us
            if q > 0.9:
                most = max(most, load.done["p99_ns"] / 1000 - rest_us)
            line += f" {word} {low:9.1f}..{high:9.1f} (most {most:9.1f})"
            self.check(high >= delay and low <= most, f"{name}: {word} {low} to {high} us, should be {delay} to {most}")
        self.check(h.min >= delay, f"{name}: min {h.min} us is below the delay")
        most = max(delay * 1.03 + none.mean + timer_us, load.done["mean_ns"] / 1000 - rest_us)
        self.check(delay <= h.mean <= most, f"{name}: avg {h.mean} us, should be {delay} to {most}")
        self.check(h.max <= load.done["max_ns"] / 1000, f"{name}: max {h.max} us, the load's max is {load.done['max_ns'] / 1000}")
        print(f"{line} max {h.max:9.1f}, the load's p50 {load.done['p50_ns'] / 1000:.1f} p99 {load.done['p99_ns'] / 1000:.1f}")

    def modes(self, device, op, modes, base, timer_us=0):
        """Checks the share of the I/Os at each mode (delay, share); the upper edge allows 3 % and the p99 of the machine's overhead."""
        h = self.hists[device, op]
        for delay, share in modes:
            found = h.share(delay, delay * 1.03 + base(op).quantile(0.99)[1] + timer_us)
            print(f"{device} {op}: {found * 100:.1f} % of {h.count} at {delay / 1000:.0f} ms, should be {share * 100:.1f} %")
            self.check(abs(found - share) <= 0.02, f"{device} {op}: {found * 100:.1f} % at {delay} us, should be {share * 100:.1f} %")

    def errors(self, expected):
        """Checks that each failed I/O (device, operation, sector, error) is reported once, and no other."""
        seen = collections.Counter((e["device"], e["op"][0], e["sector"], e["error"]) for e in self.events)
        self.check(seen == collections.Counter(expected), f"failed I/Os {sorted(seen.items())}, should be {sorted(expected)}")
        rows = [(f["intervals_s"]["block"] or 0, d) for f in self.frames for d in f["tables"]["devices"]]
        for device in {e[0] for e in expected}:
            n = sum(s * d["errors_per_s"] for s, d in rows if d["device"] == device and d["errors_per_s"])
            should = sum(e[0] == device for e in expected)
            self.check(abs(n - should) <= 0.02 * should, f"{device}: errors_per_s adds up to {n}, should be {should}")
            self.check(any(f["culprit_device"] == device for f in self.findings), f"{device}: no finding disk_errors")

    def end(self):
        for line in self.wrong:
            print("wrong:", line)
        sys.exit(1 if self.wrong else 0)
