// Causes a known number of events, on a line "KIND N" from its standard input: faults (minor page faults), switches
// (voluntary context switches), calls (of getppid). Then prints how many the kernel counted.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static long faults(long n) {
    char *at = mmap(NULL, (size_t)n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct rusage before, after;
    if (at == MAP_FAILED)
        return -1;
    madvise(at, (size_t)n * PAGE, MADV_NOHUGEPAGE);
    getrusage(RUSAGE_SELF, &before);
    for (long i = 0; i < n; i++)
        at[i * PAGE] = 1;
    getrusage(RUSAGE_SELF, &after);
    munmap(at, (size_t)n * PAGE);
    return after.ru_minflt - before.ru_minflt;
}

static long switches(long n) {
    const struct timespec nap = {.tv_nsec = 1000};
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (long i = 0; i < n; i++)
        nanosleep(&nap, NULL);
    getrusage(RUSAGE_SELF, &after);
    return after.ru_nvcsw - before.ru_nvcsw;
}

static long calls(long n) {
    for (long i = 0; i < n; i++)
        syscall(SYS_getppid);
    return n;
}

int main(void) {
    char kind[16];
    long n;
    while (scanf("%15s %ld", kind, &n) == 2) {
        printf("%ld\n", *kind == 'f' ? faults(n) : *kind == 's' ? switches(n) : calls(n));
        fflush(stdout);
    }
    return 0;
}
