// Shared by the two halves of the state machine, state.c and follow.c: tasks by TID, run-queue lengths, state changes.
#ifndef COLLECTORS_SCHED_STATE_PRIVATE_H
#define COLLECTORS_SCHED_STATE_PRIVATE_H

#include "collectors/sched/state.h"

#define SCHED_INLINE static inline __attribute__((always_inline))
#define unlikely(condition_) __builtin_expect(condition_, 0)

// Its slot; 0: no room.
uint32_t sched_task_make(struct sched_machine *machine, int32_t tid, uint64_t ts);
// For a task recorded as asleep: it was woken before it left its CPU, so it has been waiting since.
void sched_task_was_awake(struct sched_machine *machine, struct sched_task *task);

SCHED_INLINE uint64_t span(uint64_t from, uint64_t to) {
    return to > from ? to - from : 0; // a late event never gives a huge time
}

// The slot of a TID, made if it is new.
SCHED_INLINE uint32_t slot_of(struct sched_machine *machine, int32_t tid, uint64_t ts) {
    if (unlikely((uint32_t)tid >= SCHED_PIDS))
        return 0;
    uint32_t slot = machine->by_tid[tid];
    return unlikely(!slot) ? sched_task_make(machine, tid, ts) : slot;
}

// The TID may be reused from now on; the old task's row stays in this interval.
static inline void task_unlist(struct sched_machine *machine, struct sched_task *task) {
    task->listed = false;
    machine->by_tid[task->tid] = 0;
}

SCHED_INLINE void queue_grow(struct sched_cpu *cpu, uint64_t ts) {
    cpu->weight -= ts;
    cpu->length++;
    if (cpu->length > cpu->max)
        cpu->max = cpu->length;
}

SCHED_INLINE void queue_shrink(struct sched_cpu *cpu, uint64_t ts) {
    cpu->weight += ts;
    cpu->length--;
}

static inline void queue_enter(struct sched_machine *machine, uint32_t cpu, uint64_t ts) {
    if (cpu < machine->n_cpus)
        queue_grow(&machine->cpus[cpu], ts);
}

static inline void queue_leave(struct sched_machine *machine, uint32_t cpu, uint64_t ts) {
    if (cpu < machine->n_cpus)
        queue_shrink(&machine->cpus[cpu], ts);
}

// Start of its state, or of the interval if later.
static inline uint64_t task_from(const struct sched_machine *machine, const struct sched_task *task) {
    return task->since > machine->begin ? task->since : machine->begin;
}

SCHED_INLINE bool cpu_runs(const struct sched_cpu *cpu) {
    return cpu->known && cpu->current > 0;
}

// The CPU's activity between `from` and ts is unknown; from ts on it continues as recorded.
static inline void cpu_void(const struct sched_machine *machine, struct sched_cpu *cpu, uint64_t from, uint64_t ts) {
    from = from > cpu->last ? from : cpu->last;
    from = from > machine->begin ? from : machine->begin;
    if (from >= ts)
        return;
    cpu->covered += from - ts;
    if (cpu_runs(cpu))
        cpu->busy += from - ts;
    cpu->last = ts;
}

// The running task is unknown as well: the next switch's previous task will not match.
static inline void cpu_lose(struct sched_machine *machine, struct sched_cpu *cpu, uint64_t ts) {
    cpu_void(machine, cpu, 0, ts);
    if (cpu_runs(cpu))
        cpu->busy += ts;
    cpu->current = SCHED_TASK_UNKNOWN;
    cpu->current_slot = 0;
}

// The task was not in its recorded state until ts, but in `instead`.
static inline void task_void(const struct sched_machine *machine, struct sched_task *task, uint64_t ts,
                             uint8_t instead) {
    uint64_t from = task_from(machine, task);
    if (from >= ts)
        return;
    task->ns[task->state] += from - ts;
    task->ns[instead] += ts - from;
}

// The task's state becomes unknown, and its recorded state since the last event is void.
static inline void task_lose(struct sched_machine *machine, struct sched_task *task, uint64_t ts) {
    uint64_t from = task_from(machine, task);
    if (sched_counts(task->state))
        queue_leave(machine, task->cpu, from);
    task->ns[task->state] += from;
    task->ns[SCHED_UNKNOWN] -= from;
    task->state = SCHED_UNKNOWN;
    task->since = ts;
    task->exact = task->woken_early = false;
}

// Changes the state at ts.
SCHED_INLINE void task_enter(struct sched_task *task, uint64_t ts, uint8_t state) {
    task->ns[task->state] += ts;
    task->ns[state] -= ts;
    task->since = ts;
    task->state = state;
}

// The same, and updates the run queues.
static inline void task_set(struct sched_machine *machine, struct sched_task *task, uint64_t ts, uint8_t state,
                            uint32_t cpu) {
    bool was = sched_counts(task->state), is = sched_counts(state);
    if (was && (!is || task->cpu != cpu))
        queue_leave(machine, task->cpu, ts);
    if (is && (!was || task->cpu != cpu))
        queue_enter(machine, cpu, ts);
    task_enter(task, ts, state);
    task->cpu = (uint16_t)cpu;
    task->exact = true;
}

SCHED_INLINE bool sleeps(uint8_t state) {
    return state >= SCHED_SLEEPING && state <= SCHED_STOPPED;
}

// The end of a sleep.
SCHED_INLINE void off_add(struct sched_machine *machine, const struct sched_task *task, uint64_t ts) {
    if (task->exact && !task->hidden && sleeps(task->state))
        hist_acc_add(&machine->off[task->state - SCHED_SLEEPING + SCHED_OFF_SLEEP], span(task->since, ts));
}

#endif
