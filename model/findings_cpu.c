// Rules about CPUs: saturation, pressure, steal, interrupts, and tasks that keep a CPU to themselves.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

// Tasks that could run and wait. The run queue is the mean of many looks over the interval, as the shares and the
// pressure are that it stands beside: a single burst does not make it.
static double waiting_tasks(const struct scan *scan) {
    double running = frame_series(scan->frame, "procs_running", NULL);
    return running < scan->cpus ? 0 : running - scan->cpus; // not measured stays so
}

// "stress-ng (pid 12) uses 198 % of one CPU", for all tasks of that name together. Short-lived ones have no PID that
// somebody could look up.
static struct culprit cpu_culprit(struct scan *scan, char *out, size_t size) {
    const struct top *top = &scan_tasks(scan)->cpu;
    char name[64];
    // Who uses less than a tenth of what is used is not who does it: many small ones are.
    if (isnan(top->value) || top->sum < scan->busy_cpus * 10) {
        snprintf(out, size, "no single program stands out");
        return NOBODY;
    }
    struct culprit who = top->who;
    char realtime[64];
    if (top->brief)
        who.pid = NAN;
    scan_name(scan, &who, name, sizeof(name));
    scan_realtime(top->priority, realtime, sizeof(realtime));
    if (top->n > 1 && top->brief)
        snprintf(out, size, "%u short-lived tasks named %s use %.0f %% of one CPU%s", top->n, name, top->sum, realtime);
    else if (top->n > 1)
        snprintf(out, size, "%u tasks named %s use %.0f %% of one CPU, most of it %s%s", top->n, text_bytes(who.comm),
                 top->sum, name, realtime);
    else
        snprintf(out, size, "%s uses %.0f %% of one CPU%s%s", name, top->sum, top->brief ? " and has ended" : "",
                 realtime);
    return who;
}

void check_cpu_saturated(struct scan *scan) {
    if (isnan(scan->busy_cpus) || scan->cpus < 1 || scan->busy_cpus < scan->cpus * 0.9)
        return;
    // Busy alone is not saturated: somebody must wait. The pressure is an average over the interval; without it the
    // queue must be long enough to be more than a moment's.
    double waiting = waiting_tasks(scan), pressure = scan_series(scan, "cpu_some_pct");
    bool critical = scan->busy_cpus >= scan->cpus * 0.97;
    if (!isnan(pressure)) {
        // A fifth of the time somebody waited: a delay that can be felt. Critical: mostly, and each CPU has one more in
        // line, so that everything takes twice as long.
        if (pressure < 20)
            return;
        critical &= pressure >= 60 && waiting >= scan->cpus;
    } else {
        if (!(waiting >= scan->cpus + 4))
            return;
        critical &= waiting >= 3 * scan->cpus + 4;
    }
    scan->cpu_saturated = true;
    char who[192];
    struct culprit culprit = cpu_culprit(scan, who, sizeof(who));
    char queue[48] = "", waited[64] = "";
    if (!isnan(waiting))
        snprintf(queue, sizeof(queue), " and %.0f %s waiting", waiting, round(waiting) == 1 ? "task" : "tasks");
    if (!isnan(pressure))
        snprintf(waited, sizeof(waited), ", somebody waited %.0f %% of the time", pressure);
    scan_report(scan, critical ? SEVERITY_CRITICAL : SEVERITY_WARNING, "", &culprit, "%s: %.1f of %.0f CPUs busy%s%s",
                who, scan->busy_cpus, scan->cpus, queue, waited);
}

void check_cpu_pressure(struct scan *scan) {
    double pressure = scan_series(scan, "cpu_some_pct");
    // Waiting with CPUs idle: pinned tasks, a CPU limit of a group, or one crowded CPU. 40 %: well above what the
    // wake-ups of an ordinary machine add up to.
    // Where a limit stops a group most of the time, that is told already, with its name.
    if (scan->cpu_saturated || scan->cpu_limited || !(pressure >= 40) || isnan(scan->busy_cpus) ||
        scan->busy_cpus >= scan->cpus * 0.9)
        return;
    char who[192];
    struct culprit culprit = cpu_culprit(scan, who, sizeof(who));
    const char *why = scan_tasks(scan)->cpu.priority < 0       ? "a real-time task keeps the others from its CPU"
                      : frame_table(scan->frame, "cpu_limits") ? "pinned tasks?"
                                                               : "pinned tasks or a CPU limit?";
    scan_report(scan, SEVERITY_WARNING, "", &culprit,
                "%s: tasks waited for a CPU %.0f %% of the time although only %.1f of %.0f CPUs were busy (%s)", who,
                pressure, scan->busy_cpus, scan->cpus, why);
}

void check_steal(struct scan *scan) {
    double steal = scan_series(scan, "cpu_steal_pct");
    enum severity severity;
    // From a tenth on a program runs noticeably slower than its CPU time says; at 30 % the machine is not ours.
    if (scan_level(steal, 10, 30, &severity))
        scan_report(scan, severity, "", &NOBODY,
                    "the hypervisor gave %.1f %% of the CPU time to other machines: this one cannot change that",
                    steal);
}

void check_interrupt_load(struct scan *scan) {
    const struct table *table = scan_table(scan, "cpus");
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    int cpu = table_column(def, "cpu"), irq = table_column(def, "irq_pct"), soft = table_column(def, "softirq_pct");
    double worst = 0, worst_cpu = NAN;
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        double load = fmax(0, scan_num(row, irq)) + fmax(0, scan_num(row, soft));
        if (load > worst) {
            worst = load;
            worst_cpu = scan_num(row, cpu);
        }
    }
    enum severity severity;
    // One CPU that does little else is the classic bottleneck of one network queue; from 95 % on packets are dropped.
    if (scan_level(worst, 70, 95, &severity))
        scan_report(scan, severity, "", &NOBODY, "CPU %.0f spends %.0f %% of its time in interrupts", worst_cpu, worst);
}

void check_runaway(struct scan *scan) {
    // When less than one CPU is busy, nobody has one to himself.
    if (!(scan->busy_cpus >= 0.9))
        return;
    const struct task_summary *tasks = scan_tasks(scan);
    for (uint32_t i = 0; i < tasks->n_hot; i++) {
        // Who saturates is named there already; but one that others have no chance against stands behind a crowd there.
        if (scan->cpu_saturated && (!(tasks->hot[i].priority < 0) || tasks->hot[i].who.pid == tasks->cpu.who.pid))
            continue;
        char key[32], name[64], realtime[64];
        snprintf(key, sizeof(key), "%.0f", tasks->hot[i].who.pid);
        scan_realtime(tasks->hot[i].priority, realtime, sizeof(realtime));
        scan_name(scan, &tasks->hot[i].who, name, sizeof(name));
        // In the kernel most of the time is not computing: a spin on a lock, a storm of failing calls.
        bool kernel = tasks->hot[i].system_pct >= 0.8 * tasks->hot[i].cpu_pct;
        // At a real-time priority nothing else gets that CPU.
        scan_report(scan, kernel || realtime[0] ? SEVERITY_WARNING : SEVERITY_INFO, key, &tasks->hot[i].who,
                    "%s uses %.0f %% of one CPU%s%s", name, tasks->hot[i].cpu_pct, realtime,
                    kernel ? ", nearly all of it in the kernel" : "");
    }
}
