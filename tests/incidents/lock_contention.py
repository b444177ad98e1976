# Eight threads and one mutex that each holds for a millisecond.
from incident import decoy, go, program

decoy()
go((program("locker", r"""
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *none) {
    for (;;) {
        pthread_mutex_lock(&lock);
        usleep(1000);
        pthread_mutex_unlock(&lock);
    }
}
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 7; i++)
        pthread_create(&thread, 0, run, 0);
    run(0);
}
"""), "locker"))
