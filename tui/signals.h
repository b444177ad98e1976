// Signals that end the program in order, in the terminal and in batch.
#ifndef TUI_SIGNALS_H
#define TUI_SIGNALS_H

// Every signal whose default is the end, and those of `more` (0 at its end), come as bytes of a descriptor
// (signalfd(2)) from now on, non-blocking; -1 with errno set where there is none to be had. Before any thread starts:
// they inherit it. Those that end with a core dump (faults, SIGABRT) stay what they are, SIGQUIT and SIGXCPU apart.
int signals_open(const int *more);

#endif
