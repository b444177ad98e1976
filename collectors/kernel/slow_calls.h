// System calls that may block without a bound: reading a file of a mount that hangs, or /proc/PID of a task whose
// mmap_lock is held. They are made in threads of their own ("ktop-reads"), and the caller waits only for a short time:
// SLOW_CALL_MS for one call, and SLOW_CALLS_SHARE of its time for all that do not answer. A call that takes longer goes
// on in its thread, and is asked for its result again.
//
// One thread calls these functions.
#ifndef COLLECTORS_KERNEL_SLOW_CALLS_H
#define COLLECTORS_KERNEL_SLOW_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOW_CALL_MS 20
#define SLOW_CALLS_SHARE 10      // one part in so many
#define SLOW_CALLS_BURST_MS 60   // of waiting, after a time without
#define SLOW_CALL_THREADS_MAX 16 // each can hang
#define SLOW_CALL_HUNG_NS 1000000000ull

// The first member of the caller's struct, which has what the call needs and its result.
struct slow_call {
    void (*run)(struct slow_call *call);  // in a thread of the service
    void (*free)(struct slow_call *call); // in whichever thread is the last to use it
    // Of the service.
    struct slow_call *next;
    uint64_t begun_ns; // 0: not yet
    bool done, dropped;
};

struct slow_calls;
struct slow_calls *slow_calls_new(void);
// Calls that hang are abandoned after at most 100 ms. All calls must have been dropped.
void slow_calls_free(struct slow_calls *calls);
// Starts a call. True: it is done, and its result may be read. False: ask slow_call_done later.
bool slow_call_start(struct slow_calls *calls, struct slow_call *call);
bool slow_call_done(struct slow_calls *calls, struct slow_call *call);
void slow_call_drop(struct slow_calls *calls, struct slow_call *call); // the caller's last use; frees it
size_t slow_calls_hung(struct slow_calls *calls);                      // under way for longer than SLOW_CALL_HUNG_NS

#endif
