// Rows of tasks stay in their builder: a task that slept through the interval, as most do, costs one check of its
// state, and its row is shared by all frames that show it.
#include "collectors/sched/fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/mem.h"

const struct text *sched_comm_text(const struct sched_task *task) {
    return task->comm[0] ? text_new(task->comm, strnlen(task->comm, SCHED_COMM)) : NULL;
}

const struct text *sched_state_text(uint8_t state) {
    static const char *const names[SCHED_STATES] = {
        [SCHED_RUNNING] = "running", [SCHED_WOKEN] = "waiting", [SCHED_PREEMPTED] = "waiting", [SCHED_RUNNABLE] = "R",
        [SCHED_SLEEPING] = "S",      [SCHED_DISK] = "D",        [SCHED_STOPPED] = "T",         [SCHED_ENDED] = "X",
    };
    return names[state] ? text_from(names[state]) : NULL;
}

static double us_per_s(uint64_t ns, double seconds) {
    return round((double)ns / 100 / seconds) / 10; // rounded to 0.1 us, so that rows of sleeping tasks stay identical
}

// ---- tasks ----

static const struct text *waker_text(const struct sched_machine *machine, const struct sched_task *task) {
    if (task->waker_flags & EVENT_FLAG_NMI)
        return text_from("(nmi)");
    if (task->waker_flags & EVENT_FLAG_HARDIRQ)
        return text_from("(hardirq)");
    if (task->waker_flags & EVENT_FLAG_SOFTIRQ)
        return text_from("(softirq)");
    if (!task->waker)
        return text_from("(idle)");
    uint32_t slot = sched_slot(machine, task->waker);
    if (!slot || !machine->tasks[slot].comm[0])
        return text_printf("(%d)", task->waker);
    return text_printf("%.*s (%d)", SCHED_COMM, machine->tasks[slot].comm, task->waker);
}

static double off_ns(const struct sched_task *task) {
    double sum = 0;
    for (int state = SCHED_WOKEN; state <= SCHED_STOPPED; state++)
        sum += state == SCHED_RUNNABLE ? 0 : (double)task->ns[state];
    return sum;
}

struct row {
    struct table_builder *builder;
    uint32_t at;
};

static void put(const struct row *row, uint16_t column, double value) {
    table_builder_set_num(row->builder, row->at, column, value);
}

static void put_text(const struct row *row, uint16_t column, const struct text *take) {
    table_builder_set_text(row->builder, row->at, column, take);
}

static void fill_queue(const struct sched_fill *fill, const struct sched_task *task, const struct row *row) {
    bool waits = sched_waits(task->state) && !sched_may_run(fill->machine, task, fill->end);
    uint64_t so_far = waits && task->exact && fill->end > task->since ? fill->end - task->since : 0;
    uint64_t most = so_far > task->queue_max ? so_far : task->queue_max;
    put(row, SCHED_T_QUEUE_AVG,
        task->queued ? (double)task->queue_ns / task->queued / 1e3
        : so_far     ? (double)so_far / 1e3
                     : NAN);
    put(row, SCHED_T_QUEUE_MAX, task->queued || so_far ? (double)most / 1e3 : NAN);
}

static void fill_task(const struct sched_fill *fill, const struct sched_task *task, struct sched_thread *thread,
                      const struct row *row) {
    double seconds = fill->seconds;
    uint8_t state = sched_may_run(fill->machine, task, fill->end) ? SCHED_RUNNABLE : task->state;
    char name[SCHED_COMM + 1] = "";
    memcpy(name, task->comm, SCHED_COMM);
    if (name[0] && (!thread->comm || strcmp(text_bytes(thread->comm), name) != 0)) {
        text_unref(thread->comm);
        thread->comm = text_from(name);
    }
    put(row, SCHED_T_PID, thread->pid);
    put(row, SCHED_T_TID, task->tid);
    put_text(row, SCHED_T_COMM, text_ref(thread->comm));
    put_text(row, SCHED_T_STATE, sched_state_text(state));
    put(row, SCHED_T_SWITCHES, ((double)task->voluntary + task->involuntary) / seconds);
    put(row, SCHED_T_VOLUNTARY, task->voluntary / seconds);
    put(row, SCHED_T_INVOLUNTARY, task->involuntary / seconds);
    put(row, SCHED_T_WAKEUPS, task->wakeups / seconds);
    put(row, SCHED_T_MIGRATIONS, task->migrations / seconds);
    fill_queue(fill, task, row);
    put(row, SCHED_T_QUEUE, us_per_s(task->ns[SCHED_WOKEN] + task->ns[SCHED_PREEMPTED], seconds));
    put(row, SCHED_T_ON_CPU, us_per_s(task->ns[SCHED_RUNNING], seconds));
    put(row, SCHED_T_OFF_CPU, us_per_s((uint64_t)off_ns(task), seconds));
    put(row, SCHED_T_SLEEP, us_per_s(task->ns[SCHED_SLEEPING], seconds));
    put(row, SCHED_T_DISK, us_per_s(task->ns[SCHED_DISK], seconds));
    put(row, SCHED_T_STOPPED, us_per_s(task->ns[SCHED_STOPPED], seconds));
    put(row, SCHED_T_PREEMPTED, us_per_s(task->ns[SCHED_PREEMPTED], seconds));
    put_text(row, SCHED_T_BLOCKED_IN, text_ref(thread->where));
    put_text(row, SCHED_T_SYSCALL, text_ref(thread->syscall));
    if (task->woken_by && (task->wakeups || !table_builder_row(row->builder, row->at)[SCHED_T_WAKER].text))
        put_text(row, SCHED_T_WAKER, waker_text(fill->machine, task));
    put(row, SCHED_T_CPU, task->cpu);
    put(row, SCHED_T_PRIORITY, task->prio == SCHED_PRIO_NONE ? NAN : task->prio);
    put(row, SCHED_T_SWITCHES_ALL, task->waits_all);
    put(row, SCHED_T_WAKEUPS_ALL, task->wakeups_all);
    bool timed = state != SCHED_SLEEPING && state != SCHED_UNKNOWN && state != SCHED_ENDED;
    put(row, SCHED_T_SINCE, timed && fill->end > task->since ? (double)(fill->end - task->since) / 1e3 : NAN);
}

// It slept through the interval, and its row already shows that.
static bool still_idle(const struct sched_fill *fill, const struct sched_task *task, struct sched_thread *thread) {
    bool idle = task->state == SCHED_SLEEPING && task->since <= fill->machine->begin &&
                !(task->voluntary | task->involuntary | task->wakeups | task->migrations | task->queued) &&
                !isnan(fill->seconds);
    bool was = thread->idle;
    thread->idle = idle;
    return idle && was && thread->row;
}

void sched_fill_tasks(const struct sched_fill *fill, struct section *out) {
    const struct sched_machine *machine = fill->machine;
    for (uint32_t i = 1; i < machine->n; i++) {
        const struct sched_task *task = &machine->tasks[i];
        if (!task->tid)
            continue;
        struct sched_thread *thread = sched_threads_get(fill->threads, machine, i);
        bool shown = thread->wanted && (task->state != SCHED_UNKNOWN || task->voluntary || task->wakeups);
        if (!shown) {
            if (thread->row)
                table_builder_remove(fill->rows, thread->row - 1);
            thread->row = 0;
            continue;
        }
        if (still_idle(fill, task, thread))
            continue;
        if (!thread->row)
            thread->row = table_builder_add(fill->rows) + 1;
        fill_task(fill, task, thread, &(struct row){fill->rows, thread->row - 1});
    }
    section_table(out, table_builder_seal(fill->rows));
    // Ended tasks are in this frame only; their slots are reused.
    for (uint32_t i = 1; i < machine->n; i++)
        if (machine->tasks[i].tid && !machine->tasks[i].listed) {
            uint32_t row = sched_threads_drop(fill->threads, i);
            if (row)
                table_builder_remove(fill->rows, row - 1);
        }
}

// ---- CPUs ----

// Share of the interval in which the CPU's activity is unknown.
static double cpu_unknown(const struct sched_fill *fill, const struct sched_cpu *cpu) {
    double all = fill->seconds * 1e9, unknown = (all - (double)cpu->covered_ns) / all;
    return unknown < 0 ? 0 : unknown; // NAN stays
}

// Half of the interval is the least that represents the whole.
static bool cpu_is_known(const struct sched_fill *fill, const struct sched_cpu *cpu) {
    return cpu_unknown(fill, cpu) <= 0.5;
}

static void fill_busy(const struct sched_fill *fill, const struct sched_cpu *cpu, const struct row *row) {
    put(row, SCHED_C_UNKNOWN, 100 * cpu_unknown(fill, cpu));
    if (cpu_is_known(fill, cpu))
        put(row, SCHED_C_BUSY, 100 * fmin(1, (double)cpu->busy_ns / (double)cpu->covered_ns));
    if (!cpu->known || cpu->current == SCHED_TASK_UNKNOWN)
        return;
    put(row, SCHED_C_TID, cpu->current);
    uint32_t slot = sched_slot(fill->machine, cpu->current);
    put_text(row, SCHED_C_COMM, slot ? sched_comm_text(&fill->machine->tasks[slot]) : NULL);
}

static void fill_cpu(const struct sched_fill *fill, uint32_t number, const struct row *row) {
    const struct sched_machine *machine = fill->machine;
    const struct sched_cpu *cpu = &machine->cpus[number];
    double seconds = fill->seconds;
    uint64_t switches = cpu->voluntary + cpu->involuntary + cpu->idle_switches;
    put(row, SCHED_C_CPU, number);
    if (!machine->partial) {
        put(row, SCHED_C_LENGTH, cpu_is_known(fill, cpu) ? (double)cpu->area / 1e9 / seconds : NAN);
        put(row, SCHED_C_LENGTH_MAX, cpu->max);
    }
    if (!machine->partial)
        fill_busy(fill, cpu, row);
    put(row, SCHED_C_SWITCHES, (double)switches / seconds);
    put(row, SCHED_C_VOLUNTARY, (double)cpu->voluntary / seconds);
    put(row, SCHED_C_INVOLUNTARY, (double)cpu->involuntary / seconds);
    put(row, SCHED_C_WAKEUPS, (double)cpu->wakeups / seconds);
    put(row, SCHED_C_MIGRATIONS, (double)cpu->migrations / seconds);
    if (!cpu->queue.count)
        return;
    struct hist *hist = hist_seal(&cpu->queue);
    put(row, SCHED_C_QUEUE_AVG, hist_mean(hist) / 1e3);
    put(row, SCHED_C_QUEUE_P99, hist_quantile(hist, 0.99) / 1e3);
    put(row, SCHED_C_QUEUE_MAX, (double)hist->max / 1e3);
    hist_free(hist);
}

// An offline or absent CPU has no events.
static bool cpu_seen(const struct sched_cpu *cpu) {
    return cpu->known || cpu->length || cpu->area || cpu->max || cpu->wakeups || cpu->idle_switches || cpu->voluntary;
}

void sched_fill_cpus(const struct sched_fill *fill, struct section *out) {
    struct table_builder *builder = table_builder_new(&sched_cpus_table);
    for (uint32_t i = 0; i < fill->machine->n_cpus; i++)
        if (cpu_seen(&fill->machine->cpus[i]))
            fill_cpu(fill, i, &(struct row){builder, table_builder_add(builder)});
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
}

// A larger unknown share gets a note; the column has every share.
#define UNSEEN_MUCH 0.2

void sched_fill_unseen(const struct sched_fill *fill, struct section *out) {
    const struct sched_machine *machine = fill->machine;
    char text[192], unseen[96] = "";
    double most = 0;
    uint32_t worst = 0;
    for (uint32_t i = 0; i < machine->n_cpus && !machine->partial; i++) {
        const struct sched_cpu *cpu = &machine->cpus[i];
        bool switches = cpu->known || machine->counts.unseen; // a CPU may run one thread forever
        double unknown = switches && cpu_seen(cpu) ? cpu_unknown(fill, cpu) : 0;
        worst = unknown > most ? i : worst;
        most = fmax(most, unknown);
    }
    if (!(most >= UNSEEN_MUCH))
        return;
    if (machine->counts.unseen)
        snprintf(unseen, sizeof(unseen), ": the kernel did not report %llu switch%s (all CPUs)",
                 (unsigned long long)machine->counts.unseen, machine->counts.unseen > 1 ? "es" : "");
    snprintf(text, sizeof(text), "CPU %u: activity unknown for %.0f %% of the time%s", worst, 100 * fmin(1, most),
             unseen);
    section_note(out, SEVERITY_INFO, "busy_pct", text, NULL);
}

// ---- histograms ----

// "(others)": threads without a histogram of their own, and ktop's own threads.
static void fill_others(struct hist_set *set, const struct hist **hists, size_t n) {
    struct hist *all = hist_merge(hists, n);
    if (all->count) {
        const union cell keys[3] = {{.num = NAN}, {.num = NAN}, {.text = text_from("(others)")}};
        hist_set_add(set, keys, all);
    } else {
        hist_free(all);
    }
}

static void fill_process_hists(const struct sched_fill *fill, struct section *out) {
    const struct sched_machine *machine = fill->machine;
    struct hist_set *set = hist_set_new(&sched_queue_process_hist);
    const struct hist *others[SCHED_SLOTS + 1];
    size_t n_others = 0;
    for (uint32_t i = 0; i <= SCHED_SLOTS; i++) {
        if (!machine->slots[i].count)
            continue;
        uint32_t slot = i == SCHED_SLOTS ? 0 : machine->slot_tasks[i];
        const struct sched_thread *thread = slot ? sched_threads_get(fill->threads, machine, slot) : NULL;
        struct hist *hist = hist_seal(&machine->slots[i]);
        if (!thread || !thread->wanted) {
            others[n_others++] = hist;
            continue;
        }
        const struct sched_task *task = &machine->tasks[slot];
        const union cell keys[3] = {{.num = thread->pid}, {.num = task->tid}, {.text = sched_comm_text(task)}};
        hist_set_add(set, keys, hist);
    }
    if (!sched_threads_filters(fill->threads))
        fill_others(set, others, n_others);
    while (n_others)
        hist_free((struct hist *)others[--n_others]);
    section_hists(out, set);
}

void sched_fill_hists(const struct sched_fill *fill, struct section *out) {
    const struct sched_machine *machine = fill->machine;
    struct hist_set *queue = hist_set_new(&sched_queue_hist), *off = hist_set_new(&sched_off_hist);
    for (uint32_t i = 0; i < machine->n_cpus; i++)
        if (machine->cpus[i].queue.count)
            hist_set_add(queue, &(const union cell){.num = i}, hist_seal(&machine->cpus[i].queue));
    for (int kind = 0; kind < SCHED_OFF_KINDS; kind++)
        if (machine->off[kind].count)
            hist_set_add(off, &(const union cell){.text = text_from(sched_off_names[kind])},
                         hist_seal(&machine->off[kind]));
    section_hists(out, queue);
    section_hists(out, off);
    fill_process_hists(fill, out);
}

// ---- the rest ----

void sched_fill_series(const struct sched_fill *fill, double values[SCHED_S_ALL]) {
    const struct sched_machine *machine = fill->machine;
    const struct sched_counts *counts = &machine->counts;
    double blocked = 0, area = 0;
    const struct hist **hists = xcalloc(machine->n_cpus + 1, sizeof(*hists));
    for (uint32_t i = 1; i < machine->n; i++)
        blocked += machine->tasks[i].tid && machine->tasks[i].state == SCHED_DISK;
    for (uint32_t i = 0; i < machine->n_cpus; i++) {
        area += (double)machine->cpus[i].area;
        hists[i] = hist_seal(&machine->cpus[i].queue);
    }
    struct hist *all = hist_merge(hists, machine->n_cpus);
    for (uint32_t i = 0; i < machine->n_cpus; i++)
        hist_free((struct hist *)hists[i]);
    free(hists);
    values[SCHED_S_SWITCHES] = (double)counts->switches / fill->seconds;
    values[SCHED_S_VOLUNTARY] = (double)counts->voluntary / fill->seconds;
    values[SCHED_S_INVOLUNTARY] = (double)counts->involuntary / fill->seconds;
    values[SCHED_S_WAKEUPS] = (double)counts->wakeups / fill->seconds;
    values[SCHED_S_MIGRATIONS] = (double)counts->migrations / fill->seconds;
    values[SCHED_S_RUNNABLE] = machine->partial ? NAN : area / 1e9 / fill->seconds;
    values[SCHED_S_QUEUE_AVG] = all->count ? hist_mean(all) / 1e3 : NAN;
    values[SCHED_S_QUEUE_P99] = all->count ? hist_quantile(all, 0.99) / 1e3 : NAN;
    values[SCHED_S_QUEUE_MAX] = all->count ? (double)all->max / 1e3 : NAN;
    values[SCHED_S_BLOCKED] = blocked;
    hist_free(all);
}
