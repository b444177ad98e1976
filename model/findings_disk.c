// Rules about disks: saturation, I/O pressure, latency; with the process that does most of the I/O.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

// "fio (pid 12) does most of the I/O: ", or "".
static struct culprit io_culprit(struct rule_ctx *ctx, const struct text *device, char *out, size_t size) {
    struct heaviest top = ctx_io_heaviest(ctx, device);
    char name[64];
    out[0] = 0;
    if (!isnan(top.value))
        snprintf(out, size, "%s does most of the I/O: ", culprit_name(&top.culprit, name, sizeof(name)));
    top.culprit.device = device;
    return top.culprit;
}

struct device_columns {
    int name, util, reads, writes, read_wait, write_wait, flight;
};

static struct device_columns device_columns(const struct table_def *def) {
    return (struct device_columns){
        COL(def, devices, device),       COL(def, devices, util_pct),     COL(def, devices, reads_per_s),
        COL(def, devices, writes_per_s), COL(def, devices, read_wait_us), COL(def, devices, write_wait_us),
        COL(def, devices, in_flight),
    };
}

// Queue and service time of the completed reads and writes; NAN: unknown.
static double average_wait_us(const union cell *row, const struct device_columns *at) {
    double reads = num_at(row, at->reads), writes = num_at(row, at->writes);
    double read_us = reads > 0 ? reads * num_at(row, at->read_wait) : 0;
    double write_us = writes > 0 ? writes * num_at(row, at->write_wait) : 0;
    return reads + writes > 0 ? (read_us + write_us) / (reads + writes) : NAN;
}

// A parallel disk that is always busy is not yet saturated: something must wait for it. Waiting tasks show in the I/O
// pressure, or without it in iowait; asynchronous I/O (aio, io_uring) shows in its latency. A healthy disk needs 20 ms
// for one I/O at most; 50 ms mean a queue.

// A program that waits for its own I/O, while no other one does, is a load.
static bool is_alone(const struct program_io *programs) {
    return programs->most_us > 0 &&
           programs->wait_us - programs->most_us < LIMIT(disk_saturated, others_wait_pct) * 1e4;
}

struct io_waits {
    double some, full; // pressure
    bool tasks;        // wait noticeably
};

static void check_device(struct rule_ctx *ctx, const union cell *row, const struct device_columns *at,
                         const struct io_waits *waits) {
    double busy =
        table_better(ctx_table(ctx, IN(tables, block_devices)), row, IN(devices, util_pct), num_at(row, at->util));
    double each = average_wait_us(row, at);
    if (!(waits->tasks && busy >= LIMIT(disk_saturated, busy_pct)) &&
        !(each >= LIMIT(disk_saturated, latency_us) && busy >= LIMIT(disk_saturated, busy_alone_pct)))
        return;
    const struct text *device = text_at(row, at->name);
    char cause[128], felt[64] = "", average[64] = "";
    struct culprit culprit = io_culprit(ctx, device, cause, sizeof(cause));
    if (!isnan(waits->some) && waits->tasks)
        snprintf(felt, sizeof(felt), "; tasks stalled on I/O %.0f %% of the time (PSI some)", waits->some);
    if (each >= LIMIT(disk_saturated, latency_us))
        snprintf(average, sizeof(average), ", average latency %s", ctx_format(ctx, UNIT_US, each));
    struct program_io programs;
    bool alone = ctx_program_io(ctx, device, &programs) && is_alone(&programs);
    // All non-idle tasks stall most of the time.
    bool critical =
        busy >= LIMIT(disk_saturated, critical_busy_pct) && waits->full >= LIMIT(disk_saturated, critical_full_pct);
    ctx_report(ctx,
               alone                                                               ? SEVERITY_INFO
               : critical                                                          ? SEVERITY_CRITICAL
               : waits->tasks || each >= LIMIT(disk_saturated, warning_latency_us) ? SEVERITY_WARNING
                                                                                   : SEVERITY_INFO,
               text_bytes(device), &culprit, "%s%s is %.0f %% busy with %s reads/s and %s writes/s, %.0f in flight%s%s",
               cause, text_bytes(device), busy, ctx_format(ctx, UNIT_PER_S, num_at(row, at->reads)),
               ctx_format(ctx, UNIT_PER_S, num_at(row, at->writes)), fmax(0, num_at(row, at->flight)), average, felt);
}

static void check_disk_saturated(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, devices));
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    struct device_columns at = device_columns(def);
    struct io_waits waits = {ctx_series(ctx, IN(series, io_some_pct)), ctx_series(ctx, IN(series, io_full_pct)), false};
    waits.tasks =
        waits.some >= LIMIT(disk_saturated, pressure_pct) ||
        (isnan(waits.some) && ctx_series(ctx, IN(series, cpu_iowait_pct)) >= LIMIT(disk_saturated, iowait_pct));
    size_t cursor = 0;
    for (const union cell *row; at.name >= 0 && (row = table_next(table, &cursor));)
        if (!is_disk_stopped(ctx, def, row)) // reported by disk_hung
            check_device(ctx, row, &at, &waits);
}

const struct rule rule_disk_saturated = {
    .kind = "disk_saturated",
    .resource = "disk",
    .pane = "disk",
    .level = {.kind = LEVEL_ROW, .what = "utilisation", .of = IN(tables, devices), .names = {IN(devices, util_pct)}},
    .check = check_disk_saturated};

static bool any_busy_disk(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, devices));
    int util = table ? COL(table_def(table), devices, util_pct) : -1;
    size_t cursor = 0;
    for (const union cell *row; util >= 0 && (row = table_next(table, &cursor));)
        if (table_better(ctx_table(ctx, IN(tables, block_devices)), row, IN(devices, util_pct), num_at(row, util)) >=
            LIMIT(io_pressure, busy_below_pct))
            return true;
    return false;
}

static void check_io_pressure(struct rule_ctx *ctx) {
    double some = ctx_series(ctx, IN(series, io_some_pct)), full = ctx_series(ctx, IN(series, io_full_pct));
    // Stalls although no disk is busy: a network file system, a throttled cgroup, or slow I/Os one at a time.
    if (!(full >= LIMIT(io_pressure, full_pct)) || any_busy_disk(ctx))
        return;
    char cause[160] = "", name[64];
    struct heaviest top;
    struct culprit culprit = NO_CULPRIT;
    const char *where = "";
    enum severity severity = SEVERITY_WARNING;
    if (!ctx_io_waiter(ctx, &top)) {
        culprit = io_culprit(ctx, NULL, cause, sizeof(cause));
    } else if (top.sum / 1e4 >= some / 2) { // us per second, percent
        culprit = top.culprit;
        snprintf(cause, sizeof(cause), "%s waits longest for I/O, on %s: ", culprit_name(&culprit, name, sizeof(name)),
                 text_bytes(culprit.device));
        // Other programs do not wait: this one reads a cold cache, for example.
        struct program_io programs;
        if (ctx_program_io(ctx, NULL, &programs) &&
            programs.most_us >= programs.wait_us * LIMIT(io_pressure, alone_pct) / 100)
            severity = SEVERITY_INFO;
    } else {
        where = "; disk latencies do not explain it: an I/O limit or a network file system?";
    }
    ctx_report(
        ctx, severity, "", &culprit,
        "%stasks stalled on I/O %.0f %% of the time (PSI some), all tasks %.0f %% (PSI full), but no disk is busy%s",
        cause, some, full, where);
}

const struct rule rule_io_pressure = {
    .kind = "io_pressure",
    .resource = "disk",
    .pane = "disk",
    .level = {.kind = LEVEL_SERIES, .what = "PSI full", .names = {IN(series, io_full_pct)}},
    .check = check_io_pressure};

// A read or write of the slowest healthy disk takes 10 to 20 ms: 100 ms are a queue, a retry or a throttle, 500 ms hurt
// every program. A flush empties a cache, and a discard may run for a while.
struct limit {
    char op;
    const char *verb;
    const double *warning_ms, *critical_ms;
};
#define LIMITS(op_) &LIMIT(disk_latency, op_##_ms), &LIMIT(disk_latency, critical_##op_##_ms)
static const struct limit limits[] = {{'R', "reads", LIMITS(read)},
                                      {'W', "writes", LIMITS(write)},
                                      {'F', "flushes", LIMITS(flush)},
                                      {'D', "discards", LIMITS(discard)}};

static void check_latency(struct rule_ctx *ctx, const struct hist *hist, double divisor, const struct text *device,
                          const char *op) {
    if (!hist || !hist->count)
        return;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (limits[i].op != op[0])
            continue;
        const char *quantile;
        double slow_us = hist_quantile(hist, telling_quantile(hist->count, &quantile)) / divisor;
        enum severity severity;
        if (!is_above(slow_us / 1000, *limits[i].warning_ms, *limits[i].critical_ms, &severity))
            return;
        char key[48], cause[128];
        snprintf(key, sizeof(key), "%s %c", text_bytes(device), op[0]);
        struct culprit culprit = io_culprit(ctx, device, cause, sizeof(cause));
        struct program_io programs;
        // Large writes of one program that nothing else waits behind, or the kernel's writeback, for which no task
        // waits.
        if (op[0] == 'W' && ctx_program_io(ctx, device, &programs) &&
            ((is_alone(&programs) && programs.write_bytes >= LIMIT(disk_latency, bulk_kib) * 1024 * programs.writes) ||
             (programs.writeback_writes > 0 &&
              programs.writes <= programs.writeback_writes * LIMIT(disk_latency, program_writes_pct) / 100)))
            severity = SEVERITY_INFO;
        ctx_report(ctx, severity, key, &culprit, "%s%s of %llu %s on %s: %s (p50 %s, max %s)", cause, quantile,
                   (unsigned long long)hist->count, limits[i].verb, text_bytes(device),
                   ctx_format(ctx, UNIT_US, slow_us), ctx_format(ctx, UNIT_US, hist_quantile(hist, 0.5) / divisor),
                   ctx_format(ctx, UNIT_US, (double)hist->max / divisor));
        return;
    }
}

static bool is_same_kind(const union cell *a, const union cell *b) {
    return !text_compare(a[0].text, b[0].text) && text_bytes(a[1].text)[0] == text_bytes(b[1].text)[0];
}

// The sum of the histograms of that device and operation over all flags; NULL if an earlier histogram stands for them.
static struct hist *all_flags(const struct hist_set *set, size_t at) {
    const struct hist *list[64];
    const union cell *mine, *keys;
    size_t n = 0;
    hist_set_at(set, at, &mine);
    if (!mine[0].text || !mine[1].text)
        return NULL;
    for (size_t i = 0; i < hist_set_count(set) && n < sizeof(list) / sizeof(list[0]); i++) {
        const struct hist *hist = hist_set_at(set, i, &keys);
        if (!keys[0].text || !keys[1].text || !is_same_kind(mine, keys))
            continue;
        if (i < at)
            return NULL;
        list[n++] = hist;
    }
    return hist_merge(list, n);
}

static void check_disk_latency(struct rule_ctx *ctx) {
    const struct hist_set *set = frame_hists(ctx->frame, IN(hists, io_latency));
    if (!set || hist_set_def(set)->n_keys < 2 || hist_set_def(set)->keys[0].type != COLUMN_TEXT ||
        hist_set_def(set)->keys[1].type != COLUMN_TEXT)
        return;
    double divisor = hist_set_def(set)->divisor > 0 ? hist_set_def(set)->divisor : 1000;
    for (size_t i = 0; i < hist_set_count(set); i++) {
        struct hist *hist = all_flags(set, i);
        const union cell *keys;
        hist_set_at(set, i, &keys);
        if (hist)
            check_latency(ctx, hist, divisor, keys[0].text, text_bytes(keys[1].text));
        hist_free(hist);
    }
}

const struct rule rule_disk_latency = {.kind = "disk_latency",
                                       .resource = "disk",
                                       .pane = "disk",
                                       .level = {.kind = LEVEL_HIST, .what = "latency", .of = IN(hists, io_latency)},
                                       .check = check_disk_latency};
