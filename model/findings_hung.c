// Rules about hangs: I/O in flight on a disk that does not complete, and tasks blocked in state D. The culprit is a
// task known to wait for it, never one that happens to do other I/O.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

// ---- disks ----

// No healthy disk needs 1 s for an I/O if it completes nothing else; 5 s are a hang. While others complete, an I/O may
// be starved by the disk's scheduling, so it is critical only at the SCSI time-out of 30 s. A discard of a whole disk
// may run for a while.

static double ended_per_s(const struct table_def *def, const union cell *row) {
    static const char *const least[] = {IN(devices, reads_per_s), IN(devices, writes_per_s)},
                             *const more[] = {IN(devices, discards_per_s), IN(devices, flushes_per_s)};
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        double other = num_at(row, table_column(def, more[i])); // since Linux 4.18 and 5.5
        sum += num_at(row, table_column(def, least[i])) + (isnan(other) ? 0 : other);
    }
    return sum;
}

// The oldest I/O in flight on a device.
struct oldest {
    double age_s; // NAN: unknown
    char op;      // R W F D; 0: unknown
    struct culprit culprit;
};

static char oldest_op(struct rule_ctx *ctx, const struct text *device) {
    const struct table *table = ctx_table(ctx, IN(tables, io_in_flight));
    const struct table_def *def = table ? table_def(table) : NULL;
    double most = -1;
    char op = 0;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        double age = num_at(row, COL(def, io_in_flight, age_us));
        const struct text *on = text_at(row, COL(def, io_in_flight, device));
        if (!on || text_compare(on, device) || !(age > most))
            continue;
        most = age;
        op = text_bytes(text_at(row, COL(def, io_in_flight, op)))[0];
    }
    return op;
}

static bool oldest_take(const struct table_def *def, const union cell *row, struct oldest *oldest) {
    int age = COL(def, block_devices, oldest_us);
    if (age < 0)
        return false;
    oldest->age_s = num_at(row, age) / 1e6;
    oldest->culprit.pid = num_at(row, COL(def, block_devices, oldest_pid));
    oldest->culprit.comm = text_at(row, COL(def, block_devices, oldest_comm));
    return true;
}

static struct oldest oldest_of(struct rule_ctx *ctx, const struct table_def *def, const union cell *row) {
    struct oldest oldest = {NAN, 0, NO_CULPRIT};
    const struct table *events = ctx_table(ctx, IN(tables, block_devices));
    const union cell *other = events ? table_find(events, row) : NULL;
    if (!oldest_take(def, row, &oldest) && other)
        oldest_take(table_def(events), other, &oldest);
    oldest.culprit.device = text_at(row, COL(def, devices, device));
    if (!isnan(oldest.age_s) && oldest.culprit.device)
        oldest.op = oldest_op(ctx, oldest.culprit.device);
    return oldest;
}

// The kernel does not count a cache flush before or after a write as in flight.
bool is_disk_stopped(struct rule_ctx *ctx, const struct table_def *def, const union cell *row) {
    return ended_per_s(def, row) == 0 &&
           (num_at(row, COL(def, devices, in_flight)) >= 1 || oldest_of(ctx, def, row).age_s > 0);
}

// stopped_s: time without a completion on the device; 0: others complete.
static void check_oldest(struct rule_ctx *ctx, const struct oldest *oldest, double stopped_s, double ended) {
    const char *device = text_bytes(oldest->culprit.device);
    char name[64], submitter[80] = "";
    const char *what = oldest->op == 'R'   ? "a read"
                       : oldest->op == 'W' ? "a write"
                       : oldest->op == 'F' ? "a flush"
                       : oldest->op == 'D' ? "a discard"
                                           : "an I/O";
    bool stopped = stopped_s > 0, discard = oldest->op == 'D';
    double least_s = discard   ? LIMIT(disk_hung, discard_s)
                     : stopped ? LIMIT(disk_hung, stopped_s)
                               : LIMIT(disk_hung, starved_s);
    double critical_s = discard   ? LIMIT(disk_hung, critical_discard_s)
                        : stopped ? LIMIT(disk_hung, critical_stopped_s)
                                  : LIMIT(disk_hung, critical_starved_s);
    enum severity severity;
    if (!is_above(oldest->age_s, least_s, critical_s, &severity))
        return;
    if (!isnan(oldest->culprit.pid) || oldest->culprit.comm)
        snprintf(submitter, sizeof(submitter), " by %s", culprit_name(&oldest->culprit, name, sizeof(name)));
    if (!isnan(oldest->culprit.pid) && ctx->n_hung < HOGS_MAX)
        ctx->hung[ctx->n_hung++] = oldest->culprit.pid;
    if (stopped)
        ctx_report(ctx, severity, device, &oldest->culprit, "%s: %s%s in flight for %.1f s; no completion for %.1f s",
                   device, what, submitter, oldest->age_s, fmin(stopped_s, oldest->age_s));
    else
        ctx_report(ctx, severity, device, &oldest->culprit, "%s: %s%s in flight for %.1f s while %s others/s complete",
                   device, what, submitter, oldest->age_s, ctx_format(ctx, UNIT_PER_S, ended));
}

static void check_disk_hung(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, devices));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; def && COL(def, devices, device) >= 0 && (row = table_next(table, &cursor));) {
        struct oldest oldest = oldest_of(ctx, def, row);
        const char *device = text_bytes(oldest.culprit.device);
        double stopped_s = is_disk_stopped(ctx, def, row) ? ctx_duration_s(ctx, device) : 0;
        enum severity severity;
        if (oldest.age_s > 0)
            check_oldest(ctx, &oldest, stopped_s, ended_per_s(def, row));
        else if (is_above(stopped_s, 2 * LIMIT(disk_hung, stopped_s), LIMIT(disk_hung, critical_stopped_s), &severity))
            ctx_report(ctx, severity, device, &oldest.culprit,
                       "%s: %.0f I/Os in flight, no completion for %.1f s; submitter unknown", device,
                       num_at(row, COL(def, devices, in_flight)), stopped_s);
    }
}

const struct rule rule_disk_hung = {.kind = "disk_hung",
                                    .resource = "disk",
                                    .pane = "disk",
                                    .level = {.kind = LEVEL_ROW,
                                              .what = "the age of its oldest I/O",
                                              .of = IN(tables, block_devices),
                                              .names = {IN(block_devices, oldest_us)}},
                                    .check = check_disk_hung};

// ---- tasks ----

// With a slow but working disk a task runs now and then. The kernel's own hung_task_timeout_secs is 120 s.
struct stuck {
    double longest_s;
    uint32_t n;
    struct culprit culprit;
    double tid;
};

static bool is_hung(const struct rule_ctx *ctx, double pid) {
    for (uint32_t i = 0; i < ctx->n_hung; i++)
        if (ctx->hung[i] == pid)
            return true;
    return false;
}

// In state D without a context switch in the interval: still the same wait.
static void stuck_take(struct rule_ctx *ctx, const struct table_def *def, const union cell *row, struct stuck *stuck) {
    struct culprit culprit = {num_at(row, COL(def, tasks, pid)), text_at(row, COL(def, tasks, comm)), NULL};
    int tid = COL(def, tasks, tid), switches = COL(def, tasks, context_switches_per_s);
    double own = tid < 0 ? culprit.pid : num_at(row, tid);
    char key[32];
    if (num_at(row, switches) != 0 || isnan(culprit.pid))
        return;
    snprintf(key, sizeof(key), "%.0f", own);
    double lasts_s = ctx_duration_s(ctx, key);
    if (lasts_s > ctx->longest_blocked_s) {
        ctx->longest_blocked_s = lasts_s;
        ctx->longest_blocked = culprit;
    }
    if (lasts_s < LIMIT(stuck_task, blocked_s) || is_hung(ctx, culprit.pid))
        return;
    stuck->n++;
    if (lasts_s > stuck->longest_s) {
        stuck->longest_s = lasts_s;
        stuck->culprit = culprit;
        stuck->tid = own;
    }
}

// ", waiting for FILE, in FUNCTION", as far as the sched collector found out.
static void waits_for(struct rule_ctx *ctx, double tid, char *out, size_t size) {
    const struct table *table = ctx_table(ctx, IN(tables, sched_stuck));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    out[0] = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *state = text_at(row, COL(def, sched_stuck, state));
        if (num_at(row, COL(def, sched_stuck, tid)) != tid || !state || text_bytes(state)[0] != 'D')
            continue; // in a PID namespace sched_stuck has host TIDs, which do not match
        const struct text *what = text_at(row, COL(def, sched_stuck, waits_for));
        const struct text *where = text_at(row, COL(def, sched_stuck, blocked_in));
        snprintf(out, size, "%s%s%s%s", what ? ", waiting for " : "", what ? text_bytes(what) : "",
                 where ? ", in " : "", where ? text_bytes(where) : "");
        return;
    }
}

static void check_stuck_task(struct rule_ctx *ctx) {
    const struct table *table =
        ctx_series(ctx, IN(series, tasks_uninterruptible)) >= 1 ? ctx_table(ctx, IN(tables, tasks)) : NULL;
    int state = table ? COL(table_def(table), tasks, state) : -1;
    struct stuck stuck = {.culprit = NO_CULPRIT};
    size_t cursor = 0;
    for (const union cell *row; state >= 0 && (row = table_next(table, &cursor));)
        if (text_bytes(text_at(row, state))[0] == 'D')
            stuck_take(ctx, table_def(table), row, &stuck);
    if (!stuck.n)
        return;
    char name[64], more[48] = "", what[160];
    culprit_name(&stuck.culprit, name, sizeof(name));
    waits_for(ctx, stuck.tid, what, sizeof(what));
    if (stuck.n > 1)
        snprintf(more, sizeof(more), "; %u more for over %g s", stuck.n - 1, LIMIT(stuck_task, blocked_s));
    ctx_report(ctx, stuck.longest_s >= LIMIT(stuck_task, critical_blocked_s) ? SEVERITY_CRITICAL : SEVERITY_WARNING, "",
               &stuck.culprit, "%s is uninterruptible (state D) for %.0f s without running%s%s", name, stuck.longest_s,
               what, more);
}

const struct rule rule_stuck_task = {
    .kind = "stuck_task", .resource = "process", .pane = "sched", .check = check_stuck_task};
