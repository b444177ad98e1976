// Rows of single calls: the slowest of each system call, and the latest failed ones of each (thread, call, error), with
// their arguments.
#ifndef COLLECTORS_SYSCALLS_SINGLE_H
#define COLLECTORS_SYSCALLS_SINGLE_H

#include "collectors/syscalls/fill.h"
#include "model/text.h"

// Soon after a drain: reads the arguments of the calls kept so far, while they are probably unchanged.
void syscalls_single_look(struct syscalls_pair *pair, struct syscalls_args *args);
// names: of the pair's calls. fill->calls is read.
void syscalls_single_fill(const struct syscalls_fill *fill, const struct text *const *names, struct section *out);

static inline const struct text *syscalls_comm_text(const char *comm) {
    return text_new(comm, strnlen(comm, SYSCALLS_COMM));
}

#endif
