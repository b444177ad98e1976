// The event path: runs for every switch and wakeup of the machine. These are decoded where they are handled, so that a
// decoded event stays in registers; all other events go through sched_machine_event.
#include "collectors/sched/state_private.h"

#define PLACING_NS 20000 // from sched_waking to the migration to the chosen CPU

SCHED_INLINE void comm_take(struct sched_task *task, const char *comm) {
    if (comm)
        memcpy(task->comm, comm, SCHED_COMM);
}

SCHED_INLINE uint8_t state_of(uint32_t reported) {
    reported &= SCHED_STATE_REPORTED;
    return reported == SCHED_STATE_S        ? SCHED_SLEEPING
           : !reported                      ? SCHED_PREEMPTED
           : reported & SCHED_STATE_ENDED   ? SCHED_ENDED
           : reported & SCHED_STATE_D       ? SCHED_DISK
           : reported & SCHED_STATE_STOPPED ? SCHED_STOPPED
                                            : SCHED_SLEEPING;
}

// ---- switches ----

// The CPU's first switch: the previous task has run since anything is known.
static void ran_from_start(const struct sched_machine *machine, struct sched_task *task, const struct sched_cpu *cpu,
                           uint64_t ts) {
    if (task->state != SCHED_UNKNOWN && task->state != SCHED_RUNNABLE)
        return;
    task->ns[task->state] += task_from(machine, task); // it was never in that state
    task->ns[SCHED_RUNNING] += span(cpu->since, ts);
    task->since = ts;
    task->ns[task->state] -= ts;
}

#define NOWHERE UINT32_MAX

// The task runs on CPU `number`, or has just left it. If it was recorded as running elsewhere, its switch-out there is
// missing, and so is what ran there after it.
static void ran_elsewhere(struct sched_machine *machine, struct sched_task *task, uint32_t slot, uint32_t number,
                          uint64_t ts) {
    if (task->state != SCHED_RUNNING || task->cpu == number || machine->partial)
        return;
    machine->counts.unseen++;
    if (task->cpu < machine->n_cpus && machine->cpus[task->cpu].current_slot == slot)
        cpu_lose(machine, &machine->cpus[task->cpu], ts);
    task_lose(machine, task, ts);
}

// The state of a task whose switch-in is missing. A waiting task cannot have slept without a switch-out.
static uint8_t ran_or_unknown(const struct sched_task *task) {
    return sched_waits(task->state) ? SCHED_RUNNABLE : SCHED_UNKNOWN;
}

// The previous task is not the last one that switched in: a switch in between is missing, at an unknown time. An idle
// CPU was idle at least until the previous task was woken.
static void missed_switch(struct sched_machine *machine, struct sched_cpu *cpu, uint32_t slot, uint64_t ts) {
    uint32_t number = (uint32_t)(cpu - machine->cpus);
    struct sched_task *task = slot ? &machine->tasks[slot] : NULL;
    struct sched_task *came = cpu->current_slot ? &machine->tasks[cpu->current_slot] : NULL;
    bool woken = task && sched_waits(task->state) && task->cpu == number;
    machine->counts.unseen++;
    cpu_void(machine, cpu, woken && !cpu->current ? task->since : 0, ts);
    if (came && came->state == SCHED_RUNNING && came->cpu == number)
        task_lose(machine, came, ts);
    if (!task)
        return;
    ran_elsewhere(machine, task, slot, number, ts);
    task_void(machine, task, ts, ran_or_unknown(task));
}

// The CPU's first switch.
static void first_switch_out(struct sched_machine *machine, struct sched_cpu *cpu, uint32_t slot, uint64_t ts) {
    struct sched_task *task = &machine->tasks[slot];
    // It was seen to wait or sleep since, so it did not run the whole time; its switch-in is missing.
    if (slot && task->state != SCHED_UNKNOWN && task->state != SCHED_RUNNABLE && !machine->partial) {
        machine->counts.unseen++;
        cpu_void(machine, cpu, 0, ts);
        cpu->busy -= ts;
        ran_elsewhere(machine, task, slot, (uint32_t)(cpu - machine->cpus), ts);
        task_void(machine, task, ts, ran_or_unknown(task));
        return;
    }
    cpu->busy -= cpu->since;
    if (slot)
        ran_from_start(machine, task, cpu, ts);
}

// The previous task, where it is not the last one that switched in. Does not take the event itself: passing its address
// would force it into memory.
static uint32_t unexpected_prev(struct sched_machine *machine, struct sched_cpu *cpu, int32_t tid, uint64_t ts) {
    uint32_t slot = tid ? slot_of(machine, tid, ts) : 0;
    if (cpu->known && cpu->current != tid && !machine->partial) {
        missed_switch(machine, cpu, slot, ts);
        if (cpu->current <= 0 && tid)
            cpu->busy -= ts;
        else if (cpu->current > 0 && !tid)
            cpu->busy += ts;
    } else if (!cpu->known && tid) {
        first_switch_out(machine, cpu, slot, ts);
    }
    return slot;
}

SCHED_INLINE void switch_out(struct sched_machine *machine, struct sched_cpu *cpu, uint32_t slot,
                             const struct sched_event *event) {
    struct sched_task *task = &machine->tasks[slot];
    uint8_t state = state_of(event->state);
    bool voluntary = state != SCHED_PREEMPTED;
    if (voluntary)
        cpu->voluntary++;
    else
        cpu->involuntary++;
    if (unlikely(!slot)) {
        machine->counts.left_out++;
        return;
    }
    task->waits_all++;
    task->prio = (int16_t)event->prio;
    comm_take(task, event->comm); // the newest: a task may rename itself
    bool plain = task->state == SCHED_RUNNING && task->cpu == event->cpu;
    if (voluntary) {
        task->voluntary++;
        if (plain)
            queue_shrink(cpu, event->ts);
    } else {
        task->involuntary++;
        task->woken_early = false;
    }
    if (unlikely(!plain))
        task_set(machine, task, event->ts, state, event->cpu);
    else
        task_enter(task, event->ts, state);
    if (unlikely(state == SCHED_ENDED))
        task_unlist(machine, task);
}

SCHED_INLINE void switch_in(struct sched_machine *machine, struct sched_cpu *cpu, struct sched_task *task,
                            const struct sched_event *event) {
    if (unlikely(!task->comm[0]))
        comm_take(task, event->next_comm);
    task->prio = (int16_t)event->next_prio;
    task->woken_early = false;
    if (unlikely(task->state != SCHED_WOKEN && task->state != SCHED_PREEMPTED)) {
        ran_elsewhere(machine, task, (uint32_t)(task - machine->tasks), event->cpu, event->ts);
        task_set(machine, task, event->ts, SCHED_RUNNING, event->cpu);
        return;
    }
    if (!task->hidden) {
        uint64_t wait = span(task->since, event->ts);
        uint32_t bucket = hist_bucket(wait);
        hist_acc_add_at(&cpu->queue, bucket, wait);
        hist_acc_add_at(&machine->slots[task->slot], bucket, wait);
        if (task->state == SCHED_PREEMPTED)
            hist_acc_add_at(&machine->off[SCHED_OFF_PREEMPTED], bucket, wait);
        task->queued++;
        task->queue_ns += wait;
        if (wait > task->queue_max)
            task->queue_max = wait;
    }
    if (unlikely(task->cpu != event->cpu)) {
        queue_leave(machine, task->cpu, event->ts);
        queue_grow(cpu, event->ts);
        task->cpu = (uint16_t)event->cpu;
    }
    task_enter(task, event->ts, SCHED_RUNNING);
}

SCHED_INLINE void on_switch(struct sched_machine *machine, struct sched_cpu *cpu, const struct sched_event *event) {
    uint32_t prev = cpu->current_slot, next = 0;
    if (event->next) {
        next = slot_of(machine, event->next, event->ts);
        if (unlikely(!next))
            machine->counts.left_out++;
        else if (unlikely(machine->tasks[next].woken_early) && sleeps(machine->tasks[next].state))
            sched_task_was_awake(machine, &machine->tasks[next]); // before the switch-out: both were in the run queue
    } else {
        cpu->busy += event->ts;
    }
    // Without a slot only the CPU has the TID.
    if (unlikely(cpu->current != event->tid || machine->tasks[prev].tid != event->tid))
        prev = unexpected_prev(machine, cpu, event->tid, event->ts);
    if (event->tid) {
        switch_out(machine, cpu, prev, event);
    } else {
        cpu->busy -= event->ts;
        cpu->idle_switches++;
    }
    cpu->current = event->next;
    cpu->current_slot = next;
    if (unlikely(!cpu->known)) {
        cpu->known = true;
        cpu->covered -= cpu->since > machine->begin ? cpu->since : machine->begin;
    }
    cpu->last = event->ts;
    if (next)
        switch_in(machine, cpu, &machine->tasks[next], event);
}

// ---- wakeups ----

// Only a sleeping task, or one about to sleep, is woken: a task that was woken before has run since, and sleeps again
// or still runs.
static void ran_unseen(struct sched_machine *machine, struct sched_task *task, uint64_t ts) {
    machine->counts.unseen++;
    if (task->cpu < machine->n_cpus && !machine->partial && !machine->cpus[task->cpu].current)
        cpu_void(machine, &machine->cpus[task->cpu], task->since, ts);
    task_lose(machine, task, ts);
}

SCHED_INLINE void on_waking(struct sched_machine *machine, uint32_t slot, const struct sched_event *event) {
    struct sched_task *task = &machine->tasks[slot];
    uint32_t target = (uint32_t)event->target;
    if (target < machine->n_cpus)
        machine->cpus[target].wakeups++;
    if (unlikely(!slot)) {
        machine->counts.left_out++;
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
    if (unlikely(!task->comm[0]))
        comm_take(task, event->comm);
    bool ran = task->state == SCHED_WOKEN && event->kind == SCHED_WAKING;
    if (unlikely(ran))
        ran_unseen(machine, task, event->ts);
    bool counts = sched_counts(task->state);
    task->woken_early = ran || (counts && task->state != SCHED_RUNNABLE);
    if (unlikely(counts)) { // it had not left its CPU, or was queued already: no wait ends here
        if (!task->woken_early)
            task_set(machine, task, event->ts, SCHED_WOKEN, target);
        return;
    }
    off_add(machine, task, event->ts);
    queue_enter(machine, target, event->ts);
    task_enter(task, event->ts, SCHED_WOKEN);
    task->cpu = (uint16_t)target;
    task->exact = true;
}

static void on_new(struct sched_machine *machine, const struct sched_event *event) {
    uint32_t slot = slot_of(machine, event->tid, event->ts);
    struct sched_task *task = &machine->tasks[slot];
    if (slot && task->state != SCHED_UNKNOWN) { // the TID is reused
        if (task->state == SCHED_RUNNING && task->cpu < machine->n_cpus)
            machine->cpus[task->cpu].current_slot = 0; // the next switch's previous task is another one
        task_set(machine, task, event->ts, SCHED_ENDED, task->cpu);
        task_unlist(machine, task);
        slot = sched_task_make(machine, event->tid, event->ts);
    }
    on_waking(machine, slot, event);
}

// The waker chose another CPU: the wakeup counts there.
static void place(struct sched_machine *machine, const struct sched_task *task, uint32_t target) {
    if (task->cpu >= machine->n_cpus || target >= machine->n_cpus || !machine->cpus[task->cpu].wakeups)
        return;
    machine->cpus[task->cpu].wakeups--;
    machine->cpus[target].wakeups++;
}

static void move(struct sched_machine *machine, struct sched_task *task, uint64_t ts, uint32_t target) {
    if (sched_counts(task->state) && task->cpu != target) {
        queue_leave(machine, task->cpu, ts);
        queue_enter(machine, target, ts);
    }
    task->cpu = (uint16_t)target;
}

// Follows sched_waking, and has the chosen CPU.
static void on_woken(struct sched_machine *machine, const struct sched_event *event) {
    uint32_t slot = sched_slot(machine, event->tid);
    struct sched_task *task = &machine->tasks[slot];
    if (!slot)
        return;
    if (task->woken_early && sleeps(task->state))
        sched_task_was_awake(machine, task);
    if (task->state != SCHED_WOKEN || task->cpu == (uint32_t)event->target)
        return;
    place(machine, task, (uint32_t)event->target);
    move(machine, task, event->ts, (uint32_t)event->target);
}

static void on_migrate(struct sched_machine *machine, const struct sched_event *event) {
    uint32_t slot = slot_of(machine, event->tid, event->ts);
    struct sched_task *task = &machine->tasks[slot];
    uint32_t target = (uint32_t)event->target;
    if (target < machine->n_cpus)
        machine->cpus[target].migrations++;
    if (!slot) {
        machine->counts.left_out++;
        return;
    }
    if (task->woken_early && sleeps(task->state))
        sched_task_was_awake(machine, task);                // a sleeping task is migrated only by its waker
    ran_elsewhere(machine, task, slot, NOWHERE, event->ts); // a running task is not migrated
    if (task->state == SCHED_WOKEN && task->woken_by && event->current == task->waker &&
        span(task->since, event->ts) < PLACING_NS)
        place(machine, task, target);
    task->migrations++;
    move(machine, task, event->ts, target);
}

// ---- events ----

void sched_machine_event(struct sched_machine *machine, const struct sched_event *event) {
    if (event->ts > machine->last_ts)
        machine->last_ts = event->ts;
    if (event->kind == SCHED_MIGRATE)
        on_migrate(machine, event);
    else if (event->kind == SCHED_WAKEUP_NEW)
        on_new(machine, event);
    else if (event->kind == SCHED_WAKEUP && !machine->old_wakeups)
        on_woken(machine, event);
    else if (event->kind != SCHED_SWITCH)
        on_waking(machine, slot_of(machine, event->tid, event->ts), event);
    else if (event->cpu < machine->n_cpus)
        on_switch(machine, &machine->cpus[event->cpu], event);
}

static void other_record(struct sched_machine *machine, uint32_t cpu, uint64_t ts, const uint8_t *record,
                         uint32_t size) {
    struct sched_event event;
    if (sched_event_decode(&machine->formats, ts, cpu, record, size, &event))
        sched_machine_event(machine, &event);
}

SCHED_INLINE uint64_t run(struct sched_machine *machine, uint32_t cpu, struct ring_page *page, uint64_t limit,
                          const struct sched_layout *switches, const struct sched_layout *waking) {
    // No record has the ID -1.
    const int32_t switch_id =
        machine->formats.kinds[SCHED_SWITCH].present ? machine->formats.kinds[SCHED_SWITCH].id : -1;
    const int32_t waking_id =
        machine->formats.kinds[SCHED_WAKING].present ? machine->formats.kinds[SCHED_WAKING].id : -1;
    struct sched_cpu *here = cpu < machine->n_cpus ? &machine->cpus[cpu] : NULL;
    struct ring_page at = *page; // copies that nothing else can reach stay in registers
    const struct trace_clock clock = *machine->clock;
    uint64_t n = 0, last = machine->last_ts;
    do {
        uint16_t id;
        uint64_t ts = trace_clock_mono(&clock, at.ts);
        memcpy(&id, at.data, sizeof(id));
        n++;
        last = ts > last ? ts : last;
        if (id == switch_id && here && at.size >= switches->end) {
            struct sched_event event;
            sched_decode(switches, SCHED_SWITCH, ts, cpu, at.data, &event);
            on_switch(machine, here, &event);
        } else if (id == waking_id && at.size >= waking->end) {
            struct sched_event event;
            sched_decode(waking, SCHED_WAKING, ts, cpu, at.data, &event);
            on_waking(machine, slot_of(machine, event.tid, event.ts), &event);
        } else {
            other_record(machine, cpu, ts, at.data, at.size);
        }
    } while (ring_page_next(&at) && at.ts < limit);
    if (last > machine->last_ts)
        machine->last_ts = last;
    *page = at;
    return n;
}

uint64_t sched_machine_run(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit) {
    struct sched_machine *machine = ctx;
    // The same code twice: with constant offsets, as in all kernels since 5.14, and with any.
    if (machine->formats.usual)
        return run(machine, cpu, page, limit, &sched_usual_switch, &sched_usual_waking);
    return run(machine, cpu, page, limit, &machine->formats.kinds[SCHED_SWITCH], &machine->formats.kinds[SCHED_WAKING]);
}
