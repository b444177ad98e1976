// Formats the arguments of a system call: paths in quotes, descriptors with their open files, flags by name. Argument
// kinds come from a table of the usual calls, or from the kernel's syscalls:sys_enter_* tracepoints. Reads the memory
// of the process: only for the few calls that are shown.
#ifndef COLLECTORS_SYSCALLS_ARGS_H
#define COLLECTORS_SYSCALLS_ARGS_H

#include <stdbool.h>

#include "collectors/kernel/proc/syscall_names.h"
#include "model/text.h"

struct syscalls_args;
// tracefs: the directory, or NULL. proc: "/proc"; NULL where it has other IDs than the events: no memory and no
// descriptors are read.
struct syscalls_args *syscalls_args_new(const char *tracefs, const char *proc);
void syscalls_args_free(struct syscalls_args *args);
// A new text, owned by the caller. pid: the process whose memory and descriptors are read. over: the call has returned;
// a path that the program may have overwritten since is marked with ~.
const struct text *syscalls_args_text(struct syscalls_args *args, int32_t pid, enum syscalls_abi abi, uint32_t number,
                                      const uint64_t values[6], bool over);
// Whether the call is idle by nature: it waits for work. text: its arguments.
bool syscalls_args_idle(enum syscalls_abi abi, uint32_t number, const uint64_t values[6], const struct text *text);

#endif
