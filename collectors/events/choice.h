// Which tracepoints the collector `events` records: specifications "SYSTEM:EVENT[ if FILTER]" with globs, resolved
// against the running kernel's list, and their filters, which the kernel checks in a throw-away instance first.
// Kernel documents: Documentation/trace/events.rst (filters), available_events.
#ifndef COLLECTORS_EVENTS_CHOICE_H
#define COLLECTORS_EVENTS_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOICE_MAX 32                 // tracepoints recorded at a time
#define FORMAT_BYTES_MAX (64u * 1024) // of a format file

struct choice_event {
    char system[64], name[96];
    char *filter; // NULL: none
    bool by_glob; // the kernel may refuse it
};
struct choice {
    struct choice_event events[CHOICE_MAX];
    size_t n;
};
void choice_free(struct choice *choice);

// A failure: one sentence, and the offset of the error in the specifications' text (-1: none).
struct choice_error {
    char sentence[256];
    int32_t place;
};

// All tracepoints of a kernel, from the text of available_events ("system:event" a line).
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

// The kernel's words about a filter that it refused, from the text of the filter file: the sentence without its code,
// and the place that the caret marks. False: the text has none.
bool choice_filter_error(const char *text, char *sentence, size_t size, int32_t *place);

// Tries all filters in an instance of their own, which is removed again. 0 or -errno.
int choice_check(const struct choice *choice, const char *text, struct choice_error *error);

#endif
