// What the events do not report about a thread: its process, whether the user wants to see it (-p, -u, --children), and
// what it waits for. Kept beside the tasks of the state machine, by slot. One thread owns it.
#ifndef COLLECTORS_SCHED_THREADS_H
#define COLLECTORS_SCHED_THREADS_H

#include "collectors/collector.h"
#include "collectors/sched/limits.h"
#include "collectors/sched/prober.h"
#include "collectors/sched/state.h"
#include "model/text.h"

#define SCHED_STUCK_NS 100000000ull // a wait this long may be stuck

struct sched_thread {
    uint32_t birth; // of the task that this describes; a different one: the slot was reused, and this is stale
    int32_t pid;    // the TID when the thread had ended before it could be looked up
    bool known, wanted;
    // ---- the answer to the last query; valid for the wait numbered `wait` ----
    bool queried, replied, queried_deep, deep, hangs;
    uint32_t queried_wait, wait;
    uint64_t queried_ns, runnable_ns; // the last query; the last one with state R in /proc
    uint8_t why;                      // enum blocked_by
    int64_t syscall_nr;               // of the last wait that was probed
    const struct text *where;         // the same; NULL: unknown
    const struct text *syscall;
    const struct text *waits_for, *stack, *cgroup; // NULL: unknown
    // ---- its row ----
    const struct text *comm;
    uint32_t row; // + 1; 0: none
    bool idle;    // the row already shows that it slept through the interval
};

struct sched_threads;
// ktop's threads are unwanted unless options->show_self.
// proc: "/proc", or a test's; NULL where it has other IDs than the events: nothing is looked up, each thread is its own
// process, and -p or -u choose nothing. prober may be NULL: waits are not explained.
struct sched_threads *sched_threads_new(const char *proc, const struct collect_options *options,
                                        struct blocked_prober *prober);
void sched_threads_free(struct sched_threads *threads);
bool sched_threads_filters(const struct sched_threads *threads);

// Between frames: looks up the processes of at most `most` new threads.
void sched_threads_resolve(struct sched_threads *threads, struct sched_machine *machine, uint32_t most);
// Sets the process of a thread that was found in a listing of /proc.
void sched_threads_set_pid(struct sched_threads *threads, struct sched_machine *machine, uint32_t slot, int32_t pid);
// Takes replies and queries threads that wait. Where /proc contradicts the events for longer than they take to arrive,
// an event is missing, and the task's state becomes unknown. now: of the machine's clock.
void sched_threads_probe(struct sched_threads *threads, struct sched_machine *machine, uint64_t now);
// Before a flush: marks the waiting tasks whose cgroup is throttled.
void sched_threads_mark_throttled(struct sched_threads *threads, struct sched_machine *machine,
                                  const struct sched_limits *limits);
// The thread in that slot; never NULL, and never a previous owner of the slot.
struct sched_thread *sched_threads_get(struct sched_threads *threads, const struct sched_machine *machine,
                                       uint32_t slot);
// The slot's task is gone: forgets it and returns its row + 1 (0: none).
uint32_t sched_threads_drop(struct sched_threads *threads, uint32_t slot);

#endif
