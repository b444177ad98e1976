// System calls with their arguments as the kernel saw them: strings whole, relative paths resolved, flags and errors by
// name. A program in the kernel copies them (call_program.h); this reads its ring, finds where relative paths begin
// (call_dirs.h), and makes the texts of rows. One thread owns it.
#ifndef COLLECTORS_EVENTS_CALLS_H
#define COLLECTORS_EVENTS_CALLS_H

#include "collectors/events/call_dirs.h"
#include "collectors/events/call_program.h"
#include "model/text.h"

// One call, to be kept until its row is made: the directories of its relative paths and their sizes, then the record
// with its strings, then the directories.
struct call_kept {
    uint64_t read_ns[2]; // of each path: see call_dirs.h
    uint16_t dirs[2];    // sizes; 0: unknown, or the path is absolute
    uint32_t strings;    // bytes of all strings
    struct call_record record;
};
#define CALL_KEPT_BYTES (sizeof(struct call_kept) + CALL_STRINGS * CALL_STRING_BYTES + 2 * 4096)

struct calls;
// The calls whose `wanted` (by index in calls_table) is true. self: their process is not recorded; 0: all are. 0 or
// -errno.
int calls_open(const bool *wanted, const char *proc, uint32_t self, struct calls **out);
void calls_close(struct calls *calls); // NULL is allowed
int calls_fd(const struct calls *calls);
// Soon after calls_fd is readable. fn: for each call, in order; hidden calls are left out.
void calls_drain(struct calls *calls, void (*fn)(void *context, const struct call_kept *kept, uint32_t size),
                 void *context);
// Once per interval, after the rows were made: the calls that were not recorded since the last one.
uint64_t calls_lost(struct calls *calls);

struct call_row {
    // Owned by the caller. path: of the call's target; NULL: it has none. "?/...": its directory is unknown;
    // "(unreadable)"; "...": cut.
    const struct text *path, *flags, *result, *fields;
    bool unresolved, unreadable; // a path of it is
};
void calls_row(const struct calls *calls, const struct call_kept *kept, struct call_row *out);

#endif
