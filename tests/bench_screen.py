"""What the benchmarks share: a program on a terminal of its own, and the CPU time of its threads."""
import collections
import fcntl
import os
import pty
import struct
import termios
import threading

KTOP = os.path.abspath(os.environ.get("KTOP", "build/ktop"))


class Screen:
    """A program on its own pseudo-terminal, whose output is read and discarded."""

    def __init__(self, argv, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
            os.environ.update(TERM="xterm-256color", LANG="C.UTF-8", HOME=home, XDG_CONFIG_HOME=home)
            os.execvp(argv[0], argv)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass

    def threads(self):
        """CPU time in ms and time slices of each thread, by thread name."""
        cost = collections.Counter()
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{tid}/schedstat") as f, open(f"/proc/{self.pid}/task/{tid}/comm") as c:
                spent, _, slices = map(int, f.read().split())
                name = c.read().strip()
            cost[name] += spent / 1e6
            cost[name, "wake-ups"] += slices
        return cost

    def end(self):
        os.kill(self.pid, 15)
        os.waitpid(self.pid, 0)
        os.close(self.fd)
