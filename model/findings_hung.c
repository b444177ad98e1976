// Rules about what does not end: I/O in flight on a disk, and a task in an uninterruptible wait. Who is named is who
// was seen to wait for it, never who happens to do other I/O.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

// ---- disks ----

// An I/O takes a second on no healthy disk that does nothing else; five are a hang. While others end it may be one that
// is passed over, or a discard: that is told later, when the disk's own time-out (30 s) is near or over.
// A discard of a whole disk may run for a while by nature.
#define STOPPED_S 1
#define STOPPED_CRITICAL_S 5
#define PASSED_OVER_S 5
#define PASSED_OVER_CRITICAL_S 30
#define DISCARD_S 10
#define DISCARD_CRITICAL_S 60

static double ended_per_s(const struct table_def *def, const union cell *row) {
    static const char *const least[] = {"reads_per_s", "writes_per_s"}, *const more[] = {"discards_per_s",
                                                                                         "flushes_per_s"};
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        double other = scan_num(row, table_column(def, more[i])); // newer kernels only
        sum += scan_num(row, table_column(def, least[i])) + (isnan(other) ? 0 : other);
    }
    return sum;
}

// Of the I/Os in flight on the device.
struct oldest {
    double age_s; // NAN: not known
    char op;      // R W F D; 0: not known
    struct culprit who;
};

static char oldest_op(struct scan *scan, const struct text *device) {
    const struct table *table = scan_table(scan, "io_in_flight");
    const struct table_def *def = table ? table_def(table) : NULL;
    double most = -1;
    char op = 0;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        double age = scan_num(row, table_column(def, "age_us"));
        const struct text *on = scan_text(row, table_column(def, "device"));
        if (!on || text_compare(on, device) || !(age > most))
            continue;
        most = age;
        op = text_bytes(scan_text(row, table_column(def, "op")))[0];
    }
    return op;
}

static bool oldest_take(const struct table_def *def, const union cell *row, struct oldest *oldest) {
    int age = table_column(def, "oldest_us");
    if (age < 0)
        return false;
    oldest->age_s = scan_num(row, age) / 1e6;
    oldest->who.pid = scan_num(row, table_column(def, "oldest_pid"));
    oldest->who.comm = scan_text(row, table_column(def, "oldest_comm"));
    return true;
}

static struct oldest oldest_of(struct scan *scan, const struct table_def *def, const union cell *row) {
    struct oldest oldest = {NAN, 0, NOBODY};
    const struct table *events = scan_table(scan, "block_devices");
    const union cell *other = events ? table_find(events, row) : NULL;
    if (!oldest_take(def, row, &oldest) && other)
        oldest_take(table_def(events), other, &oldest);
    oldest.who.device = scan_text(row, table_column(def, "device"));
    if (!isnan(oldest.age_s) && oldest.who.device)
        oldest.op = oldest_op(scan, oldest.who.device);
    return oldest;
}

// A flush of the disk's cache before or after a write is none that the kernel counts as in flight.
bool is_disk_stopped(struct scan *scan, const struct table_def *def, const union cell *row) {
    return ended_per_s(def, row) == 0 &&
           (scan_num(row, table_column(def, "in_flight")) >= 1 || oldest_of(scan, def, row).age_s > 0);
}

// stopped_s: for so long none has ended; 0: others do.
static void check_oldest(struct scan *scan, const struct oldest *oldest, double stopped_s, double ended) {
    const char *device = text_bytes(oldest->who.device);
    char name[64], whose[80] = "";
    const char *what = oldest->op == 'R'   ? "a read"
                       : oldest->op == 'W' ? "a write"
                       : oldest->op == 'F' ? "a flush"
                       : oldest->op == 'D' ? "a discard"
                                           : "an I/O";
    bool stopped = stopped_s > 0, discard = oldest->op == 'D';
    double least_s = discard ? DISCARD_S : stopped ? STOPPED_S : PASSED_OVER_S;
    double critical_s = discard ? DISCARD_CRITICAL_S : stopped ? STOPPED_CRITICAL_S : PASSED_OVER_CRITICAL_S;
    enum severity severity;
    if (!scan_level(oldest->age_s, least_s, critical_s, &severity))
        return;
    if (!isnan(oldest->who.pid) || oldest->who.comm)
        snprintf(whose, sizeof(whose), " of %s", scan_name(scan, &oldest->who, name, sizeof(name)));
    if (!isnan(oldest->who.pid) && scan->n_hung < SCAN_HOT)
        scan->hung[scan->n_hung++] = oldest->who.pid;
    if (stopped)
        scan_report(scan, severity, device, &oldest->who,
                    "%s: %s%s has not ended for %.1f s; none ended in the last %.1f s", device, what, whose,
                    oldest->age_s, fmin(stopped_s, oldest->age_s));
    else
        scan_report(scan, severity, device, &oldest->who, "%s: %s%s has not ended for %.1f s, though %s others/s do",
                    device, what, whose, oldest->age_s, scan_show(scan, UNIT_PER_S, ended));
}

void check_disk_hung(struct scan *scan) {
    const struct table *table = scan_table(scan, "devices");
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; def && table_column(def, "device") >= 0 && (row = table_next(table, &cursor));) {
        struct oldest oldest = oldest_of(scan, def, row);
        const char *device = text_bytes(oldest.who.device);
        double stopped_s = is_disk_stopped(scan, def, row) ? scan_lasts(scan, device) : 0;
        enum severity severity;
        if (oldest.age_s > 0)
            check_oldest(scan, &oldest, stopped_s, ended_per_s(def, row));
        else if (scan_level(stopped_s, 2 * STOPPED_S, STOPPED_CRITICAL_S, &severity))
            scan_report(scan, severity, device, &oldest.who,
                        "%s: %.0f in flight, and none has ended for %.1f s; whose they are is not known", device,
                        scan_num(row, table_column(def, "in_flight")), stopped_s);
    }
}

// ---- tasks ----

#define STUCK_S 10           // a disk that is slow, but works, lets a task go on at times
#define STUCK_CRITICAL_S 120 // what the kernel itself warns of (hung_task_timeout_secs)

struct stuck {
    double longest_s;
    uint32_t n;
    struct culprit who;
    double tid;
};

static bool is_hung(const struct scan *scan, double pid) {
    for (uint32_t i = 0; i < scan->n_hung; i++)
        if (scan->hung[i] == pid)
            return true;
    return false;
}

// In state D, and it did not run in the whole interval: one and the same wait.
static void stuck_take(struct scan *scan, const struct table_def *def, const union cell *row, struct stuck *stuck) {
    struct culprit who = {scan_num(row, table_column(def, "pid")), scan_text(row, table_column(def, "comm")), NULL};
    int tid = table_column(def, "tid"), switches = table_column(def, "context_switches_per_s");
    double own = tid < 0 ? who.pid : scan_num(row, tid);
    char key[32];
    if (scan_num(row, switches) != 0 || isnan(who.pid))
        return;
    snprintf(key, sizeof(key), "%.0f", own);
    double lasts_s = scan_lasts(scan, key);
    if (lasts_s > scan->longest_blocked_s) {
        scan->longest_blocked_s = lasts_s;
        scan->longest_blocked = who;
    }
    if (lasts_s < STUCK_S || is_hung(scan, who.pid))
        return;
    stuck->n++;
    if (lasts_s > stuck->longest_s) {
        stuck->longest_s = lasts_s;
        stuck->who = who;
        stuck->tid = own;
    }
}

// ", for FILE, in FUNCTION", as far as somebody looked that up.
static void waits_for(struct scan *scan, double tid, char *out, size_t size) {
    const struct table *table = scan_table(scan, "sched_stuck");
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    out[0] = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *state = scan_text(row, table_column(def, "state"));
        if (scan_num(row, table_column(def, "tid")) != tid || !state || text_bytes(state)[0] != 'D')
            continue; // in a PID namespace the scheduler's numbers are not those of the tasks
        const struct text *what = scan_text(row, table_column(def, "waits_for"));
        const struct text *where = scan_text(row, table_column(def, "blocked_in"));
        snprintf(out, size, "%s%s%s%s", what ? ", for " : "", what ? text_bytes(what) : "", where ? ", in " : "",
                 where ? text_bytes(where) : "");
        return;
    }
}

void check_stuck_task(struct scan *scan) {
    const struct table *table = scan_series(scan, "tasks_uninterruptible") >= 1 ? scan_table(scan, "tasks") : NULL;
    int state = table ? table_column(table_def(table), "state") : -1;
    struct stuck stuck = {.who = NOBODY};
    size_t cursor = 0;
    for (const union cell *row; state >= 0 && (row = table_next(table, &cursor));)
        if (text_bytes(scan_text(row, state))[0] == 'D')
            stuck_take(scan, table_def(table), row, &stuck);
    if (!stuck.n)
        return;
    char name[64], more[48] = "", what[160];
    scan_name(scan, &stuck.who, name, sizeof(name));
    waits_for(scan, stuck.tid, what, sizeof(what));
    if (stuck.n > 1)
        snprintf(more, sizeof(more), "; %u more for over %d s", stuck.n - 1, STUCK_S);
    scan_report(scan, stuck.longest_s >= STUCK_CRITICAL_S ? SEVERITY_CRITICAL : SEVERITY_WARNING, "", &stuck.who,
                "%s has waited uninterruptibly (state D) for %.0f s without a moment of running%s%s", name,
                stuck.longest_s, what, more);
}
