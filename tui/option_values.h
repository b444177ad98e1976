// Values of options that several of them share.
#ifndef TUI_OPTION_VALUES_H
#define TUI_OPTION_VALUES_H

#include <stdbool.h>
#include <stddef.h>

// "64K", "8M", "1.5G", or bytes. False: not a size.
bool value_size(const char *value, double *bytes);
// "0,2-5": CPUs of this machine. False with the reason.
bool value_cpus(const char *value, char *why, size_t size);

// Adds a line to a list, which the caller owns. False: the value is empty, or has several lines.
bool option_line_add(char **list, const char *value);

#endif
