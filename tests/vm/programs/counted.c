// counted [EXTRA]: threads that do a known amount of work, each with its own hardware counters as the reference for
// ktop. Prints one line per thread, "truth NAME PID TID cycles instructions cpu_ns", when all are done, and sleeps
// until it is killed. EXTRA: number of additional counters on every CPU meanwhile, so that events share the PMU; the
// threads' counters are then multiplexed too, and cpu_ns is the reference. "counted spin" only burns idle time.
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct truth {
    const char *name;
    int busy_ms, rounds, pause_ms; // each round: busy, then asleep
    int threads;
    pid_t pid, tid;
    unsigned long long cycles, instructions, cpu_ns;
    int done;
};

static int counter(unsigned config, int group, int pid, int cpu) {
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = config;
    attr.read_format = PERF_FORMAT_GROUP;
    return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, group, 0);
}

static unsigned long long cpu_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (unsigned long long)at.tv_sec * 1000000000ull + (unsigned long long)at.tv_nsec;
}

static void *work(void *argument) {
    struct truth *truth = argument;
    unsigned long long values[3] = {0};
    int fd = counter(PERF_COUNT_HW_CPU_CYCLES, -1, 0, -1);
    int second = counter(PERF_COUNT_HW_INSTRUCTIONS, fd, 0, -1);
    for (int i = 0; i < truth->rounds; i++) {
        unsigned long long until = cpu_ns() + (unsigned long long)truth->busy_ms * 1000000;
        while (cpu_ns() < until)
            for (int n = 0; n < 2000; n++)
                __asm__ volatile("" ::: "memory");
        struct timespec pause = {0, truth->pause_ms * 1000000l};
        if (truth->pause_ms)
            nanosleep(&pause, NULL);
    }
    if (read(fd, values, sizeof values) != sizeof values)
        values[0] = 0;
    truth->cpu_ns = cpu_ns();
    truth->cycles = values[0] == 2 ? values[1] : 0;
    truth->instructions = values[0] == 2 ? values[2] : 0;
    truth->tid = (pid_t)syscall(SYS_gettid);
    truth->pid = getpid();
    close(second);
    __atomic_store_n(&truth->done, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
    return NULL;
}

int main(int argc, char **argv) {
    static const struct truth plan[] = {{.name = "busy", .busy_ms = 250, .rounds = 1},
                                        {.name = "duty", .busy_ms = 3, .rounds = 40, .pause_ms = 4},
                                        {.name = "idle", .busy_ms = 0, .rounds = 40, .pause_ms = 10},
                                        {.name = "first", .busy_ms = 20, .rounds = 6, .pause_ms = 1, .threads = 1},
                                        {.name = "second", .busy_ms = 120, .rounds = 1}};
    enum { N = sizeof plan / sizeof *plan };
    if (argc > 1 && !strcmp(argv[1], "spin") && nice(19) >= 0)
        for (;;)
            __asm__ volatile("" ::: "memory");
    struct truth *truths = mmap(NULL, sizeof plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memcpy(truths, plan, sizeof plan);
    for (int i = 0; argc > 1 && i < atoi(argv[1]); i++)
        for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_ONLN); cpu++)
            counter(i % 2 ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES, -1, -1, cpu);
    for (int i = 0; i < N; i++) {
        if (fork() == 0) {
            pthread_t thread;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (int t = 0; t < truths[i].threads; t++)
                pthread_create(&thread, NULL, work, &truths[i + 1 + t]);
            work(&truths[i]);
        }
        i += truths[i].threads;
    }
    for (int i = 0; i < N; i++) {
        const struct timespec poll = {0, 20000000};
        while (!__atomic_load_n(&truths[i].done, __ATOMIC_ACQUIRE))
            nanosleep(&poll, NULL);
    }
    for (int i = 0; i < N; i++)
        printf("truth %s %d %d %llu %llu %llu\n", truths[i].name, truths[i].pid, truths[i].tid, truths[i].cycles,
               truths[i].instructions, truths[i].cpu_ns);
    fflush(stdout);
    for (;;)
        pause();
}
