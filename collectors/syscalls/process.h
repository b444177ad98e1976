// The process behind a thread that makes system calls, and which table of system calls its program uses. From /proc:
// for threads whose creation was not traced, never per event. Hooks of struct syscalls_hooks, with a struct
// syscalls_procfs as ctx; any thread.
#ifndef COLLECTORS_SYSCALLS_PROCESS_H
#define COLLECTORS_SYSCALLS_PROCESS_H

#include "collectors/collector.h"
#include "collectors/syscalls/pair.h"

struct syscalls_procfs {
    const char *proc; // "/proc", or a test's; NULL where it has other IDs than the events
    const struct collect_options *options;
};

void syscalls_process_identify(void *ctx, int32_t tid, struct syscalls_process *process, char *comm);
enum syscalls_abi syscalls_process_abi(void *ctx, int32_t pid);

#endif
