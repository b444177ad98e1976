// Loads for the tests of the task table. Prints one line when it stands, and goes when its parent does.
//   idle N      N sleeping processes; one that gets SIGUSR1 burns 10 s of CPU
//   threads N   one process with N sleeping threads; the last one burns while SIGUSR1 was the last signal (SIGUSR2:
//   not) touch N     on each SIGUSR1 touches N new pages write F N   on each SIGUSR1 writes N bytes to the file F, and
//   sees them to the disk name BYTES  has that name
//   ping CPU    on that CPU hands a byte to another process and back, as fast as it goes, while SIGUSR1 was the last
//   signal
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // sched_setaffinity
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static atomic_int burning;

static void on_signal(int signal) {
    burning = signal == SIGUSR1;
}

static void burn(double seconds) {
    struct timespec now;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < seconds);
}

static void *thread(void *last) {
    for (;;) {
        if (last && burning)
            for (volatile int i = 0; i < 1000000; i++)
                ;
        else
            usleep(last ? 20000 : 1000000000);
    }
    return NULL;
}

static void sleeper(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (!burning)
        pause();
    burn(10);
    _exit(0);
}

static void hand_on(int from, int to) {
    char byte;
    ssize_t got;
    while ((got = read(from, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (got != 1 || write(to, &byte, 1) != 1)
        _exit(1);
}

// Where the byte comes back from and goes out to: to and from a process that does nothing else.
static pid_t ping_begin(int cpu, int *in, int *out) {
    int there[2], back[2];
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back))
        return -1;
    pid_t pid = fork();
    if (!pid)
        for (prctl(PR_SET_PDEATHSIG, SIGKILL);;)
            hand_on(there[0], back[1]);
    *in = back[0];
    *out = there[1];
    return pid < 0 || write(*out, "x", 1) != 1 ? -1 : pid;
}

static void ping(int in, int out) {
    sigset_t none, usr;
    sigemptyset(&none);
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    sigaddset(&usr, SIGUSR2);
    for (;;) {
        sigprocmask(SIG_BLOCK, &usr, NULL);
        while (!burning)
            sigsuspend(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        while (burning)
            hand_on(in, out);
    }
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    long n = atol(argv[2]);
    const char *what = argv[1];
    if (!strcmp(what, "name"))
        prctl(PR_SET_NAME, argv[2]);
    if (!strcmp(what, "threads")) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 65536);
        for (long i = 0; i < n; i++) {
            pthread_t id;
            if (pthread_create(&id, &attributes, thread, i == n - 1 ? &burning : NULL))
                return 1;
        }
    }
    pid_t last = getpid();
    if (!strcmp(what, "idle"))
        for (long i = 0; i < n; i++)
            if ((last = fork()) == 0)
                sleeper();
            else if (last < 0)
                return 1;
    int in = -1, out = -1;
    if (!strcmp(what, "ping") && (last = ping_begin((int)n, &in, &out)) < 0)
        return 1;
    printf("ready %d\n", last);
    fflush(stdout);
    if (!strcmp(what, "ping"))
        ping(in, out);
    for (;;) {
        pause();
        if (!burning)
            continue;
        if (!strcmp(what, "touch")) {
            char *pages = mmap(NULL, (size_t)n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            madvise(pages, (size_t)n * 4096, MADV_NOHUGEPAGE);
            for (long i = 0; i < n; i++)
                pages[i * 4096] = 1;
            burning = 0;
        } else if (!strcmp(what, "write") && argc > 3) {
            size_t size = strtoul(argv[3], NULL, 10);
            char *bytes = calloc(1, size);
            int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
            if (fd < 0 || write(fd, bytes, size) < 0 || fsync(fd) < 0)
                return 1;
            close(fd);
            free(bytes);
            burning = 0;
        }
    }
}
