# A program has a timer of a few microseconds.
from incident import decoy, go, program

decoy()
go((program("ticker", """#include <sys/timerfd.h>
#include <stdint.h>
#include <unistd.h>
#include <sys/prctl.h>
int main(void) {
    struct itimerspec every = {{0, 20000}, {0, 20000}};
    uint64_t n;
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(fd, 0, &every, 0);
    while (read(fd, &n, 8) == 8)
        ;
}"""), "ticker"))
