// The set of tasks: found by key (PID of a process, negative TID of a thread, since a main thread has the ID of its
// process), and in three lists: active, idle, ended. One thread owns a set.
#ifndef COLLECTORS_TASKS_SET_H
#define COLLECTORS_TASKS_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectors/tasks/names.h"

#define TASK_NO_SLOT UINT32_MAX

// Which counters were read.
enum {
    HAVE_CPU = 1,      // cpu_ns
    HAVE_SWITCHES = 2, // switches
    HAVE_DELAY = 4,    // run_delay_ns
    HAVE_IO = 8,       // read_bytes, write_bytes
    HAVE_FAULTS = 16,  // minflt, majflt
    HAVE_TICKS = 32,   // utime, stime
    HAVE_MIGRATIONS = 64,
};

// Totals since the task's start.
struct task_counters {
    uint64_t utime, stime; // clock ticks
    uint64_t children;     // clock ticks of children it has waited for
    uint64_t cpu_ns, run_delay_ns, switches, minflt, majflt, read_bytes, write_bytes, migrations;
    uint8_t have;
};

enum task_list { TASKS_ACTIVE, TASKS_IDLE, TASKS_ENDED, TASK_LISTS };

// The kernel's account of an ended task.
struct task_end {
    struct task_counters counters;
    uint64_t begin_s; // wall clock
    uint32_t exit_code;
};

struct task {
    pid_t key, pid, tid, ppid;
    uid_t uid;
    uint32_t slot;        // of its row; TASK_NO_SLOT: not shown
    struct task *process; // of a thread; NULL: it is a process
    uint32_t members;     // of a process: its threads that are in the set
    uint32_t threads;
    uint64_t start;    // clock ticks since boot; 0: unknown
    uint64_t read_ns;  // when its counters were read last, CLOCK_MONOTONIC; 0: never
    uint64_t carry_ns; // CPU time that is counted but not shown yet
    struct task_counters counters;
    struct task_end *end; // not NULL: its exit was reported; it may still be a zombie
    struct name *comm, *command, *cgroup, *user;
    struct name *netns;  // the number of its network namespace
    uint32_t index;      // in its list
    uint32_t seen;       // the listing that had it last
    uint32_t read_frame; // the frame that read its stat last
    uint8_t list;
    uint8_t still;     // consecutive polls without a change, up to 255
    uint8_t refreshes; // times its names were read, up to 255
    char state;        // of /proc/PID/stat; '\0': not read yet
    bool settled;      // names and first counters were read
    bool kthread;
    bool grouped; // it once had more than one thread
    bool born;    // within the interval that is being measured: its counters began at 0
    bool barred;  // /proc/PID/io is not readable (another user's)
    bool ran;     // a switch record of this interval names it
    bool mobile;  // it ran at least once
    bool calm;    // its row shows rates of 0
};

struct tasks_set;

struct tasks_set *tasks_set_new(struct names *names);
void tasks_set_free(struct tasks_set *set);
struct task *tasks_set_find(const struct tasks_set *set, pid_t key);
struct task *tasks_set_add(struct tasks_set *set, pid_t key);                       // active; the key must be new
void tasks_set_move(struct tasks_set *set, struct task *task, enum task_list list); // ENDED: no longer found
void tasks_set_drop(struct tasks_set *set, struct task *task);                      // frees it
size_t tasks_set_count(const struct tasks_set *set, enum task_list list);
struct task *tasks_set_at(const struct tasks_set *set, enum task_list list, size_t i);

#endif
