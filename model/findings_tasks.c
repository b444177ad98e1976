// Rules about tasks: real-time tasks that take a CPU, blocked tasks, zombies, fork storms.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

// What waited longest for a CPU in this interval.
struct waiter {
    double pct; // of the time; 0: nothing
    double tid; // NAN: a process, by its first thread
    struct culprit is;
};

// The row of a process has the CPU of its first thread only; other threads are in a table of their own.
static struct waiter longest_waiter(const struct rule_ctx *ctx, const struct table *tasks, double cpu) {
    const struct table_def *def = table_def(tasks);
    struct waiter longest = {.tid = NAN};
    double seconds = ctx_table_s(ctx, IN(tables, tasks));
    size_t cursor = 0;
    for (const union cell *row; !isnan(cpu) && (row = table_next(tasks, &cursor));) {
        double pct = num_at(row, COL(def, tasks, run_queue_us)) / 1e4 / seconds;
        if (num_at(row, COL(def, tasks, cpu)) != cpu || !(num_at(row, COL(def, tasks, priority)) >= 0) ||
            !(pct > longest.pct))
            continue;
        longest.pct = pct;
        longest.is = (struct culprit){num_at(row, COL(def, tasks, pid)), text_at(row, COL(def, tasks, comm)), NULL};
    }
    const struct table *threads = ctx_table(ctx, IN(tables, starved_threads));
    def = threads ? table_def(threads) : NULL;
    cursor = 0;
    for (const union cell *row; threads && (row = table_next(threads, &cursor));) {
        double pct = num_at(row, COL(def, starved_threads, waited_pct));
        if (num_at(row, COL(def, starved_threads, cpu)) != cpu || !(pct > longest.pct))
            continue;
        double pid = num_at(row, COL(def, starved_threads, pid)), tid = num_at(row, COL(def, starved_threads, tid));
        longest =
            (struct waiter){pct, tid == pid ? NAN : tid, {pid, text_at(row, COL(def, starved_threads, comm)), NULL}};
    }
    return longest;
}

// A real-time task alone on its CPU (a poller on an isolated CPU) is intended.
static void realtime_report(struct rule_ctx *ctx, const struct table *tasks, const struct culprit *culprit,
                            const struct busy_thread_row *hog) {
    double pressure = ctx_series(ctx, IN(series, cpu_some_pct));
    const struct waiter waiter = longest_waiter(ctx, tasks, hog->cpu);
    // Pressure with idle CPUs is the same sign.
    bool pinned = pressure >= LIMIT(realtime_hog, pressure_pct) && ctx->busy_cpus < ctx->cpus * 0.9;
    char key[32], name[64], realtime[64], on[32] = "", victim[64], thread[32] = "", of[32] = "", felt[160];
    if (waiter.pct >= LIMIT(realtime_hog, waits_pct)) {
        if (!isnan(waiter.tid))
            snprintf(thread, sizeof(thread), ", thread %.0f,", waiter.tid);
        snprintf(felt, sizeof(felt), "%s%s waited %.0f %% of the time for that CPU",
                 culprit_name(&waiter.is, victim, sizeof(victim)), thread, fmin(100, waiter.pct));
    } else if (pinned) {
        snprintf(felt, sizeof(felt), "tasks stalled on CPU %.0f %% of the time (PSI some)", pressure);
    } else {
        return;
    }
    if (!isnan(hog->cpu))
        snprintf(on, sizeof(on), " on CPU %.0f", hog->cpu);
    if (!isnan(hog->tid))
        snprintf(of, sizeof(of), ", thread %.0f,", hog->tid);
    snprintf(key, sizeof(key), "%.0f", culprit->pid);
    ctx_report(ctx, SEVERITY_WARNING, key, culprit, "%s%s uses %.0f %% of one CPU%s%s: %s",
               culprit_name(culprit, name, sizeof(name)), of, hog->cpu_pct, on,
               realtime_words(hog->priority, realtime, sizeof(realtime)), felt);
}

static void check_realtime_hog(struct rule_ctx *ctx) {
    const struct table *tasks = ctx_table(ctx, IN(tables, tasks));
    if (!tasks || !(ctx->busy_cpus >= (LIMIT(realtime_hog, cpu_pct) - 10) / 100))
        return;
    const struct table_def *def = table_def(tasks);
    const struct task_summary *summary = ctx_tasks(ctx);
    for (uint32_t i = 0; i < summary->n_hogs; i++) {
        const union cell *row = task_row(tasks, summary->hogs[i].culprit.pid);
        const struct culprit *culprit = &summary->hogs[i].culprit;
        // The row of a process has the priority of its first thread.
        const struct busy_thread_row first = {.tid = NAN,
                                              .cpu = row ? num_at(row, COL(def, tasks, cpu)) : NAN,
                                              .cpu_pct = summary->hogs[i].cpu_pct,
                                              .priority = summary->hogs[i].priority};
        struct busy_thread_row thread;
        if (ctx_busy_thread(ctx, culprit->pid, true, &thread) &&
            thread.cpu_pct + ctx_stolen_pct(ctx, thread.cpu) >= LIMIT(realtime_hog, cpu_pct))
            realtime_report(ctx, tasks, culprit, &thread);
        else if (is_realtime(first.priority))
            realtime_report(ctx, tasks, culprit, &first);
    }
}

const struct rule rule_realtime_hog = {
    .kind = "realtime_hog",
    .resource = "scheduler",
    .pane = "sched",
    .profiled = "profile",
    .level = {.kind = LEVEL_ROW, .what = "its CPU time", .of = IN(tables, tasks), .names = {IN(tasks, cpu_pct)}},
    .check = check_realtime_hog};

static void check_blocked_tasks(struct rule_ctx *ctx) {
    double blocked = ctx_series(ctx, IN(series, tasks_uninterruptible));
    if (isnan(blocked))
        blocked = ctx_series(ctx, IN(series, procs_blocked));
    double cpus = ctx->cpus >= 1 ? ctx->cpus : 1;
    enum severity severity;
    // A few tasks wait for a disk at any moment. Two per CPU (at least 4) in every frame: something does not keep up.
    // Eight per CPU (at least 32): it hangs.
    double least = fmax(LIMIT(blocked_tasks, tasks), LIMIT(blocked_tasks, per_cpu) * cpus),
           many = fmax(LIMIT(blocked_tasks, critical_tasks), LIMIT(blocked_tasks, critical_per_cpu) * cpus);
    if (!is_above(blocked, least, many, &severity))
        return;
    const struct heaviest *top = &ctx_tasks(ctx)->uninterruptible;
    char name[64];
    // The task that has waited longest is nearest to the cause. A wait that began in this interval says nothing.
    if (ctx->longest_blocked_s > ctx->interval_s * 1.5)
        ctx_report(ctx, severity, "", &ctx->longest_blocked,
                   "%s (longest, %.0f s) and %.0f more tasks are uninterruptible (state D)",
                   culprit_name(&ctx->longest_blocked, name, sizeof(name)), ctx->longest_blocked_s,
                   fmax(0, blocked - 1));
    else if (isnan(top->value))
        ctx_report(ctx, severity, "", &NO_CULPRIT, "%.0f tasks are uninterruptible (state D)", blocked);
    else
        ctx_report(ctx, severity, "", &top->culprit, "%s and %.0f more tasks are uninterruptible (state D)",
                   culprit_name(&top->culprit, name, sizeof(name)), fmax(0, blocked - 1));
}

const struct rule rule_blocked_tasks = {
    .kind = "blocked_tasks",
    .resource = "process",
    .pane = "tasks",
    .level = {.kind = LEVEL_SERIES,
              .what = "the number",
              .names = {IN(series, tasks_uninterruptible), IN(series, procs_blocked)}},
    .check = check_blocked_tasks};

static void check_zombies(struct rule_ctx *ctx) {
    double zombies = ctx_series(ctx, IN(series, tasks_zombie));
    // A zombie costs only a PID. Ten that are not reaped are a bug worth knowing; hundreds may exhaust the PIDs.
    if (!(zombies >= LIMIT(zombies, zombies)))
        return;
    const struct heaviest *parent = &ctx_tasks(ctx)->zombies;
    char cause[128] = "", name[64];
    if (!isnan(parent->value))
        snprintf(cause, sizeof(cause),
                 "%s has not reaped %.0f of its children: ", culprit_name(&parent->culprit, name, sizeof(name)),
                 parent->value);
    ctx_report(ctx, zombies >= LIMIT(zombies, warning_zombies) ? SEVERITY_WARNING : SEVERITY_INFO, "", &parent->culprit,
               "%s%.0f zombie processes", cause, zombies);
}

const struct rule rule_zombies = {
    .kind = "zombies",
    .resource = "process",
    .pane = "tasks",
    .level = {.kind = LEVEL_SERIES, .what = "the number", .names = {IN(series, tasks_zombie)}},
    .check = check_zombies};

static void check_fork_storm(struct rule_ctx *ctx) {
    double forks = ctx_series(ctx, IN(series, forks_per_s));
    enum severity severity;
    // A fork and exit cost about 1 ms of CPU: 300/s use a third of a CPU, more than a build on a small machine does.
    if (!is_above(forks, LIMIT(fork_storm, forks_per_s), LIMIT(fork_storm, critical_forks_per_s), &severity))
        return;
    const struct heaviest *parent = &ctx_tasks(ctx)->ended;
    char cause[160] = "", name[64];
    struct culprit culprit = NO_CULPRIT;
    struct storm_row source;
    bool many = !isnan(parent->value) && parent->value >= 10; // otherwise the parent is just one of many
    // Threads, and children that others wait for, are no ended children of the process that creates them.
    if (ctx_storm(ctx, "forks", false, &source) && source.per_s >= source.all_per_s / 2 &&
        !(many && parent->value / ctx->interval_s >= source.per_s / 2)) {
        culprit = source.culprit;
        snprintf(cause, sizeof(cause), "%s creates %.0f %% of them: ", culprit_name(&culprit, name, sizeof(name)),
                 100 * source.per_s / source.all_per_s);
    } else if (many) {
        culprit = parent->culprit;
        snprintf(cause, sizeof(cause), "%s is the parent of %.0f tasks that exited in this interval: ",
                 culprit_name(&culprit, name, sizeof(name)), parent->value);
    }
    ctx_report(ctx, severity, "", &culprit, "%s%.0f processes and threads created per second", cause, forks);
}

const struct rule rule_fork_storm = {
    .kind = "fork_storm",
    .resource = "process",
    .pane = "tasks",
    .level = {.kind = LEVEL_SERIES, .what = "the rate", .names = {IN(series, forks_per_s)}},
    .check = check_fork_storm};

// ps and lsof read it once.
static void check_proc_reader(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, proc_readers));
    const struct table_def *def = table ? table_def(table) : NULL;
    double pressure = ctx_series(ctx, IN(series, cpu_some_pct));
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        struct culprit culprit = {num_at(row, COL(def, proc_readers, pid)), text_at(row, COL(def, proc_readers, comm)),
                                  NULL};
        double cpu = num_at(row, COL(def, proc_readers, cpu_pct)),
               reads = num_at(row, COL(def, proc_readers, proc_pct));
        char key[32], name[64];
        snprintf(key, sizeof(key), "%.0f", culprit.pid);
        const struct text *child = text_at(row, COL(def, proc_readers, child));
        // A program that has just begun has no file open yet.
        double least = child ? LIMIT(proc_reader, child_open_pct) : LIMIT(proc_reader, open_pct);
        if (!(cpu >= LIMIT(proc_reader, cpu_pct)) || !(reads >= least) ||
            ctx_duration_s(ctx, key) < LIMIT(proc_reader, lasts_s))
            continue;
        char starts[80] = "";
        if (child)
            snprintf(starts, sizeof(starts), " starts %s again and again, which", text_bytes(child));
        ctx_report(
            ctx, pressure >= LIMIT(proc_reader, pressure_pct) ? SEVERITY_WARNING : SEVERITY_INFO, key, &culprit,
            "%s%s uses %.0f %% of one CPU to read files of other processes in /proc (open for %.0f %% of the time)",
            culprit_name(&culprit, name, sizeof(name)), starts, cpu, reads);
    }
}

const struct rule rule_proc_reader = {
    .kind = "proc_reader", .resource = "process", .pane = "tasks", .profiled = "profile", .check = check_proc_reader};
