// Rules about memory: OOM kills, little left, pressure, swapping, storms of major faults.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

#define KILLED_MAX 64 // tasks that ended with SIGKILL in one frame; of more, the others are not looked at

// "mysqld (pid 12) holds most, 5.1G: ", or "": who it is comes first, for what does not fit is cut off at the end.
static struct culprit rss_culprit(struct scan *scan, char *out, size_t size) {
    const struct top *top = &scan_tasks(scan)->rss;
    char name[64];
    out[0] = 0;
    if (isnan(top->value))
        return NOBODY;
    snprintf(out, size, "%s holds most, %s: ", scan_name(scan, &top->who, name, sizeof(name)),
             scan_show(scan, UNIT_KIB, top->value));
    return top->who;
}

// Who waits for pages from a disk, or else who holds most (or nobody).
static struct culprit fault_culprit(struct scan *scan, bool or_holds, char *out, size_t size) {
    const struct top *top = &scan_tasks(scan)->faults;
    char name[64];
    out[0] = 0;
    if (isnan(top->value) || top->value < 10)
        return or_holds ? rss_culprit(scan, out, size) : NOBODY;
    snprintf(out, size, "%s has %s major faults/s: ", scan_name(scan, &top->who, name, sizeof(name)),
             scan_show(scan, UNIT_PER_S, top->value));
    return top->who;
}

// The value of the table `memory` in that frame, also when it stood there before.
static double memory_value(const struct frame *frame, const char *name) {
    const struct table *table = frame ? frame_table(frame, "memory") : NULL;
    size_t cursor = 0;
    const union cell *row = table ? table_next(table, &cursor) : NULL;
    return row ? scan_num(row, table_column(table_def(table), name)) : NAN;
}

// The machine had memory, and nobody had to free some of its before getting any: what ran out is what a control group
// may have. (What a group has to free of its own is not counted there.) False: not known.
static bool is_group_short(const struct scan *scan) {
    static const char *const reclaims[] = {"allocation_stalls_per_s", "kswapd_scans_per_s"};
    const struct frame *frames[] = {scan->frame, scan->previous};
    for (size_t i = 0; i < 2; i++) {
        if (memory_value(scan->frame, reclaims[i]) != 0 || memory_value(scan->previous, reclaims[i]) > 0)
            return false;
        if (memory_value(frames[i], "available_kib") < memory_value(frames[i], "total_kib") / 10)
            return false;
    }
    return true;
}

// NULL: it is not there.
static const struct table *tasks_of(const struct frame *frame) {
    return frame ? frame_table(frame, "tasks") : NULL;
}

static bool is_sigkill(double exit_code) {
    return ((unsigned)exit_code & 0x7f) == SIGKILL;
}

struct killed {
    size_t n; // tasks that a SIGKILL ended
    // Of these the one that held most before (value: KiB; NAN: not known, and it is the only one); nobody: which one is
    // not known.
    struct top top;
    const struct text *group; // its control group, or NULL
    bool late;                // the kill was told in the frame before
};

// What a SIGKILL ended in the frame of `now`; before: what stood there in the frame before, or NULL.
static struct killed killed_tasks(const struct table *now, const struct table *before) {
    struct killed killed = {.top = {.value = NAN, .who = NOBODY}};
    if (!now)
        return killed;
    const struct table_def *def = table_def(now);
    int pid = table_column(def, "pid"), exit_code = table_column(def, "exit_code"), rss = table_column(def, "rss_kib");
    int comm = table_column(def, "comm"), cgroup = table_column(def, "cgroup");
    size_t cursor = 0;
    for (const union cell *row, *old; killed.n < KILLED_MAX && (row = table_next(now, &cursor));) {
        double code = scan_num(row, exit_code);
        if (isnan(code) || !is_sigkill(code))
            continue;
        old = before ? scan_task(before, scan_num(row, pid)) : NULL;
        double kib = old ? scan_num(old, rss) : NAN;
        if (++killed.n > 1 && (!(kib > 0) || kib <= killed.top.value)) // a top of NAN loses to anything
            continue;
        killed.top.value = kib > 0 ? kib : NAN;
        killed.top.who = (struct culprit){scan_num(row, pid), scan_text(row, comm), NULL};
        killed.group = scan_text(old ? old : row, cgroup);
    }
    if (killed.n > 1 && isnan(killed.top.value)) {
        killed.top.who = NOBODY;
        killed.group = NULL;
    }
    return killed;
}

// The task that held most in the frame before and now holds less than half of it, or is gone. A large one takes its
// time to let go of its memory: its end may be in a later frame than the kill.
static struct top shrunk_task(const struct scan *scan) {
    struct top top = {.value = NAN, .who = NOBODY};
    const struct table *now = tasks_of(scan->frame), *before = tasks_of(scan->previous);
    if (!now || !before)
        return top;
    const struct table_def *def = table_def(now);
    int pid = table_column(def, "pid"), exit_code = table_column(def, "exit_code"), rss = table_column(def, "rss_kib");
    size_t cursor = 0;
    for (const union cell *old, *row; (old = table_next(before, &cursor));) {
        double kib = scan_num(old, rss);
        if (!(kib > 0) || kib <= top.value)
            continue;
        row = scan_task(now, scan_num(old, pid));
        double code = row ? scan_num(row, exit_code) : NAN; // one that ended otherwise was not killed
        if (row && ((!isnan(code) && !is_sigkill(code)) || !(scan_num(row, rss) < kib / 2)))
            continue;
        top = (struct top){.value = kib, .who = {scan_num(old, pid), scan_text(old, table_column(def, "comm")), NULL}};
    }
    return top;
}

// How many were killed, and who. The kernel counts a kill before its task ends, and the count and the tasks are not
// read at one moment: who it was may be told in the frame before or in the one after that. Then what it held is not
// known, or what was left of it when that was read.
static double oom_killed(const struct scan *scan, struct killed *killed) {
    double kills = scan_series(scan, "oom_kills_per_s") * scan->interval_s;
    bool counted = kills >= 0.5;
    if (!counted && scan->previous)
        kills = scan_series_before(scan, "oom_kills_per_s") * frame_interval_s(scan->previous);
    if (!(kills >= 0.5))
        return 0;
    const struct table *now = tasks_of(scan->frame), *before = tasks_of(scan->previous);
    const struct killed earlier = killed_tasks(before, NULL);
    *killed = killed_tasks(now, before);
    if (counted && !killed->n)
        *killed = earlier;
    if (counted)
        return kills;
    killed->top.value = NAN;
    killed->late = true;
    return earlier.n || isnan(killed->top.who.pid) ? 0 : kills;
}

void check_oom_kill(struct scan *scan) {
    struct killed killed = {0};
    double kills = oom_killed(scan, &killed);
    if (!(kills >= 0.5))
        return;
    bool group = is_group_short(scan);
    char why[256] = "memory ran out";
    if (group && killed.group && strcmp(text_bytes(killed.group), "/") != 0) // its own limit, or that of one above it
        snprintf(why, sizeof(why), "control group %s reached a memory limit (the machine itself has memory)",
                 text_bytes(killed.group));
    else if (group)
        snprintf(why, sizeof(why), "a control group reached its memory limit (the machine itself has memory)");
    char who[128] = "", name[64], more[32] = "", held[48] = "";
    const struct top shrunk = shrunk_task(scan);
    // Of the machine's tasks a large one that lets go of its memory is more likely than one of which nothing is known.
    if (!isnan(killed.top.who.pid) && (killed.late || group || !isnan(killed.top.value) || isnan(shrunk.value))) {
        if (kills >= 1.5)
            snprintf(more, sizeof(more), ", and %.0f more", kills - 1);
        if (!isnan(killed.top.value))
            snprintf(held, sizeof(held), ", which held %s", scan_show(scan, UNIT_KIB, killed.top.value));
        scan_report(scan, SEVERITY_CRITICAL, "", &killed.top.who, "the kernel killed %s%s%s: %s",
                    scan_name(scan, &killed.top.who, name, sizeof(name)), held, more, why);
        return;
    }
    struct culprit culprit = NOBODY;
    if (!group && !isnan(shrunk.value)) {
        culprit = shrunk.who;
        snprintf(who, sizeof(who), "%s held %s and no longer does: ", scan_name(scan, &culprit, name, sizeof(name)),
                 scan_show(scan, UNIT_KIB, shrunk.value));
    } else if (!group) {
        culprit = rss_culprit(scan, who, sizeof(who));
        snprintf(more, sizeof(more), "%s", who[0] ? " before" : "");
    }
    scan_report(scan, SEVERITY_CRITICAL, "", &culprit, "%s%s%s, the kernel killed %.0f %s (dmesg names it)", who, why,
                more, kills, kills < 1.5 ? "process" : "processes");
}

void check_memory_low(struct scan *scan) {
    double available = scan_series(scan, "mem_available_kib"), total = scan_series(scan, "mem_total_kib");
    if (!(total > 0) || isnan(available))
        return;
    double pct = 100 * available / total;
    // Below 10 % the page cache shrinks to what is being used; below 4 % reclaim works on every allocation.
    // MemAvailable counts what can be reclaimed already.
    if (pct >= 10)
        return;
    char who[128];
    struct culprit culprit = rss_culprit(scan, who, sizeof(who));
    scan_report(scan, pct < 4 ? SEVERITY_CRITICAL : SEVERITY_WARNING, "", &culprit,
                "%s%s of %s memory available (%.1f %%)", who, scan_show(scan, UNIT_KIB, available),
                scan_show(scan, UNIT_KIB, total), pct);
}

void check_memory_pressure(struct scan *scan) {
    double full = scan_series(scan, "memory_full_pct"), some = scan_series(scan, "memory_some_pct");
    enum severity severity;
    // Full: nothing but waiting for memory happens in that share of the time. A twentieth is felt, a quarter is
    // thrashing. Some: single tasks wait.
    if (!scan_level(full, 5, 25, &severity)) {
        if (!(some >= 20))
            return;
        severity = SEVERITY_WARNING;
    }
    // Who holds most of the machine's memory has no part in a group that is short of its own.
    bool group = is_group_short(scan);
    char who[128];
    struct culprit culprit = fault_culprit(scan, !group, who, sizeof(who));
    scan_report(
        scan, severity, "", &culprit, "%stasks waited for memory %.0f %% of the time, all of them at once %.0f %%%s",
        who, some, isnan(full) ? 0 : full,
        group ? ", though the machine had to free none: a control group at its limit? (c in the pane tasks)" : "");
}

void check_swapping(struct scan *scan) {
    double in = scan_series(scan, "swap_in_per_s"), out = scan_series(scan, "swap_out_per_s");
    if (isnan(in) || isnan(out))
        return;
    enum severity severity;
    // Pages coming back were needed: each is a wait for a disk, so 100 a second hurt somebody and 2000 keep a disk
    // busy. Pages going out alone hurt less: 1000 a second (4 MB) say that memory is short.
    if (!scan_level(in, 100, 2000, &severity)) {
        if (out < 1000)
            return;
        severity = SEVERITY_WARNING;
    }
    char who[128];
    struct culprit culprit = fault_culprit(scan, true, who, sizeof(who));
    scan_report(scan, severity, "", &culprit, "%s%s pages/s come back from swap and %s pages/s go out", who,
                scan_show(scan, UNIT_PER_S, in), scan_show(scan, UNIT_PER_S, out));
}

void check_major_faults(struct scan *scan) {
    double faults = scan_series(scan, "major_faults_per_s");
    enum severity severity;
    // Each waits for a disk, 0.1 to 10 ms: from 500 a second on tasks are slowed down beyond a start of a program.
    if (!scan_level(faults, 500, 10000, &severity))
        return;
    char who[128];
    struct culprit culprit = fault_culprit(scan, true, who, sizeof(who));
    scan_report(scan, severity, "", &culprit, "%s%s page faults/s wait for a disk", who,
                scan_show(scan, UNIT_PER_S, faults));
}
