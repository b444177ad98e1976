// Starting threads. Signals go to the main thread, which all others leave them to. Not those of faults: a fault whose
// signal is blocked ends the process without the handler that restores the terminal.
#ifndef MODEL_THREAD_H
#define MODEL_THREAD_H

#include <pthread.h>

// 0 or an error number, as pthread_create().
int thread_start(pthread_t *out, void *(*run)(void *), void *argument);

#endif
