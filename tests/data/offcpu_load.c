// Blocks for known times in known functions: of each 50 ms, 30 ms in thirty(), 10 ms in ten(), and 10 ms in reading(),
// which reads from a pipe that another process fills. Prints what it measured, in microseconds, at SIGTERM. With the
// argument "pingpong": two threads take turns as fast as they can, and the turns are counted. With
// "bell": reading() all the time, which ring_the_bell() of the other process ends after 5 to 15 ms; it sleeps one to
// three times, so that the switches are in step with no sampling of one in N.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ended;
static _Atomic unsigned long turns_done; // of "pingpong"

static void end(int signal) {
    (void)signal;
    ended = 1;
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

static void pause_ms(long ms) {
    const struct timespec time = {.tv_nsec = ms * 1000000};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) static double thirty(void) {
    double from = now();
    pause_ms(30);
    return now() - from;
}

__attribute__((noinline)) static double ten(void) {
    double from = now();
    pause_ms(10);
    return now() - from;
}

__attribute__((noinline)) static double reading(int ask, int answer) {
    double from = now();
    char byte = 'x';
    if (write(ask, &byte, 1) != 1 || read(answer, &byte, 1) != 1)
        ended = 1;
    return now() - from;
}

__attribute__((noinline)) static bool ring_the_bell(int answer) {
    char byte = 'x';
    bool rung = write(answer, &byte, 1) == 1;
    return rung;
}

static void answer(int ask, int answer, bool varied) {
    char byte;
    while (read(ask, &byte, 1) == 1) {
        for (int n = varied ? 1 + rand() % 3 : 0; n; n--)
            pause_ms(5);
        if (!varied)
            pause_ms(10);
        if (!ring_the_bell(answer))
            break;
    }
    _exit(0);
}

struct ends {
    int in, out;
};

static void *turns(void *argument) {
    const struct ends *ends = argument;
    char byte = 'x';
    while (!ended && read(ends->in, &byte, 1) == 1 && write(ends->out, &byte, 1) == 1)
        turns_done++;
    return NULL;
}

static int pingpong(void) {
    int a[2], b[2];
    pthread_t thread;
    if (pipe(a) || pipe(b))
        return 1;
    struct ends one = {a[0], b[1]}, two = {b[0], a[1]};
    if (write(a[1], "x", 1) != 1 || pthread_create(&thread, NULL, turns, &one))
        return 1;
    turns(&two); // ends with a signal's EINTR
    printf("%lu\n", turns_done);
    return 0;
}

int main(int argc, char **argv) {
    double sums[3] = {0};
    int ask[2], back[2];
    const struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && !strcmp(argv[1], "pingpong"))
        return pingpong();
    if (pipe(ask) || pipe(back))
        return 1;
    if (!fork()) {
        close(ask[1]);
        close(back[0]);
        answer(ask[0], back[1], argc > 1);
    }
    close(ask[0]);
    close(back[1]);
    while (!ended && argc > 1) // "bell"
        reading(ask[1], back[0]);
    while (!ended) {
        sums[0] += thirty();
        sums[1] += ten();
        sums[2] += reading(ask[1], back[0]);
    }
    printf("%.0f %.0f %.0f\n", sums[0], sums[1], sums[2]);
    return 0;
}
