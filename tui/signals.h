// Signals that end the program in order, in the terminal and in batch.
#ifndef TUI_SIGNALS_H
#define TUI_SIGNALS_H

// Every signal that ends a process by default, and those of `more` (ends with 0), become readable from a non-blocking
// signalfd(2); -1 with errno set if that fails. Call before any thread starts, since threads inherit the mask. Signals
// with a core dump (faults, SIGABRT) are unchanged, except SIGQUIT and SIGXCPU.
int signals_open(const int *more);

#endif
