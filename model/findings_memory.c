// Rules about memory: OOM kills, little left, pressure, swapping, storms of major faults.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

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

// Who waits for pages from a disk, or else who holds most.
static struct culprit fault_culprit(struct scan *scan, char *out, size_t size) {
    const struct top *top = &scan_tasks(scan)->faults;
    char name[64];
    if (isnan(top->value) || top->value < 10)
        return rss_culprit(scan, out, size);
    snprintf(out, size, "%s has %s major faults/s: ", scan_name(scan, &top->who, name, sizeof(name)),
             scan_show(scan, UNIT_PER_S, top->value));
    return top->who;
}

void check_oom_kill(struct scan *scan) {
    double kills = scan_series(scan, "oom_kills_per_s") * scan->interval_s;
    if (!(kills >= 0.5))
        return;
    char who[128];
    struct culprit culprit = rss_culprit(scan, who, sizeof(who));
    scan_report(scan, SEVERITY_CRITICAL, "", &culprit, "%smemory ran out%s, the kernel killed %.0f %s (dmesg names it)",
                who, who[0] ? " before" : "", kills, kills < 1.5 ? "process" : "processes");
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
    char who[128];
    struct culprit culprit = fault_culprit(scan, who, sizeof(who));
    scan_report(scan, severity, "", &culprit,
                "%stasks waited for memory %.0f %% of the time, all of them at once %.0f %%", who, some,
                isnan(full) ? 0 : full);
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
    struct culprit culprit = fault_culprit(scan, who, sizeof(who));
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
    struct culprit culprit = fault_culprit(scan, who, sizeof(who));
    scan_report(scan, severity, "", &culprit, "%s%s page faults/s wait for a disk", who,
                scan_show(scan, UNIT_PER_S, faults));
}
