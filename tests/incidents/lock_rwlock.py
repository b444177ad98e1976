# Readers and writers of a reader-writer lock, which each holds for a millisecond.
from incident import decoy, go, program

decoy()
go((program("cacheserver", """#include <pthread.h>
#include <unistd.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static void *work(void *writes) {
    for (;;) {
        if (writes)
            pthread_rwlock_wrlock(&lock);
        else
            pthread_rwlock_rdlock(&lock);
        usleep(1000);
        pthread_rwlock_unlock(&lock);
    }
    return 0;
}
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 7; i++)
        pthread_create(&thread, 0, work, i % 2 ? &lock : 0);
    work(&lock);
}"""), "cacheserver"), kinds=("lock_contention",))
