# A thread of a program maps and unmaps memory again and again, while the others run on other CPUs.
from incident import decoy, go, program

decoy()
go((program("remapper", """#include <pthread.h>
#include <sys/mman.h>
static volatile long sum;
static void *work(void *of) {
    for (long i = 0;; i++)
        sum = i;
    return of;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    char *at = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (;;) {
        at[0] = 1;
        madvise(at, 4096, MADV_DONTNEED);
    }
}"""), "remapper"))
