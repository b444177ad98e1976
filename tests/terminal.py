"""A terminal for tests and measurements: runs a program on a pseudo-terminal and keeps its whole output."""
import errno
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

from ktop import KTOP, TOP  # noqa: F401


class Terminal:
    def __init__(self, argv, columns=80, rows=24, env=None):
        whole = dict(os.environ, TERM="xterm-256color", LANG="C.UTF-8")
        whole.pop("LINES", None)
        whole.pop("COLUMNS", None)
        whole.pop("NO_COLOR", None)
        whole.update(env or {})
        self.started = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            try:
                os.execvpe(argv[0], argv, whole)
            finally:
                os._exit(127)
        self.raw = b""
        self.last = self.started  # time of the last output
        self.status = None
        self.closed = False

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def settings(self):
        return termios.tcgetattr(self.fd)

    def read(self, seconds):
        """The next output within that time, or b""."""
        if self.closed or not select.select([self.fd], [], [], max(0, seconds))[0]:
            return b""
        try:
            got = os.read(self.fd, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            got = b""
        if not got:
            self.closed = True
        self.last = time.monotonic()
        self.raw += got
        return got

    def pump(self, seconds):
        """All output within that time."""
        end, got = time.monotonic() + seconds, b""
        while not self.closed and time.monotonic() < end:
            got += self.read(end - time.monotonic())
        return got

    def wait_for(self, bytes_, seconds=10):
        start, end = len(self.raw), time.monotonic() + seconds
        while bytes_ not in self.raw[max(0, start - 4096):]:
            if self.closed or time.monotonic() > end:
                return False
            self.read(end - time.monotonic())
        return True

    def quiet(self, gap, seconds=5):
        """Reads until there is no output for `gap` seconds; returns the output."""
        end, got = time.monotonic() + seconds, b""
        while not self.closed and time.monotonic() < end:
            more = self.read(gap)
            if not more:
                break
            got += more
        return got

    def send(self, keys):
        os.write(self.fd, keys if isinstance(keys, bytes) else keys.encode())

    def wait(self, seconds=5):
        """Reads output until the program exits; returns its wait status, or None."""
        end = time.monotonic() + seconds
        while self.status is None and time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
            else:
                self.read(0.02)
                if self.closed:
                    time.sleep(0.01)
        while not self.closed and self.read(0.05):
            pass
        return self.status

    def end(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.status = -1
        os.close(self.fd)
