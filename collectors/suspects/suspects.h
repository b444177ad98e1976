// The parts of the collector "suspects": what findings need to know about a few processes that the task table makes
// suspicious. Private to collectors/suspects and its tests. Everything runs in the collector's thread, except for what
// may block.
//
// A part selects its suspects from the last section of the collector "tasks", so it reads no file of an ordinary task.
// Where the table has no sign, it looks at a few tasks per sample in rotation.
#ifndef COLLECTORS_SUSPECTS_H
#define COLLECTORS_SUSPECTS_H

#include <sched.h>

#include "collectors/collector.h"
#include "collectors/kernel/tracefs/tracers.h"

// Columns of the table `tasks`; -1: missing.
struct suspects_columns {
    int pid, tid, ppid, comm, state, cpu, threads, rss, switches, write_bytes, cgroup, ended, started, run_queue,
        priority, on_cpu, system, user;
};

// A thread of a busy process with several threads that uses a CPU.
struct busy_thread {
    int32_t pid, tid;
    int cpu;
    long priority; // as in /proc/PID/stat
};
#define BUSY_THREADS_MAX 16

// The argument of a part at each sample.
struct suspects_sample {
    struct section *out;
    const struct table *tasks; // NULL: none yet
    struct suspects_columns at;
    uint64_t now_ns;                           // CLOCK_MONOTONIC
    double seconds;                            // of the interval
    struct busy_thread busy[BUSY_THREADS_MAX]; // from busy_threads.c, for the parts after it
    size_t n_busy;
    double mem_total_kib, page_tables_kib; // of the machine; NAN: unknown
};

struct suspects_part {
    void *(*create)(void);
    void (*sample)(void *state, struct suspects_sample *sample);
    // Between samples; the time in ms until it wants to be called again, 0: not before the next sample. May be NULL.
    uint32_t (*drain)(void *state, uint64_t now_ns);
    void (*destroy)(void *state);
};
extern const struct suspects_part suspects_memory_part, suspects_locks_part, suspects_servers_part,
    suspects_stopped_part, suspects_dirty_part, suspects_limits_part, suspects_files_part, suspects_tracing_part,
    suspects_pinned_part, suspects_busy_part, suspects_starved_part, suspects_readers_part, suspects_logs_part,
    suspects_page_tables_part;

extern const struct table_def suspects_memory_table, suspects_locks_table, suspects_servers_table,
    suspects_stopped_table, suspects_dirty_table, suspects_limits_table, suspects_files_table, suspects_tracing_table,
    suspects_pinned_table, suspects_starved_table, suspects_busy_table, suspects_readers_table, suspects_logs_table,
    suspects_page_tables_table;

// Calls fn for each process (not thread) of the table that has not ended.
void suspects_each(struct suspects_sample *sample, void (*fn)(void *context, const union cell *row), void *context);

// memory.c: the effective memory limit and what is in use and not reclaimable, in KiB, of a cgroup in the hierarchy
// mounted at `mount`. False: no limit, or unknown.
bool suspects_memory_limit(const char *mount, bool v2, const char *cgroup, double *limit_kib, double *used_kib);

// servers.c: each mount in the text of mountinfo (split in place) whose file system has a server.
void suspects_mounts_parse(char *text,
                           void (*fn)(void *context, unsigned minor, const char *path, const char *type,
                                      const char *source),
                           void *context);
// servers.c: whether a task in that kernel function waits for such a server.
bool suspects_waits_for_server(const char *wchan);

// stopped.c: whether a process with that /proc/PID/stat is a job of the shell that is its parent: both are on one
// terminal, in one session.
bool suspects_is_job(const char *stat, const char *parent_stat);
// stopped.c: in the text of /proc/locks, the first process that waits for a lock of the holder (0: none), and how many.
int32_t suspects_lock_waiter(const char *locks, int32_t holder, uint32_t *waiters);

// file_locks.c: a lock that processes wait for.
struct suspects_file_lock {
    char inode[32];         // "fe:00:1234"
    int32_t holder, waiter; // waiter: the first one
    uint32_t waiters;
};
// Those in the text of /proc/locks; how many.
size_t suspects_file_locks_parse(const char *text, struct suspects_file_lock *out, size_t most);

// pinned.c: the CPUs of the mask as "0-1,4".
void suspects_cpu_list(const cpu_set_t *mask, size_t bytes, char *out, size_t size);

// busy_threads.c: a file of a thread, as text; CPU time and run delay of its schedstat. False: it is gone.
bool suspects_thread_file(int32_t pid, int32_t tid, const char *file, char *out, size_t size);
bool suspects_thread_times(int32_t pid, int32_t tid, unsigned long long *cpu_ns, unsigned long long *delay_ns);
// State, priority (18th field) and CPU of the text of /proc/PID/task/TID/stat. False: it is no such text.
bool suspects_thread_parse(const char *stat, char *state, long *priority, int *cpu);

// limits.c: RLIMIT_NPROC of a process; INFINITY: none, unknown, that of a sandbox, or PID 0.
double suspects_tasks_limit(int32_t pid);

// proc_readers.c: whether an open file, as a link of /proc/PID/fd, is the list of processes or a file of one but
// `self`.
bool suspects_is_process_file(const char *link, int32_t self);
// The last PIDs of /proc/PID/task/TID/children, which has the oldest first, in no order; how many. A number that is cut
// off at the end of the text does not count.
size_t suspects_children_last(const char *text, int32_t *out, size_t most);

// tracing.c: an instance of tracefs that traces.
struct suspects_trace {
    struct trace_on on;
    bool searched, used; // the descriptors of all processes were searched; one has a file of it open
};
// Those below the tracefs directory, without ktop's own; how many.
size_t suspects_tracing_on(const char *tracing, struct suspects_trace *out, size_t most);
// Whether an open file, as a link of /proc/PID/fd, belongs to the instance.
bool suspects_tracing_is_file(const char *link, const char *instance);

#endif
