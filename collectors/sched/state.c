// The state machine except for the event path (follow.c). Tasks are found by TID in a flat array: one load instead of a
// hash lookup. It takes 16 MiB of address space, but only pages with TIDs in use are touched.
#include "collectors/sched/state_private.h"

#include <stdlib.h>

#include "model/mem.h"

#define TASKS_START 4096
#define TASKS_MAX (1u << 20)

const char *const sched_off_names[SCHED_OFF_KINDS] = {"sleep", "disk", "stopped", "preempted"};

struct sched_machine *sched_machine_new(uint32_t n_cpus) {
    static const struct trace_clock mono = TRACE_CLOCK_MONO;
    struct sched_machine *machine = xcalloc(1, sizeof(*machine));
    machine->capacity = TASKS_START;
    machine->n = 1;
    machine->tasks = xcalloc(machine->capacity, sizeof(*machine->tasks));
    machine->free_slots = xcalloc(machine->capacity, sizeof(*machine->free_slots));
    machine->by_tid = xcalloc(SCHED_PIDS, sizeof(*machine->by_tid));
    machine->n_cpus = n_cpus;
    machine->clock = &mono;
    machine->cpus = xcalloc(n_cpus, sizeof(*machine->cpus));
    machine->off = xcalloc(SCHED_OFF_KINDS, sizeof(*machine->off));
    machine->slots = xcalloc(SCHED_SLOTS + 1, sizeof(*machine->slots));
    return machine;
}

void sched_machine_free(struct sched_machine *machine) {
    if (!machine)
        return;
    free(machine->tasks);
    free(machine->free_slots);
    free(machine->by_tid);
    free(machine->cpus);
    free(machine->off);
    free(machine->slots);
    free(machine);
}

void sched_machine_grow(struct sched_machine *machine) {
    if (machine->n - machine->n_free < machine->capacity / 2 || machine->capacity >= TASKS_MAX)
        return;
    uint32_t capacity = machine->capacity * 2;
    machine->tasks = xrealloc(machine->tasks, capacity * sizeof(*machine->tasks));
    machine->free_slots = xrealloc(machine->free_slots, capacity * sizeof(*machine->free_slots));
    machine->capacity = capacity;
}

// ---- tasks ----

uint32_t sched_task_make(struct sched_machine *machine, int32_t tid, uint64_t ts) {
    uint32_t slot;
    if (machine->n_free)
        slot = machine->free_slots[--machine->n_free];
    else if (machine->n < machine->capacity)
        slot = machine->n++;
    else
        return 0;
    machine->tasks[slot] = (struct sched_task){.since = ts,
                                               .tid = tid,
                                               .slot = SCHED_SLOTS,
                                               .prio = SCHED_PRIO_NONE,
                                               .listed = true,
                                               .hidden = machine->filtered,
                                               .birth = ++machine->births};
    machine->by_tid[tid] = slot;
    return slot;
}

void sched_task_was_awake(struct sched_machine *machine, struct sched_task *task) {
    uint64_t since = task->since, from = task_from(machine, task);
    off_add(machine, task, since);
    task_enter(task, from, SCHED_WOKEN);
    task->since = since;
    task->woken_early = false;
    queue_enter(machine, task->cpu, from);
}

// ---- from /proc, and after losses ----

uint32_t sched_machine_seed(struct sched_machine *machine, int32_t tid, char state, uint32_t cpu, const char *comm,
                            uint64_t now) {
    uint8_t as = state == 'R'                   ? SCHED_RUNNABLE
                 : state == 'D'                 ? SCHED_DISK
                 : state == 'T' || state == 't' ? SCHED_STOPPED
                 : state == 'Z' || state == 'X' ? SCHED_ENDED
                                                : SCHED_SLEEPING;
    if (tid <= 0 || as == SCHED_ENDED)
        return 0;
    uint32_t slot = slot_of(machine, tid, now);
    struct sched_task *task = &machine->tasks[slot];
    if (!slot)
        return 0;
    if (task->state == SCHED_UNKNOWN) {
        task_set(machine, task, now, as, cpu);
        task->exact = false;
    }
    if (!task->comm[0] && comm)
        memcpy(task->comm, comm, strnlen(comm, SCHED_COMM));
    return slot;
}

void sched_machine_doubt(struct sched_machine *machine, uint32_t slot, char state, uint64_t now) {
    struct sched_task *task = &machine->tasks[slot];
    if (state == 'R' && task->woken_early && sleeps(task->state)) {
        sched_task_was_awake(machine, task);
        return;
    }
    if (task->cpu < machine->n_cpus && !machine->partial) {
        struct sched_cpu *cpu = &machine->cpus[task->cpu];
        uint64_t known = machine->last_ts < now ? machine->last_ts : now; // events up to now may still come
        known = known > machine->begin ? known : machine->begin;
        if (cpu->current_slot == slot)
            cpu_lose(machine, cpu, known);
        else if (sched_waits(task->state) && cpu->known && !cpu->current)
            cpu_void(machine, cpu, task->since, known);
    }
    task_lose(machine, task, now);
    task->woken_by = false;
}

void sched_machine_gone(struct sched_machine *machine, uint32_t slot, uint64_t now) {
    sched_machine_doubt(machine, slot, 'X', now);
    task_unlist(machine, &machine->tasks[slot]);
}

// A wakeup on an idle CPU takes far less.
#define IDLE_WAIT_NS 1000000ull

bool sched_may_run(const struct sched_machine *machine, const struct sched_task *task, uint64_t now) {
    if (!sched_waits(task->state) || task->cpu >= machine->n_cpus || machine->partial || task->throttled)
        return false;
    const struct sched_cpu *cpu = &machine->cpus[task->cpu];
    return cpu->known && cpu->current <= 0 && task->since + IDLE_WAIT_NS < now;
}

void sched_machine_lost(struct sched_machine *machine, uint64_t now) {
    uint64_t known = machine->last_ts < now ? machine->last_ts : now;
    if (known < machine->begin)
        known = machine->begin;
    for (uint32_t i = 1; i < machine->n; i++) {
        struct sched_task *task = &machine->tasks[i];
        if (!task->tid || task->state == SCHED_ENDED)
            continue;
        task_enter(task, known, SCHED_UNKNOWN);
        task->exact = task->woken_by = task->woken_early = false;
        task->since = now;
    }
    for (uint32_t i = 0; i < machine->n_cpus; i++) {
        struct sched_cpu *cpu = &machine->cpus[i];
        cpu->weight += cpu->length * known; // the integral up to then
        if (cpu->known && cpu->current == SCHED_TASK_UNKNOWN)
            cpu_void(machine, cpu, 0, known);
        if (cpu_runs(cpu))
            cpu->busy += known;
        if (cpu->known)
            cpu->covered += known;
        cpu->length = 0;
        cpu->known = false;
        cpu->current = 0;
        cpu->current_slot = 0;
        cpu->since = cpu->last = now;
    }
}

// ---- frames ----

// Events after the end may have been handled already, so that a difference can be slightly negative.
static uint64_t least_0(uint64_t difference) {
    return (int64_t)difference > 0 ? difference : 0;
}

static void cpu_flush(struct sched_machine *machine, struct sched_cpu *cpu, uint64_t end) {
    struct sched_counts *counts = &machine->counts;
    bool is_unknown = cpu->current == SCHED_TASK_UNKNOWN;
    if (cpu->known && (is_unknown || cpu->waited))
        cpu_void(machine, cpu, is_unknown ? 0 : cpu->waited, end);
    cpu->waited = 0;
    cpu->area = cpu->weight + cpu->length * end;
    cpu->busy_ns = cpu->busy + (cpu_runs(cpu) ? end : 0);
    cpu->covered_ns = cpu->covered + (cpu->known ? end : 0);
    // The next interval starts with what this one lacks.
    cpu->weight = cpu->area - least_0(cpu->area) - cpu->length * end;
    cpu->busy = cpu->busy_ns - least_0(cpu->busy_ns) - (cpu_runs(cpu) ? end : 0);
    cpu->covered = cpu->covered_ns - least_0(cpu->covered_ns) - (cpu->known ? end : 0);
    cpu->area = least_0(cpu->area);
    cpu->busy_ns = least_0(cpu->busy_ns);
    cpu->covered_ns = least_0(cpu->covered_ns);
    if (end > cpu->since)
        cpu->since = end;
    counts->switches += cpu->voluntary + cpu->involuntary + cpu->idle_switches;
    counts->voluntary += cpu->voluntary;
    counts->involuntary += cpu->involuntary;
    counts->wakeups += cpu->wakeups;
    counts->migrations += cpu->migrations;
}

// It runs, or sleeps again: the CPU's activity is unknown, and whether the task is still queued.
static void waits_for_idle(struct sched_machine *machine, struct sched_task *task, uint64_t end) {
    struct sched_cpu *cpu = &machine->cpus[task->cpu];
    cpu->waited = !cpu->waited || task->since < cpu->waited ? task->since : cpu->waited;
    cpu->weight -= span(task_from(machine, task), end);
    task_void(machine, task, end, SCHED_UNKNOWN);
}

void sched_machine_flush(struct sched_machine *machine, uint64_t end) {
    for (uint32_t i = 1; i < machine->n; i++) {
        struct sched_task *task = &machine->tasks[i];
        if (sched_may_run(machine, task, end))
            waits_for_idle(machine, task, end);
        task->ns[task->state] += end;
        for (int state = 0; state < SCHED_STATES; state++)
            task->ns[state] = least_0(task->ns[state]);
    }
    machine->counts = (struct sched_counts){.left_out = machine->counts.left_out, .unseen = machine->counts.unseen};
    for (uint32_t i = 0; i < machine->n_cpus; i++)
        cpu_flush(machine, &machine->cpus[i], end);
}

struct rank {
    uint32_t slot, waits;
};

static int rank_compare(const void *left, const void *right) {
    const struct rank *a = left, *b = right;
    return a->waits > b->waits ? -1 : a->waits < b->waits;
}

// The tasks with the most waits in this interval get histograms of their own in the next one.
static void slots_give(struct sched_machine *machine) {
    struct rank *ranks = xcalloc(machine->n, sizeof(*ranks));
    uint32_t n = 0;
    for (uint32_t i = 1; i < machine->n; i++) {
        machine->tasks[i].slot = SCHED_SLOTS;
        if (machine->tasks[i].queued && machine->tasks[i].listed)
            ranks[n++] = (struct rank){i, machine->tasks[i].queued};
    }
    qsort(ranks, n, sizeof(*ranks), rank_compare);
    for (uint32_t i = 0; i < SCHED_SLOTS; i++) {
        machine->slot_tasks[i] = i < n ? ranks[i].slot : 0;
        if (i < n)
            machine->tasks[ranks[i].slot].slot = (uint8_t)i;
    }
    free(ranks);
}

void sched_machine_next(struct sched_machine *machine, uint64_t end) {
    slots_give(machine);
    for (uint32_t i = 1; i < machine->n; i++) {
        struct sched_task *task = &machine->tasks[i];
        if (!task->tid)
            continue;
        if (!task->listed) {
            *task = (struct sched_task){.slot = SCHED_SLOTS};
            machine->free_slots[machine->n_free++] = i;
            continue;
        }
        task->voluntary = task->involuntary = task->wakeups = task->migrations = task->queued = 0;
        task->queue_ns = task->queue_max = 0;
        memset(task->ns, 0, sizeof(task->ns));
        task->ns[task->state] -= task->since > end ? task->since : end;
    }
    for (uint32_t i = 0; i < machine->n_cpus; i++) {
        struct sched_cpu *cpu = &machine->cpus[i];
        cpu->max = cpu->length;
        cpu->area = cpu->busy_ns = cpu->covered_ns = 0;
        cpu->voluntary = cpu->involuntary = cpu->idle_switches = cpu->wakeups = cpu->migrations = 0;
        hist_acc_clear(&cpu->queue);
    }
    for (int i = 0; i < SCHED_OFF_KINDS; i++)
        hist_acc_clear(&machine->off[i]);
    for (int i = 0; i <= SCHED_SLOTS; i++)
        hist_acc_clear(&machine->slots[i]);
    machine->counts = (struct sched_counts){0};
    machine->begin = end;
}
