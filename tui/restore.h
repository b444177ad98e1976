// Giving the terminal back, whatever happens: the one thing that has to work in a signal handler.
#ifndef TUI_RESTORE_H
#define TUI_RESTORE_H

#include <stddef.h>
#include <termios.h>

// What to set and write when the program must go at once. The bytes are copied (at most 511 are kept).
void restore_arm(int fd, const struct termios *settings, const char *bytes, size_t length);
void restore_disarm(void);
// Async-signal-safe, any thread, any number of times: does it once per restore_arm.
void restore_now(void);
// SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT: restore, say so, and go on to what they did before.
void restore_on_crash(void);

#endif
