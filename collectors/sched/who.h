// What the events do not tell of a thread: its process, whether the user wants to see it (-p, -u, --children), and what
// it was found to wait for. Kept beside the tasks of the state machine, by slot. One thread owns it.
#ifndef COLLECTORS_SCHED_WHO_H
#define COLLECTORS_SCHED_WHO_H

#include "collectors/collector.h"
#include "collectors/sched/limits.h"
#include "collectors/sched/look.h"
#include "collectors/sched/state.h"
#include "model/text.h"

#define SCHED_STUCK_NS 100000000ull // a wait so long is worth a question

struct sched_person {
    uint32_t birth; // of the task it is about; another one: it is about nobody
    int32_t pid;    // the thread itself when it was gone before it could be looked up
    bool known, wanted;
    // ---- what it waits for: of its wait `wait` ----
    bool asked, answered, asked_deep, deep, hangs;
    uint32_t asked_wait, wait;
    uint64_t asked_ns, runnable_ns; // when it was asked, and asked to be told that it does run or wait for a CPU
    uint8_t why;                    // enum sched_why
    int64_t syscall_nr;             // of the last wait that was looked at
    const struct text *where;       // the same; NULL: not known
    const struct text *syscall;
    const struct text *waits_for, *stack, *cgroup; // NULL: not known
    // ---- for the rows ----
    const struct text *comm;
    uint32_t row; // + 1; 0: none
    bool idle;    // the row says that it slept all the interval, and nothing was learned since
};

struct sched_who;
// ktop's own threads are not wanted either, unless options->show_self.
// proc: "/proc", or a test's; NULL where it has other numbers than the events: nobody is looked up then, each thread
// stands for itself, and with -p or -u nobody is wanted. look may be NULL: nobody is looked at then.
struct sched_who *sched_who_new(const char *proc, const struct collect_options *options, struct sched_look *look);
void sched_who_free(struct sched_who *who);
bool sched_who_filters(const struct sched_who *who);

// Between frames: looks up processes of threads that are new, at most `most`.
void sched_who_resolve(struct sched_who *who, struct sched_machine *machine, uint32_t most);
// Tells at once what is known of a thread (from the listing of /proc).
void sched_who_tell(struct sched_who *who, struct sched_machine *machine, uint32_t slot, int32_t pid);
// Takes answers, and asks about the threads that wait. A task of which /proc says something else than the events do,
// for longer than they take to come, is unknown from then on: an event of it was not recorded. now: of the machine's
// clock.
void sched_who_look(struct sched_who *who, struct sched_machine *machine, uint64_t now);
// Before a flush: tells the machine of each task that waits whether its control group was stopped.
void sched_who_throttled(struct sched_who *who, struct sched_machine *machine, const struct sched_limits *limits);
// Of the task in that slot; never NULL, and of that task, not of one before it.
struct sched_person *sched_who_of(struct sched_who *who, const struct sched_machine *machine, uint32_t slot);
// The slot's task is gone: forgets it, and says which row it had (0: none).
uint32_t sched_who_drop(struct sched_who *who, uint32_t slot);

#endif
