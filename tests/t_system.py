#!/usr/bin/env python3
# needs: root; CPU, memory, disk and network figures equal those of /proc over the same span, under a load
"""ktop runs beside a load on a private loop device and on the lo of a private network namespace. /proc counters are
read around ktop (outer) and within its frames (inner): ktop's sums must lie between the two."""
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

from ktop import KTOP, check, failed, skip

DELAY, FRAMES = 0.5, 7
SLACK = 0.03  # a frame's interval and the interval between its readings differ slightly
SHARES = ["user_pct", "nice_pct", "system_pct", "irq_pct", "softirq_pct", "steal_pct", "iowait_pct", "idle_pct"]


def read_counters(device):
    """The /proc counters, by the names of ktop's columns."""
    now = {}
    with open("/proc/diskstats") as file:
        for line in file:
            fields = line.split()
            if fields[2] == device:
                now["reads_per_s"], now["writes_per_s"] = int(fields[3]), int(fields[7])
                now["read_bytes_per_s"], now["write_bytes_per_s"] = int(fields[5]) * 512, int(fields[9]) * 512
    with open("/proc/net/dev") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name.strip() == "lo":
                now["rx_bytes_per_s"], now["rx_packets_per_s"] = (int(n) for n in rest.split()[:2])
    with open("/proc/stat") as file:
        for line in file:
            fields = line.split()
            name = {"ctxt": "context_switches_per_s", "processes": "forks_per_s", "intr": "interrupts_per_s"}.get(fields[0])
            if name:
                now[name] = int(fields[1])
            if fields[0] == "cpu":
                ticks = [int(n) for n in fields[1:9]]
                now["busy_s"] = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
    with open("/proc/net/snmp") as file:
        rows = [line.split() for line in file if line.startswith("Tcp:")]
        tcp = dict(zip(rows[0], rows[1]))
        now["segments_out_per_s"], now["active_opens_per_s"] = int(tcp["OutSegs"]), int(tcp["ActiveOpens"])
    return now


def read_meminfo():
    with open("/proc/meminfo") as file:
        return {line.split(":")[0]: int(line.split()[1]) for line in file}


def load(device):
    """Direct reads and writes, TCP on lo, and forks, for about a second."""
    path = f"/dev/{device}"
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    other, _ = server.accept()

    def sink():
        while other.recv(1 << 16):
            pass

    thread = threading.Thread(target=sink)
    thread.start()
    for _ in range(4):
        client.sendall(bytes(1 << 20))
        subprocess.run(["dd", "if=" + path, "of=/dev/null", "bs=4k", "count=2000", "iflag=direct", "status=none"],
                       check=True, timeout=20)
        subprocess.run(["dd", "if=/dev/zero", "of=" + path, "bs=64k", "count=200", "oflag=direct", "status=none"],
                       check=True, timeout=20)
    client.close()
    thread.join()
    other.close()
    server.close()


def run(device):
    outer_before = read_counters(device)
    memory_before = read_meminfo()
    # Read the pipe line by line, so that each line is handled when its frame ends.
    ktop = subprocess.Popen([KTOP, "--batch", "--pane", "triage,cpus,memory,disk,network,health", "--format", "json",
                             "-d", str(DELAY), "-n", str(FRAMES)], stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(60, ktop.kill)
    watchdog.start()
    frames, order = {}, []
    inner_before = inner_after = None
    loader = None
    for line in ktop.stdout:
        pane = json.loads(line)
        if pane["time"] not in frames:
            order.append(pane["time"])
            frames[pane["time"]] = {"interval_s": pane["interval_s"], "series": {}, "tables": {}}
            if len(order) == 1:
                inner_before = read_counters(device)
                loader = threading.Thread(target=load, args=(device,))
                loader.start()
            if len(order) == FRAMES - 1:
                inner_after = read_counters(device)
        frame = frames[pane["time"]]
        frame["series"].update(pane.get("series", {}))
        for name, rows in pane.get("tables", {}).items():
            frame["tables"].setdefault(name, rows)
    loader.join()
    status = ktop.wait()
    watchdog.cancel()
    check(status == 0, f"ktop exited with {status}")
    check(len(order) == FRAMES, f"{len(order)} frames, expected {FRAMES}")
    outer_after = read_counters(device)
    memory_after = read_meminfo()
    return ([frames[time] for time in order], {k: inner_after[k] - v for k, v in inner_before.items()},
            {k: outer_after[k] - v for k, v in outer_before.items()}, memory_before, memory_after)


def row_of(frame, table, column, key):
    return next((row for row in frame["tables"].get(table, []) if row.get(column) == key), None)


def check_between(name, total, inner, outer):
    low, high = inner[name] * (1 - SLACK) - 1, outer[name] * (1 + SLACK) + 1
    print(f"{name}: {inner[name]:.0f} <= {total:.0f} <= {outer[name]:.0f}")
    check(low <= total <= high, f"{name}: ktop {total:.1f}, /proc {inner[name]} (inner) and {outer[name]} (outer)")


def check_counts(frames, inner, outer, device):
    sources = [("devices", "device", device, ["reads_per_s", "writes_per_s", "read_bytes_per_s", "write_bytes_per_s"]),
               ("interfaces", "interface", "lo", ["rx_bytes_per_s", "rx_packets_per_s"])]
    for table, column, key, names in sources:
        for name in names:
            values = [(row_of(f, table, column, key) or {}).get(name) for f in frames]
            check(any(v is not None for v in values), f"{table} of {key} has no {name}")
            check_between(name, sum((v or 0) * f["interval_s"] for v, f in zip(values, frames)), inner, outer)
    for name in ["segments_out_per_s", "active_opens_per_s"]:
        total = sum((f["tables"]["tcp"][0][name] or 0) * f["interval_s"] for f in frames)
        check_between(name, total, inner, outer)
    for name in ["context_switches_per_s", "forks_per_s", "interrupts_per_s"]:
        if any(name in f["series"] for f in frames):
            total = sum((f["series"].get(name) or 0) * f["interval_s"] for f in frames)
            check_between(name, total, inner, outer)


def check_cpus(frames, inner, outer):
    with open("/proc/stat") as file:
        online = sum(1 for line in file if line.startswith("cpu")) - 1
    busy = 0
    for frame in frames:
        rows = frame["tables"]["cpus"]
        check(len(rows) == online, f"{len(rows)} CPUs, expected {online}")
        for row in rows:
            shares = [row[name] for name in SHARES]
            check(None not in shares, f"a share of CPU {row['cpu']} is null")
            if None in shares:
                continue
            check(abs(sum(shares) - 100) < 0.05, f"the shares of CPU {row['cpu']} add up to {sum(shares)}")
            check(row["guest_pct"] <= row["user_pct"] + row["nice_pct"] + 0.01, "guest time exceeds user time")
            busy += (100 - row["idle_pct"] - row["iowait_pct"]) / 100 * frame["interval_s"]
    print(f"busy_s: {inner['busy_s']:.2f} <= {busy:.2f} <= {outer['busy_s']:.2f}")
    # Ticks are 10 ms, and an idle CPU's ticks are updated only when it wakes up.
    check(inner["busy_s"] * 0.85 - 0.2 <= busy <= outer["busy_s"] * 1.15 + 0.2, f"busy {busy} s")


def check_memory(frames, before, after):
    row = frames[-1]["tables"]["memory"][0]
    for column, field in [("total_kib", "MemTotal"), ("free_kib", "MemFree"), ("cached_kib", "Cached"),
                          ("buffers_kib", "Buffers"), ("anon_kib", "AnonPages"), ("shmem_kib", "Shmem"),
                          ("slab_kib", "Slab"), ("swap_total_kib", "SwapTotal"), ("committed_kib", "Committed_AS")]:
        low, high = sorted((before[field], after[field]))
        # Other processes may allocate and free memory between the readings.
        margin = max(256 << 10, high // 20)
        if column == "committed_kib":  # the stacks of ktop's own threads count, and neither reading is while it runs
            margin += 512 << 10
        check(low - margin <= row[column] <= high + margin, f"{column}: {row[column]}, /proc: {low} to {high}")
    check(abs(row["used_kib"] + row["available_kib"] - row["total_kib"]) <= 1, "used + available differs from total")


def check_sanity(frames):
    for frame in frames:
        for name, value in frame["series"].items():
            check(value is None or not isinstance(value, (int, float)) or 0 <= value < 1e15, f"{name} is {value}")
        process = frame["tables"].get("process")
        if process:
            check(0 < process[0]["rss_kib"] < 1 << 20 and process[0]["cpu_pct"] is not None, f"process: {process}")


def main():
    if os.geteuid() != 0:
        skip("needs root: creates a loop device and a network namespace")
    if not os.access(KTOP, os.X_OK):
        print(f"no program at {KTOP}")
        sys.exit(1)
    # A network namespace for this process and its children, so that lo carries only their packets.
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000) != 0:
        skip(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    directory = tempfile.mkdtemp(prefix="ktop-t-system-", dir="/dev/shm")
    image, device = os.path.join(directory, "image"), None
    try:
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        attached = subprocess.run(["losetup", "-f", "--show", image], capture_output=True, text=True)
        if attached.returncode:
            skip("no loop device: " + attached.stderr.strip())
        device = attached.stdout.strip().removeprefix("/dev/")
        frames, inner, outer, before, after = run(device)
        check_counts(frames, inner, outer, device)
        check_cpus(frames, inner, outer)
        check_memory(frames, before, after)
        check_sanity(frames)
    finally:
        if device:
            subprocess.run(["losetup", "-d", "/dev/" + device], check=False)
        shutil.rmtree(directory)
    sys.exit(1 if failed else 0)


main()
