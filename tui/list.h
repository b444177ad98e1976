// The options that print and end: --list, --doctor, --cleanup. Each returns the exit status.
#ifndef TUI_LIST_H
#define TUI_LIST_H

#include "tui/options.h"

int list_names(const struct options *options); // of options->list
int list_doctor(void);
void list_events_each(void); // list_events.c: a line an event
int list_cleanup(void);

#endif
