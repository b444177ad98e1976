# A thread keeps a mutex and sleeps; five others wait for it.
from incident import decoy, go, program

decoy()
go((program("holder", r"""
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *none) {
    pthread_mutex_lock(&lock);
    for (;;)
        sleep(100);
}
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 5; i++)
        pthread_create(&thread, 0, run, 0);
    run(0);
}
"""), "holder"), kinds=("lock_contention",))
