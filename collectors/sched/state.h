// The state machine of the scheduler: what every thread does between its events, and how long. Fed with events in the
// order of time; sums of the interval are read and cleared once per frame. Nothing is allocated per event. One thread
// owns it. All times are ns of the trace clock (CLOCK_MONOTONIC).
//
// A wait that goes on over the end of an interval counts in each interval with its part (ns[]), and once, where it ends
// and with its whole length, in the histograms. Only a wait whose begin was seen comes into a histogram.
//
// A wakeup is what sched_waking tells (kernel/sched/core.c, try_to_wake_up): every wakeup has one, in the waker's own
// context, and run-queue latency begins there. sched_wakeup, which is late and without its waker where the wakeup is
// handed to another CPU, is needed before 4.3 only, and where migrations are not told. Between waking and waking up the
// kernel waits until the task has left its CPU: a task that is woken on its way to sleep may yet be seen to leave.
//
// Some kernels leave out switches now and then (out of the idle task, out of PID 1's threads), without a sign. It shows
// later: another task leaves a CPU than the one that came, or somebody comes who runs elsewhere, or waits at an idle
// CPU. What lies between the last thing that was seen and that moment is then not known, of the CPU and of the tasks,
// and is in no sum.
#ifndef COLLECTORS_SCHED_STATE_H
#define COLLECTORS_SCHED_STATE_H

#include "collectors/kernel/tracefs/ring_page.h"
#include "collectors/kernel/tracefs/trace_clock.h"
#include "collectors/sched/event.h"
#include "model/hist.h"

enum sched_state {
    SCHED_UNKNOWN, // nothing was seen of it, or events were lost
    SCHED_RUNNING,
    SCHED_WOKEN,     // runnable since a wakeup
    SCHED_PREEMPTED, // runnable since it lost its CPU (preempted, yielded, throttled)
    SCHED_RUNNABLE,  // it runs or it waits: /proc said R, and no event since; or it came unseen while it waited
    SCHED_SLEEPING,
    SCHED_DISK,
    SCHED_STOPPED,
    SCHED_ENDED,
    SCHED_STATES,
};
static inline bool sched_counts(uint8_t state) { // in a run queue, the task that runs included
    return state >= SCHED_RUNNING && state <= SCHED_RUNNABLE;
}

// What a wait was for; kinds of the off-CPU histogram.
enum sched_off { SCHED_OFF_SLEEP, SCHED_OFF_DISK, SCHED_OFF_STOPPED, SCHED_OFF_PREEMPTED, SCHED_OFF_KINDS };
extern const char *const sched_off_names[SCHED_OFF_KINDS];

#define SCHED_PIDS (4u << 20) // PID_MAX_LIMIT
#define SCHED_SLOTS 64        // threads with a histogram of their own; SCHED_SLOTS itself is that of the others
#define SCHED_PRIO_NONE INT16_MIN

struct sched_task {
    uint64_t since; // when its state began
    int32_t tid, waker;
    uint8_t state, waker_flags, slot;
    bool exact;    // since is the true begin; always so of what runs, was woken or was preempted
    bool listed;   // the number is its own: not ended and used again
    bool woken_by; // waker is known
    bool hidden;   // not wanted by the user: in no histogram
    bool nudged;   // woken while it ran: it did not leave for that, or on its way to sleep
    // Before a flush, of one that waits: its control group was throttled, so that it may wait at an idle CPU.
    bool throttled;
    uint16_t cpu;
    int16_t prio;
    uint32_t birth;     // tells a task from the one that had its slot before
    uint32_t waits_all; // switches away from a CPU since it is known: tells one wait from the next
    uint32_t wakeups_all;
    // ---- of the interval ----
    uint32_t voluntary, involuntary, wakeups, migrations, queued;
    uint64_t queue_ns, queue_max; // of the waits for a CPU that ended: `queued` of them
    char comm[SCHED_COMM];        // no NUL at the end when it is full; comm[0] == 0: not known
    // The time in each state, after a flush. Else, modulo 2^64, without the end of the state it is in: entering a state
    // takes the time away, leaving it adds the time, so that neither needs to know the other. UNKNOWN's is void.
    uint64_t ns[SCHED_STATES];
};

#define SCHED_NOBODY (-1)
struct sched_cpu {
    int32_t current;       // the task that runs; 0: idle; SCHED_NOBODY: it is not known who
    uint32_t current_slot; // where it was when it began to; 0: not known
    bool known;            // a switch was seen
    uint32_t length, max;  // tasks in its run queue; the most in the interval
    uint64_t weight;       // weight + length * t (modulo 2^64) is the length added up over the interval to the time t
    uint64_t busy;         // the same for the time in which a task ran: begins taken away, ends added
    uint64_t covered;      // and for the time of which it is known what the CPU did
    uint64_t since;        // nothing is known of it from before
    uint64_t last;         // up to here it is in the sums: its last switch, or later
    uint64_t waited;       // within a flush: since when it seems idle although somebody waits for it; 0: it does not
    uint64_t voluntary, involuntary, idle_switches, wakeups, migrations;
    uint64_t area, busy_ns, covered_ns; // of the interval: after a flush
    struct hist_acc queue;
};

struct sched_counts {
    uint64_t switches, voluntary, involuntary, wakeups, migrations; // after a flush
    uint64_t left_out;                                              // events of tasks for which there was no room
    uint64_t unseen; // switches that the kernel must have left out, as far as that shows
};

struct sched_machine {
    struct sched_formats formats;    // the caller's to fill in, for sched_machine_run
    const struct trace_clock *clock; // of its pages, not of its events: those have CLOCK_MONOTONIC's times
    struct sched_task *tasks;        // used slots are [1, n); 0 is nobody
    uint32_t n, capacity;
    uint32_t *by_tid; // SCHED_PIDS slots; 0: not known
    uint32_t *free_slots, n_free;
    struct sched_cpu *cpus;
    uint32_t n_cpus;
    uint64_t begin;         // of the interval
    uint64_t last_ts;       // of the newest event
    bool partial;           // only the events of some tasks come: a CPU's queue is not known
    bool old_wakeups;       // there is no sched_waking: a wakeup is what sched_wakeup tells
    bool filtered;          // only some tasks are wanted: a new one is hidden until it is known to be one of them
    struct hist_acc *off;   // SCHED_OFF_KINDS
    struct hist_acc *slots; // SCHED_SLOTS + 1
    uint32_t slot_tasks[SCHED_SLOTS]; // whose they are; 0: nobody's
    uint32_t births;
    struct sched_counts counts; // of the interval
};

struct sched_machine *sched_machine_new(uint32_t n_cpus);
void sched_machine_free(struct sched_machine *machine);

// Any event.
void sched_machine_event(struct sched_machine *machine, const struct sched_event *event);
// A run of a CPU's events (ring_run_fn; ctx: the machine). Between CPUs they must come in order: no slack.
uint64_t sched_machine_run(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit);

// What /proc says of a task of which nothing is known yet; state is the letter. Returns its slot; 0: no room.
uint32_t sched_machine_seed(struct sched_machine *machine, int32_t tid, char state, uint32_t cpu, const char *comm,
                            uint64_t now);
// Whether a task that is in a run queue by its events may run all the same: its CPU seems to be idle.
bool sched_may_run(const struct sched_machine *machine, const struct sched_task *task, uint64_t now);
// /proc says that the task does what its events do not tell (state is its letter). It was woken on its way to sleep, or
// nothing is known of it from now on.
void sched_machine_doubt(struct sched_machine *machine, uint32_t slot, char state, uint64_t now);
// /proc says that there is no such task, though its end was not recorded.
void sched_machine_gone(struct sched_machine *machine, uint32_t slot, uint64_t now);
// Events were lost, or none was recorded up to `now`: nobody's state is known any more, and the waits that went on are
// in no histogram. Times add up to the newest event before.
void sched_machine_lost(struct sched_machine *machine, uint64_t now);

// The end of an interval: adds up what is going on, so that ns, area, busy_ns and counts are whole. No event may follow
// before sched_machine_next.
void sched_machine_flush(struct sched_machine *machine, uint64_t end);
// After the frame was filled: forgets tasks that ended, clears the sums, gives histograms to the tasks that waited most
// often. The next interval begins at `end`.
void sched_machine_next(struct sched_machine *machine, uint64_t end);
// Between drains: makes room for more tasks. Pointers to tasks are then no longer good; slots are.
void sched_machine_grow(struct sched_machine *machine);

static inline bool sched_waits(uint8_t state) { // for a CPU
    return state == SCHED_WOKEN || state == SCHED_PREEMPTED;
}

static inline uint32_t sched_slot(const struct sched_machine *machine, int32_t tid) {
    return tid > 0 && (uint32_t)tid < SCHED_PIDS ? machine->by_tid[tid] : 0;
}

#endif
