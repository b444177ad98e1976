// Resolves addresses to mappings (see the header). Samples wait in an array of fixed size. When it is full, and a few
// times a second, they are sorted by process, and the mappings of the busiest ones are looked up. PID and start time
// identify a process: mappings are never used for a later process with the same PID, nor after an exec.
#include "collectors/faults/owners.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/faults/maps.h"
#include "collectors/kernel/proc/task_parse.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/task_identity.h"
#include "model/clock.h"
#include "model/mem.h"

#define PENDING_MAX 8192
#define REFRESH_MOST 16          // processes refreshed per faults_owners_settle()
#define SHOWN 32                 // processes per frame
#define HITS_MAX 48              // mappings counted separately, per process
#define LIFETIME_NS 500000000ull // mappings are read again after this time while the process faults
#define MISS_NS 20000000ull      // the same, when an address is in no known mapping
#define COST_SHARE 100           // reading takes at most one part in COST_SHARE of the time
#define MAPS_MOST (8u << 20)     // bytes of one file: about 80,000 mappings

struct hit {
    const struct text *name; // NULL: unknown
    const char *kind;
    const struct text *code; // mapping of most of the faulting instructions, by majority vote
    uint64_t votes, minor, major, kernel, samples;
    double squares; // sum of the squared weights above 1
};

struct process {
    pid_t pid;
    uint64_t start; // clock ticks since boot; 0: unknown
    const struct text *comm;
    struct fault_maps maps;
    uint64_t read_ns, cost_ns; // 0: never
    bool filtered, wanted, refreshed;
    uint64_t weight;                 // faults in this frame
    struct hit unknown, gone, *hits; // gone: in no current mapping
    size_t n_hits;
};

struct group { // of pending samples
    struct process *process;
    size_t first, count;
    uint64_t weight;
};

struct faults_owners {
    const struct collect_options *options;
    char proc[128];
    struct fault *pending;
    size_t n_pending;
    uint64_t settling_ns; // start of the last faults_owners_settle()
    struct group *groups;
    struct process **table; // open addressing, a power of two, at most half full
    size_t capacity, count;
};

struct faults_owners *faults_owners_new(const char *proc_path, const struct collect_options *options) {
    if (access(proc_path, R_OK))
        return NULL;
    struct faults_owners *owners = xcalloc(1, sizeof(*owners));
    snprintf(owners->proc, sizeof(owners->proc), "%s", proc_path);
    owners->options = options;
    owners->pending = xcalloc(PENDING_MAX, sizeof(*owners->pending));
    owners->groups = xcalloc(PENDING_MAX, sizeof(*owners->groups));
    owners->capacity = 64;
    owners->table = xcalloc(owners->capacity, sizeof(struct process *));
    return owners;
}

static void hits_clear(struct process *process) {
    text_unref(process->gone.code);
    for (size_t i = 0; i < process->n_hits; i++) {
        text_unref(process->hits[i].name);
        text_unref(process->hits[i].code);
    }
    process->n_hits = 0;
    process->unknown = (struct hit){0};
    text_unref(process->gone.name);
    process->gone = (struct hit){.kind = "gone"};
    process->weight = 0;
}

static void process_free(struct process *process) {
    hits_clear(process);
    free(process->hits);
    fault_maps_free(&process->maps);
    text_unref(process->comm);
    free(process);
}

void faults_owners_free(struct faults_owners *owners) {
    if (!owners)
        return;
    for (size_t i = 0; i < owners->capacity; i++)
        if (owners->table[i])
            process_free(owners->table[i]);
    free(owners->table);
    free(owners->pending);
    free(owners->groups);
    free(owners);
}

// ---- processes by PID ----

static size_t table_slot(struct process *const *table, size_t capacity, pid_t pid) {
    size_t at = ((uint32_t)pid * 2654435761u) & (capacity - 1);
    while (table[at] && table[at]->pid != pid)
        at = (at + 1) & (capacity - 1);
    return at;
}

static void table_resize(struct faults_owners *owners, size_t capacity) {
    struct process **old = owners->table;
    size_t n = owners->capacity;
    owners->table = xcalloc(capacity, sizeof(struct process *));
    owners->capacity = capacity;
    for (size_t i = 0; i < n; i++)
        if (old[i])
            owners->table[table_slot(owners->table, capacity, old[i]->pid)] = old[i];
    free(old);
}

static struct process *process_get(struct faults_owners *owners, pid_t pid) {
    size_t at = table_slot(owners->table, owners->capacity, pid);
    if (owners->table[at])
        return owners->table[at];
    if (owners->count * 2 >= owners->capacity) {
        table_resize(owners, owners->capacity * 2);
        at = table_slot(owners->table, owners->capacity, pid);
    }
    struct process *process = xcalloc(1, sizeof(*process));
    process->pid = pid;
    process->gone = (struct hit){.kind = "gone"};
    owners->table[at] = process;
    owners->count++;
    return process;
}

static bool stat_of(const struct faults_owners *owners, pid_t pid, struct task_stat *out) {
    char path[160], text[1024];
    snprintf(path, sizeof(path), "%s/%d/stat", owners->proc, (int)pid);
    long length = format_file(path, text, sizeof(text));
    return length > 0 && !task_stat_parse(text, (size_t)length, out);
}

// ---- mappings ----

static bool older(const struct process *process, uint64_t now_ns, uint64_t least_ns) {
    uint64_t cost = process->cost_ns * COST_SHARE;
    return !process->read_ns || now_ns - process->read_ns > (cost > least_ns ? cost : least_ns);
}

static void maps_read(const struct faults_owners *owners, struct process *process) {
    char path[160];
    uint64_t begin = now_ns();
    snprintf(path, sizeof(path), "%s/%d/maps", owners->proc, (int)process->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return; // exited or not permitted: keep the mappings that were read before
    struct fault_maps fresh = {0};
    int rc = fault_maps_read(&fresh, fd, MAPS_MOST);
    close(fd);
    process->read_ns = now_ns();
    process->cost_ns = process->read_ns - begin;
    if (rc || !fresh.count) { // exiting: the file is empty
        fault_maps_free(&fresh);
        return;
    }
    fault_maps_free(&process->maps);
    process->maps = fresh;
}

static void maps_clear(struct process *process) {
    fault_maps_clear(&process->maps);
    process->read_ns = 0;
}

static void comm_set(struct process *process, const char *comm, size_t length) {
    if (process->comm && text_length(process->comm) == length && !memcmp(text_bytes(process->comm), comm, length))
        return;
    text_unref(process->comm);
    process->comm = text_new(comm, length);
}

static void process_refresh(struct faults_owners *owners, struct process *process) {
    struct task_stat task;
    if (stat_of(owners, process->pid, &task)) {
        process->refreshed = true;
        if (process->start && process->start != task.start) { // the PID was reused
            maps_clear(process);
            hits_clear(process);
        }
        process->start = task.start;
        comm_set(process, task.comm, task.comm_len);
    }
    if (older(process, now_ns(), LIFETIME_NS))
        maps_read(owners, process);
}

static const struct fault_map *map_of(struct faults_owners *owners, struct process *process, uint64_t address) {
    const struct fault_map *map = fault_maps_find(&process->maps, address);
    if (map || !process->refreshed || !older(process, now_ns(), MISS_NS))
        return map;
    maps_read(owners, process);
    return fault_maps_find(&process->maps, address);
}

// ---- sums ----

static bool text_is(const struct text *text, const char *bytes, size_t length) {
    return text && text_length(text) == length && !memcmp(text_bytes(text), bytes, length);
}

static struct hit *hit_get(const struct faults_owners *owners, struct process *process, const struct fault_map *map) {
    size_t length;
    // Unmapped only if the maps were read after the fault; else the mapping may be newer than the maps.
    if (!map && process->maps.count && process->read_ns >= owners->settling_ns) {
        if (!process->gone.name)
            process->gone.name = text_from("[unmapped]");
        return &process->gone;
    }
    if (!map)
        return &process->unknown;
    const char *name = fault_map_name(&process->maps, map, &length), *kind = fault_map_kind(&process->maps, map);
    for (size_t i = 0; i < process->n_hits; i++)
        if (process->hits[i].kind == kind && text_is(process->hits[i].name, name, length))
            return &process->hits[i];
    if (process->n_hits == HITS_MAX)
        return &process->unknown;
    if (!process->hits)
        process->hits = xcalloc(HITS_MAX, sizeof(*process->hits));
    struct hit *hit = &process->hits[process->n_hits++];
    *hit = (struct hit){.name = text_new(name, length), .kind = kind};
    return hit;
}

// Boyer-Moore majority vote, weighted.
static void code_vote(struct hit *hit, const char *name, size_t length, uint64_t weight) {
    if (text_is(hit->code, name, length)) {
        hit->votes += weight;
    } else if (hit->votes >= weight) {
        hit->votes -= weight;
    } else {
        text_unref(hit->code);
        hit->code = text_new(name, length);
        hit->votes = weight - hit->votes;
    }
}

static void fault_count(struct faults_owners *owners, struct process *process, const struct fault *fault) {
    const struct fault_map *map = map_of(owners, process, fault->address);
    struct hit *hit = hit_get(owners, process, map);
    uint64_t n = fault->weight;
    *(fault->major ? &hit->major : &hit->minor) += n;
    hit->kernel += fault->kernel ? n : 0;
    hit->samples++;
    hit->squares += n > 1 ? (double)n * (double)n : 0;
    process->weight += n;
    if (!hit->name)
        return;
    if (fault->kernel) {
        code_vote(hit, "[kernel]", strlen("[kernel]"), n);
    } else if ((map = fault_maps_find(&process->maps, fault->ip))) {
        size_t length;
        const char *name = fault_map_name(&process->maps, map, &length);
        code_vote(hit, name, length, n);
    }
}

static int fault_order(const void *a, const void *b) {
    pid_t x = ((const struct fault *)a)->pid, y = ((const struct fault *)b)->pid;
    return (x > y) - (x < y);
}

static int group_order(const void *a, const void *b) {
    uint64_t x = ((const struct group *)a)->weight, y = ((const struct group *)b)->weight;
    return (x < y) - (x > y);
}

static size_t groups_make(struct faults_owners *owners) {
    size_t n = 0;
    qsort(owners->pending, owners->n_pending, sizeof(*owners->pending), fault_order);
    for (size_t i = 0; i < owners->n_pending; i++) {
        if (!i || owners->pending[i].pid != owners->pending[i - 1].pid)
            owners->groups[n++] = (struct group){.process = process_get(owners, owners->pending[i].pid), .first = i};
        owners->groups[n - 1].count++;
        owners->groups[n - 1].weight += owners->pending[i].weight;
    }
    qsort(owners->groups, n, sizeof(*owners->groups), group_order);
    return n;
}

void faults_owners_settle(struct faults_owners *owners) {
    owners->settling_ns = now_ns();
    size_t n = groups_make(owners), refreshed = 0;
    for (size_t i = 0; i < n; i++) {
        struct process *process = owners->groups[i].process;
        if (!process->filtered)
            process->wanted = process->pid > 0 && task_identify(owners->proc, owners->options, process->pid).wanted;
        process->filtered = true;
        if (!process->wanted)
            continue;
        process->refreshed = false;
        if (refreshed++ < REFRESH_MOST)
            process_refresh(owners, process);
        for (size_t k = 0; k < owners->groups[i].count; k++)
            fault_count(owners, process, &owners->pending[owners->groups[i].first + k]);
    }
    owners->n_pending = 0;
}

void faults_owners_add(struct faults_owners *owners, const struct fault *fault) {
    owners->pending[owners->n_pending++] = *fault;
    if (owners->n_pending == PENDING_MAX)
        faults_owners_settle(owners);
}

void faults_owners_exec(struct faults_owners *owners, pid_t pid, const char *comm, size_t length) {
    if (owners->n_pending)
        faults_owners_settle(owners); // earlier faults belong to the old program
    struct process *process = process_get(owners, pid);
    maps_clear(process);
    comm_set(process, comm, length);
}

// ---- rows ----

static int process_order(const void *a, const void *b) {
    const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;
    return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight)
                                  : (x->pid > y->pid) - (x->pid < y->pid);
}

static void hit_report(const struct process *process, const struct hit *hit, faults_row_fn *fn, void *context) {
    if (!hit->samples)
        return;
    struct faults_row row = {.pid = process->pid,
                             .comm = process->comm,
                             .mapping = hit->name,
                             .code = hit->code,
                             .kind = hit->kind,
                             .minor = hit->minor,
                             .major = hit->major,
                             .kernel = hit->kernel,
                             .samples = hit->samples,
                             .squares = hit->squares,
                             .whole = process->weight};
    fn(context, &row);
}

// Drops processes without faults in this frame; one that faults again is read again.
static void processes_prune(struct faults_owners *owners) {
    size_t kept = 0;
    for (size_t i = 0; i < owners->capacity; i++) {
        struct process *process = owners->table[i];
        if (!process)
            continue;
        if (!process->weight) {
            process_free(process);
            owners->table[i] = NULL;
            continue;
        }
        hits_clear(process);
        kept++;
    }
    owners->count = kept;
    size_t capacity = 64;
    while (capacity < kept * 4)
        capacity *= 2;
    table_resize(owners, capacity);
}

void faults_owners_take(struct faults_owners *owners, faults_row_fn *row, void *context) {
    struct process **order = xcalloc(owners->count + 1, sizeof(struct process *));
    size_t n = 0;
    for (size_t i = 0; i < owners->capacity; i++)
        if (owners->table[i] && owners->table[i]->weight)
            order[n++] = owners->table[i];
    qsort(order, n, sizeof(struct process *), process_order);
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        for (size_t k = 0; k < order[i]->n_hits; k++)
            hit_report(order[i], &order[i]->hits[k], row, context);
        hit_report(order[i], &order[i]->gone, row, context);
        hit_report(order[i], &order[i]->unknown, row, context);
    }
    free(order);
    processes_prune(owners);
}
