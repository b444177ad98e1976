# A thread of a program, not its first one, uses a CPU at real-time priority 20, for which its first thread waits.
from incident import decoy, go, program, realtime_cpus

cpus = realtime_cpus()
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
