// A handler of a timer's signal interrupts a busy function wherever it is.
#include <signal.h>
#include <sys/time.h>

#include "parts.h"

static volatile uint64_t in_handler;

FUNCTION void handler_work(uint64_t turns) {
    SPIN(turns);
}

static void handler(int number) {
    uint64_t before = cpu_ns();
    (void)number;
    handler_work(1500000);
    in_handler += cpu_ns() - before;
}

FUNCTION void interrupted(uint64_t turns) {
    SPIN(turns);
}

int main(void) {
    struct part parts[] = {{"interrupted", interrupted, 10, 0}, {"handler_work", NULL, 0, 0}};
    struct sigaction action = {.sa_handler = handler};
    struct itimerval timer = {{0, 7000}, {0, 7000}}; // of CPU time
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
    uint64_t total = parts_run(parts, 2);
    parts[0].ns -= in_handler;
    parts[1].ns = in_handler;
    parts_print(parts, 2, total);
    return 0;
}
