# A thread of a program, not its first one, uses a CPU at real-time priority 20, for which its first thread waits.
import os

from incident import decoy, go, program, skip

if os.geteuid():
    skip("needs root")
cpus = sorted(os.sched_getaffinity(0))
if len(cpus) < 2:
    skip("needs two CPUs")
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
except OSError as error:
    skip(f"no real-time priority: {error.strerror}")
decoy()
go((program("mixer", """#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
static volatile long count;
static void *play(void *none) {
    struct sched_param priority = {20};
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
    for (;;)
        count++;
    return none;
}
int main(int argc, char **argv) {
    cpu_set_t cpu;
    pthread_t thread;
    CPU_ZERO(&cpu);
    CPU_SET(atoi(argv[1]), &cpu);
    sched_setaffinity(0, sizeof(cpu), &cpu);
    pthread_create(&thread, 0, play, 0);
    for (;;)
        count++;
}""", cpus[-1]), "mixer"), kinds=("realtime_hog",))
