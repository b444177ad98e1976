// Which tracepoints the collector `events` records: specifications "[ACTION ]SYSTEM:EVENT[ if FILTER]" with globs,
// resolved against the running kernel's list, and their filters, which the kernel checks in a throw-away instance
// first. Kernel documents: Documentation/trace/events.rst (filters), available_events.
#ifndef COLLECTORS_EVENTS_CHOICE_H
#define COLLECTORS_EVENTS_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/choice_error.h"

// What an event of "ACTION SYSTEM:EVENT" does when it is recorded: "freeze", "record", "stop", "mark". Ends with NULL.
extern const char *const choice_actions[];

#define CHOICE_MAX 32 // tracepoints recorded at a time
#define MARKER_SYSTEM "ftrace"
#define MARKER_NAME "print"
#define MARKER_OPTION "copy_trace_marker"

struct choice_event {
    char system[64], name[96];
    char *filter;       // NULL: none
    bool by_glob;       // the kernel may refuse it
    const char *action; // of --on: one of choice_actions; NULL: none
    bool is_marker;     // what programs write to trace_marker: not enabled, but copied to ktop's instance (Linux 6.11)
    bool is_call;       // "call:NAME": not a tracepoint (call_table.h)
};
struct choice {
    struct choice_event events[CHOICE_MAX];
    size_t n;
    bool stacks; // with the kernel stack of each event
};
void choice_free(struct choice *choice);

// All tracepoints of a kernel, from the text of available_events ("system:event" a line), and "call:NAME" of the system
// calls that can be recorded with their arguments.
struct tracepoints {
    char *text; // owned; the names point into it
    const char **names;
    size_t n;
};
void tracepoints_parse(struct tracepoints *list, const char *text, size_t length);
int tracepoints_read(struct tracepoints *list, const char *dir); // 0 or -errno
void tracepoints_free(struct tracepoints *list);

// Resolves specifications, one a line. 0, -EINVAL (malformed), -ENOENT (no such tracepoint), -E2BIG; the choice is then
// empty. An event that several specifications name is recorded once, with the last one's filter.
int choice_resolve(struct choice *choice, const char *text, const struct tracepoints *list, struct choice_error *error);

// Tries all filters in an instance of their own, which is removed again. 0 or -errno.
int choice_check(const struct choice *choice, const char *text, struct choice_error *error);

#endif
