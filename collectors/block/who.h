// Whose I/O it is: the process and the control group of a thread, from /proc, and whether the user wants to see it
// (-p, -u, --children). Looked up soon after a thread's first I/O of a frame and kept for some seconds; never per
// event. One thread owns it.
#ifndef COLLECTORS_BLOCK_WHO_H
#define COLLECTORS_BLOCK_WHO_H

#include "collectors/block/limit.h"
#include "collectors/block/stat.h"
#include "collectors/collector.h"
#include "model/text.h"

struct block_task {
    int32_t tid, pid;          // pid: the thread itself when it was gone before it could be looked up
    const struct text *comm;   // instead of the event's, for threads of io_uring; else NULL
    const struct text *cgroup; // NULL: not known
    bool wanted;
};

struct block_who;
// proc: "/proc", or a test's; NULL where it has other numbers than the events: nobody is looked up then, each thread
// stands for itself, and with -p or -u nobody is wanted. cgroups: "/sys/fs/cgroup", or a test's. options may be NULL:
// everything is wanted.
struct block_who *block_who_new(const char *proc, const char *cgroups, const struct collect_options *options);
void block_who_free(struct block_who *who);
// On a whole disk, what a group's limit held back is told of the kernel's worker that lets it go. With the limits,
// which must live as long, such I/O is told as "(throttled)", of the group when it can only be one.
void block_who_limits(struct block_who *who, const struct block_limits *limits);
// With the matcher, which must live as long, threads that ended before they could be looked up are told of the process
// that made them.
void block_who_threads(struct block_who *who, const struct block_match *match);
// Looks up the processes of the interval that are not known yet: sets who of each proc.
void block_who_resolve(struct block_who *who, struct block_stat *stat, uint64_t now_ns);
// Of a proc that was resolved in this interval; never NULL.
const struct block_task *block_who_of(const struct block_who *who, const struct block_proc *proc);
// Once per frame, after the last look at the interval: forgets what is old.
void block_who_tidy(struct block_who *who, uint64_t now_ns);
// The process of a thread that may still be there (pid stays as it is when not). False: the user does not want to see
// it.
bool block_who_pid(const struct block_who *who, int32_t tid, int32_t *pid);
bool block_who_filters(const struct block_who *who);
// With -p or -u, rare I/Os of others are not remembered: from their first on when they are known, else until the look
// at them. stat must not outlive it.
void block_who_filter(struct block_who *who, struct block_stat *stat);

#endif
