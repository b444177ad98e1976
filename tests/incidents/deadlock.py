# Two threads take two mutexes in opposite order.
from incident import decoy, go, program

decoy()
go((program("deadlocked", r"""
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *none) {
    pthread_mutex_lock(&a);
    sleep(1);
    pthread_mutex_lock(&b);
    return 0;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_mutex_lock(&b);
    sleep(1);
    pthread_mutex_lock(&a);
}
"""), "deadlocked"))
