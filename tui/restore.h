// Restores the terminal, whatever happens: also from a signal handler.
#ifndef TUI_RESTORE_H
#define TUI_RESTORE_H

#include <stddef.h>
#include <termios.h>

// The settings and bytes for an immediate exit. The bytes are copied (at most 511 are kept).
void restore_arm(int fd, const struct termios *settings, const char *bytes, size_t length);
void restore_disarm(void);
// Async-signal-safe, any thread, any number of times: takes effect once per restore_arm.
void restore_now(void);
// SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT: restore, report, and continue with the previous action.
void restore_on_crash(void);

#endif
