// Rules about processes that wait for one another, or for a program that does not answer. The collector "suspects"
// finds the waiters.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

// ---- locks of user space ----

// Two threads that wait at any moment lose two seconds per second.
// Idle workers of a pool all wait at times, but not in most looks. Without an owner in the lock, switches tell them
// apart: idle threads do not switch.

static void lock_report(struct rule_ctx *ctx, const struct table_def *def, const union cell *row) {
    double waiters = num_at(row, COL(def, lock_waits, waiters)), tid = num_at(row, COL(def, lock_waits, holder_tid));
    const struct text *holder = text_at(row, COL(def, lock_waits, holder_comm)),
                      *in = text_at(row, COL(def, lock_waits, holder_in));
    struct culprit culprit = {num_at(row, COL(def, lock_waits, pid)), text_at(row, COL(def, lock_waits, comm)), NULL};
    const struct table *tasks = frame_table(ctx->frame, IN(tables, tasks));
    const union cell *task = task_row(tasks, culprit.pid);
    double switches = task ? num_at(task, COL(table_def(tasks), tasks, context_switches_per_s)) : NAN;
    if (!(waiters >= LIMIT(lock_contention, waiters)) || !task)
        return;
    double turns = num_at(row, COL(def, lock_waits, turns_pct));
    if (turns < LIMIT(lock_contention, turns_pct)) // false for a NAN: a lock, not a semaphore
        return;
    if (!(num_at(row, COL(def, lock_waits, owner_known)) > 0) && !(switches >= LIMIT(lock_contention, switches_per_s)))
        return;
    char key[32], name[64], held[160] = "";
    snprintf(key, sizeof(key), "%.0f", culprit.pid);
    if (!isnan(tid))
        snprintf(held, sizeof(held), "; thread %s (tid %.0f) held it last%s%s", holder ? text_bytes(holder) : "?", tid,
                 in ? ", asleep in " : "", in ? text_bytes(in) : "");
    ctx_report(ctx, SEVERITY_WARNING, key, &culprit,
               "%s: %.1f of %.0f threads wait for one lock (futex)%s%s; %s context switches/s",
               culprit_name(&culprit, name, sizeof(name)), waiters, num_at(row, COL(def, lock_waits, threads)),
               isnan(turns) ? "" : ", a semaphore or an interpreter lock (GIL), and run in turns", held,
               isnan(switches) ? "?" : ctx_format(ctx, UNIT_PER_S, switches));
}

// A deadlock never ends.
static void check_deadlock(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, lock_waits));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        struct culprit culprit = {num_at(row, COL(def, lock_waits, pid)), text_at(row, COL(def, lock_waits, comm)),
                                  NULL};
        double cycle = num_at(row, COL(def, lock_waits, cycle));
        char key[32], name[64];
        snprintf(key, sizeof(key), "%.0f", culprit.pid);
        if (cycle >= LIMIT(deadlock, threads))
            ctx_report(ctx, SEVERITY_WARNING, key, &culprit,
                       "%s: %.0f of %.0f threads are in a deadlock: each waits for a lock that another one holds",
                       culprit_name(&culprit, name, sizeof(name)), cycle, num_at(row, COL(def, lock_waits, threads)));
    }
}

const struct rule rule_deadlock = {.kind = "deadlock", .resource = "process", .pane = "sched", .check = check_deadlock};

// ---- file locks ----

// A single waiter may be meant to wait.
static void check_file_lock(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, file_locks));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *inode = text_at(row, COL(def, file_locks, inode));
        struct culprit culprit = {num_at(row, COL(def, file_locks, pid)), text_at(row, COL(def, file_locks, comm)),
                                  NULL};
        struct culprit waiter = {num_at(row, COL(def, file_locks, waiter_pid)),
                                 text_at(row, COL(def, file_locks, waiter_comm)), NULL};
        double waiters = num_at(row, COL(def, file_locks, waiters)),
               lasts_s = inode ? ctx_duration_s(ctx, text_bytes(inode)) : 0;
        bool many = waiters >= LIMIT(file_lock, waiters);
        char name[64], waits[64], more[32] = "";
        if (!inode || lasts_s < (many ? LIMIT(file_lock, waits_s) : LIMIT(file_lock, alone_waits_s)))
            continue;
        if (many)
            snprintf(more, sizeof(more), " and %.0f more", waiters - 1);
        ctx_report(ctx, many ? SEVERITY_WARNING : SEVERITY_INFO, text_bytes(inode), &culprit,
                   "%s holds a file lock (inode %s) for which %s%s %s, for %.0f s",
                   isnan(culprit.pid) ? "an open file" : culprit_name(&culprit, name, sizeof(name)), text_bytes(inode),
                   culprit_name(&waiter, waits, sizeof(waits)), more, many ? "wait" : "waits", lasts_s);
    }
}

const struct rule rule_file_lock = {
    .kind = "file_lock", .resource = "process", .pane = "sched", .check = check_file_lock};

static void check_lock_contention(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, lock_waits));
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));)
        lock_report(ctx, table_def(table), row);
}

const struct rule rule_lock_contention = {
    .kind = "lock_contention", .resource = "process", .pane = "sched", .check = check_lock_contention};

// ---- servers ----

// A healthy server answers within milliseconds, one behind a slow link within a second.
static void server_report(struct rule_ctx *ctx, const struct table_def *def, const union cell *row) {
    double longest = num_at(row, COL(def, server_waits, longest_s)),
           more = num_at(row, COL(def, server_waits, waiters)) - 1;
    struct culprit culprit = {num_at(row, COL(def, server_waits, pid)), text_at(row, COL(def, server_waits, comm)),
                              NULL};
    struct culprit waiter = {num_at(row, COL(def, server_waits, waiter_pid)),
                             text_at(row, COL(def, server_waits, waiter_comm)), NULL};
    const struct text *mount = text_at(row, COL(def, server_waits, mount)),
                      *file = text_at(row, COL(def, server_waits, file)),
                      *type = text_at(row, COL(def, server_waits, type)),
                      *state = text_at(row, COL(def, server_waits, server_state));
    enum severity severity;
    char name[80], waits[64], others[48] = "", what[128] = "";
    if (!mount || !type ||
        !is_above(longest, LIMIT(dead_server, waits_s), LIMIT(dead_server, critical_waits_s), &severity))
        return;
    if (more >= 1)
        snprintf(others, sizeof(others), " and %.0f more %s", more, more > 1 ? "tasks" : "task");
    if (file && text_bytes(file)[0] == '/')
        snprintf(what, sizeof(what), " for %s", path_tail(text_bytes(file), 100));
    ctx_report(ctx, severity, path_tail(text_bytes(mount), 47), &culprit,
               "%s, the server of %s (%s), %s: %s%s %s waiting%s, %.0f s so far",
               culprit_name(&culprit, name, sizeof(name)), path_tail(text_bytes(mount), 80), text_bytes(type),
               state && text_bytes(state)[0] == 'T' ? "is stopped (state T) and does not answer" : "does not answer",
               culprit_name(&waiter, waits, sizeof(waits)), others, more >= 1 ? "are" : "is", what, longest);
}

static void check_dead_server(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, server_waits));
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));)
        server_report(ctx, table_def(table), row);
}

const struct rule rule_dead_server = {
    .kind = "dead_server", .resource = "filesystem", .pane = "sched", .check = check_dead_server};

// ---- stopped processes ----

// dead_server says that it is stopped.
static bool is_server(struct rule_ctx *ctx, double pid) {
    const struct table *table = ctx_table(ctx, IN(tables, server_waits));
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));)
        if (num_at(row, COL(table_def(table), server_waits, pid)) == pid)
            return true;
    return false;
}

static void stopped_report(struct rule_ctx *ctx, const struct table_def *def, const union cell *row) {
    struct culprit culprit = {num_at(row, COL(def, stopped, pid)), text_at(row, COL(def, stopped, comm)), NULL};
    struct culprit waiter = {num_at(row, COL(def, stopped, waiter_pid)), text_at(row, COL(def, stopped, waiter_comm)),
                             NULL};
    double waiters = num_at(row, COL(def, stopped, waiters));
    const struct text *at = text_at(row, COL(def, stopped, waits_at));
    char key[32], name[64], other[64], more[32] = "";
    snprintf(key, sizeof(key), "%.0f", culprit.pid);
    double lasts_s = ctx_duration_s(ctx, key);
    culprit_name(&culprit, name, sizeof(name));
    if (!isnan(num_at(row, COL(def, stopped, tracer_pid))) || lasts_s < LIMIT(stopped_process, lasts_s) ||
        is_server(ctx, culprit.pid))
        return;
    if (waiters > 1)
        snprintf(more, sizeof(more), " and %.0f more", waiters - 1);
    bool job = num_at(row, COL(def, stopped, job)) > 0;
    if (waiters >= 1 && at)
        ctx_report(ctx, SEVERITY_WARNING, key, &culprit, "%s is stopped (SIGSTOP) for %.0f s: %s%s %s for %s%s", name,
                   lasts_s, culprit_name(&waiter, other, sizeof(other)), more, waiters > 1 ? "wait" : "waits",
                   text_bytes(at), text_bytes(at)[0] == 'a' ? " of it" : "");
    else
        ctx_report(ctx, job ? SEVERITY_INFO : SEVERITY_WARNING, key, &culprit, "%s is stopped (%s) for %.0f s%s", name,
                   job ? "a job of a shell" : "SIGSTOP", lasts_s, job ? "" : ": kill -CONT resumes it");
}

static void check_stopped_process(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, stopped));
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));)
        stopped_report(ctx, table_def(table), row);
}

const struct rule rule_stopped_process = {
    .kind = "stopped_process", .resource = "process", .pane = "tasks", .check = check_stopped_process};

// Each system call of a traced process stops it twice. A look with strace is short.
static void check_traced_process(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, stopped));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        struct culprit tracer = {num_at(row, COL(def, stopped, tracer_pid)),
                                 text_at(row, COL(def, stopped, tracer_comm)), NULL};
        struct culprit traced = {num_at(row, COL(def, stopped, pid)), text_at(row, COL(def, stopped, comm)), NULL};
        char key[32], name[64], other[64];
        snprintf(key, sizeof(key), "%.0f", traced.pid);
        if (isnan(tracer.pid))
            continue;
        double lasts_s = ctx_duration_s(ctx, key);
        if (lasts_s >= LIMIT(traced_process, lasts_s))
            ctx_report(ctx, SEVERITY_WARNING, key, &tracer,
                       "%s traces %s (ptrace) for %.0f s: it stops at every system call",
                       culprit_name(&tracer, name, sizeof(name)), culprit_name(&traced, other, sizeof(other)), lasts_s);
    }
}

const struct rule rule_traced_process = {
    .kind = "traced_process", .resource = "process", .pane = "tasks", .check = check_traced_process};

// ---- dirty memory ----

static void check_dirty_throttled(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, dirty_waits));
    const struct table_def *def = table ? table_def(table) : NULL;
    const union cell *top = NULL;
    uint32_t held = 0;
    size_t cursor = 0;
    double most_held = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        held += num_at(row, COL(def, dirty_waits, held_pct)) >= LIMIT(dirty_throttled, others_held_pct);
        most_held = fmax(most_held, num_at(row, COL(def, dirty_waits, held_pct)));
        int writes = COL(def, dirty_waits, write_bytes_per_s);
        if (!top || num_at(row, writes) > num_at(top, writes))
            top = row;
    }
    if (!top || most_held < LIMIT(dirty_throttled, held_pct))
        return;
    struct culprit culprit = {num_at(top, COL(def, dirty_waits, pid)), text_at(top, COL(def, dirty_waits, comm)), NULL};
    // A single writer that is as fast as its disk is ordinary, unless others wait with it.
    bool hurts = held > 1 || ctx_series(ctx, IN(series, io_full_pct)) >= LIMIT(dirty_throttled, full_pct);
    char name[64], others[64] = "";
    if (held > 1)
        snprintf(others, sizeof(others), "; %u other %s held back as well", held - 1,
                 held > 2 ? "processes are" : "process is");
    ctx_report(ctx, hurts ? SEVERITY_WARNING : SEVERITY_INFO, "", &culprit,
               "%s writes faster than its disk and is held back %.0f %% of the time: %s dirty, limit %s "
               "(vm.dirty_ratio, dirty_bytes)%s",
               culprit_name(&culprit, name, sizeof(name)), num_at(top, COL(def, dirty_waits, held_pct)),
               ctx_format(ctx, UNIT_KIB, num_at(top, COL(def, dirty_waits, dirty_kib))),
               ctx_format(ctx, UNIT_KIB, num_at(top, COL(def, dirty_waits, limit_kib))), others);
}

const struct rule rule_dirty_throttled = {
    .kind = "dirty_throttled", .resource = "disk", .pane = "memory", .check = check_dirty_throttled};
