// Rules about how well the CPUs run, from their counters: held below their frequency, waiting for memory. Both must
// hold in the frame before as well, and say nothing where the machine does not count.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

struct frequency {
    unsigned busy, slow; // CPUs
    double hz, base_hz;  // mean of the slow ones
};

// Rows of `cpus` and `cpu_counters` stand in the same order nearly always: the search begins where it ended.
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
    double waits = scan_num(row, iowait), stolen = scan_num(row, steal);
    return 100 - scan_num(row, idle) - (isnan(waits) ? 0 : waits) - (isnan(stolen) ? 0 : stolen);
}

// Far below: turbo off and heat by itself cost less than four tenths. What the CPU does when it has little to do is its
// own affair.
static struct frequency frequency_of(const struct table *cpus, const struct table *counters) {
    struct frequency found = {0};
    if (!cpus || !counters)
        return found;
    const struct table_def *def = table_def(cpus), *of = table_def(counters);
    int idle = table_column(def, "idle_pct"), iowait = table_column(def, "iowait_pct"),
        steal = table_column(def, "steal_pct"), hz = table_column(of, "active_hz"),
        turbo = table_column(of, "turbo_ratio");
    size_t cursor = 0, other = 0;
    for (const union cell *row; (row = table_next(counters, &cursor));) {
        double ratio = scan_num(row, turbo);
        const union cell *times = isnan(ratio) ? NULL : row_of(cpus, row[0].num, &other);
        if (!times || !(busy_pct(times, idle, iowait, steal) >= 80))
            continue;
        found.busy++;
        if (!(ratio > 0 && ratio <= 0.6))
            continue;
        found.hz += scan_num(row, hz);
        found.base_hz += scan_num(row, hz) / ratio;
        found.slow++;
    }
    found.hz /= found.slow ? found.slow : 1;
    found.base_hz /= found.slow ? found.slow : 1;
    return found;
}

void check_cpu_throttled(struct scan *scan) {
    const struct frame *before = scan->previous;
    struct frequency now = frequency_of(scan_table(scan, "cpus"), scan_table(scan, "cpu_counters"));
    if (!before || !now.slow || now.slow * 2 < now.busy)
        return;
    struct frequency then = frequency_of(frame_table(before, "cpus"), frame_table(before, "cpu_counters"));
    if (!then.slow || then.slow * 2 < then.busy)
        return;
    scan_report(scan, SEVERITY_WARNING, "", &NOBODY,
                "%u of %u busy CPUs run at %s, %.0f %% of the frequency they are sold with: heat, a power limit, or a "
                "limit set by hand",
                now.slow, now.busy, scan_show(scan, UNIT_HZ, now.hz), 100 * now.hz / now.base_hz);
}

struct bound {
    unsigned working, memory; // CPUs
};

static struct bound bound_of(const struct table *counters) {
    struct bound found = {0};
    if (!counters)
        return found;
    int word = table_column(table_def(counters), "bound"), cycles = table_column(table_def(counters), "cycles_per_s");
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(counters, &cursor));) {
        const struct text *text = scan_text(row, word);
        if (isnan(scan_num(row, cycles)) || (text && !strcmp(text_bytes(text), "idle")))
            continue;
        found.working++;
        found.memory += text && !strcmp(text_bytes(text), "memory-bound");
    }
    return found;
}

static bool mostly_memory(struct bound bound, double ipc) {
    return bound.memory && bound.memory * 4 >= bound.working * 3 && ipc < 0.8;
}

// Worth a line only when half of the machine works, and nearly all of that waits.
void check_memory_bound(struct scan *scan) {
    const struct frame *before = scan->previous;
    double ipc = scan_series(scan, "ipc"), mpki = scan_series(scan, "cache_mpki");
    struct bound now = bound_of(scan_table(scan, "cpu_counters"));
    if (!before || !(scan->busy_cpus >= 0.5 * scan->cpus) || isnan(mpki) || !mostly_memory(now, ipc) ||
        !mostly_memory(bound_of(frame_table(before, "cpu_counters")), frame_series(before, "ipc", NULL)))
        return;
    const struct top *top = &scan_tasks(scan)->cpu;
    struct culprit culprit = !isnan(top->value) && top->sum >= scan->busy_cpus * 50 ? top->who : NOBODY;
    char name[64] = "", who[96] = "";
    if (!isnan(culprit.pid)) {
        scan_name(scan, &culprit, name, sizeof(name));
        snprintf(who, sizeof(who), "%s does most: ", name);
    }
    scan_report(scan, SEVERITY_INFO, "", &culprit,
                "%sthe CPUs wait for memory: %u of %u that work are memory-bound, %.2f instructions a cycle, %.0f "
                "cache misses per 1,000 instructions",
                who, now.memory, now.working, ipc, mpki);
}
