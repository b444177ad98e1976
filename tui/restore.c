// Restores the terminal. Everything here may run in a signal handler of a thread in any state, so it only reads
// prepared data and calls functions that POSIX lists as async-signal-safe (write, tcsetattr, sigaction, raise).
#include "tui/restore.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static struct {
    struct termios settings;
    char bytes[512];
    size_t length;
    int fd;
} saved;
static atomic_bool armed; // release after `saved` is complete; acquire by the exchange in restore_now
static struct sigaction before[NSIG];

void restore_arm(int fd, const struct termios *settings, const char *bytes, size_t length) {
    atomic_store(&armed, false);
    saved.fd = fd;
    saved.settings = *settings;
    saved.length = length < sizeof saved.bytes ? length : sizeof saved.bytes - 1;
    memcpy(saved.bytes, bytes, saved.length);
    atomic_store_explicit(&armed, true, memory_order_release);
}

void restore_disarm(void) {
    atomic_store(&armed, false);
}

void restore_now(void) {
    if (!atomic_exchange_explicit(&armed, false, memory_order_acq_rel))
        return;
    for (size_t done = 0; done < saved.length;) {
        ssize_t n = write(saved.fd, saved.bytes + done, saved.length - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    tcsetattr(saved.fd, TCSANOW, &saved.settings);
}

static void crashed(int number) {
    static const char text[] = "ktop: crashed; restoring the terminal and the kernel state\n";
    bool here = atomic_load(&armed);
    restore_now();
    if (here && write(STDERR_FILENO, text, sizeof text - 1) < 0) {
        // stderr is gone as well
    }
    // The previous action (a sanitizer's report, or the default core dump) gets the signal next: a fault is raised
    // again on return, a sent signal is sent again.
    sigaction(number, &before[number], NULL);
    raise(number);
}

void restore_on_crash(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    static char stack[65536]; // a stack overflow leaves no other stack
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_ONSTACK};
        sigemptyset(&action.sa_mask);
        sigaction(numbers[i], &action, &before[numbers[i]]);
    }
}
