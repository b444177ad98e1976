// The internals of the tasks collector, shared by its files and their tests. All of it belongs to the
// collector's thread.
#ifndef COLLECTORS_TASKS_H
#define COLLECTORS_TASKS_H

#include "collectors/collector.h"
#include "collectors/kernel/proc/taskstats.h"
#include "collectors/tasks/columns.h"
#include "collectors/tasks/read.h"
#include "collectors/tasks/switch_budget.h"
#include "collectors/tasks/switch_records.h"

struct pid_list {
    pid_t *pids;
    size_t count, room;
};
void pid_list_add(struct pid_list *list, pid_t pid);

struct tasks {
    const struct collect_options *options;
    struct proc_root proc;
    struct names *names;
    struct tasks_set *set;
    struct table_builder *builder;
    struct taskstats_link *link;           // NULL: not allowed or not there
    struct switch_records *switch_records; // NULL: the same
    struct switch_budget budget;           // budget.on: the switch records are on
    uint64_t drained_ns;                   // when their rings were drained last
    bool wants_switches;                   // switch records are allowed and of use
    bool switches_missed;                  // some of the switches since the last frame were not recorded
    bool gets_exits;                       // taskstats reports exits
    const char *link_reason, *link_fix;
    uint64_t (*clock)(void); // CLOCK_MONOTONIC, or a test's
    uint64_t boot_s;         // wall clock at boot
    double tick_ns;          // of the clock ticks in /proc
    double cpus;             // of the host

    // ---- of this frame ----
    uint32_t frame;
    bool threads;        // rows are threads
    bool threads_wanted; // the same from the next frame on
    bool exact;          // all switches of this interval were recorded
    uint64_t begin_ns, now_ns;
    uint64_t queried_ns;     // time of the last taskstats reply
    uint64_t begin_boot_ns;  // begin_ns on the clock of start times
    uint64_t forks;          // of the host
    double switches;         // the same; below 0: unknown
    uint64_t frame_ticks;    // CPU time that the host's tasks spent, in clock ticks
    uint64_t explained_ns;   // the part of it that was found with tasks
    int64_t inherited_ticks; // the part of it that ended tasks left to their parents
    uint64_t n_ended, n_ended_hidden, n_reads, n_scans, n_moved;
    uint64_t seen, lost;
    bool all_new; // the first listing

    // ---- kept ----
    struct host_stat host;
    struct host_load load;
    bool has_host, has_load;
    uint32_t listing, listed_frame;
    uint32_t idle_cursor;
    double foreign_ns; // CPU time of the last frame that no task accounts for, after all were queried
    struct pid_list unsettled, fresh, exited; // names to be read; PIDs to be checked; exits to be resolved
    size_t settle_at;
    struct task **work;
    size_t work_room;
    uint64_t n_processes, n_threads, n_state[128];
    uint64_t now_wall_s;
};

struct tasks *tasks_new(const struct collect_options *options, const char *proc_path, bool kernel, char *reason,
                        size_t reason_size);
void tasks_free(struct tasks *tasks);
// The frames: first the baseline, publishing early through `run` (NULL: not), then one call per interval.
int tasks_first(struct tasks *tasks, struct collector_run *run);
int tasks_frame(struct tasks *tasks, uint64_t begin_ns, uint64_t end_ns);
void tasks_drain(struct tasks *tasks); // between frames

// ---- scan.c ----
// Reads the whole task and writes its row. account: the latest taskstats reply, or NULL. False: it is gone.
bool task_update(struct tasks *tasks, struct task *task, const struct task_account *account);
void tasks_poll(struct tasks *tasks, struct task **work, size_t n);
void tasks_poll_all(struct tasks *tasks);
void task_state_set(struct tasks *tasks, struct task *task, char state);
struct task **tasks_work(struct tasks *tasks, size_t n); // room for n

// ---- switches.c ----
void tasks_switches_start(struct tasks *tasks); // opens the rings; the switch records are off
void tasks_switches_read(struct tasks *tasks);  // marks the tasks that ran
// Whether all switches of the interval were recorded; the next interval begins.
bool tasks_switches_complete(struct tasks *tasks);
void tasks_switches_budget(struct tasks *tasks, size_t spared); // spared: tasks that were not queried

// ---- find.c ----
void tasks_find_new(struct tasks *tasks, uint64_t forks, bool ends);
void tasks_list(struct tasks *tasks);                    // /proc whole: new ones added, missing ones ended
struct task *task_found(struct tasks *tasks, pid_t pid); // a process, known or new; NULL: gone
void task_threads_list(struct tasks *tasks, struct task *process);
void task_threads_drop(struct tasks *tasks, struct task *process); // without ended rows
void tasks_settle(struct tasks *tasks, uint64_t until_ns);

// ---- exits.c ----
void tasks_exits_read(struct tasks *tasks);
void tasks_exit_add(void *tasks, const struct task_account *account); // one of them
void tasks_exits_resolve(struct tasks *tasks);
void task_gone(struct tasks *tasks, struct task *task);
void tasks_forget_ended(struct tasks *tasks); // the ended ones of the frame before

// ---- rows.c ----
bool task_wanted(struct tasks *tasks, const struct task *task);
bool task_row_sync(struct tasks *tasks, struct task *task); // adds or removes its row; true: it has one

uint64_t tasks_clock(void); // CLOCK_MONOTONIC

#endif
