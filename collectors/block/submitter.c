// A cache of threads by (tid, comm), as TIDs are reused. Entries expire, since threads move between cgroups.
#include "collectors/block/submitter.h"

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
#define WORKER_NS 5000000ull // interval between reads of a kernel worker's last work
#define GENERATIONS 8        // of creators that have exited
#define KTHREADD 2           // parent of all kernel threads

struct entry {
    struct block_task task;
    char comm[BLOCK_COMM];
    uint64_t cgroup_id, read_ns;
    bool throttles; // a kernel worker whose last work released throttled bios
};

struct block_tasks {
    char proc[128], cgroups[128]; // proc: "" if /proc shows another PID namespace
    const struct collect_options *options;
    const struct block_limits *limits; // NULL: none
    const struct block_match *match;   // NULL: creators of threads are unknown
    struct entry *entries;
    uint32_t n, places[PLACES];
    uint32_t resolved;
    uint32_t *workers, n_workers; // indices of the frame's procs that are kernel workers
    struct entry unknown;
};

struct block_tasks *block_tasks_new(const char *proc, const char *cgroups, const struct collect_options *options) {
    struct block_tasks *cache = xcalloc(1, sizeof(*cache));
    snprintf(cache->proc, sizeof(cache->proc), "%s", proc ? proc : "");
    snprintf(cache->cgroups, sizeof(cache->cgroups), "%s", cgroups);
    cache->options = options;
    cache->entries = xcalloc(TASKS_MAX, sizeof(*cache->entries));
    cache->workers = xcalloc(BLOCK_PROCS_MAX, sizeof(*cache->workers)); // untouched pages cost nothing
    return cache;
}

void block_tasks_limits(struct block_tasks *cache, const struct block_limits *limits) {
    cache->limits = limits;
}

void block_tasks_threads(struct block_tasks *cache, const struct block_match *match) {
    cache->match = match;
}

static void entry_release(struct entry *entry) {
    text_unref(entry->task.comm);
    text_unref(entry->task.cgroup);
    entry->task.comm = entry->task.cgroup = NULL;
}

void block_tasks_free(struct block_tasks *cache) {
    if (!cache)
        return;
    for (uint32_t i = 0; i < cache->n; i++)
        entry_release(&cache->entries[i]);
    free(cache->entries);
    free(cache->workers);
    free(cache);
}

bool block_tasks_pid(const struct block_tasks *cache, int32_t tid, int32_t *pid) {
    struct thread_status status;
    if (!cache->proc[0] || !thread_status_read(cache->proc, tid, &status))
        return !thread_filters(cache->options);
    *pid = status.pid;
    return thread_wanted(cache->proc, cache->options, &status);
}

bool block_tasks_filters(const struct block_tasks *cache) {
    return thread_filters(cache->options);
}

// ---- one thread ----

// Path of the cgroup (v2) with that inode number: opened by file handle, no search.
static const struct text *cgroup_name(const struct block_tasks *cache, uint64_t id) {
    static const char *const below[] = {"", "/unified"};
    struct {
        struct file_handle head;
        uint64_t id;
    } handle;
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        char path[192], link[64], name[4096];
        snprintf(path, sizeof(path), "%s%s", cache->cgroups, below[i]);
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

// The rescuer thread of the kthrotld workqueue: its comm before 6.8, and since.
static bool is_rescuer(const char *comm) {
    return !strncmp(comm, "kthrotld", BLOCK_COMM) || !strncmp(comm, "kworker/R-kthro", BLOCK_COMM);
}

static bool is_worker(const char *comm) {
    return !memcmp(comm, "kworker/", 8) || is_rescuer(comm);
}

static const struct block_thread *thread_made(const struct block_tasks *cache, int32_t tid, uint64_t now_ns) {
    return cache->match ? block_match_thread(cache->match, tid, now_ns) : NULL;
}

// The thread has exited: takes the process of its creator, or of that one's creator. Returns a live thread of it.
static int32_t creator_of(const struct block_tasks *cache, int32_t tid, struct thread_status *status, uint64_t now_ns) {
    const struct block_thread *thread;
    for (int generation = 0; generation < GENERATIONS && (thread = thread_made(cache, tid, now_ns)); generation++) {
        status->pid = tid = thread->creator;
        if (thread_status_read(cache->proc, tid, status))
            break;
    }
    return tid;
}

static bool is_ring(const char *comm) {
    return !memcmp(comm, "iou-wrk-", 8) || !memcmp(comm, "iou-sqp-", 8);
}

// The same for an io_uring thread: its comm has the TID of the thread that created the ring.
static int32_t ring_creator(const struct block_tasks *cache, const char *comm, struct thread_status *status,
                            uint64_t now_ns) {
    char number[BLOCK_COMM - 7] = "";
    memcpy(number, comm + 8, BLOCK_COMM - 8);
    int32_t tid = atoi(number);
    if (tid <= 0)
        return status->pid;
    status->pid = tid;
    return thread_status_read(cache->proc, tid, status) ? tid : creator_of(cache, tid, status, now_ns);
}

// Program of an io_uring thread: the process name, or else the comm of its nearest other creator. NULL: unknown.
static const struct text *ring_program(const struct block_tasks *cache, int32_t pid, int32_t tid, uint64_t now_ns) {
    struct thread_status process;
    const struct block_thread *thread;
    if (thread_status_read(cache->proc, pid, &process))
        return text_from(process.name);
    for (int generation = 0; generation < GENERATIONS && (thread = thread_made(cache, tid, now_ns)); generation++) {
        if (!is_ring(thread->comm))
            return thread->comm[0] ? text_new(thread->comm, strnlen(thread->comm, BLOCK_COMM)) : NULL;
        tid = thread->creator;
    }
    return NULL;
}

static void entry_read(const struct block_tasks *cache, struct entry *entry, uint64_t now_ns) {
    struct block_task *task = &entry->task;
    struct thread_status status = {.pid = task->tid, .user = (uid_t)-1, .name = ""};
    entry_release(entry);
    entry->read_ns = now_ns;
    if (!task->tid) { // kernel writeback
        task->pid = 0;
        task->wanted = !block_tasks_filters(cache);
        task->cgroup = entry->cgroup_id ? cgroup_name(cache, entry->cgroup_id) : NULL;
        return;
    }
    int32_t tid = task->tid;
    entry->throttles = false;
    if (!cache->proc[0]) {
        task->pid = tid;
        task->wanted = !block_tasks_filters(cache);
        return;
    }
    bool ring = is_ring(entry->comm);
    if (!thread_status_read(cache->proc, tid, &status))
        tid = ring ? ring_creator(cache, entry->comm, &status, now_ns) : creator_of(cache, tid, &status, now_ns);
    // A worker's name in /proc ends with its last workqueue: "kworker/0:1-kthrotld", "+kthrotld" while it runs.
    const char *queue = is_worker(entry->comm) ? strpbrk(status.name, "+-") : NULL;
    entry->throttles = is_rescuer(entry->comm) ? status.parent == KTHREADD : queue && !strcmp(queue + 1, "kthrotld");
    if (!entry->comm[0] && status.name[0]) // the event has no comm
        task->comm = text_from(status.name);
    task->pid = status.pid;
    if (ring)
        task->comm = ring_program(cache, task->pid, task->tid, now_ns);
    char cgroup[4096];
    task->cgroup = thread_cgroup(cache->proc, tid, "blkio", cgroup, sizeof(cgroup)) ? text_from(cgroup) : NULL;
    task->wanted = thread_wanted(cache->proc, cache->options, &status);
}

// ---- cache ----

static uint32_t place_of(int32_t tid, uint64_t cgroup) {
    return (uint32_t)((((uint64_t)(uint32_t)tid ^ cgroup << 20) * 0x9e3779b97f4a7c15ull) >> 40) % PLACES;
}

// UINT32_MAX: not found.
static uint32_t entry_find(const struct block_tasks *cache, int32_t tid, uint64_t cgroup, const char comm[BLOCK_COMM]) {
    for (uint32_t i = place_of(tid, cgroup); cache->places[i]; i = (i + 1) % PLACES) {
        const struct entry *entry = &cache->entries[cache->places[i] - 1];
        if (entry->task.tid == tid && entry->cgroup_id == cgroup && !memcmp(entry->comm, comm, BLOCK_COMM))
            return cache->places[i] - 1;
    }
    return UINT32_MAX;
}

// Index of the entry, created if new: its task is cached or zero. UINT32_MAX: table full.
static uint32_t entry_get(struct block_tasks *cache, int32_t tid, uint64_t cgroup, const char comm[BLOCK_COMM]) {
    uint32_t found = entry_find(cache, tid, cgroup, comm);
    if (found != UINT32_MAX || cache->n == TASKS_MAX)
        return found;
    uint32_t i = place_of(tid, cgroup);
    while (cache->places[i])
        i = (i + 1) % PLACES;
    struct entry *entry = &cache->entries[cache->n++];
    *entry = (struct entry){.task.tid = tid, .cgroup_id = cgroup};
    memcpy(entry->comm, comm, BLOCK_COMM);
    cache->places[i] = cache->n;
    return cache->n - 1;
}

static uint32_t entry_use(struct block_tasks *cache, const struct block_proc *proc, uint64_t keep_ns, uint64_t now_ns) {
    uint32_t i = entry_get(cache, proc->tid, proc->cgroup, proc->comm);
    if (i != UINT32_MAX && (!cache->entries[i].read_ns || cache->entries[i].read_ns + keep_ns < now_ns))
        entry_read(cache, &cache->entries[i], now_ns);
    return i;
}

// ---- throttled I/O ----

static const char throttled[BLOCK_COMM] = "(throttled)";

// The entry for I/O throttled by that cgroup's limit; NULL: one of several.
static uint32_t entry_throttled(struct block_tasks *cache, const char *cgroup, uint64_t now_ns) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (const char *at = cgroup; at && *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
    uint32_t i = entry_get(cache, 0, hash, throttled);
    if (i == UINT32_MAX)
        return i;
    struct entry *entry = &cache->entries[i];
    entry->read_ns = now_ns;
    if (entry->task.comm)
        return i;
    const struct text *path = cgroup ? text_from(cgroup) : NULL;
    entry->task =
        (struct block_task){.comm = text_from(throttled), .cgroup = path, .wanted = !block_tasks_filters(cache)};
    return i;
}

// A kernel worker also does other work: its I/O is throttled I/O only on a disk with a limit, and only if its last work
// was on kthrotld. So its name is read only after new I/O there, and until one read follows that I/O. The cgroup is
// resolved again each time: at the end of the frame limits have the frame's counters.
static void resolve_worker(struct block_tasks *cache, struct block_proc *proc, uint64_t ios, uint64_t now_ns) {
    const char *cgroup;
    if (proc->task == UINT32_MAX)
        return;
    bool known = !cache->entries[proc->task].task.tid; // since an earlier look-up
    if ((!known && ios == proc->seen_ios) ||
        !block_limits_apply(cache->limits, proc->dev, (enum block_op)proc->op, &cgroup))
        return;
    uint32_t worker = known ? proc->task : entry_use(cache, proc, WORKER_NS, now_ns);
    if (known || (worker != UINT32_MAX && cache->entries[worker].throttles))
        proc->task = entry_throttled(cache, cgroup, now_ns);
    else if (worker != UINT32_MAX && cache->entries[worker].read_ns == now_ns)
        proc->seen_ios = ios;
}

// I/Os still in streams are not yet in the procs' sums.
static void resolve_workers(struct block_tasks *cache, struct block_stat *stat, uint64_t now_ns) {
    for (uint32_t i = 0; cache->n_workers && i < stat->n_streams; i++) {
        const struct block_stream *stream = &stat->streams[i];
        if (stream->proc != UINT32_MAX && is_worker(stream->comm))
            stat->procs[stream->proc].unsettled += stream->sum_latency.count + stream->sum_total.count;
    }
    for (uint32_t i = 0; i < cache->n_workers; i++) {
        struct block_proc *proc = &stat->procs[cache->workers[i]];
        resolve_worker(cache, proc, proc->ios + proc->bios + proc->unsettled, now_ns);
        proc->unsettled = 0;
    }
}

// Runs per event: must not read files.
static bool known_unwanted(const void *ctx, const struct block_proc *proc) {
    const struct block_tasks *cache = ctx;
    uint32_t i = entry_find(cache, proc->tid, proc->cgroup, proc->comm);
    return i != UINT32_MAX && cache->entries[i].read_ns && !cache->entries[i].task.wanted;
}

void block_tasks_filter(struct block_tasks *cache, struct block_stat *stat) {
    stat->unwanted = block_tasks_filters(cache) ? known_unwanted : NULL;
    stat->unwanted_ctx = cache;
}

void block_tasks_resolve(struct block_tasks *cache, struct block_stat *stat, uint64_t now_ns) {
    bool found = false;
    for (; cache->resolved < stat->n_procs; cache->resolved++) {
        struct block_proc *proc = &stat->procs[cache->resolved];
        proc->task = entry_use(cache, proc, KEEP_NS, now_ns);
        bool known = proc->unwanted;
        proc->unwanted = stat->unwanted && !block_task_get(cache, proc)->wanted;
        found |= proc->unwanted && !known;
        if (is_worker(proc->comm) && cache->n_workers < BLOCK_PROCS_MAX)
            cache->workers[cache->n_workers++] = cache->resolved;
    }
    if (found)
        block_stat_unwanted(stat);
    if (cache->limits)
        resolve_workers(cache, stat, now_ns);
}

const struct block_task *block_task_get(const struct block_tasks *cache, const struct block_proc *proc) {
    return proc->task < cache->n ? &cache->entries[proc->task].task : &cache->unknown.task;
}

void block_tasks_expire(struct block_tasks *cache, uint64_t now_ns) {
    uint32_t kept = 0;
    memset(cache->places, 0, sizeof(cache->places));
    for (uint32_t i = 0; i < cache->n; i++) {
        struct entry *entry = &cache->entries[i];
        if (entry->read_ns + KEEP_NS < now_ns || cache->n > TASKS_MAX / 2) {
            entry_release(entry);
            continue;
        }
        cache->entries[kept] = *entry;
        uint32_t place = place_of(entry->task.tid, entry->cgroup_id);
        while (cache->places[place])
            place = (place + 1) % PLACES;
        cache->places[place] = ++kept;
    }
    cache->n = kept;
    cache->resolved = cache->n_workers = 0;
}
