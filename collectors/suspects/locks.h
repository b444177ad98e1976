// Futexes that are locks. Shared by the part and its test.
#ifndef COLLECTORS_SUSPECTS_LOCKS_H
#define COLLECTORS_SUSPECTS_LOCKS_H

#include "collectors/kernel/proc/syscall.h"
#include "collectors/suspects/suspects.h"

// Whether the thread in that call waits at the futex args[0].
bool suspects_futex_waits(const struct proc_syscall *call);
// Whether that futex, with these first three words of memory, is a lock with waiters. *holder: its owner's TID; 0:
// unknown. is_thread: whether the process has that thread.
bool suspects_futex_is_lock(const struct proc_syscall *call, const uint32_t words[3],
                            bool (*is_thread)(void *context, int32_t tid), void *context, int32_t *holder);

// Whether these words are a pthread_rwlock_t of glibc, one of whose futexes is that of the call. threads: how many the
// process has. *holder: the writer that holds it; 0: readers do, or it is unknown.
bool suspects_rwlock_is(const struct proc_syscall *call, const uint32_t words[8],
                        bool (*is_thread)(void *context, int32_t tid), void *context, uint32_t threads,
                        int32_t *holder);

#define LOCK_OTHERS_MAX 64

struct lock_probe {
    int32_t pid, holder; // holder: TID; 0: unknown
    uint32_t waiters;    // threads at the lock with most; 0: none has two or more
    uint32_t threads;
    uint32_t cycle; // threads that wait for locks of one another: a deadlock; 0: none
    // Futexes that may be a semaphore, or the condition variable of an interpreter lock (Python's are): the one with
    // most waiters, and which threads those are.
    uint64_t other;
    uint32_t n_other;
    int32_t others[LOCK_OTHERS_MAX];
    bool timed;                          // they wait with a timeout, as for an interpreter lock
    bool hot;                            // of the caller: it switches often
    char holder_comm[32], holder_in[48]; // holder_in: kernel function in which it sleeps; "": it runs, or unknown
};
// Of n threads, thread i waits for a lock of thread next[i], or for none (-1). The length of a cycle; 0: there is none.
uint32_t suspects_lock_cycle(const int *next, size_t n);
// Reads every thread of the process. May block.
void suspects_lock_probe(int32_t pid, struct lock_probe *out);

// Threads that take turns: of those ever seen to wait at a futex, exactly one does not, at nearly every look. (Or two,
// if they wait with a timeout: one may be about to wait again.) Idle workers all wait at times.
struct lock_turns {
    uint64_t at;
    int32_t tids[LOCK_OTHERS_MAX];
    uint32_t n;       // in tids
    uint32_t looks;   // up to LOCK_LOOKS
    uint32_t serial;  // bits of the last looks
    uint32_t waiters; // of the last look
};
#define LOCK_LOOKS 12
void suspects_turns_look(struct lock_turns *turns, const struct lock_probe *probe);
// Percent of the looks; NAN: too few.
double suspects_turns_pct(const struct lock_turns *turns);

#endif
