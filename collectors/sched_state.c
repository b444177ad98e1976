// The state machine. A task is found by its number in a flat array (16 MiB of address space, of which only the pages of
// numbers in use are ever touched): one load, where a hash table has a search.
#include "collectors/sched_state.h"

#include <stdlib.h>

#include "model/mem.h"

#define TASKS_START 4096
#define TASKS_MAX (1u << 20)
#define PLACING_NS 20000 // from waking a task to having moved it to the CPU that was chosen for it

const char *const sched_off_names[SCHED_OFF_KINDS] = {"sleep", "disk", "stopped", "preempted"};

struct sched_machine *sched_machine_new(uint32_t n_cpus) {
    struct sched_machine *machine = xcalloc(1, sizeof(*machine));
    machine->capacity = TASKS_START;
    machine->n = 1;
    machine->tasks = xcalloc(machine->capacity, sizeof(*machine->tasks));
    machine->free_slots = xcalloc(machine->capacity, sizeof(*machine->free_slots));
    machine->by_tid = xcalloc(SCHED_PIDS, sizeof(*machine->by_tid));
    machine->n_cpus = n_cpus;
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

static inline uint64_t span(uint64_t from, uint64_t to) {
    return to > from ? to - from : 0; // an event that came late never makes a huge time
}

static struct sched_task *task_make(struct sched_machine *machine, int32_t tid, uint64_t ts) {
    uint32_t slot;
    if (machine->n_free)
        slot = machine->free_slots[--machine->n_free];
    else if (machine->n < machine->capacity)
        slot = machine->n++;
    else
        return NULL;
    struct sched_task *task = &machine->tasks[slot];
    *task = (struct sched_task){.since = ts,
                                .from = ts,
                                .tid = tid,
                                .slot = SCHED_SLOTS,
                                .prio = SCHED_PRIO_NONE,
                                .listed = true,
                                .hidden = machine->filtered,
                                .birth = ++machine->births};
    machine->by_tid[tid] = slot;
    return task;
}

static inline __attribute__((always_inline)) struct sched_task *task_of(struct sched_machine *machine, int32_t tid,
                                                                        uint64_t ts) {
    if ((uint32_t)tid >= SCHED_PIDS)
        return NULL;
    uint32_t slot = machine->by_tid[tid];
    return __builtin_expect(slot != 0, 1) ? &machine->tasks[slot] : task_make(machine, tid, ts);
}

// Somebody else has the number from now on; the row of the old one is still of this interval.
static void task_unlist(struct sched_machine *machine, struct sched_task *task) {
    task->listed = false;
    machine->by_tid[task->tid] = 0;
}

// ---- run queues ----

static inline __attribute__((always_inline)) void queue_add(struct sched_machine *machine, uint32_t cpu_number,
                                                            uint64_t ts, int change) {
    if (cpu_number >= machine->n_cpus)
        return;
    struct sched_cpu *cpu = &machine->cpus[cpu_number];
    if (ts > cpu->from) {
        cpu->area += cpu->length * (ts - cpu->from);
        cpu->from = ts;
    }
    cpu->length += (uint32_t)change;
    if (cpu->length > cpu->max)
        cpu->max = cpu->length;
}

// The task is in that state, and at that CPU, from ts on.
static inline __attribute__((always_inline)) void task_set(struct sched_machine *machine, struct sched_task *task,
                                                           uint64_t ts, uint8_t state, uint32_t cpu) {
    bool was = sched_counts(task->state), is = sched_counts(state);
    if (was && (!is || task->cpu != cpu))
        queue_add(machine, task->cpu, ts, -1);
    if (is && (!was || task->cpu != cpu))
        queue_add(machine, cpu, ts, 1);
    task->ns[task->state] += span(task->from, ts);
    if (ts > task->from)
        task->from = ts;
    task->since = ts;
    task->state = state;
    task->cpu = (uint16_t)cpu;
    task->exact = true;
}

static inline void comm_take(struct sched_task *task, const char *comm) {
    if (comm)
        memcpy(task->comm, comm, SCHED_COMM);
}

static inline bool sleeps(uint8_t state) {
    return state >= SCHED_SLEEPING && state <= SCHED_STOPPED;
}

// It ceases to sleep.
static inline __attribute__((always_inline)) void off_add(struct sched_machine *machine, const struct sched_task *task,
                                                          uint64_t ts) {
    if (task->exact && !task->hidden && sleeps(task->state))
        hist_acc_add(&machine->off[task->state - SCHED_SLEEPING + SCHED_OFF_SLEEP], span(task->since, ts));
}

// Of a task that is believed asleep: it was woken before it had left its CPU, so it has been waiting ever since.
static void was_awake(struct sched_machine *machine, struct sched_task *task) {
    uint64_t since = task->since > machine->begin ? task->since : machine->begin;
    off_add(machine, task, task->since);
    task->state = SCHED_WOKEN;
    task->nudged = false;
    if (task->cpu >= machine->n_cpus)
        return;
    struct sched_cpu *cpu = &machine->cpus[task->cpu];
    cpu->area += span(since, cpu->from); // it was in the queue meanwhile
    queue_add(machine, task->cpu, since, 1);
}

// ---- events ----

static inline uint8_t state_of(uint32_t reported) {
    reported &= SCHED_STATE_REPORTED;
    return !reported                        ? SCHED_PREEMPTED
           : reported & SCHED_STATE_ENDED   ? SCHED_ENDED
           : reported & SCHED_STATE_D       ? SCHED_DISK
           : reported & SCHED_STATE_STOPPED ? SCHED_STOPPED
                                            : SCHED_SLEEPING;
}

// In this interval.
static inline uint64_t busy_since(const struct sched_machine *machine, const struct sched_cpu *cpu) {
    return cpu->busy_from > machine->begin ? cpu->busy_from : machine->begin;
}

static inline __attribute__((always_inline)) void leaves(struct sched_machine *machine, struct sched_cpu *cpu,
                                                         const struct sched_event *event) {
    uint8_t state = state_of(event->state);
    struct sched_task *task = task_of(machine, event->tid, event->ts);
    if (task && !cpu->known && (task->state == SCHED_UNKNOWN || task->state == SCHED_RUNNABLE)) {
        task->ns[SCHED_RUNNING] += span(busy_since(machine, cpu), event->ts); // nobody left this CPU before: it had it
        task->from = event->ts;
    }
    bool voluntary = state != SCHED_PREEMPTED;
    cpu->voluntary += voluntary;
    cpu->involuntary += !voluntary;
    machine->counts.voluntary += voluntary;
    machine->counts.involuntary += !voluntary;
    if (__builtin_expect(!task, 0)) {
        machine->counts.left_out++;
        return;
    }
    task->voluntary += voluntary;
    task->involuntary += !voluntary;
    task->waits_all++;
    task->prio = (int16_t)event->prio;
    comm_take(task, event->comm); // the newest: it may have given itself another
    task_set(machine, task, event->ts, state, event->cpu);
    if (state == SCHED_PREEMPTED)
        task->nudged = false;
    if (state == SCHED_ENDED)
        task_unlist(machine, task);
}

static inline __attribute__((always_inline)) void comes(struct sched_machine *machine, struct sched_cpu *cpu,
                                                        struct sched_task *task, const struct sched_event *event) {
    if (__builtin_expect(!task, 0)) {
        machine->counts.left_out++;
        return;
    }
    if (!task->comm[0])
        comm_take(task, event->next_comm);
    task->prio = (int16_t)event->next_prio;
    task->nudged = false;
    if ((task->state == SCHED_WOKEN || task->state == SCHED_PREEMPTED) && task->exact && !task->hidden) {
        uint64_t wait = span(task->since, event->ts);
        hist_acc_add(&cpu->queue, wait);
        hist_acc_add(&machine->slots[task->slot], wait);
        if (task->state == SCHED_PREEMPTED)
            hist_acc_add(&machine->off[SCHED_OFF_PREEMPTED], wait);
        task->queued++;
        task->queue_ns += wait;
        if (wait > task->queue_max)
            task->queue_max = wait;
    }
    task_set(machine, task, event->ts, SCHED_RUNNING, event->cpu);
}

// Who was believed to run there and did not leave: an event of it was lost.
static void stranger(struct sched_machine *machine, const struct sched_cpu *cpu, const struct sched_event *event) {
    uint32_t slot = sched_slot(machine, cpu->current);
    struct sched_task *task = slot ? &machine->tasks[slot] : NULL;
    if (task && task->state == SCHED_RUNNING && task->cpu == event->cpu)
        task_set(machine, task, event->ts, SCHED_UNKNOWN, event->cpu);
}

static inline __attribute__((always_inline)) void on_switch(struct sched_machine *machine,
                                                            const struct sched_event *event) {
    if (__builtin_expect(event->cpu >= machine->n_cpus, 0))
        return;
    struct sched_cpu *cpu = &machine->cpus[event->cpu];
    struct sched_task *next = event->next ? task_of(machine, event->next, event->ts) : NULL;
    machine->counts.switches++;
    if (next && next->nudged && sleeps(next->state))
        was_awake(machine, next); // before the other leaves: both were in the queue
    if (cpu->known && cpu->current != event->tid && !machine->partial)
        stranger(machine, cpu, event);
    if (event->tid) {
        leaves(machine, cpu, event);
        cpu->busy_ns += span(busy_since(machine, cpu), event->ts); // at the first switch: since the tracing began
    } else {
        cpu->idle_switches++;
    }
    cpu->busy_from = event->ts;
    cpu->current = event->next;
    cpu->known = true;
    if (event->next)
        comes(machine, cpu, next, event);
}

// What the waker tells, or, where it tells nothing, the CPU that the task is to run on.
static inline __attribute__((always_inline)) void on_waking(struct sched_machine *machine,
                                                            const struct sched_event *event) {
    struct sched_task *task = task_of(machine, event->tid, event->ts);
    uint32_t target = (uint32_t)event->target;
    machine->counts.wakeups++;
    if (target < machine->n_cpus)
        machine->cpus[target].wakeups++;
    if (__builtin_expect(!task, 0)) {
        machine->counts.left_out++;
        return;
    }
    if (event->kind == SCHED_WAKEUP_NEW && task->state != SCHED_UNKNOWN) { // the number is used again
        task_set(machine, task, event->ts, SCHED_ENDED, task->cpu);
        task_unlist(machine, task);
        task = task_make(machine, event->tid, event->ts);
        if (!task)
            return;
    }
    if (event->kind == SCHED_WAKING) {
        task->waker = event->current;
        task->waker_flags = event->flags;
        task->woken_by = true;
    }
    task->wakeups++;
    task->wakeups_all++;
    task->prio = (int16_t)event->prio;
    if (!task->comm[0])
        comm_take(task, event->comm);
    task->nudged = sched_counts(task->state) && task->state != SCHED_RUNNABLE;
    if (task->nudged)
        return; // it had not left its CPU, or was in a queue already: it did not wait for that
    off_add(machine, task, event->ts);
    task_set(machine, task, event->ts, SCHED_WOKEN, target);
}

// The waker has chosen another CPU for it, and there it counts as woken.
static void place(struct sched_machine *machine, const struct sched_task *task, uint32_t target) {
    if (task->cpu >= machine->n_cpus || target >= machine->n_cpus || !machine->cpus[task->cpu].wakeups)
        return;
    machine->cpus[task->cpu].wakeups--;
    machine->cpus[target].wakeups++;
}

static void move(struct sched_machine *machine, struct sched_task *task, uint64_t ts, uint32_t target) {
    if (sched_counts(task->state) && task->cpu != target) {
        queue_add(machine, task->cpu, ts, -1);
        queue_add(machine, target, ts, 1);
    }
    task->cpu = (uint16_t)target;
}

// After sched_waking has told of the wakeup: it tells the CPU.
static void on_woken(struct sched_machine *machine, const struct sched_event *event) {
    uint32_t slot = sched_slot(machine, event->tid);
    struct sched_task *task = &machine->tasks[slot];
    if (!slot)
        return;
    if (task->nudged && sleeps(task->state))
        was_awake(machine, task);
    if (task->state != SCHED_WOKEN || task->cpu == (uint32_t)event->target)
        return;
    place(machine, task, (uint32_t)event->target);
    move(machine, task, event->ts, (uint32_t)event->target);
}

static void on_migrate(struct sched_machine *machine, const struct sched_event *event) {
    struct sched_task *task = task_of(machine, event->tid, event->ts);
    uint32_t target = (uint32_t)event->target;
    machine->counts.migrations++;
    if (target < machine->n_cpus)
        machine->cpus[target].migrations++;
    if (!task) {
        machine->counts.left_out++;
        return;
    }
    if (task->nudged && sleeps(task->state))
        was_awake(machine, task); // one that sleeps is moved only by who wakes it
    if (task->state == SCHED_WOKEN && task->woken_by && event->current == task->waker &&
        span(task->since, event->ts) < PLACING_NS)
        place(machine, task, target);
    task->migrations++;
    move(machine, task, event->ts, target);
}

static inline __attribute__((always_inline)) void follow(struct sched_machine *machine,
                                                         const struct sched_event *event) {
    machine->counts.events++;
    if (event->ts > machine->last_ts)
        machine->last_ts = event->ts;
    if (event->kind == SCHED_SWITCH)
        on_switch(machine, event);
    else if (event->kind == SCHED_MIGRATE)
        on_migrate(machine, event);
    else if (event->kind == SCHED_WAKEUP && !machine->old_wakeups)
        on_woken(machine, event);
    else
        on_waking(machine, event);
}

void sched_machine_event(struct sched_machine *machine, const struct sched_event *event) {
    follow(machine, event);
}

// Decoding and following in one, so that an event never goes through memory: a third less time.
void sched_machine_record(struct sched_machine *machine, const struct sched_formats *formats, uint64_t ts, uint32_t cpu,
                          const uint8_t *record, uint32_t size) {
    struct sched_event event;
    if (sched_event_decode(formats, ts, cpu, record, size, &event))
        follow(machine, &event);
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
    struct sched_task *task = task_of(machine, tid, now);
    if (!task)
        return 0;
    if (task->state == SCHED_UNKNOWN) {
        task->from = now; // of the time before nothing is known
        task_set(machine, task, now, as, cpu);
        task->exact = false;
    }
    if (!task->comm[0] && comm)
        memcpy(task->comm, comm, strnlen(comm, SCHED_COMM));
    return machine->by_tid[tid];
}

void sched_machine_doubt(struct sched_machine *machine, uint32_t slot, char state, uint64_t now) {
    struct sched_task *task = &machine->tasks[slot];
    if (state == 'R' && task->nudged && sleeps(task->state)) {
        was_awake(machine, task);
        return;
    }
    if (sched_counts(task->state))
        queue_add(machine, task->cpu, now, -1);
    task->state = SCHED_UNKNOWN; // what it did since its last event is not known: it is not added up
    task->exact = task->woken_by = task->nudged = false;
    task->from = task->since = now;
}

void sched_machine_lost(struct sched_machine *machine, uint64_t now) {
    uint64_t known = machine->last_ts < now ? machine->last_ts : now;
    for (uint32_t i = 1; i < machine->n; i++) {
        struct sched_task *task = &machine->tasks[i];
        if (!task->tid || task->state == SCHED_ENDED)
            continue;
        task->ns[task->state] += span(task->from, known);
        task->state = SCHED_UNKNOWN;
        task->exact = task->woken_by = task->nudged = false;
        task->from = task->since = now;
    }
    for (uint32_t i = 0; i < machine->n_cpus; i++) {
        struct sched_cpu *cpu = &machine->cpus[i];
        cpu->area += cpu->length * span(cpu->from, known);
        if (cpu->known && cpu->current)
            cpu->busy_ns += span(cpu->busy_from, known);
        cpu->length = 0;
        cpu->known = false;
        cpu->current = 0;
        cpu->from = cpu->busy_from = now;
    }
}

// ---- frames ----

void sched_machine_flush(struct sched_machine *machine, uint64_t end) {
    for (uint32_t i = 1; i < machine->n; i++) {
        struct sched_task *task = &machine->tasks[i];
        task->ns[task->state] += span(task->from, end);
        if (end > task->from)
            task->from = end;
    }
    for (uint32_t i = 0; i < machine->n_cpus; i++) {
        struct sched_cpu *cpu = &machine->cpus[i];
        cpu->area += cpu->length * span(cpu->from, end);
        if (end > cpu->from)
            cpu->from = end;
        if (cpu->known && cpu->current)
            cpu->busy_ns += span(cpu->busy_from, end);
        if (cpu->known && end > cpu->busy_from)
            cpu->busy_from = end;
    }
}

struct rank {
    uint32_t slot, waits;
};

static int rank_compare(const void *left, const void *right) {
    const struct rank *a = left, *b = right;
    return a->waits > b->waits ? -1 : a->waits < b->waits;
}

// The tasks that waited most often in the interval have histograms of their own in the next one.
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
    }
    for (uint32_t i = 0; i < machine->n_cpus; i++) {
        struct sched_cpu *cpu = &machine->cpus[i];
        cpu->max = cpu->length;
        cpu->area = cpu->busy_ns = 0;
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
