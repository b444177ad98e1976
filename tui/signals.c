// The signals that end the program in order. A missing one would leave the terminal raw and without echo.
#include "tui/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

int signals_open(const int *more) {
    static const int ends[] = {SIGINT,  SIGTERM,   SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,  SIGALRM,
                               SIGPROF, SIGVTALRM, SIGXCPU, SIGPWR,  SIGIO,   SIGSTKFLT};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        sigaddset(&set, ends[i]);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        sigaddset(&set, number);
    for (; *more; more++)
        sigaddset(&set, *more);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
