// A program that knows exactly which system calls it makes. The counted process is a clone without any library around
// it, so that its calls are those below and nothing else.
//
//     syscalls_load spin N [WORK]   N calls of getppid, as fast as they go, or with so much work between them
//     syscalls_load mix ROUNDS      40 different calls, with known errors
//     syscalls_load sleep N         N sleeps of 0.3 to 12 ms
//     syscalls_load signals N       calls that signals interrupt: begun again, or EINTR
//     syscalls_load threads N T     N calls of getppid in each of T threads of the counted process, moved between the
//     CPUs
//
// It waits for a line on standard input, runs, and prints "pid PID", then "NAME ERROR COUNT" ("-": no error).
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROWS 256
static struct counts {
    struct row {
        char name[24];
        int error;
        long n;
    } rows[ROWS];
    int ready;
} * shared;

static void count_n(const char *name, int error, long n) {
    for (int i = 0; i < ROWS; i++) {
        struct row *row = &shared->rows[i];
        if (!row->n && !row->name[0]) {
            strcpy(row->name, name);
            row->error = error;
        }
        if (row->error == error && !strcmp(row->name, name)) {
            row->n += n;
            return;
        }
    }
}

// One call, counted under what it really returned.
#define DO(name_, ...)                                                                                                 \
    ({                                                                                                                 \
        long result_ = syscall(SYS_##name_, ##__VA_ARGS__);                                                            \
        count_n(#name_, result_ == -1 ? errno : 0, 1);                                                                 \
        result_;                                                                                                       \
    })

static void mix(long rounds) {
    char buffer[256];
    for (long i = 0; i < rounds; i++) {
        int pair[2], fd = (int)DO(openat, AT_FDCWD, "/dev/null", O_RDWR);
        DO(openat, AT_FDCWD, "/no/such/file", O_RDONLY);   // ENOENT
        DO(openat, AT_FDCWD, "/dev/null/below", O_RDONLY); // ENOTDIR
        DO(read, -1, buffer, 1);                           // EBADF
        DO(read, fd, buffer, 10);
        DO(write, fd, buffer, 10);
        DO(pread64, fd, buffer, 10, 0);
        DO(pwrite64, fd, buffer, 10, 0);
        DO(lseek, fd, 0, SEEK_SET);
        DO(lseek, fd, 0, 77); // EINVAL
        DO(fcntl, fd, F_GETFL, 0);
        DO(ioctl, fd, 0x5401, buffer); // ENOTTY
        DO(fsync, fd);                 // EINVAL
        int other = (int)DO(dup, fd);
        DO(dup3, fd, fd, 0); // EINVAL
        DO(close, other);
        DO(close, fd);
        DO(close, fd); // EBADF
        DO(pipe2, pair, O_NONBLOCK);
        DO(read, pair[0], buffer, 1); // EAGAIN
        DO(read, pair[0], buffer, 1); // EAGAIN
        DO(close, pair[0]);
        DO(close, pair[1]);
        DO(getpid);
        DO(getppid);
        DO(gettid);
        DO(getuid);
        DO(geteuid);
        DO(getgid);
        DO(getegid);
        DO(getpgid, 0);
        DO(getsid, 0);
        DO(uname, NULL);       // EFAULT
        DO(getcwd, buffer, 1); // ERANGE
        DO(chdir, "/");
        DO(umask, 022);
        DO(sched_yield);
        DO(getpriority, 0, 0);
        DO(mkdirat, AT_FDCWD, "/", 0777);           // EEXIST
        DO(unlinkat, AT_FDCWD, "/no/such/file", 0); // ENOENT
        DO(kill, 0x3fffffff, 0);                    // ESRCH
        DO(madvise, 1, 1, 0);                       // EINVAL
        DO(munmap, 1, 1);                           // EINVAL
        DO(socket, 99, 0, 0);                       // EAFNOSUPPORT
        DO(listen, -1, 0);                          // EBADF
        DO(wait4, -1, NULL, 0, NULL);               // ECHILD
        DO(prctl, 0x7777, 0, 0, 0, 0);              // EINVAL
        DO(fchdir, -1);                             // EBADF
        DO(ftruncate, -1, 0L);                      // EBADF
        DO(readlinkat, AT_FDCWD, "/", buffer, 10);  // EINVAL
        DO(getrandom, buffer, 8, 0);
        DO(sched_getaffinity, 0, 128, shared->rows + ROWS - 8); // a place of no use
        DO(clock_getres, CLOCK_REALTIME, NULL);
        syscall(1000); // a number that there is not: ENOSYS
        count_n("unknown", ENOSYS, 1);
    }
}

static void sleeps(long n) {
    for (long i = 0; i < n; i++) {
        struct timespec time = {.tv_nsec = 300000 + (i * 977 % 100) * 117000};
        DO(clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
    }
}

static volatile sig_atomic_t handled;
static void handler(int signal) {
    (void)signal;
    handled++;
    syscall(SYS_getegid); // a call inside of the handler
}

// An interval timer's signals come while it waits. rt_sigaction of the library: one call each, counted by hand.
static void signals(long n) {
    struct sigaction action = {.sa_handler = handler};
    struct itimerspec timer = {.it_value = {.tv_nsec = 3000000}};
    struct sigevent to_me = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct timespec long_time = {.tv_sec = 5};
    char byte;
    int pair[2], made = 0;
    DO(pipe2, pair, 0);
    DO(timer_create, CLOCK_MONOTONIC, &to_me, &made);
    for (long i = 0; i < n; i++) {
        long before = handled;
        // Without SA_RESTART: EINTR.
        action.sa_flags = 0;
        sigaction(SIGUSR1, &action, NULL);
        DO(timer_settime, made, 0, &timer, NULL);
        DO(read, pair[0], &byte, 1); // EINTR
        // A sleep gives EINTR whatever the flags say.
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR1, &action, NULL);
        DO(timer_settime, made, 0, &timer, NULL);
        DO(clock_nanosleep, CLOCK_MONOTONIC, 0, &long_time, NULL); // EINTR
        // With it the read is begun again, until a second thing ends it: the write end is closed by our parent's
        // helper.
        DO(timer_settime, made, 0, &timer, NULL);
        long writer = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (!writer) {
            struct timespec later = {.tv_nsec = 12000000};
            syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &later, NULL);
            syscall(SYS_write, pair[1], "x", 1);
            syscall(SYS_exit_group, 0);
        }
        count_n("clone", 0, 1); // it returns twice, and is one call
        DO(read, pair[0], &byte, 1);
        DO(wait4, writer, NULL, 0, NULL);
        count_n("rt_sigaction", 0, 2);
        count_n("rt_sigreturn", 0, handled - before);
        count_n("getegid", 0, handled - before);
    }
}

static void *caller(void *n) {
    cpu_set_t set;
    for (long i = 0; i < (long)n; i++) {
        syscall(SYS_getppid);
        if (i % 20000 == 0) { // to the other CPU, in the midst of it
            CPU_ZERO(&set);
            CPU_SET((unsigned)(i / 20000) % 2, &set);
            syscall(SYS_sched_setaffinity, 0, sizeof(set), &set);
        }
    }
    return NULL;
}

static void child(int argc, char **argv) {
    long n = argc > 2 ? atol(argv[2]) : 1;
    DO(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); // whatever ends the test ends its load
    if (!strcmp(argv[1], "spin")) {
        long work = argc > 3 ? atol(argv[3]) : 0;
        for (long i = 0; i < n; i++) {
            syscall(SYS_getppid);
            for (volatile long k = 0; k < work; k++)
                ;
        }
        count_n("getppid", 0, n);
    } else if (!strcmp(argv[1], "mix")) {
        mix(n);
    } else if (!strcmp(argv[1], "sleep")) {
        sleeps(n);
    } else if (!strcmp(argv[1], "signals")) {
        signals(n);
    }
    count_n("exit_group", 0, 1);
    syscall(SYS_exit_group, 0);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || getchar() == EOF)
        return 1;
    long pid = getpid();
    if (!strcmp(argv[1], "threads")) {
        pthread_t threads[16];
        long n = atol(argv[2]), t = argc > 3 ? atol(argv[3]) : 2;
        for (long i = 0; i < t && i < 16; i++)
            pthread_create(&threads[i], NULL, caller, (void *)n);
        for (long i = 0; i < t && i < 16; i++)
            pthread_join(threads[i], NULL);
        count_n("getppid", 0, n * t);
        count_n("sched_setaffinity", 0, (n + 19999) / 20000 * t);
    } else {
        pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (!pid)
            child(argc, argv);
        waitpid((pid_t)pid, NULL, 0);
    }
    printf("pid %ld\n", pid);
    for (int i = 0; i < ROWS && shared->rows[i].name[0]; i++)
        if (shared->rows[i].n)
            printf("%s %s %ld\n", shared->rows[i].name,
                   shared->rows[i].error ? strerrorname_np(shared->rows[i].error) : "-", shared->rows[i].n);
    return 0;
}
