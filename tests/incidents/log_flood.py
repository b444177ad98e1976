# A process sends log lines to a syslogd as fast as it reads them; another one sends a hundred per second.
import os
import time

from incident import DIRECTORY, decoy, go, program, python

path = os.path.join(DIRECTORY, "dev", "log")  # as of a daemon in a directory of its own
os.mkdir(os.path.dirname(path))
decoy()
program("syslogd", r"""#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
int main(int argc, char **argv) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_DGRAM, 0);
    strncpy(at.sun_path, argv[1], sizeof(at.sun_path) - 1);
    if (bind(s, (struct sockaddr *)&at, sizeof(at)))
        return 1;
    FILE *log = fopen(argv[2], "w");
    char line[1024], when[64];
    for (long n = 0; argc == 3; n++) {
        long length = recv(s, line, sizeof(line) - 1, 0);
        time_t now = time(0);
        strftime(when, sizeof(when), "%b %e %T", localtime(&now));
        if (n % 1000 == 0)
            rewind(log);
        fprintf(log, "%s %.*s\n", when, (int)length, line);
        fflush(log);
    }
}""", path, os.path.join(DIRECTORY, "messages"))
while not os.path.exists(path):
    time.sleep(0.01)
chatty = program("chatty", r"""#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
int main(int argc, char **argv) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_DGRAM, 0);
    strncpy(at.sun_path, argv[argc - 1], sizeof(at.sun_path) - 1);
    if (connect(s, (struct sockaddr *)&at, sizeof(at)))
        return 1;
    for (long n = 0;; n++) {
        char line[256];
        int length = snprintf(line, sizeof(line), "<14>chatty: request %ld: cannot find the name of the client", n);
        send(s, line, length, 0);
    }
}""", path)
python("polite", f"import socket, time\ns = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\ns.connect({path!r})\nwhile True:\n    s.send(b'<14>polite: a line')\n    time.sleep(0.01)")
go((chatty, "chatty"))
