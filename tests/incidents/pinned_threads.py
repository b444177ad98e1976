# The busy threads of a program may run only on one CPU, while another one is idle.
import os

from incident import decoy, go, program, skip

cpus = sorted(os.sched_getaffinity(0))
if len(cpus) < 2:
    skip("needs two CPUs")
decoy()
go((program("engine", """#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
static int cpu;
static void *work(void *of) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
    for (volatile long i = 0;; i++)
        ;
    return of;
}
int main(int argc, char **argv) {
    pthread_t thread;
    cpu = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, work, NULL);
    pause();
}""", cpus[0]), "engine"), kinds=["pinned_tasks"])
