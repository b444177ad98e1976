// Rules about disks from block layer events: failed I/Os, time-outs and retries, and I/O that is throttled before
// issue.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

// ---- errors ----

// The block layer's error names that differ from errno's usual meaning (blk_errors[] in block/blk-core.c).
static const struct {
    const char *name, *meaning;
} meanings[] = {
    {"ENODATA", "medium error"},    {"EREMOTEIO", "target error"}, {"ETIMEDOUT", "timeout"},
    {"ENOLINK", "transport error"}, {"ENODEV", "device gone"},     {"EILSEQ", "checksum error"},
    {"ENOSPC", "no space"},         {"EIO", "I/O error"},
};

// Errors of a healthy disk: operation not supported, or it would block.
static bool is_harmless(const struct text *error) {
    static const char *const names[] = {"EOPNOTSUPP", "EAGAIN", "ENOMEDIUM"};
    for (size_t i = 0; error && i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(text_bytes(error), names[i]))
            return true;
    return false;
}

struct error_sum {
    bool known;   // the table of errors by name has rows of the device
    double count; // in the frame, without harmless ones
    double harmless;
    double most;   // of the most frequent error
    double sector; // of its last occurrence; NAN: unknown
    const struct text *name;
};

static struct error_sum errors_of(struct rule_ctx *ctx, const struct text *device) {
    struct error_sum sum = {.sector = NAN};
    const struct table *table = ctx_table(ctx, IN(tables, io_errors));
    if (!table)
        return sum;
    const struct table_def *def = table_def(table);
    int name = COL(def, io_errors, device), error = COL(def, io_errors, error), sector = COL(def, io_errors, sector);
    int rate = COL(def, io_errors, errors_per_s);
    size_t cursor = 0;
    for (const union cell *row; name >= 0 && (row = table_next(table, &cursor));) {
        const struct text *of = text_at(row, name);
        double n = num_at(row, rate) * ctx->interval_s;
        if (!of || text_compare(of, device) || !(n > 0))
            continue;
        sum.known = true;
        if (is_harmless(text_at(row, error))) {
            sum.harmless += n;
            continue;
        }
        sum.count += n;
        if (n > sum.most) {
            sum.most = n;
            sum.name = text_at(row, error);
            sum.sector = num_at(row, sector);
        }
    }
    return sum;
}

// " with ENODATA (medium error), the last at sector 2048", as far as known.
static void error_words(const struct error_sum *sum, bool several, char *out, size_t size) {
    const char *meaning = NULL;
    char sector[48] = "";
    out[0] = 0;
    if (!sum->name)
        return;
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
        if (!strcmp(text_bytes(sum->name), meanings[i].name))
            meaning = meanings[i].meaning;
    if (!isnan(sum->sector))
        snprintf(sector, sizeof(sector), "%s at sector %.0f", several ? ", the last" : "", sum->sector);
    snprintf(out, size, " with %s%s%s%s%s", text_bytes(sum->name), meaning ? " (" : "", meaning ? meaning : "",
             meaning ? ")" : "", sector);
}

static void check_disk_errors(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, block_devices));
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    int name = COL(def, block_devices, device), errors = COL(def, block_devices, errors_per_s);
    int last = COL(def, block_devices, last_error), last_sector = COL(def, block_devices, last_error_sector);
    size_t cursor = 0;
    for (const union cell *row; name >= 0 && (row = table_next(table, &cursor));) {
        double n = num_at(row, errors) * ctx->interval_s;
        struct culprit culprit = {NAN, NULL, text_at(row, name)};
        if (!(n >= LIMIT(disk_errors, errors) - 0.5) || !culprit.device)
            continue;
        struct error_sum sum = errors_of(ctx, culprit.device);
        if (sum.known) {
            n -= sum.harmless;
        } else if (is_harmless(text_at(row, last))) {
            continue;
        } else {
            sum.name = text_at(row, last);
            sum.sector = num_at(row, last_sector);
        }
        if (!(n >= LIMIT(disk_errors, errors) - 0.5))
            continue;
        char words[160];
        error_words(&sum, n >= 1.5, words, sizeof(words));
        // One may be a retry that succeeded; ten in one interval are a failing disk or path.
        ctx_report(ctx, n >= LIMIT(disk_errors, critical_errors) - 0.5 ? SEVERITY_CRITICAL : SEVERITY_WARNING,
                   text_bytes(culprit.device), &culprit, "%.0f %s failed on %s in %.1f s%s", n,
                   n < 1.5 ? "I/O" : "I/Os", text_bytes(culprit.device), ctx->interval_s, words);
    }
}

const struct rule rule_disk_errors = {.kind = "disk_errors",
                                      .resource = "disk",
                                      .pane = "disk",
                                      .is_event = true,
                                      .level = {.kind = LEVEL_ROW,
                                                .what = "errors per second",
                                                .of = IN(tables, block_devices),
                                                .names = {IN(block_devices, errors_per_s)}},
                                      .check = check_disk_errors};

// ---- time-outs and retries ----

// Reads and writes completed per second; NAN: unknown.
static double completed_per_s(struct rule_ctx *ctx, const struct text *device) {
    const struct table *table = ctx_table(ctx, IN(tables, devices));
    if (!table)
        return NAN;
    int name = COL(table_def(table), devices, device), reads = COL(table_def(table), devices, reads_per_s);
    int writes = COL(table_def(table), devices, writes_per_s);
    size_t cursor = 0;
    for (const union cell *row; name >= 0 && (row = table_next(table, &cursor));)
        if (text_at(row, name) && !text_compare(text_at(row, name), device))
            return num_at(row, reads) + num_at(row, writes);
    return NAN;
}

static void check_disk_timeouts(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, block_devices));
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    int name = COL(def, block_devices, device), timeouts = COL(def, block_devices, timeouts_per_s);
    int requeues = COL(def, block_devices, requeues_per_s);
    size_t cursor = 0;
    for (const union cell *row; name >= 0 && (row = table_next(table, &cursor));) {
        struct culprit culprit = {NAN, NULL, text_at(row, name)};
        double late = num_at(row, timeouts) * ctx->interval_s, again = num_at(row, requeues);
        if (!culprit.device)
            continue;
        // A full queue requeues as well: it is a problem only if more is requeued than completed.
        bool retries = again >= LIMIT(disk_timeouts, requeues_per_s) &&
                       again > LIMIT(disk_timeouts, requeues_per_io) * completed_per_s(ctx, culprit.device);
        if (late >= LIMIT(disk_timeouts, timeouts) - 0.5)
            ctx_report(ctx, SEVERITY_CRITICAL, text_bytes(culprit.device), &culprit,
                       "%.0f %s on %s timed out in %.1f s%s%s", late, late < 1.5 ? "I/O" : "I/Os",
                       text_bytes(culprit.device), ctx->interval_s, again > 0 ? "; requeues/s: " : "",
                       again > 0 ? ctx_format(ctx, UNIT_PER_S, again) : "");
        else if (retries)
            ctx_report(ctx, SEVERITY_INFO, text_bytes(culprit.device), &culprit, // a burst may do so on a slow disk
                       "%s requeues %s requests/s, more than it completes: retries, or it rejects requests",
                       text_bytes(culprit.device), ctx_format(ctx, UNIT_PER_S, again));
    }
}

const struct rule rule_disk_timeouts = {
    .kind = "disk_timeouts",
    .resource = "disk",
    .pane = "disk",
    .is_event = true,
    .level = {.kind = LEVEL_ROW,
              .what = "time-outs per second",
              .of = IN(tables, block_devices),
              .names = {IN(block_devices, timeouts_per_s), IN(block_devices, requeues_per_s)}},
    .check = check_disk_timeouts};

// ---- waiting before issue ----

// Any busy disk has a queue: a throttle makes it longer, and several times as long as the disk's own latency. Few I/Os
// are an accident.
static bool waits(double total_us, double own_us) {
    return total_us - own_us >= LIMIT(io_throttled, wait_us) && total_us >= LIMIT(io_throttled, latencies) * own_us;
}

static const char *verb_of(const char *op) {
    return op[0] == 'R' ? "reads" : op[0] == 'W' ? "writes" : op[0] == 'D' ? "discards" : NULL;
}

// The p50 of a device's I/Os of that operation, with any flags; NAN for fewer than `least`.
static double median_us(struct rule_ctx *ctx, const char *name, const struct text *device, char op, uint64_t least) {
    const struct hist_set *set = frame_hists(ctx->frame, name);
    const struct hist *list[64];
    size_t n = 0;
    for (size_t i = 0; set && hist_set_def(set)->n_keys == 2 && i < hist_set_count(set) && n < 64; i++) {
        const union cell *keys;
        const struct hist *hist = hist_set_at(set, i, &keys);
        if (keys[0].text && keys[1].text && !text_compare(keys[0].text, device) && text_bytes(keys[1].text)[0] == op)
            list[n++] = hist;
    }
    if (!n)
        return NAN;
    struct hist *all = hist_merge(list, n);
    double median = all->count >= least ? hist_quantile(all, 0.5) / hist_set_def(set)->divisor : NAN;
    hist_free(all);
    return median;
}

// Queue and service time. A bio-based device has no queue time.
static double own_us(struct rule_ctx *ctx, const struct text *device, char op) {
    double queue = median_us(ctx, IN(hists, io_queue), device, op, 1),
           service = median_us(ctx, IN(hists, io_latency), device, op, 1);
    return service + (isnan(queue) ? 0 : queue);
}

// Cgroups whose I/O waits; one may be throttled while others on the same disk are not.
static bool check_groups(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, by_cgroup));
    bool any = false;
    if (!table)
        return false;
    const struct table_def *def = table_def(table);
    int group = COL(def, by_cgroup, cgroup), device = COL(def, by_cgroup, device), op = COL(def, by_cgroup, op);
    int ios = COL(def, by_cgroup, ios_per_s), latency = COL(def, by_cgroup, latency_us);
    int total = COL(def, by_cgroup, total_us);
    size_t cursor = 0;
    for (const union cell *row; group >= 0 && (row = table_next(table, &cursor));) {
        struct culprit culprit = {NAN, NULL, text_at(row, device)};
        const struct text *name = text_at(row, group), *kind = text_at(row, op);
        const char *verb = kind ? verb_of(text_bytes(kind)) : NULL;
        if (!name || !culprit.device || !verb ||
            !(num_at(row, ios) * ctx->interval_s >= LIMIT(io_throttled, cgroup_ios)))
            continue;
        double queue = median_us(ctx, IN(hists, io_queue), culprit.device, text_bytes(kind)[0], 1);
        double own = num_at(row, latency) + (isnan(queue) ? 0 : queue);
        if (!waits(num_at(row, total), own))
            continue;
        char key[48];
        snprintf(key, sizeof(key), "%c %.16s %s", text_bytes(kind)[0], text_bytes(culprit.device),
                 path_tail(text_bytes(name), 28));
        any = true;
        bool root = !strcmp(text_bytes(name), "/"); // has no limit
        ctx_report(ctx, root ? SEVERITY_INFO : SEVERITY_WARNING, key, &culprit,
                   "%s of cgroup %s on %s wait %s before issue, disk latency %s: %sthe queue is full", verb,
                   text_bytes(name), text_bytes(culprit.device), ctx_format(ctx, UNIT_US, num_at(row, total) - own),
                   ctx_format(ctx, UNIT_US, own), root ? "" : "throttled, or ");
    }
    return any;
}

// Cgroups at their I/O limit. The kernel's throttling periods and a frame are not aligned: they may stay below it. On a
// whole disk throttling is in no latency, so only the rates show it.
static void check_limits(struct rule_ctx *ctx) {
    static const struct {
        const char *did, *most, *what;
        enum unit unit;
    } kinds[] = {
        {IN(io_limits, reads_per_s), IN(io_limits, read_limit_per_s), "reads/s", UNIT_PER_S},
        {IN(io_limits, writes_per_s), IN(io_limits, write_limit_per_s), "writes/s", UNIT_PER_S},
        {IN(io_limits, read_bytes_per_s), IN(io_limits, read_limit_bytes_per_s), "read/s", UNIT_BYTES},
        {IN(io_limits, write_bytes_per_s), IN(io_limits, write_limit_bytes_per_s), "written/s", UNIT_BYTES},
    };
    const struct table *table = ctx_table(ctx, IN(tables, io_limits));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        struct culprit culprit = {NAN, NULL, text_at(row, COL(def, io_limits, device))};
        const struct text *group = text_at(row, COL(def, io_limits, cgroup));
        double wait = num_at(row, COL(def, io_limits, io_wait_pct));
        for (size_t i = 0; group && culprit.device && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            double did = num_at(row, table_column(def, kinds[i].did));
            double most = num_at(row, table_column(def, kinds[i].most));
            if (!(did * 100 >= most * LIMIT(io_throttled, limit_pct)) || !(did * ctx->interval_s >= 1))
                continue;
            char key[48], waited[64] = "";
            snprintf(key, sizeof(key), "%zu %.16s %s", i, text_bytes(culprit.device), path_tail(text_bytes(group), 28));
            if (!isnan(wait))
                snprintf(waited, sizeof(waited), ", tasks stalled on I/O %.0f %% of the time", wait);
            ctx_report(ctx, SEVERITY_WARNING, key, &culprit,
                       "cgroup %s is at its I/O limit on %s: %s of %s %s%s; whole-disk latencies exclude this wait",
                       text_bytes(group), text_bytes(culprit.device), ctx_format(ctx, kinds[i].unit, did),
                       ctx_format(ctx, kinds[i].unit, most), kinds[i].what, waited);
        }
    }
}

static void check_io_throttled(struct rule_ctx *ctx) {
    const struct hist_set *set = frame_hists(ctx->frame, IN(hists, io_total));
    check_limits(ctx);
    if (check_groups(ctx) || !set || hist_set_def(set)->n_keys != 2 || hist_set_def(set)->keys[0].type != COLUMN_TEXT ||
        hist_set_def(set)->keys[1].type != COLUMN_TEXT)
        return;
    for (size_t i = 0; i < hist_set_count(set); i++) {
        const union cell *keys;
        hist_set_at(set, i, &keys);
        struct culprit culprit = {NAN, NULL, keys[0].text};
        const char *verb = keys[0].text && keys[1].text ? verb_of(text_bytes(keys[1].text)) : NULL;
        if (!verb)
            continue;
        char op = text_bytes(keys[1].text)[0], key[48];
        double total = median_us(ctx, IN(hists, io_total), culprit.device, op, (uint64_t)LIMIT(io_throttled, ios)),
               own = own_us(ctx, culprit.device, op);
        if (!waits(total, own))
            continue;
        snprintf(key, sizeof(key), "%s %c", text_bytes(culprit.device), op);
        ctx_report(ctx, SEVERITY_WARNING, key, &culprit,
                   "%s on %s wait %s before issue, disk latency %s: throttled, or the queue is full", verb,
                   text_bytes(culprit.device), ctx_format(ctx, UNIT_US, total - own), ctx_format(ctx, UNIT_US, own));
    }
}

const struct rule rule_io_throttled = {
    .kind = "io_throttled",
    .resource = "disk",
    .pane = "disk",
    .level = {.kind = LEVEL_HIST, .what = "total latency", .of = IN(hists, io_total)},
    .check = check_io_throttled};
