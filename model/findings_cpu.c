// Rules about CPUs: saturation, pressure, steal, interrupts, and tasks that keep a CPU to themselves.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

#define THREAD_SHARE 0.75  // of the CPU time of a process: one thread is the limit
#define CHILDREN_SHARE 0.5 // of the CPU time of short-lived tasks: those that ended with the same parent

// Runnable tasks without a CPU. The run queue is sampled many times in the interval, so a single burst does not count.
static double waiting_tasks(const struct rule_ctx *ctx) {
    double running = frame_series(ctx->frame, IN(series, procs_running), NULL);
    return running < ctx->cpus ? 0 : running - ctx->cpus; // NAN stays NAN
}

// A process that starts programs again and again, and is still there.
static bool is_loop(const struct heaviest *parent) {
    return parent->child && parent->culprit.comm && parent->n >= 2;
}

// Whether these short-lived tasks are its children.
static bool is_of_one(const struct heaviest *parent, const struct heaviest *tasks) {
    return is_loop(parent) && !text_compare(parent->child, tasks->culprit.comm) &&
           parent->value >= tasks->sum * CHILDREN_SHARE;
}

// "stress-ng (pid 12) uses 198 % of one CPU", for all tasks of that name. The PID of a short-lived task is of no use.
static struct culprit cpu_culprit(struct rule_ctx *ctx, char *out, size_t size) {
    const struct heaviest *top = &ctx_tasks(ctx)->cpu;
    char name[64];
    // With less than a tenth of the CPU time used it is not the cause: many small tasks are.
    if (isnan(top->value) || top->sum < ctx->busy_cpus * 10) {
        snprintf(out, size, "no single program dominates");
        return NO_CULPRIT;
    }
    struct culprit culprit = top->culprit;
    char realtime[64];
    if (top->short_lived)
        culprit.pid = NAN;
    culprit_name(&culprit, name, sizeof(name));
    realtime_words(top->priority, realtime, sizeof(realtime));
    const struct heaviest *parent = &ctx_tasks(ctx)->children;
    if (top->n > 1 && top->short_lived && is_of_one(parent, top)) {
        char by[64];
        snprintf(out, size, "%u short-lived tasks named %s use %.0f %% of one CPU, started by %s%s", top->n, name,
                 top->sum, culprit_name(&parent->culprit, by, sizeof(by)), realtime);
        culprit = parent->culprit;
    } else if (top->n > 1 && top->short_lived)
        snprintf(out, size, "%u short-lived tasks named %s use %.0f %% of one CPU%s", top->n, name, top->sum, realtime);
    else if (top->n > 1)
        snprintf(out, size, "%u tasks named %s use %.0f %% of one CPU, pid %.0f the most%s", top->n,
                 text_bytes(culprit.comm), top->sum, culprit.pid, realtime);
    else
        snprintf(out, size, "%s uses %.0f %% of one CPU%s%s", name, top->sum, top->short_lived ? " and has exited" : "",
                 realtime);
    return culprit;
}

static void check_cpu_saturated(struct rule_ctx *ctx) {
    if (isnan(ctx->busy_cpus) || ctx->cpus < 1 || ctx->busy_cpus < ctx->cpus * LIMIT(cpu_saturated, busy_pct) / 100)
        return;
    // Busy is not saturated: tasks must wait. Pressure is an average over the interval; without it the run queue must
    // be long.
    double waiting = waiting_tasks(ctx), pressure = ctx_series(ctx, IN(series, cpu_some_pct));
    bool critical = ctx->busy_cpus >= ctx->cpus * LIMIT(cpu_saturated, critical_busy_pct) / 100;
    if (!isnan(pressure)) {
        // Stalled a fifth of the time: noticeable. Critical: most of the time, and one task waiting per CPU, so that
        // everything takes twice as long.
        if (pressure < LIMIT(cpu_saturated, pressure_pct))
            return;
        critical &= pressure >= LIMIT(cpu_saturated, critical_pressure_pct) &&
                    waiting >= LIMIT(cpu_saturated, critical_waiting_per_cpu) * ctx->cpus;
    } else {
        double more = LIMIT(cpu_saturated, waiting), times = LIMIT(cpu_saturated, critical_waiting_without_psi_per_cpu);
        if (!(waiting >= ctx->cpus + more))
            return;
        critical &= waiting >= times * ctx->cpus + more;
    }
    ctx->cpu_saturated = true;
    char cause[192];
    struct culprit culprit = cpu_culprit(ctx, cause, sizeof(cause));
    char queue[48] = "", waited[64] = "";
    if (!isnan(waiting))
        snprintf(queue, sizeof(queue), " and %.0f %s waiting", waiting, round(waiting) == 1 ? "task" : "tasks");
    if (!isnan(pressure))
        snprintf(waited, sizeof(waited), "; tasks stalled on CPU %.0f %% of the time (PSI some)", pressure);
    ctx_report(ctx, critical ? SEVERITY_CRITICAL : SEVERITY_WARNING, "", &culprit, "%s: %.1f of %.0f CPUs busy%s%s",
               cause, ctx->busy_cpus, ctx->cpus, queue, waited);
}

const struct rule rule_cpu_saturated = {
    .kind = "cpu_saturated",
    .resource = "cpu",
    .pane = "tasks",
    .profiled = "profile",
    .by_name = true,
    .level = {.kind = LEVEL_SERIES, .what = "PSI some", .names = {IN(series, cpu_some_pct)}},
    .check = check_cpu_saturated};

// Whether nearly all of the waiting in run queues is that of a process with several threads.
static bool waits_for_itself(const struct rule_ctx *ctx, double pid) {
    const struct table *table = ctx_table(ctx, IN(tables, tasks));
    const struct table_def *def = table ? table_def(table) : NULL;
    double all = 0, own = 0, threads = 0;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        double wait = num_at(row, COL(def, tasks, run_queue_us));
        bool is = num_at(row, COL(def, tasks, pid)) == pid;
        all += wait > 0 ? wait : 0;
        own += is && wait > 0 ? wait : 0;
        threads = is ? num_at(row, COL(def, tasks, threads)) : threads;
    }
    return threads > 1 && own > 0 && own >= all * LIMIT(cpu_pressure, own_waits_pct) / 100;
}

static void check_cpu_pressure(struct rule_ctx *ctx) {
    double pressure = ctx_series(ctx, IN(series, cpu_some_pct));
    // Stalls while CPUs are idle: pinned tasks, a CPU limit, or one overloaded CPU. Wake-ups on an ordinary machine add
    // up to far less than 40 %. A limit that throttles its cgroup most of the time is reported by cpu_limit.
    if (ctx->cpu_saturated || ctx->cpu_limited || !(pressure >= LIMIT(cpu_pressure, pressure_pct)) ||
        isnan(ctx->busy_cpus) || ctx->busy_cpus >= ctx->cpus * LIMIT(cpu_pressure, busy_below_pct) / 100)
        return;
    char cause[192];
    struct culprit culprit = cpu_culprit(ctx, cause, sizeof(cause));
    const char *why = ctx_tasks(ctx)->cpu.priority < 0 ? "a real-time task starves the others on its CPU"
                      : frame_table(ctx->frame, IN(tables, cpu_limits)) ? "pinned tasks?"
                                                                        : "pinned tasks or a CPU limit?";
    bool own = waits_for_itself(ctx, culprit.pid);
    ctx_report(ctx, own ? SEVERITY_INFO : SEVERITY_WARNING, "", &culprit,
               "%s: tasks stalled on CPU %.0f %% of the time with only %.1f of %.0f CPUs busy (%s)", cause, pressure,
               ctx->busy_cpus, ctx->cpus, own ? "its own threads wait for each other" : why);
}

const struct rule rule_cpu_pressure = {
    .kind = "cpu_pressure",
    .resource = "scheduler",
    .pane = "tasks",
    .profiled = "profile",
    .by_name = true,
    .level = {.kind = LEVEL_SERIES, .what = "PSI some", .names = {IN(series, cpu_some_pct)}},
    .check = check_cpu_pressure};

static void check_cpu_steal(struct rule_ctx *ctx) {
    double steal = ctx_series(ctx, IN(series, cpu_steal_pct));
    enum severity severity;
    // From 10 % on programs run noticeably slower than their CPU time suggests.
    if (is_above(steal, LIMIT(cpu_steal, steal_pct), LIMIT(cpu_steal, critical_steal_pct), &severity))
        ctx_report(ctx, severity, "", &NO_CULPRIT, "the hypervisor stole %.1f %% of the CPU time for other guests",
                   steal);
}

const struct rule rule_cpu_steal = {
    .kind = "cpu_steal",
    .resource = "cpu",
    .pane = "cpus",
    .level = {.kind = LEVEL_SERIES, .what = "steal", .names = {IN(series, cpu_steal_pct)}},
    .check = check_cpu_steal};

static void check_interrupt_load(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, cpus));
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    int cpu = COL(def, cpus, cpu), irq = COL(def, cpus, irq_pct), soft = COL(def, cpus, softirq_pct);
    double worst = 0, worst_cpu = NAN, worst_soft = 0;
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        double load = fmax(0, num_at(row, irq)) + fmax(0, num_at(row, soft));
        if (load > worst) {
            worst = load;
            worst_soft = num_at(row, soft);
            worst_cpu = num_at(row, cpu);
        }
    }
    enum severity severity;
    // The usual bottleneck of a single network queue; from 95 % on packets are dropped.
    if (worst < LIMIT(interrupt_load, info_busy_pct))
        return;
    struct storm_row sender;
    char name[64], sends[128] = "";
    // Packets to this machine itself and between its containers are received by soft interrupts of their sender's CPU.
    bool local = worst_soft > worst / 2 && ctx_storm(ctx, "packets", false, &sender) &&
                 sender.per_s >= LIMIT(interrupt_load, info_packets_per_s) && sender.per_s >= sender.all_per_s / 2;
    if (local)
        snprintf(sends, sizeof(sends), ": %s sends %s packets per second",
                 culprit_name(&sender.culprit, name, sizeof(name)), ctx_format(ctx, UNIT_PER_S, sender.per_s));
    if (!is_above(worst, LIMIT(interrupt_load, busy_pct), LIMIT(interrupt_load, critical_busy_pct), &severity)) {
        if (!local)
            return;
        severity = SEVERITY_INFO;
    }
    ctx_report(ctx, severity, "", local ? &sender.culprit : &NO_CULPRIT,
               "CPU %.0f spends %.0f %% of its time in interrupts%s", worst_cpu, worst, sends);
}

const struct rule rule_interrupt_load = {.kind = "interrupt_load",
                                         .resource = "kernel",
                                         .pane = "cpus",
                                         .level = {.kind = LEVEL_LARGEST,
                                                   .what = "interrupt time",
                                                   .of = IN(tables, cpus),
                                                   .names = {IN(cpus, softirq_pct), IN(cpus, irq_pct)}},
                                         .check = check_interrupt_load};

// A script that starts programs again and again: none of them lives long enough to be named.
static void children_report(struct rule_ctx *ctx, const struct heaviest *parent) {
    char key[32], name[64];
    if (!(parent->value >= LIMIT(runaway_task, children_pct)) || !is_loop(parent))
        return;
    snprintf(key, sizeof(key), "%.0f children", parent->culprit.pid);
    ctx_report(ctx, SEVERITY_INFO, key, &parent->culprit,
               "%s starts %s again and again: those that ended in this interval, %u, used %.0f %% of one CPU",
               culprit_name(&parent->culprit, name, sizeof(name)), text_bytes(parent->child), parent->n, parent->value);
}

// ", 99 % in its thread gc (tid 77)", of a process with several threads.
static void thread_words(const struct rule_ctx *ctx, double pid, double cpu_pct, char *out, size_t size) {
    struct busy_thread_row thread;
    out[0] = '\0';
    if (ctx_busy_thread(ctx, pid, false, &thread) && thread.name && thread.cpu_pct >= cpu_pct * THREAD_SHARE)
        snprintf(out, size, ", %.0f %% in its thread %s (tid %.0f)", thread.cpu_pct, text_bytes(thread.name),
                 thread.tid);
}

static void check_runaway_task(struct rule_ctx *ctx) {
    // With less than one CPU busy no task uses a whole one.
    if (!(ctx->busy_cpus >= (LIMIT(runaway_task, children_pct) - 5) / 100))
        return;
    const struct task_summary *tasks = ctx_tasks(ctx);
    if (!ctx->cpu_saturated)
        children_report(ctx, &tasks->children);
    for (uint32_t i = 0; i < tasks->n_hogs; i++) {
        // cpu_saturated names the culprit already, except a real-time task hidden behind many others.
        if (ctx->cpu_saturated &&
            (!(tasks->hogs[i].priority < 0) || tasks->hogs[i].culprit.pid == tasks->cpu.culprit.pid))
            continue;
        char key[32], name[64], realtime[64], thread[96];
        snprintf(key, sizeof(key), "%.0f", tasks->hogs[i].culprit.pid);
        thread_words(ctx, tasks->hogs[i].culprit.pid, tasks->hogs[i].cpu_pct, thread, sizeof(thread));
        realtime_words(tasks->hogs[i].priority, realtime, sizeof(realtime));
        culprit_name(&tasks->hogs[i].culprit, name, sizeof(name));
        // Mostly kernel time is not computing: large copies, lock contention, or a loop of failing system calls.
        bool kernel = tasks->hogs[i].system_pct >= LIMIT(runaway_task, kernel_pct) / 100 * tasks->hogs[i].cpu_pct;
        // A real-time task starves everything else on its CPU.
        ctx_report(ctx, realtime[0] ? SEVERITY_WARNING : SEVERITY_INFO, key, &tasks->hogs[i].culprit,
                   "%s uses %.0f %% of one CPU%s%s%s", name, tasks->hogs[i].cpu_pct, thread, realtime,
                   kernel ? ", nearly all in the kernel" : "");
    }
}

const struct rule rule_runaway_task = {
    .kind = "runaway_task",
    .resource = "process",
    .pane = "tasks",
    .profiled = "profile",
    .level = {.kind = LEVEL_ROW, .what = "its CPU time", .of = IN(tables, tasks), .names = {IN(tasks, cpu_pct)}},
    .check = check_runaway_task};
