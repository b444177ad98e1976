// What a thread waits for, from /proc: the kernel function and the system call that it is in, its kernel stack, and
// from them the file, the lock and its holder, the device. Reads only files about that thread, and never the file
// system that it waits for. A read can block nevertheless (a thread that hangs within execve holds a lock that
// /proc/PID/stack needs): call it where that does no harm. Kernel documents: Documentation/filesystems/proc.rst. No
// state: any thread.
#ifndef COLLECTORS_SCHED_EXPLAIN_H
#define COLLECTORS_SCHED_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

enum blocked_by {
    BLOCKED_BY_NONE, // an ordinary sleep: the thread waits for work
    BLOCKED_BY_UNINTERRUPTIBLE,
    BLOCKED_BY_SERVER,    // the program or machine behind a file system
    BLOCKED_BY_LOCK,      // a file lock or a user-space lock that has a holder
    BLOCKED_BY_THROTTLED, // by the CPU limit of its cgroup
    BLOCKED_BY_REALTIME,  // a real-time task uses its CPU
    BLOCKED_BY_CPU,       // other tasks use it
    BLOCKED_BYS,
};
extern const char *const blocked_by_names[BLOCKED_BYS]; // NULL for BLOCKED_BY_NONE

enum blocked_state { BLOCKED_SLEEPING, BLOCKED_DISK, BLOCKED_RUNNABLE };

struct blocked_query {
    int32_t tid;
    uint32_t slot, wait; // the caller's: returned unchanged
    uint8_t state;       // enum blocked_state
    bool deep;           // also what it waits for, not only where
};

#define BLOCKED_NO_SYSCALL (-1) // it runs, or is in no system call

struct blocked_reply {
    struct blocked_query query;
    bool gone;                                     // no such thread, or hidden by hidepid
    bool hangs;                                    // the read of /proc blocks
    char state;                                    // letter of /proc/PID/stat; 0: not read (short waits)
    uint64_t read_ns;                              // when the reading began (CLOCK_MONOTONIC)
    uint8_t why;                                   // enum blocked_by
    char where[64];                                // kernel function; "": unknown
    int64_t syscall;                               // its number
    bool is_32;                                    // of a 32-bit program
    char waits_for[320], stack[512], cgroup[1024]; // "": unknown
};

// proc: "/proc", or a test's.
void blocked_explain(const char *proc, const struct blocked_query *query, struct blocked_reply *out);

// ---- parts of it, for their tests ----

// The functions of a /proc/PID/stack, innermost first, "a < b < c".
void kernel_stack_join(const char *text, char *out, unsigned size);
// What a thread with that kernel stack (joined) waits for, or NULL.
const char *kernel_stack_meaning(const char *stack);
// The PID that holds the lock which the process waits for, from the text of /proc/locks; 0: none; -1: the lock belongs
// to an open file description.
int32_t sched_lock_holder(const char *locks, int32_t waiter);

#endif
