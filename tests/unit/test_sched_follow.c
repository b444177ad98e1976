// Following the scheduler's events, held against a little scheduler whose every step is known: tasks that run, wait,
// sleep, are preempted, woken, moved, and woken on their way to sleep, at random. Each event goes to three machines: by
// itself, and as a record with the usual layout and with that of 5.10. Then the same with switches that are left out.
#include "tests/unit/forge_ring.h"
#include "tests/unit/forge_sched.h"

#define TASKS 12
#define CPUS 3
#define WAYS 3

enum { SIM_RUNS = SCHED_RUNNING, SIM_WOKEN = SCHED_WOKEN, SIM_PREEMPTED = SCHED_PREEMPTED };

struct sim_task {
    uint8_t state;
    uint32_t cpu;
    uint64_t since, from, ns[SCHED_STATES], queue_ns, queue_max;
    uint32_t voluntary, involuntary, wakeups, migrations, queued;
    bool hushed; // woken on its way to sleep: nothing tells so until it runs or is moved
};
struct sim_cpu {
    int current; // 0: idle
    uint64_t area, busy_ns, switches, wakeups, migrations;
    uint32_t length, max, hushed;
};
enum unrecorded { NOTHING, OUT_OF_IDLE, OUT_OF_ONE }; // one in three switches out of the idle task, or out of task 1
struct sim {
    uint64_t now, begin;
    uint32_t random;
    enum unrecorded unrecorded;
    bool hidden[CPUS];        // its last switch was not recorded
    uint64_t unknown, unseen; // of all intervals and ways
    struct sim_task tasks[TASKS + 1];
    struct sim_cpu cpus[CPUS];
    struct sched_machine *machines[WAYS];
};

static uint32_t dice(struct sim *sim, uint32_t n) {
    sim->random = sim->random * 1664525u + 1013904223u;
    return (sim->random >> 8) % n;
}

// ---- the three ways ----

enum { ID_SWITCH = 300, ID_OTHERS = 301 };

static void make_formats(struct sched_formats *formats, bool old) {
    formats->kinds[SCHED_SWITCH] = sched_usual_switch;
    formats->kinds[SCHED_SWITCH].id = ID_SWITCH;
    for (int kind = 0; kind < SCHED_KINDS; kind++) {
        if (kind == SCHED_SWITCH)
            continue;
        formats->kinds[kind] = sched_usual_waking;
        formats->kinds[kind].id = (uint16_t)(ID_OTHERS + kind);
        if (old) { // `success` stands before the CPU
            formats->kinds[kind].target = 36;
            formats->kinds[kind].end = 40;
        }
    }
    assert_int_equal(sched_formats_index(formats), 0);
    assert_int_equal(formats->usual, !old);
}

static void put32(uint8_t *record, size_t at, int64_t value) {
    memcpy(record + at, &value, 4);
}

static void run_record(struct sched_machine *to, const struct sched_event *event) {
    const struct sched_layout *layout = &to->formats.kinds[event->kind];
    uint8_t record[64] = {0};
    struct ring_page page = {.data = record, .size = layout->end, .ts = event->ts};
    page.next = page.end = record + layout->end;
    put32(record, 0, layout->id);
    record[2] = event->flags;
    put32(record, layout->current, event->current);
    put32(record, layout->tid, event->tid);
    put32(record, layout->prio, event->prio);
    memcpy(record + layout->comm, event->comm, SCHED_COMM);
    if (event->kind == SCHED_SWITCH) {
        put32(record, layout->state, event->state);
        put32(record, layout->next, event->next);
        put32(record, layout->next_prio, event->next_prio);
        memcpy(record + layout->next_comm, event->next_comm, SCHED_COMM);
    } else {
        put32(record, layout->target, event->target);
    }
    assert_int_equal(sched_machine_run(to, event->cpu, &page, event->ts + 1), 1);
    assert_null(page.data);
}

// A task woken on its way to sleep is detected by its next switch only: that one is recorded.
static bool is_hidden(struct sim *sim, const struct sched_event *event) {
    bool may = sim->unrecorded == OUT_OF_IDLE ? !event->tid : sim->unrecorded == OUT_OF_ONE && event->tid == 1;
    return may && !sim->tasks[event->next].hushed && dice(sim, 3) == 0;
}

static void tell(struct sim *sim, struct sched_event event) {
    static const char name[SCHED_COMM] = "sim", next_name[SCHED_COMM] = "sim";
    if (event.kind == SCHED_SWITCH && (sim->hidden[event.cpu] = is_hidden(sim, &event)))
        return;
    event.ts = sim->now;
    event.prio = event.next_prio = 120;
    event.comm = name;
    event.next_comm = next_name;
    sched_machine_event(sim->machines[0], &event);
    run_record(sim->machines[1], &event);
    run_record(sim->machines[2], &event);
}

// ---- the little scheduler ----

static void pass(struct sim *sim, uint64_t ns) {
    sim->now += ns;
    for (int i = 0; i < CPUS; i++) {
        sim->cpus[i].area += sim->cpus[i].length * ns;
        sim->cpus[i].busy_ns += sim->cpus[i].current ? ns : 0;
    }
    for (int tid = 1; tid <= TASKS; tid++)
        sim->tasks[tid].ns[sim->tasks[tid].state] += ns;
}

static void enter(struct sim *sim, int tid, uint8_t state, uint32_t cpu) {
    struct sim_task *task = &sim->tasks[tid];
    sim->cpus[task->cpu].length -= sched_counts(task->state);
    sim->cpus[cpu].length += sched_counts(state);
    if (sim->cpus[cpu].length > sim->cpus[cpu].max)
        sim->cpus[cpu].max = sim->cpus[cpu].length;
    task->state = state;
    task->cpu = cpu;
    task->since = sim->now;
}

static void switch_to(struct sim *sim, uint32_t cpu, uint8_t state, bool hushed) {
    struct sim_cpu *at = &sim->cpus[cpu];
    int prev = at->current, next = 0;
    uint32_t first = dice(sim, TASKS);
    for (uint32_t i = 0; i < TASKS && !next; i++) {
        int tid = 1 + (int)((first + i) % TASKS);
        const struct sim_task *task = &sim->tasks[tid];
        if (tid != prev && task->cpu == cpu && (task->state == SIM_WOKEN || task->state == SIM_PREEMPTED))
            next = tid;
    }
    if (prev == next || (state == SIM_PREEMPTED && !next))
        return;
    tell(sim, (struct sched_event){.kind = SCHED_SWITCH,
                                   .cpu = cpu,
                                   .current = prev,
                                   .tid = prev,
                                   .next = next,
                                   .state = state == SCHED_DISK       ? SCHED_STATE_D
                                            : state == SCHED_SLEEPING ? SCHED_STATE_S
                                                                      : 0});
    at->switches++;
    at->current = next;
    if (prev) {
        *(state == SIM_PREEMPTED ? &sim->tasks[prev].involuntary : &sim->tasks[prev].voluntary) += 1;
        enter(sim, prev, hushed ? SIM_WOKEN : state, cpu);
        sim->tasks[prev].hushed = hushed;
        at->hushed += hushed;
    }
    if (!next)
        return;
    struct sim_task *task = &sim->tasks[next];
    uint64_t wait = sim->now - task->since;
    task->queued++;
    task->queue_ns += wait;
    task->queue_max = wait > task->queue_max ? wait : task->queue_max;
    task->hushed = false;
    enter(sim, next, SIM_RUNS, cpu);
}

static void migrate(struct sim *sim, uint32_t by, int tid, uint32_t to) {
    struct sim_task *task = &sim->tasks[tid];
    tell(sim,
         (struct sched_event){
             .kind = SCHED_MIGRATE, .cpu = by, .current = sim->cpus[by].current, .tid = tid, .target = (int32_t)to});
    uint64_t since = task->since;
    enter(sim, tid, task->state, to);
    task->since = since;
    task->migrations++;
    task->hushed = false;
    sim->cpus[to].migrations++;
}

// Recorded on the CPU `by`; `to`: the CPU that is chosen at once, or its last one.
static void wake(struct sim *sim, uint32_t by, int tid, uint32_t to) {
    struct sim_task *task = &sim->tasks[tid];
    tell(sim, (struct sched_event){.kind = SCHED_WAKING,
                                   .cpu = by,
                                   .current = sim->cpus[by].current,
                                   .tid = tid,
                                   .target = (int32_t)task->cpu});
    task->wakeups++;
    sim->cpus[to].wakeups++;
    if (sched_counts(task->state))
        return;
    enter(sim, tid, SIM_WOKEN, task->cpu);
    if (to == task->cpu)
        return;
    pass(sim, 700);
    migrate(sim, by, tid, to);
}

static void step(struct sim *sim) {
    uint32_t by = dice(sim, CPUS), to = dice(sim, CPUS), what = dice(sim, 16);
    int tid = 1 + (int)dice(sim, TASKS), runs = sim->cpus[to].current;
    struct sim_task *task = &sim->tasks[tid];
    uint8_t state = dice(sim, 4) ? SCHED_SLEEPING : SCHED_DISK;
    pass(sim, 30000 + dice(sim, 90000));
    if (what < 5 && !sched_counts(task->state)) {
        wake(sim, by, tid, dice(sim, 2) ? to : task->cpu);
    } else if (what < 9) {
        switch_to(sim, to, state, false);
    } else if (what < 12) {
        if (runs)
            switch_to(sim, to, SIM_PREEMPTED, false);
    } else if (what < 14 && runs && by != to) { // to be woken, or on its way to sleep
        wake(sim, by, runs, to);
        pass(sim, dice(sim, 2000));
        if (what == 12)
            switch_to(sim, to, state, true);
    } else if (task->state == SIM_WOKEN || task->state == SIM_PREEMPTED) {
        if (task->cpu != to)
            migrate(sim, by, tid, to);
    }
}

// ---- held against each other ----

static void compare_task(const struct sim *sim, const struct sched_machine *with, int tid) {
    const struct sim_task *truth = &sim->tasks[tid];
    const struct sched_task *t = &with->tasks[sched_slot(with, tid)];
    assert_int_equal(t->tid, tid);
    assert_int_equal(t->state, truth->state);
    assert_int_equal(t->cpu, truth->cpu);
    assert_int_equal(t->since, truth->since);
    for (int state = SCHED_RUNNING; state < SCHED_STATES; state++)
        assert_int_equal(t->ns[state], truth->ns[state]);
    assert_int_equal(t->queued, truth->queued);
    assert_int_equal(t->queue_ns, truth->queue_ns);
    assert_int_equal(t->queue_max, truth->queue_max);
    assert_int_equal(t->voluntary, truth->voluntary);
    assert_int_equal(t->involuntary, truth->involuntary);
    assert_int_equal(t->wakeups, truth->wakeups);
    assert_int_equal(t->migrations, truth->migrations);
}

static void compare(const struct sim *sim, const struct sched_machine *with) {
    uint64_t queued = 0, counted = 0, switched = 0;
    for (int tid = 1; tid <= TASKS; tid++) {
        compare_task(sim, with, tid);
        queued += sim->tasks[tid].queued;
    }
    for (int i = 0; i < CPUS; i++) {
        const struct sim_cpu *truth = &sim->cpus[i];
        const struct sched_cpu *cpu = &with->cpus[i];
        assert_int_equal(cpu->current, truth->current);
        assert_int_equal(cpu->length, truth->length);
        // One that is known only later to have been in the queue may be missing where the queue was longest.
        assert_in_range(cpu->max, truth->max > truth->hushed ? truth->max - truth->hushed : 0, truth->max);
        assert_int_equal(cpu->area, truth->area);
        assert_int_equal(cpu->busy_ns, truth->busy_ns);
        assert_int_equal(cpu->voluntary + cpu->involuntary + cpu->idle_switches, truth->switches);
        assert_int_equal(cpu->wakeups, truth->wakeups);
        assert_int_equal(cpu->migrations, truth->migrations);
        counted += cpu->queue.count;
        switched += truth->switches;
    }
    assert_int_equal(counted, queued);
    assert_int_equal(with->counts.switches, switched);
}

// The sums are true; missing parts are marked as unknown.
static void hold_bounds(const struct sim *sim, const struct sched_machine *with, uint64_t slack) {
    for (int tid = 1; tid <= TASKS; tid++) {
        const uint64_t *truth = sim->tasks[tid].ns, *ns = with->tasks[sched_slot(with, tid)].ns;
        assert_true(ns[SCHED_RUNNING] <= truth[SCHED_RUNNING]);
        assert_true(ns[SCHED_WOKEN] + ns[SCHED_PREEMPTED] <= truth[SIM_WOKEN] + truth[SIM_PREEMPTED] + slack);
        assert_true(ns[SCHED_SLEEPING] <= truth[SCHED_SLEEPING]);
        assert_true(ns[SCHED_DISK] <= truth[SCHED_DISK]);
    }
    for (int i = 0; i < CPUS; i++) {
        const struct sched_cpu *cpu = &with->cpus[i];
        uint64_t truth = sim->cpus[i].busy_ns;
        uint64_t length = sim->now - sim->begin;
        assert_true(cpu->covered_ns <= length);
        assert_true(cpu->busy_ns <= truth);
        assert_true(cpu->busy_ns + length - cpu->covered_ns + slack >= truth);
    }
}

static void next_interval(struct sim *sim) {
    for (int way = 0; way < WAYS; way++) {
        for (uint32_t i = 1; i < sim->machines[way]->n; i++)
            sim->machines[way]->tasks[i].throttled = !sim->unrecorded; // this scheduler lets tasks wait at idle CPUs
        sched_machine_flush(sim->machines[way], sim->now);
        if (!sim->unrecorded)
            compare(sim, sim->machines[way]);
        else
            hold_bounds(sim, sim->machines[way], sim->unrecorded == OUT_OF_IDLE ? 1000000 : 0);
        for (int i = 0; i < CPUS; i++)
            sim->unknown += sim->now - sim->begin - sim->machines[way]->cpus[i].covered_ns;
        sim->unseen += sim->machines[way]->counts.unseen;
        sched_machine_next(sim->machines[way], sim->now);
    }
    sim->begin = sim->now;
    for (int tid = 1; tid <= TASKS; tid++) {
        struct sim_task *task = &sim->tasks[tid];
        *task = (struct sim_task){.state = task->state, .cpu = task->cpu, .since = task->since};
    }
    for (int i = 0; i < CPUS; i++) {
        struct sim_cpu *cpu = &sim->cpus[i];
        *cpu = (struct sim_cpu){.current = cpu->current, .length = cpu->length, .max = cpu->length};
    }
}

static bool all_told(const struct sim *sim) {
    for (int tid = 1; tid <= TASKS; tid++)
        if (sim->tasks[tid].hushed)
            return false;
    return true;
}

static bool any_hidden(const struct sim *sim) {
    for (int i = 0; i < CPUS; i++)
        if (sim->hidden[i])
            return true;
    return false;
}

static void sim_start(struct sim *sim, uint32_t seed, enum unrecorded unrecorded) {
    *sim = (struct sim){.random = seed, .now = 1000000000, .begin = 1000000000};
    for (int way = 0; way < WAYS; way++) {
        struct sched_machine *to = sim->machines[way] = sched_machine_new(CPUS);
        make_formats(&to->formats, way == 2);
        to->begin = sim->now;
        sched_machine_lost(to, sim->now);
    }
    for (int tid = 1; tid <= TASKS; tid++) {
        uint32_t cpu = (uint32_t)tid % CPUS;
        tell(sim, (struct sched_event){.kind = SCHED_WAKEUP_NEW, .tid = tid, .target = (int32_t)cpu});
        sim->tasks[tid].cpu = cpu;
        enter(sim, tid, SIM_WOKEN, cpu);
        sim->tasks[tid].wakeups++;
        sim->cpus[cpu].wakeups++;
    }
    for (uint32_t cpu = 0; cpu < CPUS; cpu++)
        switch_to(sim, cpu, 0, false);
    sim->unrecorded = unrecorded;
}

static void sim_run(uint32_t seed, enum unrecorded unrecorded) {
    static struct sim sim;
    uint32_t frames = 0;
    sim_start(&sim, seed, unrecorded);
    for (int i = 0; i < 3000; i++) {
        step(&sim);
        // Where the truth shows only by the next switch, an interval that ends before it cannot know.
        if (i % 100 < 50 || !all_told(&sim) || dice(&sim, 4) || (unrecorded == OUT_OF_ONE && any_hidden(&sim)))
            continue;
        next_interval(&sim);
        frames++;
    }
    assert_true(frames > 50);
    assert_int_equal(sim.unseen != 0, unrecorded != NOTHING);
    assert_int_equal(sim.unknown != 0, unrecorded != NOTHING);
    // Most of the time is known nevertheless.
    assert_true(sim.unknown / WAYS / CPUS < (sim.now - 1000000000) / 2);
    for (int way = 0; way < WAYS; way++)
        sched_machine_free(sim.machines[way]);
}

static void a_little_scheduler(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++)
        sim_run(seed, NOTHING);
}

static void switches_left_out(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        sim_run(seed, OUT_OF_IDLE);
        sim_run(seed, OUT_OF_ONE);
    }
}

// Truncated or foreign records, and those of a CPU that does not exist, are counted and ignored.
static void odd_records(void **state) {
    (void)state;
    struct sched_machine *to = sched_machine_new(2);
    uint8_t record[64] = {0};
    make_formats(&to->formats, false);
    put32(record, 0, ID_SWITCH);
    put32(record, 24, 7);
    put32(record, 56, 8);
    struct ring_page cut = {.data = record, .size = 60, .ts = 5, .next = record + 60, .end = record + 60};
    assert_int_equal(sched_machine_run(to, 0, &cut, 10), 1);
    struct ring_page nowhere = {.data = record, .size = 64, .ts = 6, .next = record + 64, .end = record + 64};
    assert_int_equal(sched_machine_run(to, 2, &nowhere, 10), 1);
    put32(record, 0, ID_OTHERS + 50);
    struct ring_page strange = {.data = record, .size = 64, .ts = 7, .next = record + 64, .end = record + 64};
    assert_int_equal(sched_machine_run(to, 0, &strange, 10), 1);
    assert_int_equal(to->n, 1);
    assert_int_equal(to->last_ts, 7);
    memset(&to->formats, 0, sizeof(to->formats)); // nothing is known: no record is any of ours
    struct ring_page zero = {.data = record, .size = 64, .ts = 8, .next = record + 64, .end = record + 64};
    put32(record, 0, 0);
    assert_int_equal(sched_machine_run(to, 0, &zero, 10), 1);
    assert_int_equal(to->n, 1);
    sched_machine_free(to);
}

// A run ends before its limit, and leaves the event there in hand.
static void runs_end(void **state) {
    (void)state;
    static struct forge forge;
    struct sched_machine *to = sched_machine_new(2);
    struct ring_page page;
    int64_t missed;
    make_formats(&to->formats, false);
    forge_start(&forge, 1000);
    for (int i = 0; i < 4; i++) {
        uint8_t record[64] = {0};
        put32(record, 0, ID_SWITCH);
        put32(record, 24, i);
        put32(record, 56, i + 1);
        forge_head(&forge, 16, 100);
        memcpy(forge.bytes + FORGE_HEADER + forge.used, record, 64);
        forge.used += 64;
        memcpy(forge.bytes + 8, &forge.used, 4);
    }
    ring_page_load(&page, forge.bytes, FORGE_PAGE, FORGE_HEADER, &missed);
    assert_true(ring_page_next(&page));
    assert_int_equal(sched_machine_run(to, 1, &page, 1300), 2);
    assert_int_equal(page.ts, 1300);
    assert_int_equal(to->cpus[1].current, 2);
    assert_int_equal(sched_machine_run(to, 1, &page, UINT64_MAX), 2);
    assert_null(page.data);
    assert_int_equal(to->cpus[1].current, 4);
    assert_int_equal(to->last_ts, 1400);
    sched_machine_free(to);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_little_scheduler),
        cmocka_unit_test(switches_left_out),
        cmocka_unit_test(odd_records),
        cmocka_unit_test(runs_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
