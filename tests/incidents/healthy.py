"""Healthy but busy loads: during none of them may a finding be above info (tests/incidents/run healthy [NAME...])."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SECONDS = 25


stops, ends = [], []  # functions, before the processes of a load are killed, and after


def session_of(pid):
    """The parent of a process, and its session; zeros: it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rsplit(b")", 1)[1].split()
        return int(fields[1]), int(fields[3])
    except OSError:
        return 0, 0


class Skip(Exception):
    pass


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"no {program}")


def sources(at):
    """A copy of ktop's sources, as files to read."""
    shutil.copytree(TOP, os.path.join(at, "tree"), ignore=shutil.ignore_patterns("build", ".git"))
    return os.path.join(at, "tree")


def compile(at):
    need("make", "cc")
    return f"while :; do make -s -j2 -C {sources(at)} all; make -s -C {at}/tree clean; done"


def fio_half(at):
    need("fio")
    return (f"exec fio --name=half --directory={at} --size=512m --rw=randrw --bs=16k --iodepth=4 --ioengine=libaio --direct=1 --rate_iops=400 "
            f"--time_based --runtime=600 --thread")


def gzip(at):
    need("gzip")
    return f"head -c 400000000 /dev/urandom >{at}/big; while :; do gzip -c {at}/big >/dev/null; done"


def stress_cpu(at):
    need("stress-ng")
    return "exec stress-ng --cpu 1"


def tar(at):
    sources(at)
    return f"while :; do tar cf {at}/out.tar /usr/lib /usr/share; rm {at}/out.tar; done"


def copy(at):
    need("rsync")
    return f"while :; do rsync -a --whole-file /usr/bin /usr/share/doc {at}/copy; rm -rf {at}/copy; done"


def dd(at):
    return f"while :; do dd if=/dev/zero of={at}/zeros bs=1M count=1500 conv=notrunc,fsync 2>/dev/null; sleep 1; done"


def web(at):
    server = ("import http.server, socketserver, os\nos.chdir('/usr/share')\nclass S(socketserver.ThreadingMixIn, http.server.HTTPServer):\n    request_queue_size = 128\n"
              "class H(http.server.SimpleHTTPRequestHandler):\n    def log_message(self, *a):\n        pass\nS(('127.0.0.1', 18080), H).serve_forever()")
    client = ("import http.client, time\nwhile True:\n    try:\n        c = http.client.HTTPConnection('127.0.0.1', 18080)\n        c.request('GET', '/')\n"
              "        c.getresponse().read()\n        c.close()\n    except OSError:\n        time.sleep(0.5)\n    time.sleep(0.03)")
    return f"python3 -c \"{server}\" & for i in 1 2 3 4; do python3 -c \"{client}\" & done; wait"


def pool(at):
    """Workers that wait for jobs, most of them idle."""
    return "exec python3 -c \"from concurrent.futures import ThreadPoolExecutor\nimport time, zlib\nwith ThreadPoolExecutor(16) as pool:\n    while True:\n" \
           "        list(pool.map(lambda n: zlib.compress(b'x' * 300000), range(20)))\n        time.sleep(0.02)\""


def sort(at):
    return f"while :; do seq 1 3000000 | sort -R | sort -n >/dev/null; done"


def start_big(at):
    """Programs that take 700 MB at once at their start and then work with it."""
    return "while :; do python3 -c \"import time\nx = bytearray(700 << 20)\nfor i in range(0, len(x), 4096):\n    x[i] = 1\ntime.sleep(4)\"; done"


def cron(at):
    return "while :; do find /usr -xdev -name 'x*' >/dev/null; for i in $(seq 50); do /bin/true; done; sleep 2; done"


def encode(at):
    need("xz")
    return f"head -c 100000000 /dev/zero | openssl enc -aes-128-ctr -pass pass:x >{at}/media 2>/dev/null; while :; do nice -n 19 xz -T2 -k -c {at}/media >/dev/null; done"


DATAGRAMS = """import os, socket, threading, time
QUERY, SLOW = (bytes([0, n]) + b'\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x07example\\x03com\\0\\0\\x01\\0\\x01' for n in (0, 1))
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(('127.53.53.54', 53))
def serve():
    while True:
        data, client = server.recvfrom(512)
        answer = data[:2] + b'\\x81\\x80' + data[4:]
        threading.Timer(1.2 if data[1] == SLOW[1] else 0.01, server.sendto, (answer, client)).start()
def send(query, address, pause, fresh=False, answers=True, timeout=5):
    s = None
    while True:
        if not s or fresh:
            s = socket.socket(socket.AF_INET6 if ':' in address[0] else socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(timeout)
        s.sendto(os.urandom(1) + query[1:], address)
        try:
            if answers:
                s.recvfrom(512)
        except OSError:
            pass
        time.sleep(pause)
NAMES = ('127.53.53.54', 53)
for words in ((QUERY, NAMES, 0.01, True), (QUERY, NAMES, 0.5), (SLOW, NAMES, 0, True), (SLOW, ('::ffff:127.53.53.54', 53), 0),
              (b'x:1|c', ('127.0.0.1', 8125), 0.02, False, False), (b'\\x23' + bytes(47), ('127.0.0.1', 123), 0), (QUERY, ('224.0.0.251', 5353), 0)):
    threading.Thread(target=send, args=words).start()
serve()
"""


def datagrams(at):
    """Unconnected UDP sockets: resolvers whose answers come soon or late, statistics, NTP without an answer, mDNS."""
    with open(f"{at}/datagrams.py", "w", encoding="utf-8") as file:
        file.write(DATAGRAMS)
    return f"exec python3 {at}/datagrams.py"


def logging(at):
    """A syslogd with some hundred lines per second, and two programs that send each other datagrams at a high rate."""
    os.mkdir(f"{at}/dev")
    log = "import socket, sys, time\nlog = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
    server = log + "log.bind(sys.argv[1] + '/dev/log')\nwith open(sys.argv[1] + '/messages', 'wb') as file:\n    while True:\n        file.write(log.recv(8192) + bytes([10]))\n        file.flush()"
    sender = log + "time.sleep(0.5)\nlog.connect(sys.argv[1] + '/dev/log')\nwhile True:\n    log.send(b'<14>app: a line')\n    time.sleep(0.005)"
    pair = ("import os, socket, time\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\nif os.fork():\n    while True:\n        for i in range(50):\n"
            "            a.send(b'x' * 100)\n        time.sleep(0.002)\nwhile True:\n    b.recv(8192)")
    return f"python3 -c \"{server}\" {at} & for i in 1 2 3; do python3 -c \"{sender}\" {at} & done; python3 -c \"{pair}\" & wait"


def database(at):
    """PostgreSQL: four clients with 300 transactions per second, each of which waits for the disk."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/pgbench"))
    if not found or os.geteuid():
        raise Skip("no pgbench, or not root")
    shutil.chown(at, "postgres")
    stops.append(lambda: subprocess.run(["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", "--", f"{os.path.dirname(found[-1])}/pg_ctl",
                                         "-D", f"{at}/db", "-m", "immediate", "stop"], cwd=at, check=False, stdout=subprocess.DEVNULL))  # else it leaves shared memory
    return (f"export PATH={os.path.dirname(found[-1])}:$PATH PGHOST={at} PGDATA={at}/db; cd {at}; as='setpriv --reuid postgres --regid postgres --clear-groups --'; "
            "$as initdb -N --auth trust >/dev/null; $as postgres -k $PGHOST -c listen_addresses= & until $as pg_isready; do sleep 0.2; done; "
            "$as createdb bench; $as pgbench -i -s 5 bench; touch $PGHOST/ready; while :; do $as pgbench -c 4 -R 300 -T 60 bench; done")


def requests(at):
    """A client and a server that wake each other some ten thousand times per second, as a cache or a queue does."""
    pair = ("import os, socket\na, b = socket.socketpair()\nif os.fork():\n    while True:\n        a.send(b'get')\n        a.recv(64)\n"
            "while True:\n    b.recv(64)\n    b.send(b'value')")
    return f"exec python3 -c \"{pair}\""


def packages(at):
    """A package of a thousand files that is unpacked and removed again and again, with dpkg and its fsyncs."""
    need("dpkg-deb", "dpkg")
    return (f"mkdir -p {at}/p/DEBIAN {at}/p/opt {at}/root; dpkg --root={at}/root --print-architecture; mkdir -p {at}/root/var/lib/dpkg/info {at}/root/var/lib/dpkg/updates; "
            f"touch {at}/root/var/lib/dpkg/status {at}/root/var/lib/dpkg/available; printf 'Package: many\nVersion: 1\nArchitecture: all\nMaintainer: none\nDescription: files\n' >{at}/p/DEBIAN/control; "
            f"for i in $(seq 1000); do head -c 20000 /dev/urandom >{at}/p/opt/$i; done; dpkg-deb -b {at}/p {at}/many.deb; touch {at}/ready; "
            f"while :; do dpkg --root={at}/root -i {at}/many.deb; dpkg --root={at}/root -P many; sleep 1; done")


def swap_idle(at):
    """Memory that nothing needs is in compressed swap (zram); its process sleeps."""
    zram = "/sys/block/zram0"
    if os.geteuid() or not os.path.isdir(zram) or open(f"{zram}/disksize", encoding="utf-8").read().strip() != "0":
        raise Skip("needs root and an unused zram0")
    limit = "/sys/fs/cgroup/memory"
    if not os.path.isdir(limit):
        raise Skip("no cgroup v1 memory controller")
    subprocess.run("echo 512M >/sys/block/zram0/disksize && mkswap /dev/zram0 && swapon /dev/zram0", shell=True, check=True, stdout=subprocess.DEVNULL)
    group = f"{limit}/{os.path.basename(at)}"
    os.mkdir(group)
    ends.append(lambda: subprocess.run(f"swapoff /dev/zram0; echo 1 >{zram}/reset; for i in 1 2 3 4 5; do rmdir {group} && break; sleep 0.2; done", shell=True, check=False,
                                       stderr=subprocess.DEVNULL))
    with open(f"{group}/memory.limit_in_bytes", "w", encoding="utf-8") as file:
        file.write(str(64 << 20))
    sleeper = f"import time; open('{group}/cgroup.procs', 'w').write('0'); data = bytearray(160 << 20); data[::4096] = bytes(len(data) >> 12); open('{at}/ready', 'w').close(); time.sleep(1000)"
    return f"python3 -c \"{sleeper}\" & wait"


def idle(at):
    return "exec sleep 1000"


LOADS = {f.__name__: f for f in (compile, fio_half, gzip, stress_cpu, tar, copy, dd, web, pool, sort, start_big, cron, encode, datagrams, logging,
                                  database, requests, packages, swap_idle, idle)}


class Load:
    def __init__(self, name, begin):
        self.skipped, self.process, self.seen = None, None, set()
        self.at = tempfile.mkdtemp(prefix="ktop-healthy-", dir="/var/tmp")
        try:
            command = begin(self.at)
            self.process = subprocess.Popen(["bash", "-c", command], start_new_session=True, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while "/ready" in command and not os.path.exists(f"{self.at}/ready") and self.process.poll() is None:
                time.sleep(0.1)
        except Skip as reason:
            self.skipped = str(reason)
            shutil.rmtree(self.at)

    def names(self):
        """Names of the programs of this load that run now, and of those seen before."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                    head, rest = file.read().rsplit(")", 1)
                if int(rest.split()[3]) == self.process.pid:
                    self.seen.add(head.split("(", 1)[1])
            except OSError:
                pass
        return self.seen

    def owns(self, pid, comm):
        """Whether a finding about the process counts: of this load, of a process that is gone, or of none. Other people use the machine:
        a name alone counts only if it is that of a program of this load."""
        if not pid:
            return not comm or comm in self.names()
        return self.has(int(pid)) or not os.path.exists(f"/proc/{int(pid)}") or session_of(int(pid))[0] == 2

    def has(self, pid):
        """Whether the process descends from the load: those of a database have sessions of their own."""
        while pid > 2:
            parent, session = session_of(pid)
            if session == self.process.pid:
                return True
            pid = parent
        return False

    def end(self):
        while stops:
            stops.pop()()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for pid in filter(str.isdigit, os.listdir("/proc")):  # those that have left the session
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if self.at.encode() in file.read():
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        for _ in range(200):  # a killed process may wait for the disk for a while
            if not any(session_of(int(pid))[1] == self.process.pid for pid in filter(str.isdigit, os.listdir("/proc"))):
                break
            time.sleep(0.1)
        while ends:
            ends.pop()()
        shutil.rmtree(self.at, ignore_errors=True)
