#!/usr/bin/env python3
# needs: root, tracefs, ip (asan beside); the presets tcplife and tcpretrans: one row per connection, and exactly 6 SYN retransmissions
import collections
import os
import re
import socket
import subprocess
import sys
import tempfile

from ktop import Batch, check, failed, need_root, skip

# In a network namespace of its own. Each kind of connection has its own server port.
LOAD = r"""
import socket, struct, sys
def servers(port):
    s4 = socket.create_server(("127.0.0.1", port), backlog=1024)
    s6 = socket.create_server(("::1", port), family=socket.AF_INET6, backlog=1024)
    return [(s4, socket.AF_INET, "127.0.0.1"), (s6, socket.AF_INET6, "::1")]
def pair(server, family, address, port):
    client = socket.socket(family)
    client.connect((address, port))
    return client, server.accept()[0]
def read_end(s):
    try:
        return s.recv(1)
    except ConnectionResetError:
        pass
n = int(sys.argv[1])
import time
for port, kind in ((5001, "client"), (5002, "server"), (5003, "reset")):
    time.sleep(0.4) # a frame lists 2,000 connections at most
    for server in servers(port):
        for i in range(n):
            client, accepted = pair(*server, port)
            first, second = (accepted, client) if kind == "server" else (client, accepted)
            if kind == "reset":
                first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if kind != "reset": # each end sends a known number of bytes
                client.sendall(b"c" * (1000 + i))
                accepted.sendall(b"s" * 50)
                for s, n_bytes in ((accepted, 1000 + i), (client, 50)):
                    while n_bytes:
                        n_bytes -= len(s.recv(n_bytes))
            first.close()
            read_end(second)
            second.close()
for i in range(n):
    try:
        socket.create_connection(("127.0.0.1", 5004))
    except ConnectionRefusedError:
        pass
"""
SYN = r"""
import socket
s = socket.socket()
s.bind(("10.99.0.1", 45678))
try:
    s.connect(("10.99.0.2", 5005))
except OSError as e:
    print(e)
"""


def frames_while(load, presets, delay=0.25):
    rows, seen, notes, lost, left_out = [], [], [], 0, 0
    batch = Batch("events", "--preset", presets, delay=delay)
    batch.frame()
    batch.frame()
    p = load()
    for frame in batch.frames_after("events", lambda: p.poll() is not None):
        rows += frame["tables"]["connections"]
        seen += frame["events"]
        notes += [note["text"] for note in frame["notes"]]
        lost += frame["lost_events"]
        left_out += frame["events_left_out"]
    out = p.communicate()[0]
    batch.end()
    missing = sum(int(m[1]) for m in (re.match(r"(\d+) (?:connections are in no row|events of connections)", note) for note in notes) if m)
    return rows, seen, lost, missing, out


def connections(work):
    """1,000 connections of known kinds: two rows each, one of either end."""
    n = 167
    with open(f"{work}/load.py", "w") as f:
        f.write(LOAD)
    command = f"ip link set lo up && exec {sys.executable} {work}/load.py {n}"
    rows, _, lost, missing, _ = frames_while(lambda: subprocess.Popen(["unshare", "-n", "sh", "-c", command], stdout=subprocess.PIPE, text=True), "tcplife")
    kinds, carried = collections.Counter(), collections.Counter()
    for row in rows:
        port = row["remote_port"] if row["direction"] == "out" else row["local_port"]
        if port in range(5001, 5005) and row["local"] in ("127.0.0.1", "::1") and row["local"] == row["remote"]:
            if port in (5001, 5002) and row["sent_bytes"] is not None:
                carried[row["direction"], row["sent_bytes"], row["received_bytes"]] += 1
            kinds[int(port), row["direction"], row["local"], row["end"]] += 1
            if not (row["duration_us"] is not None and 0 < row["duration_us"] < 10e6):
                check(False, f"duration of {row}")
    expected = {}
    for address in ("127.0.0.1", "::1"):
        for port, out, into in ((5001, "closed", "closed by peer"), (5002, "closed by peer", "closed"), (5003, "aborted", "reset by peer")):
            expected[port, "out", address, out] = expected[port, "in", address, into] = n
    expected[5004, "out", "127.0.0.1", "refused"] = n
    total = sum(expected.values())
    check(dict(kinds) == expected or (lost + missing and sum(kinds.values()) + lost + missing >= total),
          f"{6 * n} connections and {n} refused: {sum(kinds.values())} of {total} rows, {lost} events lost, {missing} rows missing, different: {set(kinds.items()) ^ set(expected.items())}")
    # 4 connections of each size: 2 kinds, IPv4 and IPv6.
    sizes = {(direction, *(size if direction == "out" else size[::-1])): 4 for size in ((1000 + i, 50) for i in range(n)) for direction in ("out", "in")}
    if carried:
        check(dict(carried) == sizes, f"bytes of {sum(carried.values())} ends, different: {sorted(set(carried.items()) ^ set(sizes.items()))[:6]}")
    else:
        print("part skipped: this kernel does not report the bytes of connections")
    names = {row["comm"] for row in rows if row["direction"] == "out" and row["remote_port"] in range(5001, 5005)}
    check(names <= {"python3", "python", None, os.path.basename(sys.executable), "python3.11"} , f"the threads that connected: {names}")


def short_clients():
    """Clients that exit within some ms still have their names: the kernel keeps them."""
    n = 30
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        port = server.getsockname()[1]
        command = f"for i in $(seq {n}); do bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'; done"
        rows, _, lost, missing, _ = frames_while(lambda: subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, text=True), "tcplife", delay=1)
    names = collections.Counter(row["comm"] for row in {row["local_port"]: row for row in rows if row["remote_port"] == port}.values())
    check(names["bash"] + lost + missing >= n, f"{n} clients that exit at once: {dict(names)}")


def retransmissions(work):
    """A SYN that nothing answers is sent again tcp_syn_retries times."""
    with open(f"{work}/syn.py", "w") as f:
        f.write(SYN)
    # A veth pair whose other end has no address: a permanent neighbour entry, so that the SYN leaves.
    command = ("ip link add v0 type veth peer name v1 && ip addr add 10.99.0.1/24 dev v0 && ip link set v0 up && ip link set v1 up && "
               "ip neigh replace 10.99.0.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent && cd /proc/sys/net/ipv4 && "
               # One each second until the time of 2 exponential ones has passed, 7 s: 6. Before Linux 6.5 there are no linear timeouts: 3.
               "if [ -e tcp_syn_linear_timeouts ]; then echo 10 >tcp_syn_linear_timeouts; echo 2 >tcp_syn_retries; else echo 3 >tcp_syn_retries; fi; exec %s %s/syn.py" % (sys.executable, work))
    rows, seen, lost, missing, out = frames_while(lambda: subprocess.Popen(["unshare", "-n", "sh", "-c", command], stdout=subprocess.PIPE, text=True), "tcpretrans,tcplife", delay=0.5)
    if "timed out" not in out:
        skip(f"no SYN was sent: {out}")
    mine = [row for row in rows if (row["local"], row["local_port"], row["remote"], row["remote_port"]) == ("10.99.0.1", 45678, "10.99.0.2", 5005)]
    wanted = 6 if os.path.exists("/proc/sys/net/ipv4/tcp_syn_linear_timeouts") else 3
    events = [e for e in seen if e["event"] == "tcp:tcp_retransmit_skb" and "dport=5005" in e["fields"]]
    check(len(events) == wanted, f"{len(events)} events of {wanted} retransmissions")
    check(sum(row["retransmits"] for row in mine) == wanted and mine and mine[-1]["retransmits_total"] == wanted, f"retransmissions in {len(mine)} rows: {[row['retransmits'] for row in mine]}")
    check(mine and mine[-1]["end"] == "timed out" and mine[-1]["state"] == "SYN_SENT" and all(row["end"] is None for row in mine[:-1]), f"ends: {[row['end'] for row in mine]}")
    check(mine and (mine[-1]["duration_us"] or 0) > 5e6, f"duration: {mine and mine[-1]['duration_us']} us")


def main():
    need_root()
    with tempfile.TemporaryDirectory(prefix="ktop-tcp-") as work:
        connections(work)
        short_clients()
        retransmissions(work)
    sys.exit(1 if failed else 0)


main()
