// Rules about CPU efficiency, from hardware counters: throttled frequency, memory-bound code. Both must hold in the
// previous frame as well.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

struct frequency {
    unsigned busy, slow; // CPUs
    double hz, base_hz;  // mean of the slow ones
};

// `cpus` and `cpu_counters` nearly always have the same order: start where the last search ended.
static const union cell *row_of(const struct table *table, double cpu, size_t *cursor) {
    for (int round = 0; round < 2; round++) {
        for (const union cell *row; (row = table_next(table, cursor));)
            if (row[0].num == cpu)
                return row;
        *cursor = 0;
    }
    return NULL;
}

static double busy_pct(const union cell *row, int idle, int iowait, int steal) {
    double waits = num_at(row, iowait), stolen = num_at(row, steal);
    return 100 - num_at(row, idle) - (isnan(waits) ? 0 : waits) - (isnan(stolen) ? 0 : stolen);
}

// Busy CPUs below a share of the base frequency: turbo off or ordinary heat costs less. Idle CPUs may run slowly.
static struct frequency frequency_of(const struct table *cpus, const struct table *counters) {
    struct frequency found = {0};
    if (!cpus || !counters)
        return found;
    const struct table_def *def = table_def(cpus), *of = table_def(counters);
    int idle = COL(def, cpus, idle_pct), iowait = COL(def, cpus, iowait_pct), steal = COL(def, cpus, steal_pct),
        hz = COL(of, cpu_counters, active_hz), turbo = COL(of, cpu_counters, turbo_ratio);
    size_t cursor = 0, other = 0;
    for (const union cell *row; (row = table_next(counters, &cursor));) {
        double ratio = num_at(row, turbo);
        const union cell *times = isnan(ratio) ? NULL : row_of(cpus, row[0].num, &other);
        if (!times || !(busy_pct(times, idle, iowait, steal) >= LIMIT(cpu_throttled, busy_pct)))
            continue;
        found.busy++;
        if (!(ratio > 0 && ratio <= LIMIT(cpu_throttled, frequency_pct) / 100))
            continue;
        found.hz += num_at(row, hz);
        found.base_hz += num_at(row, hz) / ratio;
        found.slow++;
    }
    found.hz /= found.slow ? found.slow : 1;
    found.base_hz /= found.slow ? found.slow : 1;
    return found;
}

static void check_cpu_throttled(struct rule_ctx *ctx) {
    const struct frame *before = ctx->previous;
    struct frequency now = frequency_of(ctx_table(ctx, IN(tables, cpus)), ctx_table(ctx, IN(tables, cpu_counters)));
    if (!before || !now.slow || now.slow * 2 < now.busy)
        return;
    struct frequency then =
        frequency_of(frame_table(before, IN(tables, cpus)), frame_table(before, IN(tables, cpu_counters)));
    if (!then.slow || then.slow * 2 < then.busy)
        return;
    ctx_report(ctx, SEVERITY_WARNING, "", &NO_CULPRIT,
               "%u of %u busy CPUs run at %s, %.0f %% of base frequency: thermal throttling, a power limit, or a "
               "frequency cap",
               now.slow, now.busy, ctx_format(ctx, UNIT_HZ, now.hz), 100 * now.hz / now.base_hz);
}

const struct rule rule_cpu_throttled = {
    .kind = "cpu_throttled", .resource = "cpu", .pane = "cpus", .check = check_cpu_throttled};

struct bound {
    unsigned working, memory; // CPUs
};

static struct bound bound_of(const struct table *counters) {
    struct bound found = {0};
    if (!counters)
        return found;
    int word = COL(table_def(counters), cpu_counters, bound),
        cycles = COL(table_def(counters), cpu_counters, cycles_per_s);
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(counters, &cursor));) {
        const struct text *text = text_at(row, word);
        if (isnan(num_at(row, cycles)) || (text && !strcmp(text_bytes(text), "idle")))
            continue;
        found.working++;
        found.memory += text && !strcmp(text_bytes(text), "memory-bound");
    }
    return found;
}

static bool mostly_memory(struct bound bound, double ipc) {
    return bound.memory && bound.memory * 100 >= bound.working * LIMIT(memory_bound, bound_pct) &&
           ipc < LIMIT(memory_bound, ipc);
}

// Reported only if half of the CPUs are busy and most of those are memory-bound.
static void check_memory_bound(struct rule_ctx *ctx) {
    const struct frame *before = ctx->previous;
    double ipc = ctx_series(ctx, IN(series, ipc)), mpki = ctx_series(ctx, IN(series, cache_mpki));
    struct bound now = bound_of(ctx_table(ctx, IN(tables, cpu_counters)));
    if (!before || !(ctx->busy_cpus >= LIMIT(memory_bound, busy_pct) / 100 * ctx->cpus) || isnan(mpki) ||
        !mostly_memory(now, ipc) ||
        !mostly_memory(bound_of(frame_table(before, IN(tables, cpu_counters))),
                       frame_series(before, IN(series, ipc), NULL)))
        return;
    const struct heaviest *top = &ctx_tasks(ctx)->cpu;
    struct culprit culprit = !isnan(top->value) && top->sum >= ctx->busy_cpus * 50 ? top->culprit : NO_CULPRIT;
    char name[64] = "", cause[96] = "";
    if (!isnan(culprit.pid)) {
        culprit_name(&culprit, name, sizeof(name));
        snprintf(cause, sizeof(cause), "%s uses most CPU time: ", name);
    }
    ctx_report(ctx, SEVERITY_INFO, "", &culprit,
               "%s%u of %u active CPUs are memory-bound: IPC %.2f, %.0f cache misses per 1,000 instructions", cause,
               now.memory, now.working, ipc, mpki);
}

const struct rule rule_memory_bound = {
    .kind = "memory_bound",
    .resource = "cpu",
    .pane = "cpus",
    .profiled = "profile",
    .by_name = true,
    .level = {.kind = LEVEL_SERIES, .what = "IPC", .names = {IN(series, ipc)}, .falls = true},
    .check = check_memory_bound};
