// Rules about disks: saturation, waiting, latency; with the process that makes most of the I/O.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

// "fio (pid 12) makes most of the I/O: ", or "".
static struct culprit io_culprit(struct rule_ctx *ctx, const struct text *device, char *out, size_t size) {
    struct heaviest top = ctx_io_heaviest(ctx, device);
    char name[64];
    out[0] = 0;
    if (!isnan(top.value))
        snprintf(out, size, "%s makes most of the I/O: ", culprit_name(&top.culprit, name, sizeof(name)));
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

// Queue and device together, of the reads and writes that ended; NAN: not known.
static double average_wait_us(const union cell *row, const struct device_columns *at) {
    double reads = num_at(row, at->reads), writes = num_at(row, at->writes);
    double read_us = reads > 0 ? reads * num_at(row, at->read_wait) : 0;
    double write_us = writes > 0 ? writes * num_at(row, at->write_wait) : 0;
    return reads + writes > 0 ? (read_us + write_us) / (reads + writes) : NAN;
}

// Always busy is not saturated on a disk that works in parallel: somebody must wait for it as well. Tasks that wait
// show in the pressure, or without it in the CPUs' waiting; what is asked for and not waited for (aio, io_uring) shows
// in how long it takes: 20 ms is the longest that one I/O takes on a healthy disk, 50 ms are a queue.
#define LONG_US 20000
#define QUEUE_US 50000

struct io_waits {
    double some, full; // pressure
    bool tasks;        // wait so much that it can be felt
};

static void check_device(struct rule_ctx *ctx, const union cell *row, const struct device_columns *at,
                         const struct io_waits *waits) {
    double busy =
        table_better(ctx_table(ctx, IN(tables, block_devices)), row, IN(devices, util_pct), num_at(row, at->util));
    double each = average_wait_us(row, at);
    if (!(waits->tasks && busy >= 90) && !(each >= LONG_US && busy >= 95))
        return;
    const struct text *device = text_at(row, at->name);
    char cause[128], felt[64] = "", average[64] = "";
    struct culprit culprit = io_culprit(ctx, device, cause, sizeof(cause));
    if (!isnan(waits->some) && waits->tasks)
        snprintf(felt, sizeof(felt), ", tasks waited for I/O %.0f %% of the time", waits->some);
    if (each >= LONG_US)
        snprintf(average, sizeof(average), ", each takes %s on average", ctx_format(ctx, UNIT_US, each));
    // All tasks that are not idle wait for most of the time: nothing gets on.
    bool critical = busy >= 97 && waits->full >= 60;
    ctx_report(ctx,
               critical                           ? SEVERITY_CRITICAL
               : waits->tasks || each >= QUEUE_US ? SEVERITY_WARNING
                                                  : SEVERITY_INFO,
               text_bytes(device), &culprit,
               "%s%s is busy %.0f %% of the time with %s reads/s and %s writes/s, %.0f in flight%s%s", cause,
               text_bytes(device), busy, ctx_format(ctx, UNIT_PER_S, num_at(row, at->reads)),
               ctx_format(ctx, UNIT_PER_S, num_at(row, at->writes)), fmax(0, num_at(row, at->flight)), average, felt);
}

static void check_disk_saturated(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, devices));
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    struct device_columns at = device_columns(def);
    struct io_waits waits = {ctx_series(ctx, IN(series, io_some_pct)), ctx_series(ctx, IN(series, io_full_pct)), false};
    waits.tasks = waits.some >= 20 || (isnan(waits.some) && ctx_series(ctx, IN(series, cpu_iowait_pct)) >= 10);
    size_t cursor = 0;
    for (const union cell *row; at.name >= 0 && (row = table_next(table, &cursor));)
        if (!is_disk_stopped(ctx, def, row)) // that is worse, and told by another rule
            check_device(ctx, row, &at, &waits);
}

const struct rule rule_disk_saturated = {
    .kind = "disk_saturated", .resource = "disk", .pane = "disk", .check = check_disk_saturated};

static bool any_busy_disk(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, devices));
    int util = table ? COL(table_def(table), devices, util_pct) : -1;
    size_t cursor = 0;
    for (const union cell *row; util >= 0 && (row = table_next(table, &cursor));)
        if (table_better(ctx_table(ctx, IN(tables, block_devices)), row, IN(devices, util_pct), num_at(row, util)) >=
            90)
            return true;
    return false;
}

static void check_io_pressure(struct rule_ctx *ctx) {
    double some = ctx_series(ctx, IN(series, io_some_pct)), full = ctx_series(ctx, IN(series, io_full_pct));
    // Waiting with no disk that is busy: a network file system, a throttled group, or single slow I/Os one by one. 30 %
    // of the time is more than a look into a cold cache makes.
    if (!(full >= 30) || any_busy_disk(ctx))
        return;
    char cause[160] = "", name[64];
    struct heaviest top;
    struct culprit culprit = NO_CULPRIT;
    const char *where = "";
    if (!ctx_io_waiter(ctx, &top)) {
        culprit = io_culprit(ctx, NULL, cause, sizeof(cause));
    } else if (top.sum / 1e4 >= some / 2) { // us per second, percent
        culprit = top.culprit;
        snprintf(cause, sizeof(cause), "%s waits longest for I/O, on %s: ", culprit_name(&culprit, name, sizeof(name)),
                 text_bytes(culprit.device));
    } else {
        where = ", and the disks' I/Os did not take so long: a limit, or a network file system?";
    }
    ctx_report(ctx, SEVERITY_WARNING, "", &culprit,
               "%stasks waited for I/O %.0f %% of the time, all of them at once %.0f %%, though no disk is busy%s",
               cause, some, full, where);
}

const struct rule rule_io_pressure = {
    .kind = "io_pressure", .resource = "disk", .pane = "disk", .check = check_io_pressure};

// What an operation may take, in ms, before a person should know. A read or write of the slowest healthy disk takes 10
// to 20 ms: 100 ms are a queue, a retry or a throttle, 500 ms hurt whatever waits. A flush empties a cache, a discard
// may run a while by nature.
struct limit {
    char op;
    const char *verb;
    double warning_ms, critical_ms;
};
static const struct limit limits[] = {
    {'R', "reads", 100, 500}, {'W', "writes", 100, 500}, {'F', "flushes", 500, 2000}, {'D', "discards", 2000, 10000}};

// The quantile that so many I/Os can bear: one slow I/O among few is no finding, but all of few are.
static double telling_quantile(uint64_t count, const char **name) {
    *name = count >= 100 ? "p99" : count >= 10 ? "p90" : "the fastest";
    return count >= 100 ? 0.99 : count >= 10 ? 0.9 : 0;
}

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
        if (!is_above(slow_us / 1000, limits[i].warning_ms, limits[i].critical_ms, &severity))
            return;
        char key[48], cause[128];
        snprintf(key, sizeof(key), "%s %c", text_bytes(device), op[0]);
        struct culprit culprit = io_culprit(ctx, device, cause, sizeof(cause));
        ctx_report(ctx, severity, key, &culprit, "%s%s of %llu %s on %s took %s (median %s, longest %s)", cause,
                   quantile, (unsigned long long)hist->count, limits[i].verb, text_bytes(device),
                   ctx_format(ctx, UNIT_US, slow_us), ctx_format(ctx, UNIT_US, hist_quantile(hist, 0.5) / divisor),
                   ctx_format(ctx, UNIT_US, (double)hist->max / divisor));
        return;
    }
}

static bool is_same_kind(const union cell *a, const union cell *b) {
    return !text_compare(a[0].text, b[0].text) && text_bytes(a[1].text)[0] == text_bytes(b[1].text)[0];
}

// The histograms of that device and operation with all flags as one; NULL where an earlier one of the set stands for
// it.
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

const struct rule rule_disk_latency = {
    .kind = "disk_latency", .resource = "disk", .pane = "disk", .check = check_disk_latency};
