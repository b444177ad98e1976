// probes_load FIFO: reads commands, a line each, and does what they say a known number of times; answers each with a
// line.
//   s N NS   N sleeps, of NS, NS + 1, ... ns: hrtimer_nanosleep(ns, ...) of the kernel
//   w N      N calls of work(i) = 3 * i
//   g N      N getpriority(i, 0)
//   b N      N getpgid(0): begins what waits for it
//   e N      N getsid(0): ends it
// Without a line for a while it goes on waiting: the writers of the FIFO come and go.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) int work(int number) {
    __asm__ volatile("" : "+r"(number));
    return 3 * number;
}

int main(int argc, char **argv) {
    char line[64], kind;
    if (argc < 2)
        return 2;
    int fd = open(argv[1], O_RDWR);
    FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (in && fgets(line, sizeof line, in)) {
        long n = 0, ns = 0, sum = 0;
        sscanf(line, "%c %ld %ld", &kind, &n, &ns);
        for (long i = 0; i < n; i++) {
            struct timespec time = {.tv_sec = (ns + i) / 1000000000, .tv_nsec = (ns + i) % 1000000000};
            if (kind == 's')
                sum += clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
            else if (kind == 'w')
                sum += work((int)i);
            else if (kind == 'b')
                sum += getpgid(0) > 0;
            else if (kind == 'e')
                sum += getsid(0) > 0;
            else
                sum += getpriority((int)i, 0);
        }
        printf("%c %ld %ld\n", kind, n, sum);
    }
    return 0;
}
