// The scheduler's state machine: which state every thread is in between its events, and for how long. Fed with events
// in time order; sums of the interval are read and cleared once per frame. Nothing is allocated per event. One thread
// owns it. All times are ns of the trace clock (CLOCK_MONOTONIC). A wait that spans intervals adds its part to each of
// them (ns[]), and its whole length to the histograms once, where it ends. Only waits whose start was traced are in
// histograms.
// A wakeup is a sched_waking event (kernel/sched/core.c, try_to_wake_up): each wakeup has one, in the waker's context,
// and run-queue latency starts there. sched_wakeup comes late and without the waker where another CPU completes the
// wakeup: it is needed only before 4.3, and where migrations are not recorded. Between the two the kernel waits until
// the task has left its CPU: a task that is woken on its way to sleep may switch out after its sched_waking. Some
// kernels silently omit switches (out of the idle task, out of PID 1's threads). This is detected later: the previous
// task of a switch is not the last one that switched in, or the next task runs elsewhere, or a task waits at an idle
// CPU. The time since the last consistent event is then unknown, for the CPU and for the tasks, and is in no sum.
#ifndef COLLECTORS_SCHED_STATE_H
#define COLLECTORS_SCHED_STATE_H

#include "collectors/kernel/tracefs/ring_page.h"
#include "collectors/kernel/tracefs/trace_clock.h"
#include "collectors/sched/event.h"
#include "model/hist.h"

enum sched_state {
    SCHED_UNKNOWN, // no event yet, or events were lost
    SCHED_RUNNING,
    SCHED_WOKEN,     // runnable since a wakeup
    SCHED_PREEMPTED, // runnable since a switch away (preempted, yielded, throttled)
    SCHED_RUNNABLE,  // running or waiting: R in /proc and no event since, or a switch-in is missing
    SCHED_SLEEPING,
    SCHED_DISK,
    SCHED_STOPPED,
    SCHED_ENDED,
    SCHED_STATES,
};
static inline bool sched_counts(uint8_t state) { // in a run queue, or running
    return state >= SCHED_RUNNING && state <= SCHED_RUNNABLE;
}

// Kinds of the off-CPU histogram.
enum sched_off { SCHED_OFF_SLEEP, SCHED_OFF_DISK, SCHED_OFF_STOPPED, SCHED_OFF_PREEMPTED, SCHED_OFF_KINDS };
extern const char *const sched_off_names[SCHED_OFF_KINDS];

#define SCHED_PIDS (4u << 20) // PID_MAX_LIMIT
#define SCHED_SLOTS 64        // threads with a histogram of their own; slot SCHED_SLOTS is for all others
#define SCHED_PRIO_NONE INT16_MIN

struct sched_task {
    uint64_t since; // start of its state
    int32_t tid, waker;
    uint8_t state, waker_flags, slot;
    bool exact;       // `since` is the traced start; always true for RUNNING, WOKEN and PREEMPTED
    bool listed;      // its TID still belongs to it
    bool woken_by;    // waker is known
    bool hidden;      // unwanted: in no histogram
    bool woken_early; // woken while running, perhaps on its way to sleep
    // Set before a flush, for a waiting task: its cgroup was throttled, so that it may wait at an idle CPU.
    bool throttled;
    uint16_t cpu;
    int16_t prio;
    uint32_t birth;     // distinguishes it from previous owners of the slot
    uint32_t waits_all; // switches away from a CPU since it is known: numbers its waits
    uint32_t wakeups_all;
    // ---- of the interval ----
    uint32_t voluntary, involuntary, wakeups, migrations, queued;
    uint64_t queue_ns, queue_max; // of the `queued` waits for a CPU that ended
    char comm[SCHED_COMM];        // no NUL at the end if full; comm[0] == 0: unknown
    // Time in each state, after a flush. Before it, modulo 2^64: entering a state subtracts the timestamp, leaving it
    // adds the timestamp, so that neither needs the other's. UNKNOWN's is meaningless.
    uint64_t ns[SCHED_STATES];
};

#define SCHED_TASK_UNKNOWN (-1)
struct sched_cpu {
    int32_t current;       // the running task; 0: idle; or SCHED_TASK_UNKNOWN
    uint32_t current_slot; // its slot when it switched in; 0: unknown
    bool known;            // a switch was seen
    uint32_t length, max;  // tasks in its run queue; the most in the interval
    uint64_t weight;       // weight + length * t (modulo 2^64) is the length integrated over the interval up to t
    uint64_t busy;         // the same for the time in which a task ran: starts subtracted, ends added
    uint64_t covered;      // and for the time in which the CPU's activity is known
    uint64_t since;        // unknown before
    uint64_t last;         // the sums cover it up to here: its last switch, or later
    uint64_t waited;       // within a flush: since when it seems idle although a task waits for it; 0: it does not
    uint64_t voluntary, involuntary, idle_switches, wakeups, migrations;
    uint64_t area, busy_ns, covered_ns; // of the interval, after a flush
    struct hist_acc queue;
};

struct sched_counts {
    uint64_t switches, voluntary, involuntary, wakeups, migrations; // after a flush
    uint64_t left_out;                                              // events dropped: task table full
    uint64_t unseen;                                                // detected switches that the kernel omitted
};

struct sched_machine {
    struct sched_formats formats;    // the caller's to fill in, for sched_machine_run
    const struct trace_clock *clock; // of its pages; events carry CLOCK_MONOTONIC times
    struct sched_task *tasks;        // used slots are [1, n); 0 is none
    uint32_t n, capacity;
    uint32_t *by_tid; // SCHED_PIDS slots; 0: unknown
    uint32_t *free_slots, n_free;
    struct sched_cpu *cpus;
    uint32_t n_cpus;
    uint64_t begin;                   // of the interval
    uint64_t last_ts;                 // of the newest event
    bool partial;                     // only events of some tasks are recorded: run queues are unknown
    bool old_wakeups;                 // no sched_waking: wakeups are sched_wakeup events
    bool filtered;                    // a filter is set: a new task is hidden until it is known to match
    struct hist_acc *off;             // SCHED_OFF_KINDS
    struct hist_acc *slots;           // SCHED_SLOTS + 1
    uint32_t slot_tasks[SCHED_SLOTS]; // their tasks; 0: none
    uint32_t births;
    struct sched_counts counts; // of the interval
};

struct sched_machine *sched_machine_new(uint32_t n_cpus);
void sched_machine_free(struct sched_machine *machine);

// Any event.
void sched_machine_event(struct sched_machine *machine, const struct sched_event *event);
// A run of a CPU's events (ring_run_fn; ctx: the machine). Between CPUs they must come in order: no slack.
uint64_t sched_machine_run(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit);

// Sets the state of a task without events from /proc; state is the letter there. Returns its slot; 0: no room.
uint32_t sched_machine_seed(struct sched_machine *machine, int32_t tid, char state, uint32_t cpu, const char *comm,
                            uint64_t now);
// Whether a task that waits by its events may be running instead: its CPU seems to be idle.
bool sched_may_run(const struct sched_machine *machine, const struct sched_task *task, uint64_t now);
// /proc contradicts the task's events (state is the letter there). It was woken on its way to sleep, or its state is
// unknown from now on.
void sched_machine_doubt(struct sched_machine *machine, uint32_t slot, char state, uint64_t now);
// The task is gone from /proc, but its exit was not recorded.
void sched_machine_gone(struct sched_machine *machine, uint32_t slot, uint64_t now);
// Events were lost, or none was recorded up to `now`: all states become unknown, and current waits are in no histogram.
// Sums end at the newest event before.
void sched_machine_lost(struct sched_machine *machine, uint64_t now);

// The end of an interval: adds the current states, so that ns, area, busy_ns and counts are complete. No event may
// follow before sched_machine_next.
void sched_machine_flush(struct sched_machine *machine, uint64_t end);
// After the frame was filled: forgets ended tasks, clears the sums, assigns histograms to the tasks with the most
// waits. The next interval begins at `end`.
void sched_machine_next(struct sched_machine *machine, uint64_t end);
// Between drains: makes room for more tasks. Invalidates pointers to tasks; slots stay valid.
void sched_machine_grow(struct sched_machine *machine);

static inline bool sched_waits(uint8_t state) { // for a CPU
    return state == SCHED_WOKEN || state == SCHED_PREEMPTED;
}

static inline uint32_t sched_slot(const struct sched_machine *machine, int32_t tid) {
    return tid > 0 && (uint32_t)tid < SCHED_PIDS ? machine->by_tid[tid] : 0;
}

#endif
