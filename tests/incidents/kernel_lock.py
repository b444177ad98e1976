# Eight threads of a program map and unmap memory: each call locks the memory map that they share (mmap_lock).
from incident import decoy, go, program

decoy()
go((program("mapper", """#include <pthread.h>
#include <sys/mman.h>
static void *work(void *of) {
    for (;;) {
        char *at = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int page = 0; page < 16; page++)
            at[page << 12] = 1;
        munmap(at, 1 << 16);
    }
    return of;
}
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 7; i++)
        pthread_create(&thread, 0, work, 0);
    work(0);
}"""), "mapper"))
