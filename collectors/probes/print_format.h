// The print format of a probe's event, without what the user did not ask for: the addresses of the probe, and the stack
// pointer by which ktop matches returns (define.h). Bytes only: any thread.
#ifndef COLLECTORS_PROBES_PRINT_FORMAT_H
#define COLLECTORS_PROBES_PRINT_FORMAT_H

#include <stddef.h>

// Changes the text of a format file in place; returns its new length. What it does not know stays.
size_t print_format_clean(char *text, size_t length);

#endif
