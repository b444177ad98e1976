// Rules about high rates of cheap things: interrupts between CPUs, timers, failing system calls, signals, context
// switches. Counters show the rate; the table `storms` has the processes that cause it.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

static struct storm_row row_of(const struct table_def *def, const union cell *row) {
    return (struct storm_row){{num_at(row, COL(def, storms, pid)), text_at(row, COL(def, storms, comm)), NULL},
                              text_at(row, COL(def, storms, detail)),
                              text_at(row, COL(def, storms, error)),
                              num_at(row, COL(def, storms, per_s)),
                              num_at(row, COL(def, storms, all_per_s)),
                              num_at(row, COL(def, storms, waiting))};
}

static bool is_what(const struct table_def *def, const union cell *row, const char *what) {
    return !strcmp(text_bytes(text_at(row, COL(def, storms, what))), what);
}

// The one with the highest rate; failing: of those whose calls fail, else any.
bool ctx_storm(const struct rule_ctx *ctx, const char *what, bool failing, struct storm_row *out) {
    const struct table *table = ctx_table(ctx, IN(tables, storms));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *error = text_at(row, COL(def, storms, error));
        // A call that a signal ends is no failure.
        if (!is_what(def, row, what) || (failing && (!error || !strcmp(text_bytes(error), "EINTR"))))
            continue;
        *out = row_of(def, row);
        return true;
    }
    return false;
}

// The network namespace of a process, unless it is ktop's own: that of no row of "network_namespaces".
static const struct text *netns_of(const struct rule_ctx *ctx, double pid) {
    const struct table *tasks = ctx_table(ctx, IN(tables, tasks)),
                       *others = ctx_table(ctx, IN(tables, network_namespaces));
    const union cell *task = tasks ? task_row(tasks, pid) : NULL;
    const struct text *netns = task ? text_at(task, COL(table_def(tasks), tasks, netns)) : NULL;
    size_t cursor = 0;
    for (const union cell *row; netns && others && (row = table_next(others, &cursor));) {
        const struct text *other = text_at(row, COL(table_def(others), network_namespaces, netns));
        if (other && !text_compare(other, netns))
            return netns;
    }
    return NULL;
}

bool ctx_storm_of_net(const struct rule_ctx *ctx, const char *what, const struct text *netns, struct storm_row *out) {
    const struct table *table = ctx_table(ctx, IN(tables, storms));
    const struct table_def *def = table ? table_def(table) : NULL;
    double all = 0;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        if (!is_what(def, row, what))
            continue;
        struct storm_row storm = row_of(def, row);
        if (!is_same_netns(netns_of(ctx, storm.culprit.pid), netns))
            continue;
        if (all <= 0)
            *out = storm;
        all += storm.per_s;
    }
    return all > 0 && out->per_s >= all / 2;
}

// Of all CPUs together, or of the CPU with most.
static double interrupts(const struct rule_ctx *ctx, const char *irq, bool sum) {
    const struct table *table = ctx_table(ctx, IN(tables, interrupts));
    const struct table_def *def = table ? table_def(table) : NULL;
    double value = NAN;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *name = text_at(row, COL(def, interrupts, irq));
        double per_s = num_at(row, COL(def, interrupts, per_s));
        if (name && !strcmp(text_bytes(name), irq) && !isnan(per_s))
            value = isnan(value) ? per_s : sum ? value + per_s : fmax(value, per_s);
    }
    return value;
}

// Names the culprit only if it causes half of them; else they are of many. An interrupt costs its CPU 1 to 5 us: from
// the first threshold on it is noticed, at the second one they take about a tenth of a CPU.
static void interrupts_report(struct rule_ctx *ctx, const char *what, double per_s, double least, double warning,
                              const char *of, const char *reason) {
    struct storm_row source;
    char name[64];
    if (!(per_s >= least))
        return;
    bool known = ctx_storm(ctx, what, false, &source);
    if (known && source.per_s >= source.all_per_s / 2)
        ctx_report(ctx, per_s >= warning ? SEVERITY_WARNING : SEVERITY_INFO, "", &source.culprit,
                   "%s causes %.0f %% of them: %s %s per second%s", culprit_name(&source.culprit, name, sizeof(name)),
                   100 * source.per_s / source.all_per_s, ctx_format(ctx, UNIT_PER_S, per_s), of, reason);
    else
        ctx_report(ctx, SEVERITY_INFO, "", &NO_CULPRIT, "%s %s per second%s", ctx_format(ctx, UNIT_PER_S, per_s), of,
                   known ? ", of several processes" : "");
}

static void check_tlb_shootdowns(struct rule_ctx *ctx) {
    interrupts_report(ctx, "tlb_shootdowns", interrupts(ctx, "TLB", true), LIMIT(tlb_shootdowns, interrupts_per_s),
                      LIMIT(tlb_shootdowns, warning_interrupts_per_s), "TLB shootdowns",
                      " (munmap, mprotect or madvise while its threads run on other CPUs)");
}

const struct rule rule_tlb_shootdowns = {
    .kind = "tlb_shootdowns", .resource = "kernel", .pane = "cpus", .check = check_tlb_shootdowns};

static void check_ipi_storm(struct rule_ctx *ctx) {
    double per_s = interrupts(ctx, "CAL", true);
    // Tasks that wake each other, as a server and its clients do: a load.
    bool wakeups = ctx_series(ctx, IN(series, context_switches_per_s)) >= per_s / 2;
    interrupts_report(ctx, "function_calls", per_s, LIMIT(ipi_storm, interrupts_per_s),
                      wakeups ? INFINITY : LIMIT(ipi_storm, warning_interrupts_per_s), "function call interrupts",
                      wakeups ? " (wakeups of tasks on other CPUs)" : " (membarrier and the like)");
}

const struct rule rule_ipi_storm = {
    .kind = "ipi_storm", .resource = "kernel", .pane = "cpus", .check = check_ipi_storm};

// Of one CPU; the tick is at most 1,000 per second.
static void check_timer_storm(struct rule_ctx *ctx) {
    double per_s = interrupts(ctx, "LOC", false);
    struct storm_row source;
    char name[64];
    if (!(per_s >= LIMIT(timer_storm, interrupts_per_s)) || !ctx_storm(ctx, "timers", false, &source) ||
        source.per_s < source.all_per_s / 2)
        return;
    ctx_report(ctx, per_s >= LIMIT(timer_storm, warning_interrupts_per_s) ? SEVERITY_WARNING : SEVERITY_INFO, "",
               &source.culprit, "%s starts %s timers per second: %s timer interrupts per second on one CPU",
               culprit_name(&source.culprit, name, sizeof(name)), ctx_format(ctx, UNIT_PER_S, source.per_s),
               ctx_format(ctx, UNIT_PER_S, per_s));
}

const struct rule rule_timer_storm = {
    .kind = "timer_storm", .resource = "kernel", .pane = "cpus", .check = check_timer_storm};

// Of one call with one error: searches of paths (ENOENT) stay below.
static void check_failing_calls(struct rule_ctx *ctx) {
    struct storm_row source;
    char name[64];
    if (!ctx_storm(ctx, "calls", true, &source) || source.per_s < LIMIT(failing_calls, calls_per_s))
        return;
    ctx_report(ctx, SEVERITY_WARNING, "", &source.culprit,
               "%s calls %s in a loop, and it fails with %s: %s times per second",
               culprit_name(&source.culprit, name, sizeof(name)), source.detail ? text_bytes(source.detail) : "?",
               text_bytes(source.error), ctx_format(ctx, UNIT_PER_S, source.per_s));
}

const struct rule rule_failing_calls = {.kind = "failing_calls",
                                        .resource = "process",
                                        .pane = "syscalls",
                                        .profiled = "profile",
                                        .check = check_failing_calls};

static void check_signal_storm(struct rule_ctx *ctx) {
    struct storm_row source;
    char name[64];
    if (!ctx_storm(ctx, "signals", false, &source) || source.per_s < LIMIT(signal_storm, signals_per_s))
        return;
    ctx_report(ctx, source.per_s >= LIMIT(signal_storm, warning_signals_per_s) ? SEVERITY_WARNING : SEVERITY_INFO, "",
               &source.culprit, "%s sends %s %s per second", culprit_name(&source.culprit, name, sizeof(name)),
               ctx_format(ctx, UNIT_PER_S, source.per_s), source.detail ? text_bytes(source.detail) : "signals");
}

const struct rule rule_signal_storm = {
    .kind = "signal_storm", .resource = "process", .pane = "events", .check = check_signal_storm};

static void check_kernel_lock(struct rule_ctx *ctx) {
    struct storm_row source;
    char name[64];
    if (!ctx_storm(ctx, "kernel_locks", false, &source) || !(source.waiting >= LIMIT(kernel_lock, waiting)))
        return;
    ctx_report(ctx, source.waiting >= LIMIT(kernel_lock, warning_waiting) ? SEVERITY_WARNING : SEVERITY_INFO, "",
               &source.culprit, "%s: on average %.1f threads wait for a lock of the kernel (%s), %s times per second",
               culprit_name(&source.culprit, name, sizeof(name)), source.waiting,
               source.detail ? text_bytes(source.detail) : "?", ctx_format(ctx, UNIT_PER_S, source.per_s));
}

const struct rule rule_kernel_lock = {
    .kind = "kernel_lock", .resource = "kernel", .pane = "profile", .profiled = "profile", .check = check_kernel_lock};

// A database of some load has fewer, or a disk that is fast enough for them.
static void check_sync_storm(struct rule_ctx *ctx) {
    struct storm_row source;
    double pressure = ctx_series(ctx, IN(series, io_some_pct)), full = ctx_series(ctx, IN(series, io_full_pct));
    char name[64];
    if (!ctx_storm(ctx, "syncs", false, &source) || source.per_s < LIMIT(sync_storm, syncs_per_s) ||
        !(pressure >= LIMIT(sync_storm, stalled_pct)))
        return;
    // A program that waits for its own disk only is a load. If all tasks that want to run stall with it, others wait.
    ctx_report(
        ctx, full >= LIMIT(sync_storm, stalled_pct) ? SEVERITY_WARNING : SEVERITY_INFO, "", &source.culprit,
        "%s calls %s %s times per second, %.0f %% of all: each flushes the disk and the journal, and the fsync of "
        "others waits for it; tasks stalled on I/O %.0f %% of the time (PSI some)",
        culprit_name(&source.culprit, name, sizeof(name)), source.detail ? text_bytes(source.detail) : "fsync",
        ctx_format(ctx, UNIT_PER_S, source.per_s), 100 * source.per_s / source.all_per_s, pressure);
}

const struct rule rule_sync_storm = {
    .kind = "sync_storm", .resource = "disk", .pane = "disk", .check = check_sync_storm};

// Of one process: with 2 to 5 us each, a fifth of a CPU. A load, which may be intended: never above info.
static void check_switch_storm(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, tasks));
    const struct table_def *def = table ? table_def(table) : NULL;
    const union cell *top = NULL, *second = NULL;
    size_t cursor = 0;
    int rate = def ? COL(def, tasks, context_switches_per_s) : -1;
    for (const union cell *row; rate >= 0 && (row = table_next(table, &cursor));) {
        if (!(num_at(row, rate) > (top ? num_at(top, rate) : LIMIT(switch_storm, switches_per_s)))) {
            if (!second || num_at(row, rate) > num_at(second, rate))
                second = row;
            continue;
        }
        second = top ? top : second;
        top = row;
    }
    if (!top)
        return;
    struct culprit culprit = {num_at(top, COL(def, tasks, pid)), text_at(top, COL(def, tasks, comm)), NULL};
    char name[64], other[64], with[128] = "";
    struct culprit partner = NO_CULPRIT;
    if (second && num_at(second, rate) >= num_at(top, rate) / 2) {
        partner = (struct culprit){num_at(second, COL(def, tasks, pid)), text_at(second, COL(def, tasks, comm)), NULL};
        snprintf(with, sizeof(with), ", and %s %s", culprit_name(&partner, other, sizeof(other)),
                 ctx_format(ctx, UNIT_PER_S, num_at(second, rate)));
    }
    ctx_report(ctx, SEVERITY_INFO, "", &culprit, "%s makes %s context switches per second%s",
               culprit_name(&culprit, name, sizeof(name)), ctx_format(ctx, UNIT_PER_S, num_at(top, rate)), with);
    ctx_explains(ctx, "", partner.pid); // they wake each other on another CPU
}

const struct rule rule_switch_storm = {.kind = "switch_storm",
                                       .resource = "scheduler",
                                       .pane = "sched",
                                       .level = {.kind = LEVEL_LARGEST,
                                                 .what = "the highest rate",
                                                 .of = IN(tables, tasks),
                                                 .names = {IN(tasks, context_switches_per_s)}},
                                       .check = check_switch_storm};
