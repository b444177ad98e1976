// How long threads block, and on which call paths. Every switch of a thread is recorded, so its blocked time is exact;
// stacks are sampled, so that time is divided among the stacks of the same thread, in the proportion of their times.
// Blocks shorter and longer than BLOCKS_LONG_NS are divided apart: one long block weighs as much as many short ones.
//
// Blocked is what a thread is from the switch that takes it off a CPU while it sleeps or waits uninterruptibly until it
// runs again: the run-queue time after the wakeup included. A thread that was preempted is not blocked.
//
// Plain memory, no kernel interface. One thread owns it.
#ifndef COLLECTORS_PROFILE_BLOCKS_H
#define COLLECTORS_PROFILE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BLOCKS_LONG_NS 20000000ull
#define BLOCKS_THREADS_MAX 65536
#define BLOCKS_STACKS_MAX 32768 // of an interval; what comes above is divided among them

struct blocks;
struct blocks *blocks_new(void);
void blocks_free(struct blocks *blocks);

// In the order of their times. A stack is of the next switch of its thread.
void blocks_stack(struct blocks *blocks, pid_t pid, pid_t tid, const uint32_t *ids, size_t n);
void blocks_out(struct blocks *blocks, pid_t pid, pid_t tid, uint64_t time, bool preempted);
// The waker of a thread whose block has a stack, the newest one counts: IDs that follow that stack. blocks_asks_waker:
// whether it is kept.
bool blocks_asks_waker(const struct blocks *blocks, pid_t tid);
void blocks_waker(struct blocks *blocks, pid_t tid, const uint32_t *ids, size_t n);
void blocks_in(struct blocks *blocks, pid_t tid, uint64_t time);
void blocks_fork(struct blocks *blocks, pid_t tid); // the ID is a new thread's
void blocks_exit(struct blocks *blocks, pid_t tid, uint64_t time);
void blocks_lost(struct blocks *blocks); // records were lost: no thread is known to be blocked
// A thread that was found asleep, and has no record yet.
void blocks_asleep(struct blocks *blocks, pid_t pid, pid_t tid, uint64_t now);

// Between the two, switches are not recorded, and no time is counted.
void blocks_pause(struct blocks *blocks, uint64_t time);
void blocks_resume(struct blocks *blocks, uint64_t time);

// After a gap in the records: fn says whether a thread sleeps, of at most `max` threads that are not known to be
// blocked.
typedef bool blocks_look_fn(void *context, pid_t pid, pid_t tid);
void blocks_look(struct blocks *blocks, uint64_t now, size_t max, blocks_look_fn *fn, void *context);

// Threads that have been blocked since before `before`, without a stack of that block, at most `max` of them: fn writes
// up to n_max IDs, and returns how many. Each block is asked about once.
typedef size_t blocks_ask_fn(void *context, pid_t pid, pid_t tid, uint32_t *ids, size_t n_max);
void blocks_ask(struct blocks *blocks, uint64_t before, size_t max, blocks_ask_fn *fn, void *context);

// The end of an interval: calls fn for each stack with its time. n 0: no stack of that thread is known. scale: what one
// recorded nanosecond stands for. Blocks that go on are counted up to `time`.
typedef void blocks_fn(void *context, pid_t pid, const uint32_t *ids, size_t n, uint64_t us);
void blocks_settle(struct blocks *blocks, uint64_t time, double scale, blocks_fn *fn, void *context);

// Whether stacks are followed by wakers: by this ID where the waker is unknown, or the block goes on. Off at first.
void blocks_set_wakers(struct blocks *blocks, bool on, uint32_t unknown);

void blocks_forget_stacks(struct blocks *blocks); // the IDs have lost their meaning
size_t blocks_threads(const struct blocks *blocks);
uint64_t blocks_refused(const struct blocks *blocks); // switches of threads above BLOCKS_THREADS_MAX

#endif
