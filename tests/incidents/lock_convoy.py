# Sixteen threads take a mutex for microseconds, and yield their CPU while they have it.
from incident import decoy, go, program

decoy()
go((program("convoy", r"""
#include <pthread.h>
#include <sched.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long counter;
static void *run(void *none) {
    for (;;) {
        pthread_mutex_lock(&lock);
        for (int i = 0; i < 20000; i++)
            counter++;
        pthread_mutex_unlock(&lock);
    }
}
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 15; i++)
        pthread_create(&thread, 0, run, 0);
    run(0);
}
"""), "convoy"), kinds=("lock_contention",))
