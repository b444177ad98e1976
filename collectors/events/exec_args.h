// Programs that are started, as a BPF program records them (exec_program.h): their arguments, parent and working
// directory. One thread owns it.
#ifndef COLLECTORS_EVENTS_EXEC_ARGS_H
#define COLLECTORS_EVENTS_EXEC_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "collectors/kernel/proc/thread_status.h"
#include "model/text.h"

struct exec {
    uint64_t ns; // CLOCK_MONOTONIC
    int32_t tid;
    struct thread_status status; // parent 0: unknown
    char parent[16];
    const struct text *args, *cwd; // NULL: unknown
};
struct exec_args;

int exec_args_open(struct exec_args **out);   // 0 or -errno: see bpf_explain
void exec_args_close(struct exec_args *args); // NULL is allowed
// fn: for each exec since the last drain, in order; the exec is borrowed.
typedef void exec_args_fn(void *context, const struct exec *exec);
void exec_args_drain(struct exec_args *args, exec_args_fn *fn, void *context);
int exec_args_fd(const struct exec_args *args); // readable: drain at once, the ring fills
// The arguments of the program that the thread started at that time (CLOCK_MONOTONIC), or NULL: its record was lost, or
// it is more than 4,096 programs ago. Borrowed until the next drain.
const struct text *exec_args_find(const struct exec_args *args, int32_t tid, uint64_t ns);
uint64_t exec_args_lost(const struct exec_args *args); // since it was opened

// The text of arguments, each of which ends with a NUL. Those with blanks, quotes or nothing are quoted as in a shell.
// Longer ones than 8 KiB, and those without their NUL, end in " ...". NULL: no argument.
const struct text *exec_args_text(const char *bytes, size_t size);

#endif
