// Rules about tasks: stuck ones, zombies, storms of new ones.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

void check_blocked_tasks(struct scan *scan) {
    double blocked = scan_series(scan, "tasks_uninterruptible");
    if (isnan(blocked))
        blocked = scan_series(scan, "procs_blocked");
    double cpus = scan->cpus >= 1 ? scan->cpus : 1;
    enum severity severity;
    // A few wait for a disk at any moment; as many as two per CPU (and 4 at least), frame after frame, wait for
    // something that does not keep up. Eight per CPU (and 32): it hangs.
    if (!scan_level(blocked, fmax(4, 2 * cpus), fmax(32, 8 * cpus), &severity))
        return;
    const struct top *top = &scan_tasks(scan)->uninterruptible;
    char name[64];
    // Who has waited longest is nearest to what they all wait for. A wait that began in this interval tells nothing.
    if (scan->longest_blocked_s > scan->interval_s * 1.5)
        scan_report(scan, severity, "", &scan->longest_blocked,
                    "%s for %.0f s, the longest, and %.0f more tasks wait uninterruptibly (state D)",
                    scan_name(scan, &scan->longest_blocked, name, sizeof(name)), scan->longest_blocked_s,
                    fmax(0, blocked - 1));
    else if (isnan(top->value))
        scan_report(scan, severity, "", &NOBODY, "%.0f tasks wait uninterruptibly (state D)", blocked);
    else
        scan_report(scan, severity, "", &top->who, "%s and %.0f more tasks wait uninterruptibly (state D)",
                    scan_name(scan, &top->who, name, sizeof(name)), fmax(0, blocked - 1));
}

void check_zombies(struct scan *scan) {
    double zombies = scan_series(scan, "tasks_zombie");
    // A zombie costs a PID and nothing else; ten that nobody fetches are a bug worth to know, hundreds will run out of
    // PIDs one day.
    if (!(zombies >= 10))
        return;
    const struct top *parent = &scan_tasks(scan)->zombies;
    char who[128] = "", name[64];
    if (!isnan(parent->value))
        snprintf(who, sizeof(who),
                 "%s does not wait for %.0f of its children: ", scan_name(scan, &parent->who, name, sizeof(name)),
                 parent->value);
    scan_report(scan, zombies >= 200 ? SEVERITY_WARNING : SEVERITY_INFO, "", &parent->who,
                "%s%.0f ended processes are zombies", who, zombies);
}

void check_fork_storm(struct scan *scan) {
    double forks = scan_series(scan, "forks_per_s");
    enum severity severity;
    // A fork and its end cost about a millisecond of CPU in all: 300 a second are a third of a CPU, and more than a
    // build on a small machine makes; 3000 keep several CPUs busy.
    if (!scan_level(forks, 300, 3000, &severity))
        return;
    const struct top *parent = &scan_tasks(scan)->ended;
    char who[160] = "", name[64];
    struct culprit culprit = NOBODY;
    // The parent must have made a good share of what ended, or it is just one of many.
    if (!isnan(parent->value) && parent->value >= 10) {
        culprit = parent->who;
        snprintf(who, sizeof(who), "%s is the parent of %.0f that ended in this interval: ",
                 scan_name(scan, &culprit, name, sizeof(name)), parent->value);
    }
    scan_report(scan, severity, "", &culprit, "%s%.0f processes and threads are created a second", who, forks);
}
