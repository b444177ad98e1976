# A user has as many processes as its limit (ulimit -u) allows.
import os

from incident import decoy, go, program, skip

if os.geteuid():
    skip("needs root, to become a user without other processes")
decoy()
go((program("worker", """#include <sys/resource.h>
#include <unistd.h>
int main(void) {
    const struct rlimit limit = {60, 60};
    if (setrlimit(RLIMIT_NPROC, &limit) || setgid(12345) || setuid(12345))
        return 1;
    for (;;) {
        if (fork() == 0) {
            pause();
            return 0;
        }
        usleep(10000);
    }
}"""), "worker"), kinds=("pids_limit",))
