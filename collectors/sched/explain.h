// What a thread waits for, as far as /proc tells: the function of the kernel and the system call that it is in, its
// kernel stack, and from them the file, the lock and its holder, the device. Only files about that one thread are read,
// and never anything on the file system that it waits for. Some of these reads can hang all the same (a thread that
// hangs within execve keeps a lock that /proc/PID/stack wants): call it where that does no harm.
// Kernel documents: Documentation/filesystems/proc.rst. No state: any thread.
#ifndef COLLECTORS_SCHED_EXPLAIN_H
#define COLLECTORS_SCHED_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

enum sched_why {
    SCHED_WHY_NONE, // an ordinary sleep: it waits for work
    SCHED_WHY_UNINTERRUPTIBLE,
    SCHED_WHY_SERVER,    // the program or machine behind a file system
    SCHED_WHY_LOCK,      // a lock of a file or of a program, whose holder is known to exist
    SCHED_WHY_THROTTLED, // by its control group's limit on CPU time
    SCHED_WHY_REALTIME,  // a real-time task has its CPU
    SCHED_WHY_CPU,       // other tasks have it
    SCHED_WHYS,
};
extern const char *const sched_why_names[SCHED_WHYS]; // NULL for SCHED_WHY_NONE

enum sched_ask_state { SCHED_ASK_SLEEPING, SCHED_ASK_DISK, SCHED_ASK_RUNNABLE };

struct sched_ask {
    int32_t tid;
    uint32_t slot, wait; // the asker's: come back as they are
    uint8_t state;       // enum sched_ask_state
    bool deep;           // not only where, but what for
};

#define SCHED_NO_SYSCALL (-1) // it runs, or it is not in a system call

struct sched_told {
    struct sched_ask ask;
    bool gone;                                     // there is no such thread, or /proc hides it
    bool hangs;                                    // /proc itself did not answer
    char state;                                    // letter of /proc/PID/stat; 0: not read (short waits)
    uint64_t read_ns;                              // since when it was looked at (CLOCK_MONOTONIC)
    uint8_t why;                                   // enum sched_why
    char where[64];                                // function of the kernel; "": not told
    int64_t syscall;                               // its number
    bool short_words;                              // of a 32-bit program
    char waits_for[320], stack[512], cgroup[1024]; // "": not known
};

// proc: "/proc", or a test's.
void sched_explain(const char *proc, const struct sched_ask *ask, struct sched_told *out);

// ---- parts of it, for their tests ----

// The functions of a /proc/PID/stack, innermost first, "a < b < c".
void sched_stack_join(const char *text, char *out, unsigned size);
// What a kernel stack of that kind (joined) means, or NULL.
const char *sched_stack_means(const char *stack);
// In the text of /proc/locks, who holds the lock that the process waits for: its PID, or 0; -1: one that is nobody's
// (of an open file description).
int32_t sched_lock_holder(const char *locks, int32_t waiter);

#endif
