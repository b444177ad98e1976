// What the files of rules share: the scan of one frame, and how a rule says what it found.
#ifndef MODEL_FINDINGS_PRIVATE_H
#define MODEL_FINDINGS_PRIVATE_H

#include <string.h>

#include "model/findings.h"

struct scan;

// A rule: one row of the table in findings_rules.c.
struct rule {
    const char *kind;     // "cpu_saturated"
    const char *resource; // of the contract: cpu, memory, disk, network, scheduler, filesystem, kernel, process
    const char *pane;     // where to look next
    bool at_once; // an event that happened, not a level that may flicker: told at its first frame, and for longer
    void (*check)(struct scan *scan);
};
extern const struct rule rules[];
extern const size_t n_rules;

// Who does it; texts are borrowed from the frame. NAN and NULL: not known.
struct culprit {
    double pid;
    const struct text *comm, *device;
};
#define NOBODY ((struct culprit){.pid = __builtin_nan("")})

// The heaviest task of something, and the tasks of the same name together.
struct top {
    double value; // of the task; NAN: none
    double sum;   // of all tasks of its name
    uint32_t n;   // how many those are
    struct culprit who;
    double priority; // of the task, as the kernel has it; NAN: not known
    bool brief;      // some of them came and went in a moment: a PID of theirs leads nowhere
};

#define SCAN_HOT 4 // tasks that keep a CPU to themselves

// One pass over the tasks, made only when a rule needs to name somebody: an idle frame costs no pass.
struct task_summary {
    bool done;
    struct top cpu, rss, faults, io;
    struct top uninterruptible; // value: how many wait so
    struct top zombies, ended;  // who: the parent of most of them; value: how many
    struct {
        double cpu_pct, system_pct, priority;
        struct culprit who;
    } hot[SCAN_HOT];
    uint32_t n_hot;
};

struct scan {
    const struct frame *frame, *previous; // previous may be NULL
    const struct rule *rule;
    struct findings *findings;
    double cpus;       // online; NAN: not known
    double busy_cpus;  // of them, on average; NAN: not known
    double interval_s; // of the frame
    bool cpu_saturated;
    bool cpu_limited;      // a finding names a group that its CPU limit stops most of the time
    double hung[SCAN_HOT]; // PIDs that a finding names for an I/O of theirs that does not end
    uint32_t n_hung;
    struct culprit longest_blocked; // in one wait in state D, of those whose waits are known
    double longest_blocked_s;       // for so long; 0: of nobody
    struct task_summary tasks;
    char shown[8][32]; // of scan_show, in turn
    uint8_t n_shown;
};

// NAN where nothing has it, and for at_once rules where it is the same section as in the frame before.
double scan_series(const struct scan *scan, const char *name);
double scan_series_before(const struct scan *scan, const char *name); // the same of the frame before
// The cell of the row by the column's name (resolve it once): NAN for a column of -1.
double scan_num(const union cell *row, int column);
const struct text *scan_text(const union cell *row, int column);
// The task's row of the table `tasks`, which may be NULL; NULL: it is not there. Walks over it.
const union cell *scan_task(const struct table *tasks, double pid);
// NULL where it is missing or empty, and like scan_series.
const struct table *scan_table(const struct scan *scan, const char *name);
// As a person reads it; good for eight calls.
const char *scan_show(struct scan *scan, enum unit unit, double value);
// " : name (pid 12)", or "" for nobody; a sentence goes on with it.
const char *scan_name(struct scan *scan, const struct culprit *who, char *out, size_t size);
const struct task_summary *scan_tasks(struct scan *scan);
// ", at real-time priority 50 (SCHED_FIFO or SCHED_RR)" for a priority as the kernel has it, or "".
const char *scan_realtime(double priority, char *out, size_t size);
// Who makes most I/O on the device (any device: NULL). Where the disks' own account does not say: nobody.
struct top scan_io_top(struct scan *scan, const struct text *device);
// Who waits longest for the disk that is waited for longest, in us per second; sum: all who wait for it, together. Who
// is not one of the kernel's threads comes first: those do it for others. False: the disks' own account does not say.
bool scan_io_waiter(struct scan *scan, struct top *top);
// Who makes most of the writes to the device. Without the disks' own account: nobody.
struct top scan_writer(const struct scan *scan, const struct text *device);

// For how long what this rule asks for under the key has been asked for in every frame, this one included, in seconds.
double scan_lasts(struct scan *scan, const char *key);

// The finding holds in this frame. `key` tells findings of one rule apart (a device, a PID; "" when there is one).
void scan_report(struct scan *scan, enum severity severity, const char *key, const struct culprit *culprit,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

// The last `most` bytes of a path, or all: its end tells control groups apart, and a key is cut after 47 bytes.
static inline const char *scan_tail(const char *path, size_t most) {
    size_t length = strlen(path);
    return length > most ? path + length - most : path;
}

// warning from `warning` on, critical from `critical` on; false below or not measured.
bool scan_level(double value, double warning, double critical, enum severity *severity);

// findings_cpu.c
void check_cpu_saturated(struct scan *scan);
void check_cpu_pressure(struct scan *scan);
void check_steal(struct scan *scan);
void check_interrupt_load(struct scan *scan);
void check_runaway(struct scan *scan);
// findings_limit.c
void check_cpu_limit(struct scan *scan);
// findings_tasks.c
void check_blocked_tasks(struct scan *scan);
void check_zombies(struct scan *scan);
void check_fork_storm(struct scan *scan);
// findings_memory.c
void check_oom_kill(struct scan *scan);
void check_memory_low(struct scan *scan);
void check_memory_pressure(struct scan *scan);
void check_swapping(struct scan *scan);
void check_major_faults(struct scan *scan);
// findings_hung.c
void check_disk_hung(struct scan *scan);
void check_stuck_task(struct scan *scan); // finds who is blocked for longest: before check_blocked_tasks
// A row of `devices` with something in flight of which none ended.
bool is_disk_stopped(struct scan *scan, const struct table_def *def, const union cell *row);
// findings_disk.c
void check_disk_saturated(struct scan *scan);
void check_io_pressure(struct scan *scan);
void check_disk_latency(struct scan *scan);
// findings_block.c
void check_disk_errors(struct scan *scan);
void check_disk_timeouts(struct scan *scan);
void check_io_throttled(struct scan *scan);
// findings_files.c
void check_filesystem_full(struct scan *scan);
// findings_network.c
void check_retransmits(struct scan *scan);
void check_listen_drops(struct scan *scan);
void check_resets(struct scan *scan);
void check_udp_drops(struct scan *scan);
void check_interface_errors(struct scan *scan);
void check_interface_drops(struct scan *scan);
// findings_self.c
void check_lost_events(struct scan *scan);
void check_stale(struct scan *scan);
void check_unavailable(struct scan *scan);

// findings_counters.c
void check_cpu_throttled(struct scan *scan);
void check_memory_bound(struct scan *scan);

#endif
