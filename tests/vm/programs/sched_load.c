// Loads with known scheduling, for the tests of the sched pane. Each prints one line when it is set up, and exits with
// its parent.
//   pingpong ROUNDS CPU   two processes that write to each other in turns, on that CPU (-1: any): "PID PID", then
//                         both wait forever
//   mutex                 a thread that holds a mutex forever and one that waits for it: "HOLDER WAITER"
//   flock FILE            a process that holds the file's lock and one that waits for it: "HOLDER WAITER"
//   pipe                  a process that reads from an empty pipe: "PID"
//   vfork                 a process whose vfork child neither execs nor exits, so that it waits in D: "PID"
//   burn CPU PRIORITY     runs on that CPU forever, with that real-time priority (0: none): "PID"
//   crowd N               N processes that start to run forever at the same time: "N"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (cpu >= 0 && sched_setaffinity(0, sizeof(set), &set))
        die("sched_setaffinity");
}

static void name(const char *text) {
    prctl(PR_SET_NAME, text);
}

static void wait_forever(void) {
    for (;;)
        pause();
}

static pid_t child(void) {
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (!pid)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

static void pingpong(long rounds, int cpu) {
    int to[2], from[2];
    char byte = 0;
    if (pipe(to) || pipe(from))
        die("pipe");
    pin(cpu);
    name("ping");
    pid_t pong = child();
    if (!pong) {
        name("pong");
        for (long i = 0; i < rounds; i++)
            if (read(to[0], &byte, 1) != 1 || write(from[1], &byte, 1) != 1)
                die("pong");
        wait_forever();
    }
    for (long i = 0; i < rounds; i++)
        if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
            die("ping");
    printf("%d %d\n", getpid(), pong);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *waiter(void *ready) {
    name("waiter");
    *(volatile int *)ready = (int)syscall(SYS_gettid);
    pthread_mutex_lock(&mutex);
    return NULL;
}

static void hold_mutex(void) {
    static volatile int tid;
    pthread_t thread;
    name("holder");
    pthread_mutex_lock(&mutex);
    if (pthread_create(&thread, NULL, waiter, (void *)&tid))
        die("pthread_create");
    while (!tid)
        usleep(1000);
    printf("%d %d\n", getpid(), tid);
}

static void hold_file(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || flock(fd, LOCK_EX))
        die(path);
    name("holder");
    pid_t pid = child();
    if (!pid) {
        name("waiter");
        fd = open(path, O_RDWR);
        flock(fd, LOCK_EX);
        exit(0);
    }
    printf("%d %d\n", getpid(), pid);
}

static void burn(int cpu, int priority) {
    const struct sched_param param = {.sched_priority = priority};
    pin(cpu);
    name(priority ? "rt_hog" : "burner");
    if (priority && sched_setscheduler(0, SCHED_FIFO, &param))
        die("sched_setscheduler");
    printf("%d\n", getpid());
    fflush(stdout);
    for (;;)
        ;
}

static void crowd(int n) {
    int ends[2];
    char byte;
    if (pipe(ends))
        die("pipe");
    name("crowd");
    for (int i = 0; i < n; i++)
        if (!child()) {
            close(ends[1]);
            if (read(ends[0], &byte, 1)) // until all have started
                die("crowd");
            for (;;)
                ;
        }
    printf("%d\n", n);
    fflush(stdout);
    close(ends[1]);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int ends[2];
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!strcmp(what, "pingpong") && argc == 4) {
        pingpong(atol(argv[2]), atoi(argv[3]));
    } else if (!strcmp(what, "crowd") && argc == 3) {
        crowd(atoi(argv[2]));
    } else if (!strcmp(what, "mutex")) {
        hold_mutex();
    } else if (!strcmp(what, "flock") && argc == 3) {
        hold_file(argv[2]);
    } else if (!strcmp(what, "burn") && argc == 4) {
        burn(atoi(argv[2]), atoi(argv[3]));
    } else if (!strcmp(what, "pipe")) {
        if (pipe(ends))
            die("pipe");
        name("reader");
        printf("%d\n", getpid());
        fflush(stdout);
        return read(ends[0], &byte, 1) != 0;
    } else if (!strcmp(what, "vfork")) {
        name("parent");
        printf("%d\n", getpid());
        fflush(stdout);
        if (!vfork()) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                sleep(1000);
        }
    } else {
        fprintf(stderr, "usage: see the head of sched_load.c\n");
        return 2;
    }
    fflush(stdout);
    wait_forever();
}
