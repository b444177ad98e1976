// A table of threads by their number and the name that their I/O had: a number that is used again with another name is
// another thread. What is older than some seconds is looked up again, since threads move between control groups.
#include "collectors/block/who.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/task_identity.h"
#include "model/mem.h"

#define KEEP_NS 5000000000ull
#define TASKS_MAX 16384
#define PLACES (TASKS_MAX * 2)
#define WORKER_NS 5000000ull // what a kernel worker did last is asked for again after so long
#define GENERATIONS 8        // of threads that are gone
#define KTHREADD 2           // parent of the kernel's threads, and of no other

struct entry {
    struct block_task task;
    char comm[BLOCK_COMM];
    uint64_t cgroup_id, read_ns;
    bool lets_go; // a kernel worker: the work that it did last was to let go what limits had held back
};

struct block_who {
    char proc[128], cgroups[128]; // proc: "": it is about others
    const struct collect_options *options;
    const struct block_limits *limits; // NULL: nobody's
    const struct block_match *match;   // NULL: who made a thread is not known
    struct entry *entries;
    uint32_t n, places[PLACES];
    uint32_t resolved;
    uint32_t *workers, n_workers; // which of the frame's procs are kernel workers
    struct entry nobody;
};

struct block_who *block_who_new(const char *proc, const char *cgroups, const struct collect_options *options) {
    struct block_who *who = xcalloc(1, sizeof(*who));
    snprintf(who->proc, sizeof(who->proc), "%s", proc ? proc : "");
    snprintf(who->cgroups, sizeof(who->cgroups), "%s", cgroups);
    who->options = options;
    who->entries = xcalloc(TASKS_MAX, sizeof(*who->entries));
    who->workers = xcalloc(BLOCK_PROCS_MAX, sizeof(*who->workers)); // memory that is not touched costs nothing
    return who;
}

void block_who_limits(struct block_who *who, const struct block_limits *limits) {
    who->limits = limits;
}

void block_who_threads(struct block_who *who, const struct block_match *match) {
    who->match = match;
}

static void forget(struct entry *entry) {
    text_unref(entry->task.comm);
    text_unref(entry->task.cgroup);
    entry->task.comm = entry->task.cgroup = NULL;
}

void block_who_free(struct block_who *who) {
    if (!who)
        return;
    for (uint32_t i = 0; i < who->n; i++)
        forget(&who->entries[i]);
    free(who->entries);
    free(who->workers);
    free(who);
}

bool block_who_pid(const struct block_who *who, int32_t tid, int32_t *pid) {
    struct thread_status status;
    if (!who->proc[0] || !thread_status_read(who->proc, tid, &status))
        return !thread_filters(who->options);
    *pid = status.pid;
    return thread_wanted(who->proc, who->options, &status);
}

bool block_who_filters(const struct block_who *who) {
    return thread_filters(who->options);
}

// ---- one thread ----

// The control group of version 2 with that inode number: the kernel opens it by its number, without a search.
static const struct text *cgroup_name(const struct block_who *who, uint64_t id) {
    static const char *const below[] = {"", "/unified"};
    struct {
        struct file_handle head;
        uint64_t id;
    } handle;
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        char path[192], link[64], name[4096];
        snprintf(path, sizeof(path), "%s%s", who->cgroups, below[i]);
        int mount = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (mount < 0)
            continue;
        handle.head.handle_bytes = sizeof(handle.id);
        handle.head.handle_type = 0xfe; // FILEID_KERNFS
        memcpy(handle.head.f_handle, &id, sizeof(id));
        int fd = open_by_handle_at(mount, &handle.head, O_PATH | O_CLOEXEC);
        close(mount);
        if (fd < 0)
            continue;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, name, sizeof(name) - 1);
        close(fd);
        if (n <= 0)
            continue;
        name[n] = 0;
        size_t length = strlen(path);
        if (!strncmp(name, path, length))
            return text_from(name[length] ? name + length : "/");
    }
    return NULL;
}

// Lets go what limits had held back when there is no memory for a worker: of Linux before 6.8, and since.
static bool is_rescuer(const char *comm) {
    return !strncmp(comm, "kthrotld", BLOCK_COMM) || !strncmp(comm, "kworker/R-kthro", BLOCK_COMM);
}

static bool is_worker(const char *comm) {
    return !memcmp(comm, "kworker/", 8) || is_rescuer(comm);
}

static const struct block_thread *made(const struct block_who *who, int32_t tid, uint64_t now_ns) {
    return who->match ? block_match_thread(who->match, tid, now_ns) : NULL;
}

// The thread is gone: its process is that of the thread that made it, or that made that. A thread of it that is there.
static int32_t maker_of(const struct block_who *who, int32_t tid, struct thread_status *status, uint64_t now_ns) {
    const struct block_thread *thread;
    for (int generation = 0; generation < GENERATIONS && (thread = made(who, tid, now_ns)); generation++) {
        status->pid = tid = thread->by;
        if (thread_status_read(who->proc, tid, status))
            break;
    }
    return tid;
}

static bool is_ring(const char *comm) {
    return !memcmp(comm, "iou-wrk-", 8) || !memcmp(comm, "iou-sqp-", 8);
}

// The same of a thread of io_uring, whose name has the number of the thread that made the ring.
static int32_t ring_maker_of(const struct block_who *who, const char *comm, struct thread_status *status,
                             uint64_t now_ns) {
    char number[BLOCK_COMM - 7] = "";
    memcpy(number, comm + 8, BLOCK_COMM - 8);
    int32_t tid = atoi(number);
    if (tid <= 0)
        return status->pid;
    status->pid = tid;
    return thread_status_read(who->proc, tid, status) ? tid : maker_of(who, tid, status, now_ns);
}

// The name of the program that a thread of io_uring works for: of the process, or of what made the thread, or that made
// that. NULL: not known.
static const struct text *ring_program(const struct block_who *who, int32_t pid, int32_t tid, uint64_t now_ns) {
    struct thread_status process;
    const struct block_thread *thread;
    if (thread_status_read(who->proc, pid, &process))
        return text_from(process.name);
    for (int generation = 0; generation < GENERATIONS && (thread = made(who, tid, now_ns)); generation++) {
        if (!is_ring(thread->comm))
            return thread->comm[0] ? text_new(thread->comm, strnlen(thread->comm, BLOCK_COMM)) : NULL;
        tid = thread->by;
    }
    return NULL;
}

static void look_up(const struct block_who *who, struct entry *entry, uint64_t now_ns) {
    struct block_task *task = &entry->task;
    struct thread_status status = {.pid = task->tid, .user = (uid_t)-1, .name = ""};
    forget(entry);
    entry->read_ns = now_ns;
    if (!task->tid) { // the writeback of the kernel
        task->pid = 0;
        task->wanted = !block_who_filters(who);
        task->cgroup = entry->cgroup_id ? cgroup_name(who, entry->cgroup_id) : NULL;
        return;
    }
    int32_t tid = task->tid;
    entry->lets_go = false;
    if (!who->proc[0]) {
        task->pid = tid;
        task->wanted = !block_who_filters(who);
        return;
    }
    bool ring = is_ring(entry->comm);
    if (!thread_status_read(who->proc, tid, &status))
        tid = ring ? ring_maker_of(who, entry->comm, &status, now_ns) : maker_of(who, tid, &status, now_ns);
    // Of a worker the name goes on with the workqueue that it worked for last: "kworker/0:1-kthrotld", or +, now.
    const char *queue = is_worker(entry->comm) ? strpbrk(status.name, "+-") : NULL;
    entry->lets_go = is_rescuer(entry->comm) ? status.parent == KTHREADD : queue && !strcmp(queue + 1, "kthrotld");
    if (!entry->comm[0] && status.name[0]) // the event that told of it has no name
        task->comm = text_from(status.name);
    task->pid = status.pid;
    if (ring)
        task->comm = ring_program(who, task->pid, task->tid, now_ns);
    char cgroup[4096];
    task->cgroup = thread_cgroup(who->proc, tid, "blkio", cgroup, sizeof(cgroup)) ? text_from(cgroup) : NULL;
    task->wanted = thread_wanted(who->proc, who->options, &status);
}

// ---- the table ----

static uint32_t place_of(int32_t tid, uint64_t cgroup) {
    return (uint32_t)((((uint64_t)(uint32_t)tid ^ cgroup << 20) * 0x9e3779b97f4a7c15ull) >> 40) % PLACES;
}

// UINT32_MAX: there is none.
static uint32_t entry_find(const struct block_who *who, int32_t tid, uint64_t cgroup, const char comm[BLOCK_COMM]) {
    for (uint32_t i = place_of(tid, cgroup); who->places[i]; i = (i + 1) % PLACES) {
        const struct entry *entry = &who->entries[who->places[i] - 1];
        if (entry->task.tid == tid && entry->cgroup_id == cgroup && !memcmp(entry->comm, comm, BLOCK_COMM))
            return who->places[i] - 1;
    }
    return UINT32_MAX;
}

// The entry's index, made when it is new; its task is what was known of it, or nothing. UINT32_MAX: no room.
static uint32_t entry_get(struct block_who *who, int32_t tid, uint64_t cgroup, const char comm[BLOCK_COMM]) {
    uint32_t found = entry_find(who, tid, cgroup, comm);
    if (found != UINT32_MAX || who->n == TASKS_MAX)
        return found;
    uint32_t i = place_of(tid, cgroup);
    while (who->places[i])
        i = (i + 1) % PLACES;
    struct entry *entry = &who->entries[who->n++];
    *entry = (struct entry){.task.tid = tid, .cgroup_id = cgroup};
    memcpy(entry->comm, comm, BLOCK_COMM);
    who->places[i] = who->n;
    return who->n - 1;
}

static uint32_t find(struct block_who *who, const struct block_proc *proc, uint64_t keep_ns, uint64_t now_ns) {
    uint32_t i = entry_get(who, proc->tid, proc->cgroup, proc->comm);
    if (i != UINT32_MAX && (!who->entries[i].read_ns || who->entries[i].read_ns + keep_ns < now_ns))
        look_up(who, &who->entries[i], now_ns);
    return i;
}

// ---- what limits held back ----

static const char throttled[BLOCK_COMM] = "(throttled)";

// Who stands for I/O that the group's limit held back; NULL: one of several groups'.
static uint32_t find_throttled(struct block_who *who, const char *group, uint64_t now_ns) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (const char *at = group; at && *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
    uint32_t i = entry_get(who, 0, hash, throttled);
    if (i == UINT32_MAX)
        return i;
    struct entry *entry = &who->entries[i];
    entry->read_ns = now_ns;
    if (entry->task.comm)
        return i;
    entry->task = (struct block_task){
        .comm = text_from(throttled), .cgroup = group ? text_from(group) : NULL, .wanted = !block_who_filters(who)};
    return i;
}

// A worker does this and that: only what it does on a disk with such a limit, while that was its last work. So it is
// asked only after it did something there, and until it was asked after that. Which group it was is asked again each
// time, for the last look at a frame has what the groups did in it.
static void resolve_worker(struct block_who *who, struct block_proc *proc, uint64_t ios, uint64_t now_ns) {
    const char *group;
    if (proc->who == UINT32_MAX)
        return;
    bool known = !who->entries[proc->who].task.tid; // since an earlier look
    if ((!known && ios == proc->looked) || !block_limits_hold(who->limits, proc->dev, (enum block_op)proc->op, &group))
        return;
    uint32_t worker = known ? proc->who : find(who, proc, WORKER_NS, now_ns);
    if (known || (worker != UINT32_MAX && who->entries[worker].lets_go))
        proc->who = find_throttled(who, group, now_ns);
    else if (worker != UINT32_MAX && who->entries[worker].read_ns == now_ns)
        proc->looked = ios;
}

// What stands in streams is not in the sums of procs yet.
static void resolve_workers(struct block_who *who, struct block_stat *stat, uint64_t now_ns) {
    for (uint32_t i = 0; who->n_workers && i < stat->n_streams; i++) {
        const struct block_stream *stream = &stat->streams[i];
        if (stream->proc != UINT32_MAX && is_worker(stream->comm))
            stat->procs[stream->proc].unsettled += stream->sum_latency.count + stream->sum_total.count;
    }
    for (uint32_t i = 0; i < who->n_workers; i++) {
        struct block_proc *proc = &stat->procs[who->workers[i]];
        resolve_worker(who, proc, proc->ios + proc->bios + proc->unsettled, now_ns);
        proc->unsettled = 0;
    }
}

// No file is read: it runs in the middle of the events.
static bool known_unwanted(const void *ctx, const struct block_proc *proc) {
    const struct block_who *who = ctx;
    uint32_t i = entry_find(who, proc->tid, proc->cgroup, proc->comm);
    return i != UINT32_MAX && who->entries[i].read_ns && !who->entries[i].task.wanted;
}

void block_who_filter(struct block_who *who, struct block_stat *stat) {
    stat->unwanted = block_who_filters(who) ? known_unwanted : NULL;
    stat->unwanted_ctx = who;
}

void block_who_resolve(struct block_who *who, struct block_stat *stat, uint64_t now_ns) {
    bool found = false;
    for (; who->resolved < stat->n_procs; who->resolved++) {
        struct block_proc *proc = &stat->procs[who->resolved];
        proc->who = find(who, proc, KEEP_NS, now_ns);
        bool known = proc->unwanted;
        proc->unwanted = stat->unwanted && !block_who_of(who, proc)->wanted;
        found |= proc->unwanted && !known;
        if (is_worker(proc->comm) && who->n_workers < BLOCK_PROCS_MAX)
            who->workers[who->n_workers++] = who->resolved;
    }
    if (found)
        block_stat_unwanted(stat);
    if (who->limits)
        resolve_workers(who, stat, now_ns);
}

const struct block_task *block_who_of(const struct block_who *who, const struct block_proc *proc) {
    return proc->who < who->n ? &who->entries[proc->who].task : &who->nobody.task;
}

void block_who_tidy(struct block_who *who, uint64_t now_ns) {
    uint32_t kept = 0;
    memset(who->places, 0, sizeof(who->places));
    for (uint32_t i = 0; i < who->n; i++) {
        struct entry *entry = &who->entries[i];
        if (entry->read_ns + KEEP_NS < now_ns || who->n > TASKS_MAX / 2) {
            forget(entry);
            continue;
        }
        who->entries[kept] = *entry;
        uint32_t place = place_of(entry->task.tid, entry->cgroup_id);
        while (who->places[place])
            place = (place + 1) % PLACES;
        who->places[place] = ++kept;
    }
    who->n = kept;
    who->resolved = who->n_workers = 0;
}
