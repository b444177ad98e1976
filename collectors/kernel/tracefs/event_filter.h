// Filters of events: the kernel parses them when they are written. Kernel document: Documentation/trace/events.rst.
#ifndef COLLECTORS_KERNEL_TRACEFS_EVENT_FILTER_H
#define COLLECTORS_KERNEL_TRACEFS_EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Sets the filter in that instance, which the caller removes. 0, or -errno with the kernel's words and the place in the
// filter that they are about (at most its length; -1: none).
int event_filter_set(const char *instance, const char *system, const char *event, const char *filter, char *words,
                     size_t size, int32_t *place);

// The kernel's words about a filter that it refused, from the text of the filter file: the sentence without its code,
// and the place that the caret marks. False: the text has none.
bool event_filter_error(const char *text, char *sentence, size_t size, int32_t *place);

#endif
