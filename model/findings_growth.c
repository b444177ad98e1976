// The rule about a process whose memory grows steadily, before memory is low. The measure is the time until memory is
// exhausted at this rate: a burst at the start of a program ends soon, and a slow leak on a large machine is not
// urgent. Growth ends after a pause. A part of it must be missing from the available memory: file mappings are
// reclaimable.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

#define GROWERS_MAX 32
#define STILL_NS 750000000u // after a longer pause it is not reported

// A process whose RSS has grown since `since_ns`.
struct grower {
    double pid, started_s; // pid 0: unused
    uint64_t since_ns, rise_ns, seen_ns;
    double since_kib, last_kib, available_kib; // RSS at the begin and in the last frame; available memory at the begin
};

struct growth {
    struct grower growers[GROWERS_MAX];
};

struct growth_columns {
    int pid, comm, rss, started, cgroup;
};

// Memory that is left, and of what.
struct left {
    double kib, of_kib;        // NAN: unknown
    const struct text *cgroup; // NULL: of the machine
};

static struct left left_for(struct rule_ctx *ctx, const struct text *cgroup) {
    struct left left = {ctx_series(ctx, IN(series, mem_available_kib)), ctx_series(ctx, IN(series, mem_total_kib)),
                        NULL};
    const struct table *table = cgroup ? ctx_table(ctx, IN(tables, memory_limits)) : NULL;
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *name = text_at(row, COL(def, memory_limits, cgroup));
        double limit = num_at(row, COL(def, memory_limits, limit_kib)),
               used = num_at(row, COL(def, memory_limits, used_kib));
        if (name && !text_compare(name, cgroup) && limit - used < left.kib)
            left = (struct left){fmax(0, limit - used), limit, name};
    }
    return left;
}

static void grower_begin(struct grower *grower, const struct frame *frame, double kib, double available_kib) {
    grower->since_ns = grower->rise_ns = frame->end_ns;
    grower->since_kib = kib;
    grower->available_kib = available_kib;
}

// The one of that process, or a new one in the place of the one that grew least.
static struct grower *grower_get(struct growth *growth, double pid, double started_s) {
    struct grower *place = &growth->growers[0];
    for (size_t i = 0; i < GROWERS_MAX; i++) {
        struct grower *grower = &growth->growers[i];
        if (grower->pid == pid && grower->started_s == started_s)
            return grower;
        if (place->pid && (!grower->pid || grower->last_kib - grower->since_kib < place->last_kib - place->since_kib))
            place = grower;
    }
    *place = (struct grower){.pid = pid, .started_s = started_s};
    return place;
}

static void grower_step(struct grower *grower, const struct frame *frame, double kib, double available_kib) {
    double pause_s = (double)(frame->end_ns - grower->rise_ns) / 1e9;
    bool first = !grower->seen_ns, rises = kib > grower->last_kib + 256;
    if (first || kib < grower->last_kib * 0.9 || (!rises && pause_s > LIMIT(growing_process, pause_s)))
        grower_begin(grower, frame, kib, available_kib);
    else if (rises)
        grower->rise_ns = frame->end_ns;
    grower->seen_ns = frame->end_ns;
    grower->last_kib = kib;
}

static void grower_report(struct rule_ctx *ctx, const struct grower *grower, const struct culprit *culprit,
                          const struct left *left) {
    double grows_s = (double)(ctx->frame->end_ns - grower->since_ns) / 1e9;
    double grown = grower->last_kib - grower->since_kib, rate = grown / grows_s, lasts_s = left->kib / rate;
    if (!(grows_s >= LIMIT(growing_process, grows_s)) || !(grown >= LIMIT(growing_process, grown_kib)) ||
        !(lasts_s <= fmin(LIMIT(growing_process, lasts_s), grows_s * LIMIT(growing_process, info_lasts_per_grown_s))))
        return;
    bool urgent = lasts_s <= grows_s * LIMIT(growing_process, lasts_per_grown_s);
    if (!urgent && grows_s < LIMIT(growing_process, info_grows_s)) // many programs grow as they start
        return;
    if (ctx->frame->end_ns - grower->rise_ns > STILL_NS)
        return;
    if (!left->cgroup && grower->available_kib - left->kib < grown * LIMIT(growing_process, missing_pct) / 100)
        return;
    char key[32], name[64], lasts[32], where[96] = "";
    snprintf(key, sizeof(key), "%.0f", grower->pid);
    if (lasts_s < 120)
        snprintf(lasts, sizeof(lasts), "%.0f s", lasts_s);
    else
        snprintf(lasts, sizeof(lasts), "%.0f min", lasts_s / 60);
    if (left->cgroup)
        snprintf(where, sizeof(where), " below the limit of cgroup %s", path_tail(text_bytes(left->cgroup), 48));
    ctx_report(ctx,
               lasts_s < LIMIT(growing_process, critical_lasts_s) ? SEVERITY_CRITICAL
               : urgent                                           ? SEVERITY_WARNING
                                                                  : SEVERITY_INFO,
               key, culprit, "%s grows by %s/s, %s in %.0f s: memory lasts %s at this rate (%s of %s available%s)",
               culprit_name(culprit, name, sizeof(name)), ctx_format(ctx, UNIT_KIB, rate),
               ctx_format(ctx, UNIT_KIB, grown), grows_s, lasts, ctx_format(ctx, UNIT_KIB, left->kib),
               ctx_format(ctx, UNIT_KIB, left->of_kib), where);
}

static void check_growing_process(struct rule_ctx *ctx) {
    struct growth *growth = ctx_state(ctx, sizeof(*growth));
    const struct table *table = ctx_table(ctx, IN(tables, tasks));
    double available = ctx_series(ctx, IN(series, mem_available_kib));
    if (!table || isnan(available))
        return;
    const struct table_def *def = table_def(table);
    const struct growth_columns at = {COL(def, tasks, pid), COL(def, tasks, comm), COL(def, tasks, rss_kib),
                                      COL(def, tasks, started_s), COL(def, tasks, cgroup)};
    // Memory grows only while the process runs.
    int cpu = COL(def, tasks, cpu_pct), tid = COL(def, tasks, tid);
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        double kib = num_at(row, at.rss), pid = num_at(row, at.pid);
        if (!(kib >= LIMIT(growing_process, rss_kib)) || !(num_at(row, cpu) > 0) ||
            (tid >= 0 && num_at(row, tid) != pid))
            continue;
        struct grower *grower = grower_get(growth, pid, num_at(row, at.started));
        grower_step(grower, ctx->frame, kib, available);
        const struct culprit culprit = {pid, text_at(row, at.comm), NULL};
        const struct left left = left_for(ctx, text_at(row, at.cgroup));
        if (grower->last_kib > grower->since_kib)
            grower_report(ctx, grower, &culprit, &left);
    }
    for (size_t i = 0; i < GROWERS_MAX; i++)
        if (growth->growers[i].pid &&
            growth->growers[i].seen_ns + (uint64_t)(LIMIT(growing_process, pause_s) * 1e9) < ctx->frame->end_ns)
            growth->growers[i] = (struct grower){0};
}

const struct rule rule_growing_process = {
    .kind = "growing_process",
    .resource = "memory",
    .pane = "tasks",
    .level = {.kind = LEVEL_ROW, .what = "its RSS", .of = IN(tables, tasks), .names = {IN(tasks, rss_kib)}},
    .check = check_growing_process};
