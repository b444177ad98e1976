#include "model/thread.h"

#include <signal.h>
#include <stddef.h>

int thread_start(pthread_t *out, void *(*run)(void *), void *argument) {
    sigset_t all, before;
    sigfillset(&all);
    for (const int *fault = (const int[]){SIGSEGV, SIGBUS, SIGILL, SIGFPE, 0}; *fault; fault++)
        sigdelset(&all, *fault);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(out, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
