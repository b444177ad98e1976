// Rules about what a process does to itself: a storm of minor page faults, and a crash that repeats.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

// ---- minor faults ----

// A fault costs about 1 us of system time. First touches of memory that stays are growth, not waste: they are
// subtracted.
#define PAGE_KIB 4.0

static double rss_before(const struct rule_ctx *ctx, double pid) {
    const struct table *table = ctx->previous ? frame_table(ctx->previous, IN(tables, tasks)) : NULL;
    const union cell *row = task_row(table, pid);
    return row ? num_at(row, COL(table_def(table), tasks, rss_kib)) : NAN;
}

static void check_minor_faults(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, tasks));
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    int pid = COL(def, tasks, pid), comm = COL(def, tasks, comm), rss = COL(def, tasks, rss_kib);
    int faults = COL(def, tasks, minor_faults_per_s), system = COL(def, tasks, system_pct);
    int ended = COL(def, tasks, ended_s);
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        double rate = num_at(row, faults);
        if (!(rate >= LIMIT(minor_faults, faults_per_s)) || !(num_at(row, system) >= LIMIT(minor_faults, system_pct)) ||
            !isnan(num_at(row, ended)))
            continue;
        double grown = (num_at(row, rss) - rss_before(ctx, num_at(row, pid))) / PAGE_KIB / ctx->interval_s;
        double wasted = rate - (grown > 0 ? grown : 0); // a NAN is no growth
        struct culprit culprit = {num_at(row, pid), text_at(row, comm), NULL};
        char key[32], name[64];
        if (isnan(grown) || wasted < LIMIT(minor_faults, faults_per_s))
            continue;
        snprintf(key, sizeof(key), "%.0f", culprit.pid);
        ctx_report(
            ctx, wasted >= LIMIT(minor_faults, warning_faults_per_s) ? SEVERITY_WARNING : SEVERITY_INFO, key, &culprit,
            "%s takes %s minor page faults/s without growing (RSS %s), %.0f %% of one CPU in the kernel: it maps "
            "and frees the same memory again and again",
            culprit_name(&culprit, name, sizeof(name)), ctx_format(ctx, UNIT_PER_S, wasted),
            ctx_format(ctx, UNIT_KIB, num_at(row, rss)), num_at(row, system));
    }
}

const struct rule rule_minor_faults = {
    .kind = "minor_faults",
    .resource = "memory",
    .pane = "memory",
    .profiled = "profile",
    .level = {.kind = LEVEL_ROW, .what = "its rate", .of = IN(tables, tasks), .names = {IN(tasks, minor_faults_per_s)}},
    .check = check_minor_faults};

// ---- crashes ----

#define WINDOW_S 60
#define SLOTS 12 // of 5 s
#define LOOPS_MAX 16

// Ends of tasks of one name and parent.
struct loop {
    char comm[32]; // "": unused
    double ppid;
    uint64_t last_ns;
    struct ends {
        double pid;         // of the last one
        uint32_t exit_code; // of the last one, as wait(2) has it
        uint32_t slots[SLOTS];
    } crashes, failures; // by a signal; with an exit status other than 0, since the last success
};

struct loops {
    struct loop loops[LOOPS_MAX];
    uint64_t slot; // of the last frame
};

static const char *crash_signal(double exit_code) {
    switch (isnan(exit_code) ? 0 : (unsigned)exit_code & 0x7f) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGABRT:
        return "SIGABRT";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    case SIGSYS:
        return "SIGSYS";
    case SIGTRAP:
        return "SIGTRAP";
    default:
        return NULL;
    }
}

static uint32_t ends_sum(const struct ends *ends) {
    uint32_t sum = 0;
    for (size_t i = 0; i < SLOTS; i++)
        sum += ends->slots[i];
    return sum;
}

static struct loop *loop_find(struct loops *loops, const char *comm, double ppid) {
    for (size_t i = 0; i < LOOPS_MAX; i++)
        if (loops->loops[i].ppid == ppid && !strncmp(loops->loops[i].comm, comm, sizeof(loops->loops[i].comm) - 1))
            return &loops->loops[i];
    return NULL;
}

// In the place of one that has not crashed, or of that whose last end is longest ago.
static struct loop *loop_new(struct loops *loops, const char *comm, double ppid) {
    struct loop *place = &loops->loops[0];
    for (size_t i = 1; i < LOOPS_MAX && place->comm[0]; i++) {
        struct loop *loop = &loops->loops[i];
        bool crashes = ends_sum(&loop->crashes) > 0, kept = ends_sum(&place->crashes) > 0;
        if (!loop->comm[0] || crashes < kept || (crashes == kept && loop->last_ns < place->last_ns))
            place = loop;
    }
    *place = (struct loop){.ppid = ppid};
    snprintf(place->comm, sizeof(place->comm), "%s", comm);
    return place;
}

static void loops_advance(struct loops *loops, uint64_t now_ns) {
    uint64_t slot = now_ns / (WINDOW_S / SLOTS * 1000000000ull);
    for (size_t n = 0; loops->slot < slot && n < SLOTS; n++) {
        loops->slot = slot - loops->slot > SLOTS ? slot - SLOTS + 1 : loops->slot + 1;
        for (size_t i = 0; i < LOOPS_MAX; i++)
            loops->loops[i].crashes.slots[loops->slot % SLOTS] = loops->loops[i].failures.slots[loops->slot % SLOTS] =
                0;
    }
    loops->slot = slot;
    for (size_t i = 0; i < LOOPS_MAX; i++)
        if (loops->loops[i].comm[0] && !ends_sum(&loops->loops[i].crashes) && !ends_sum(&loops->loops[i].failures))
            loops->loops[i] = (struct loop){0};
}

// A subshell, whose status is that of its last command, has the name of its parent.
static bool is_program(const struct table *table, const struct text *comm, double ppid) {
    const union cell *parent = task_row(table, ppid);
    const struct text *of = parent ? text_at(parent, COL(table_def(table), tasks, comm)) : NULL;
    return !of || text_compare(of, comm) != 0;
}

static void loops_take(struct rule_ctx *ctx, struct loops *loops, const struct table *table) {
    const struct table_def *def = table_def(table);
    int exit_code = COL(def, tasks, exit_code), comm = COL(def, tasks, comm), ppid = COL(def, tasks, ppid);
    int pid = COL(def, tasks, pid), tid = COL(def, tasks, tid), ended = COL(def, tasks, ended_s);
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        double code = num_at(row, exit_code);
        const struct text *name = text_at(row, comm);
        // A zombie keeps its exit code for many frames; a thread ends with its process.
        if (isnan(num_at(row, ended)) || isnan(code) || !name || (tid >= 0 && num_at(row, tid) != num_at(row, pid)))
            continue;
        bool crashed = crash_signal(code) != NULL, ok = code == 0;
        if (!crashed && !ok && ((unsigned)code & 0x7f || !is_program(table, name, num_at(row, ppid))))
            continue;
        struct loop *loop = loop_find(loops, text_bytes(name), num_at(row, ppid));
        if (ok && loop)
            loop->failures = (struct ends){0};
        if (ok)
            continue;
        loop = loop ? loop : loop_new(loops, text_bytes(name), num_at(row, ppid));
        struct ends *ends = crashed ? &loop->crashes : &loop->failures;
        ends->slots[loops->slot % SLOTS]++;
        ends->pid = num_at(row, pid);
        ends->exit_code = (uint32_t)code;
        loop->last_ns = ctx->frame->end_ns;
    }
}

static void loop_report(struct rule_ctx *ctx, const struct loop *loop) {
    uint32_t crashes = ends_sum(&loop->crashes), failures = ends_sum(&loop->failures);
    if (crashes < LIMIT(crash_loop, crashes) && failures < LIMIT(crash_loop, failures))
        return;
    const struct table *table = frame_table(ctx->frame, IN(tables, tasks));
    const union cell *row = task_row(table, loop->ppid);
    struct culprit parent = {loop->ppid, row ? text_at(row, COL(table_def(table), tasks, comm)) : NULL, NULL};
    const struct text *comm = text_from(loop->comm);
    // Its PID is that of a task that is gone: the parent's is of use.
    struct culprit culprit = {NAN, comm, NULL};
    char key[48], name[64], by[96] = "";
    snprintf(key, sizeof(key), "%.0f %s", loop->ppid, loop->comm);
    if (row && loop->ppid > 0) {
        culprit.pid = loop->ppid;
        culprit.comm = parent.comm;
        snprintf(by, sizeof(by), "; %s starts it again", culprit_name(&parent, name, sizeof(name)));
    }
    if (crashes >= LIMIT(crash_loop, crashes))
        ctx_report(ctx, crashes >= LIMIT(crash_loop, critical_crashes) ? SEVERITY_CRITICAL : SEVERITY_WARNING, key,
                   &culprit, "%s crashed %u times in the last minute (%s, last PID %.0f)%s", loop->comm, crashes,
                   crash_signal(loop->crashes.exit_code), loop->crashes.pid, by);
    else // a script may wait for something in this way
        ctx_report(ctx, SEVERITY_INFO, key, &culprit,
                   "%s failed %u times in a row in the last minute (exit status %u, last PID %.0f)%s", loop->comm,
                   failures, loop->failures.exit_code >> 8, loop->failures.pid, by);
    text_unref(comm);
}

static void check_crash_loop(struct rule_ctx *ctx) {
    struct loops *loops = ctx_state(ctx, sizeof(*loops));
    const struct table *table = ctx_table(ctx, IN(tables, tasks));
    loops_advance(loops, ctx->frame->end_ns);
    if (table)
        loops_take(ctx, loops, table);
    for (size_t i = 0; i < LOOPS_MAX; i++)
        if (loops->loops[i].comm[0])
            loop_report(ctx, &loops->loops[i]);
}

// An event, since a repeated section must not be counted again; it lasts as long as the window has crashes.
const struct rule rule_crash_loop = {
    .kind = "crash_loop", .resource = "process", .pane = "tasks", .is_event = true, .check = check_crash_loop};
