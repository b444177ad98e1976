// Rules about CPUs: saturation, pressure, steal, interrupts, and tasks that keep a CPU to themselves.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

// Tasks that could run and wait. The run queue is the mean of many looks over the interval, as the shares and the
// pressure are that it stands beside: a single burst does not make it.
static double waiting_tasks(const struct rule_ctx *ctx) {
    double running = frame_series(ctx->frame, IN(series, procs_running), NULL);
    return running < ctx->cpus ? 0 : running - ctx->cpus; // not measured stays so
}

// "stress-ng (pid 12) uses 198 % of one CPU", for all tasks of that name together. Short-lived ones have no PID that
// somebody could look up.
static struct culprit cpu_culprit(struct rule_ctx *ctx, char *out, size_t size) {
    const struct heaviest *top = &ctx_tasks(ctx)->cpu;
    char name[64];
    // Who uses less than a tenth of what is used is not who does it: many small ones are.
    if (isnan(top->value) || top->sum < ctx->busy_cpus * 10) {
        snprintf(out, size, "no single program stands out");
        return NO_CULPRIT;
    }
    struct culprit culprit = top->culprit;
    char realtime[64];
    if (top->short_lived)
        culprit.pid = NAN;
    culprit_name(&culprit, name, sizeof(name));
    realtime_words(top->priority, realtime, sizeof(realtime));
    if (top->n > 1 && top->short_lived)
        snprintf(out, size, "%u short-lived tasks named %s use %.0f %% of one CPU%s", top->n, name, top->sum, realtime);
    else if (top->n > 1)
        snprintf(out, size, "%u tasks named %s use %.0f %% of one CPU, most of it %s%s", top->n,
                 text_bytes(culprit.comm), top->sum, name, realtime);
    else
        snprintf(out, size, "%s uses %.0f %% of one CPU%s%s", name, top->sum, top->short_lived ? " and has ended" : "",
                 realtime);
    return culprit;
}

static void check_cpu_saturated(struct rule_ctx *ctx) {
    if (isnan(ctx->busy_cpus) || ctx->cpus < 1 || ctx->busy_cpus < ctx->cpus * 0.9)
        return;
    // Busy alone is not saturated: somebody must wait. The pressure is an average over the interval; without it the
    // queue must be long enough to be more than a moment's.
    double waiting = waiting_tasks(ctx), pressure = ctx_series(ctx, IN(series, cpu_some_pct));
    bool critical = ctx->busy_cpus >= ctx->cpus * 0.97;
    if (!isnan(pressure)) {
        // A fifth of the time somebody waited: a delay that can be felt. Critical: mostly, and each CPU has one more in
        // line, so that everything takes twice as long.
        if (pressure < 20)
            return;
        critical &= pressure >= 60 && waiting >= ctx->cpus;
    } else {
        if (!(waiting >= ctx->cpus + 4))
            return;
        critical &= waiting >= 3 * ctx->cpus + 4;
    }
    ctx->cpu_saturated = true;
    char cause[192];
    struct culprit culprit = cpu_culprit(ctx, cause, sizeof(cause));
    char queue[48] = "", waited[64] = "";
    if (!isnan(waiting))
        snprintf(queue, sizeof(queue), " and %.0f %s waiting", waiting, round(waiting) == 1 ? "task" : "tasks");
    if (!isnan(pressure))
        snprintf(waited, sizeof(waited), ", somebody waited %.0f %% of the time", pressure);
    ctx_report(ctx, critical ? SEVERITY_CRITICAL : SEVERITY_WARNING, "", &culprit, "%s: %.1f of %.0f CPUs busy%s%s",
               cause, ctx->busy_cpus, ctx->cpus, queue, waited);
}

const struct rule rule_cpu_saturated = {
    .kind = "cpu_saturated", .resource = "cpu", .pane = "tasks", .check = check_cpu_saturated};

static void check_cpu_pressure(struct rule_ctx *ctx) {
    double pressure = ctx_series(ctx, IN(series, cpu_some_pct));
    // Waiting with CPUs idle: pinned tasks, a CPU limit of a group, or one crowded CPU. 40 %: well above what the
    // wake-ups of an ordinary machine add up to.
    // Where a limit stops a group most of the time, that is told already, with its name.
    if (ctx->cpu_saturated || ctx->cpu_limited || !(pressure >= 40) || isnan(ctx->busy_cpus) ||
        ctx->busy_cpus >= ctx->cpus * 0.9)
        return;
    char cause[192];
    struct culprit culprit = cpu_culprit(ctx, cause, sizeof(cause));
    const char *why = ctx_tasks(ctx)->cpu.priority < 0 ? "a real-time task keeps the others from its CPU"
                      : frame_table(ctx->frame, IN(tables, cpu_limits)) ? "pinned tasks?"
                                                                        : "pinned tasks or a CPU limit?";
    ctx_report(ctx, SEVERITY_WARNING, "", &culprit,
               "%s: tasks waited for a CPU %.0f %% of the time although only %.1f of %.0f CPUs were busy (%s)", cause,
               pressure, ctx->busy_cpus, ctx->cpus, why);
}

const struct rule rule_cpu_pressure = {
    .kind = "cpu_pressure", .resource = "scheduler", .pane = "tasks", .check = check_cpu_pressure};

static void check_cpu_steal(struct rule_ctx *ctx) {
    double steal = ctx_series(ctx, IN(series, cpu_steal_pct));
    enum severity severity;
    // From a tenth on a program runs noticeably slower than its CPU time says; at 30 % the machine is not ours.
    if (is_above(steal, 10, 30, &severity))
        ctx_report(ctx, severity, "", &NO_CULPRIT,
                   "the hypervisor gave %.1f %% of the CPU time to other machines: this one cannot change that", steal);
}

const struct rule rule_cpu_steal = {.kind = "cpu_steal", .resource = "cpu", .pane = "cpus", .check = check_cpu_steal};

static void check_interrupt_load(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, cpus));
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    int cpu = COL(def, cpus, cpu), irq = COL(def, cpus, irq_pct), soft = COL(def, cpus, softirq_pct);
    double worst = 0, worst_cpu = NAN;
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        double load = fmax(0, num_at(row, irq)) + fmax(0, num_at(row, soft));
        if (load > worst) {
            worst = load;
            worst_cpu = num_at(row, cpu);
        }
    }
    enum severity severity;
    // One CPU that does little else is the classic bottleneck of one network queue; from 95 % on packets are dropped.
    if (is_above(worst, 70, 95, &severity))
        ctx_report(ctx, severity, "", &NO_CULPRIT, "CPU %.0f spends %.0f %% of its time in interrupts", worst_cpu,
                   worst);
}

const struct rule rule_interrupt_load = {
    .kind = "interrupt_load", .resource = "kernel", .pane = "cpus", .check = check_interrupt_load};

static void check_runaway_task(struct rule_ctx *ctx) {
    // When less than one CPU is busy, nobody has one to himself.
    if (!(ctx->busy_cpus >= 0.9))
        return;
    const struct task_summary *tasks = ctx_tasks(ctx);
    for (uint32_t i = 0; i < tasks->n_hogs; i++) {
        // Who saturates is named there already; but one that others have no chance against stands behind a crowd there.
        if (ctx->cpu_saturated &&
            (!(tasks->hogs[i].priority < 0) || tasks->hogs[i].culprit.pid == tasks->cpu.culprit.pid))
            continue;
        char key[32], name[64], realtime[64];
        snprintf(key, sizeof(key), "%.0f", tasks->hogs[i].culprit.pid);
        realtime_words(tasks->hogs[i].priority, realtime, sizeof(realtime));
        culprit_name(&tasks->hogs[i].culprit, name, sizeof(name));
        // In the kernel most of the time is not computing: a spin on a lock, a storm of failing calls.
        bool kernel = tasks->hogs[i].system_pct >= 0.8 * tasks->hogs[i].cpu_pct;
        // At a real-time priority nothing else gets that CPU.
        ctx_report(ctx, kernel || realtime[0] ? SEVERITY_WARNING : SEVERITY_INFO, key, &tasks->hogs[i].culprit,
                   "%s uses %.0f %% of one CPU%s%s", name, tasks->hogs[i].cpu_pct, realtime,
                   kernel ? ", nearly all of it in the kernel" : "");
    }
}

const struct rule rule_runaway_task = {
    .kind = "runaway_task", .resource = "process", .pane = "tasks", .check = check_runaway_task};
