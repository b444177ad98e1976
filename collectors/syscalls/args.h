// The arguments of a system call as a person reads them: paths in quotes, descriptors with what is open there, flags by
// name. The meaning of the arguments comes from a table of the usual calls, for others from the kernel's own
// syscalls:sys_enter_* tracepoints where it has them. It looks into the process: only for the few calls that are shown.
#ifndef COLLECTORS_SYSCALLS_ARGS_H
#define COLLECTORS_SYSCALLS_ARGS_H

#include <stdbool.h>

#include "collectors/kernel/proc/syscall_names.h"
#include "model/text.h"

struct syscalls_args;
// tracefs: the directory, or NULL. proc: "/proc"; NULL where it has other numbers than the events: nobody's memory and
// files are looked at.
struct syscalls_args *syscalls_args_new(const char *tracefs, const char *proc);
void syscalls_args_free(struct syscalls_args *args);
// A new text, owned by the caller. pid: whose memory and descriptors are looked at. over: the call has returned: a path
// that the program may have written over since is marked with ~.
const struct text *syscalls_args_text(struct syscalls_args *args, int32_t pid, enum syscalls_abi abi, uint32_t number,
                                      const uint64_t values[6], bool over);
// Whether a call that takes long does so by nature: it waits for something to do. text: of its arguments.
bool syscalls_args_idle(enum syscalls_abi abi, uint32_t number, const uint64_t values[6], const struct text *text);

#endif
