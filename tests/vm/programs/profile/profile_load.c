// Functions with known shares of CPU time: profile_load MODE. Runs until SIGTERM, then prints for each function the CPU
// time that it took by CLOCK_THREAD_CPUTIME_ID, callees and the kernel's code included: "PID FUNCTION NS".
//   shares   sixty: a leaf function; thirty: below a recursion of 40 levels, calls the leaf function burn; lib_ten: a
//            leaf function, in a shared library if the program has one
//   signals  interrupted: a leaf function; handler: a signal handler that interrupts it anywhere
//   kernel   reads: read(2) of zeros; sixty
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "profile_load.h"

#define UNIT 20000 // long against the clock_gettime of each function

static volatile sig_atomic_t stopped;
static uint64_t in_handler, seed = 1;

static uint64_t cpu_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

// n, and up to a quarter more or less: else the rounds could keep step with the samples.
static uint64_t about(uint64_t n) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    return n * 3 / 4 + (seed >> 33) % (n / 2);
}

static void on_term(int signal) {
    (void)signal;
    stopped = 1;
}

FUNCTION void sixty(uint64_t n) {
    SPIN(n);
}

FUNCTION void burn(uint64_t n) {
    SPIN(n);
}

FUNCTION void thirty(uint64_t n) {
    burn(n);
    __asm__ volatile(""); // no tail call
}

FUNCTION void deep(int levels, uint64_t n) {
    if (levels > 1)
        deep(levels - 1, n);
    else
        thirty(n);
    __asm__ volatile("");
}

static void timer_set(uint64_t us) {
    const struct itimerval timer = {.it_value.tv_usec = (suseconds_t)us};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void handler(int signal) {
    uint64_t start = cpu_ns();
    (void)signal;
    burn(about(UNIT));
    timer_set(about(500));
    in_handler += cpu_ns() - start;
}

FUNCTION void interrupted(uint64_t n) {
    SPIN(n);
}

FUNCTION void reads(uint64_t n) {
    static char bytes[65536];
    static int zero = -1;
    if (zero < 0)
        zero = open("/dev/zero", O_RDONLY);
    for (uint64_t i = 0; i < n; i++)
        if (read(zero, bytes, sizeof(bytes)) < 0)
            exit(1);
}

static void truth(const char *function, uint64_t ns) {
    printf("%d %s %llu\n", (int)getpid(), function, (unsigned long long)ns);
}

static void shares(void) {
    uint64_t times[3] = {0};
    while (!stopped) {
        uint64_t start = cpu_ns();
        sixty(about(6 * UNIT));
        uint64_t second = cpu_ns();
        deep(40, about(3 * UNIT));
        uint64_t third = cpu_ns();
        lib_ten(about(UNIT));
        times[0] += second - start;
        times[1] += third - second;
        times[2] += cpu_ns() - third;
    }
    truth("sixty", times[0]);
    truth("thirty", times[1]);
    truth("lib_ten", times[2]);
}

static void signals(void) {
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    uint64_t time = 0;
    sigaction(SIGALRM, &action, NULL);
    timer_set(1000);
    while (!stopped) {
        uint64_t start = cpu_ns(), before = in_handler;
        interrupted(about(6 * UNIT));
        time += cpu_ns() - start - (in_handler - before);
    }
    truth("interrupted", time);
    truth("handler", in_handler);
}

static void kernel(void) {
    uint64_t times[2] = {0};
    while (!stopped) {
        uint64_t start = cpu_ns();
        reads(about(4));
        uint64_t second = cpu_ns();
        sixty(about(2 * UNIT));
        times[0] += second - start;
        times[1] += cpu_ns() - second;
    }
    truth("reads", times[0]);
    truth("sixty", times[1]);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    signal(SIGTERM, on_term);
    if (nice(19) < 0) // the guest has one CPU: ktop comes first
        return 1;
    if (!strcmp(mode, "shares"))
        shares();
    else if (!strcmp(mode, "signals"))
        signals();
    else if (!strcmp(mode, "kernel"))
        kernel();
    else
        return 2;
    return 0;
}
