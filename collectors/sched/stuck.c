// Stuck threads and their causes: long waits, joined with the prober's replies.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/kernel/proc/self.h"
#include "collectors/sched/fill.h"
#include "model/mem.h"

#define ROWS_MAX 64
#define REALTIME_BELOW 100 // priorities of the kernel; 0 is the highest, -1 a deadline
#define UNANSWERED_NS 500000000ull
#define HELD_BACK 0.3 // share of the interval in which it was runnable but did not run

struct stuck {
    uint32_t slot;
    uint8_t why;
    uint64_t age;
    char waits_for[320]; // "": as the prober replied
};

static uint64_t age_of(const struct sched_fill *fill, const struct sched_task *task) {
    return fill->end > task->since ? fill->end - task->since : 0;
}

// ktop itself is never reported as a cause.
static bool is_own(const struct sched_fill *fill, uint32_t slot) {
    const struct sched_thread *thread = sched_threads_get(fill->threads, fill->machine, slot);
    return !thread->wanted && self_process(thread->pid);
}

// The two tasks that ran longest on a CPU in the interval, of all and of the real-time ones: one of them may be the one
// that waits. The task that runs at the end of the interval is often ktop itself.
struct busiest {
    uint32_t all[2], realtime[2]; // slots; 0: none
};

static void rank(const struct sched_fill *fill, uint32_t slot, uint32_t best[2]) {
    const struct sched_task *tasks = fill->machine->tasks;
    uint64_t ran = tasks[slot].ns[SCHED_RUNNING];
    if (ran <= (best[1] ? tasks[best[1]].ns[SCHED_RUNNING] : 0) || is_own(fill, slot))
        return;
    bool first = ran > (best[0] ? tasks[best[0]].ns[SCHED_RUNNING] : 0);
    best[1] = first ? best[0] : slot;
    best[0] = first ? slot : best[0];
}

// By CPU; the caller frees it.
static struct busiest *busiest_find(const struct sched_fill *fill) {
    const struct sched_machine *machine = fill->machine;
    struct busiest *out = xcalloc(machine->n_cpus + 1, sizeof(*out));
    for (uint32_t i = 1; i < machine->n; i++) {
        const struct sched_task *task = &machine->tasks[i];
        if (!task->tid || !task->ns[SCHED_RUNNING] || task->cpu >= machine->n_cpus)
            continue;
        rank(fill, i, out[task->cpu].all);
        if (task->prio != SCHED_PRIO_NONE && task->prio < REALTIME_BELOW)
            rank(fill, i, out[task->cpu].realtime);
    }
    return out;
}

static const struct sched_task *other_of(const struct sched_fill *fill, const uint32_t best[2],
                                         const struct sched_task *task) {
    const struct sched_task *tasks = fill->machine->tasks;
    uint32_t slot = &tasks[best[0]] == task ? best[1] : best[0];
    return slot ? &tasks[slot] : NULL;
}

// A real-time task that used a good part of the interval.
static const struct sched_task *realtime_on(const struct sched_fill *fill, const struct busiest *busiest,
                                            const struct sched_task *task) {
    const struct sched_task *most = other_of(fill, busiest->realtime, task);
    return most && (double)most->ns[SCHED_RUNNING] / 1e9 > HELD_BACK * fill->seconds ? most : NULL;
}

// Why a runnable task does not run. The cause comes first: a narrow screen cuts the end.
static void explain_runnable(const struct sched_fill *fill, const struct busiest *busiest,
                             const struct sched_task *task, const struct sched_thread *thread,
                             const struct sched_limit *limit, struct stuck *out) {
    const struct sched_machine *machine = fill->machine;
    uint32_t number = task->cpu < machine->n_cpus ? task->cpu : machine->n_cpus; // the last entry is empty
    const struct sched_task *hog = task->prio >= REALTIME_BELOW ? realtime_on(fill, &busiest[number], task) : NULL;
    // Some kernels omit switches, so /proc is queried about a long wait: it counts when confirmed, or when no reply
    // comes.
    bool waits = sched_waits(task->state) && !sched_may_run(machine, task, fill->end) &&
                 (thread->runnable_ns >= task->since || out->age >= UNANSWERED_NS);
    if (hog && hog->prio < 0) {
        out->why = BLOCKED_BY_REALTIME;
        snprintf(out->waits_for, sizeof(out->waits_for), "%.16s (%d) uses CPU %u, deadline task", hog->comm, hog->tid,
                 task->cpu);
    } else if (hog) {
        out->why = BLOCKED_BY_REALTIME;
        snprintf(out->waits_for, sizeof(out->waits_for), "%.16s (%d) uses CPU %u, real-time priority %d", hog->comm,
                 hog->tid, task->cpu, REALTIME_BELOW - 1 - hog->prio);
    } else if (limit) {
        out->why = BLOCKED_BY_THROTTLED;
        snprintf(out->waits_for, sizeof(out->waits_for),
                 "limit %.4g %% of cgroup %.160s: throttled in %.0f %% of periods", limit->limit_pct, limit->cgroup,
                 limit->throttled_pct);
    } else if (waits && out->age >= SCHED_STUCK_NS) {
        out->why = BLOCKED_BY_CPU;
        const struct sched_task *other = other_of(fill, busiest[number].all, task);
        if (other)
            snprintf(out->waits_for, sizeof(out->waits_for), "%.16s (%d) uses CPU %u, run queue %u", other->comm,
                     other->tid, task->cpu, machine->cpus[number].length);
        else
            snprintf(out->waits_for, sizeof(out->waits_for), "CPU %u", task->cpu);
    }
}

// The share of the interval in which it was runnable but did not run. Where switches are missing it ran or waited, and
// it cannot have run longer than its CPU limit allows: twice that, as the limit's periods are not the intervals.
static double held_back(const struct sched_fill *fill, const struct sched_task *task, const struct sched_limit *limit) {
    double waited = (double)(task->ns[SCHED_WOKEN] + task->ns[SCHED_PREEMPTED]) / 1e9 / fill->seconds;
    double either = (double)task->ns[SCHED_RUNNABLE] / 1e9 / fill->seconds;
    return waited + (limit ? fmax(0, either - 2 * limit->limit_pct / 100) : 0);
}

static bool is_stuck(const struct sched_fill *fill, const struct busiest *busiest, uint32_t slot, struct stuck *out) {
    const struct sched_task *task = &fill->machine->tasks[slot];
    const struct sched_thread *thread = sched_threads_get(fill->threads, fill->machine, slot);
    *out = (struct stuck){.slot = slot, .age = age_of(fill, task)};
    if (!thread->wanted || !task->listed)
        return false;
    bool answer = thread->replied && thread->wait == task->waits_all;
    bool old = out->age >= SCHED_STUCK_NS;
    if (task->state == SCHED_DISK) {
        out->why = old ? BLOCKED_BY_UNINTERRUPTIBLE : BLOCKED_BY_NONE;
    } else if (task->state == SCHED_SLEEPING) {
        out->why = old && answer ? thread->why : BLOCKED_BY_NONE;
    } else if (sched_counts(task->state) || task->state == SCHED_UNKNOWN) {
        struct sched_limit found;
        bool is_limited = thread->cgroup && sched_limits_find(fill->limits, text_bytes(thread->cgroup), &found);
        const struct sched_limit *limit = is_limited ? &found : NULL;
        if ((sched_waits(task->state) && old) || held_back(fill, task, limit) > HELD_BACK)
            explain_runnable(fill, busiest, task, thread, limit, out);
    }
    return out->why != BLOCKED_BY_NONE;
}

// Threads that wait for a CPU or are throttled are often many and alike: they come last.
static int older(const void *left, const void *right) {
    const struct stuck *a = left, *b = right;
    bool a_wants = a->why == BLOCKED_BY_THROTTLED || a->why == BLOCKED_BY_CPU;
    bool b_wants = b->why == BLOCKED_BY_THROTTLED || b->why == BLOCKED_BY_CPU;
    if (a_wants != b_wants)
        return a_wants - b_wants;
    return a->age > b->age ? -1 : a->age < b->age;
}

static void fill_row(const struct sched_fill *fill, const struct stuck *stuck, struct table_builder *builder) {
    const struct sched_task *task = &fill->machine->tasks[stuck->slot];
    const struct sched_thread *thread = sched_threads_get(fill->threads, fill->machine, stuck->slot);
    bool off = task->state >= SCHED_SLEEPING, answer = off && thread->replied && thread->wait == task->waits_all;
    uint32_t row = table_builder_add(builder);
    table_builder_set_num(builder, row, SCHED_W_PID, thread->pid);
    table_builder_set_num(builder, row, SCHED_W_TID, task->tid);
    table_builder_set_text(builder, row, SCHED_W_COMM, sched_comm_text(task));
    table_builder_set_text(builder, row, SCHED_W_STATE, sched_state_text(task->state));
    table_builder_set_text(builder, row, SCHED_W_KIND, text_from(blocked_by_names[stuck->why]));
    if (sched_waits(task->state) || off) {
        table_builder_set_num(builder, row, SCHED_W_SINCE, (double)stuck->age / 1e3);
        table_builder_set_num(builder, row, SCHED_W_AT_LEAST, !task->exact);
    }
    if (stuck->waits_for[0])
        table_builder_set_text(builder, row, SCHED_W_WAITS_FOR, text_from(stuck->waits_for));
    table_builder_set_text(builder, row, SCHED_W_CGROUP, text_ref(thread->cgroup));
    if (!answer)
        return;
    table_builder_set_text(builder, row, SCHED_W_BLOCKED_IN, text_ref(thread->where));
    table_builder_set_text(builder, row, SCHED_W_SYSCALL, text_ref(thread->syscall));
    table_builder_set_text(builder, row, SCHED_W_WAITS_FOR, text_ref(thread->waits_for));
    table_builder_set_text(builder, row, SCHED_W_STACK, text_ref(thread->stack));
}

void sched_fill_stuck(const struct sched_fill *fill, struct section *out) {
    const struct sched_machine *machine = fill->machine;
    struct stuck *all = xcalloc(machine->n, sizeof(*all));
    struct busiest *busiest = busiest_find(fill);
    struct table_builder *builder = table_builder_new(&sched_stuck_table);
    uint32_t n = 0;
    for (uint32_t i = 1; i < machine->n; i++)
        if (machine->tasks[i].tid && is_stuck(fill, busiest, i, &all[n]))
            n++;
    qsort(all, n, sizeof(*all), older);
    for (uint32_t i = 0; i < n && i < ROWS_MAX; i++)
        fill_row(fill, &all[i], builder);
    if (n > ROWS_MAX) {
        char text[128];
        snprintf(text, sizeof(text), "%u more threads are stuck; the longest waits are shown, those for a CPU last",
                 n - ROWS_MAX);
        section_note(out, SEVERITY_INFO, NULL, text, NULL);
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
    free(busiest);
    free(all);
}
