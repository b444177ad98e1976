# A thread of a program calls membarrier in a loop: each call interrupts the CPUs of the other threads.
from incident import decoy, go, program

decoy()
go((program("fencer", """#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile long sum;
static void *work(void *of) {
    for (long i = 0;; i++)
        sum = i;
    return of;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    if (syscall(SYS_membarrier, 16, 0, 0)) // MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED
        return 1;
    for (;;)
        syscall(SYS_membarrier, 8, 0, 0); // MEMBARRIER_CMD_PRIVATE_EXPEDITED
}"""), "fencer"))
