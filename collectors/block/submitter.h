// Submitters: process and cgroup of a thread, from /proc, and whether -p, -u or --children select it. Looked up soon
// after a thread's first I/O in a frame and cached for some seconds; never per event. One thread owns it.
#ifndef COLLECTORS_BLOCK_SUBMITTER_H
#define COLLECTORS_BLOCK_SUBMITTER_H

#include "collectors/block/limit.h"
#include "collectors/block/stat.h"
#include "collectors/collector.h"
#include "model/text.h"

struct block_task {
    int32_t tid, pid;          // pid: the TID if the thread exited before the look-up
    const struct text *comm;   // replaces the event's comm, for io_uring threads; else NULL
    const struct text *cgroup; // NULL: unknown
    bool wanted;
};

struct block_tasks;
// proc: "/proc", or a test's; NULL if its PIDs are not those of the events: then pid is the TID, and with -p or -u
// nothing is selected. cgroups: "/sys/fs/cgroup", or a test's. options NULL: everything is selected.
struct block_tasks *block_tasks_new(const char *proc, const char *cgroups, const struct collect_options *options);
void block_tasks_free(struct block_tasks *submitters);
// On a whole disk, throttled I/O is traced in the kernel worker that releases it. With limits it is reported as
// "(throttled)", with the cgroup if only one can be meant. limits must outlive it.
void block_tasks_limits(struct block_tasks *submitters, const struct block_limits *limits);
// Attributes threads that exited before the look-up to the process of their creator. match must outlive it.
void block_tasks_threads(struct block_tasks *submitters, const struct block_match *match);
// Looks up new threads of the interval: sets `task` of each proc.
void block_tasks_resolve(struct block_tasks *submitters, struct block_stat *stat, uint64_t now_ns);
// The proc must be resolved in this interval; never NULL.
const struct block_task *block_task_get(const struct block_tasks *submitters, const struct block_proc *proc);
// Once per frame, after the last resolve: drops expired entries.
void block_tasks_expire(struct block_tasks *submitters, uint64_t now_ns);
// Process of a thread that may still exist (else pid is unchanged). False: filtered out.
bool block_tasks_pid(const struct block_tasks *submitters, int32_t tid, int32_t *pid);
bool block_tasks_filters(const struct block_tasks *submitters);
// With -p or -u: does not keep rare I/Os of other tasks, known ones from the first on, others after their look-up. stat
// must not outlive it.
void block_tasks_filter(struct block_tasks *submitters, struct block_stat *stat);

#endif
