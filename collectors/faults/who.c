// From addresses to mappings (see the header). Samples wait in an array that never grows; when it is full, and some
// times a second, they are sorted by process, and the mappings of the busiest ones are looked up. A process is its PID
// and its start time: what was read of one is never used for the next with the same number, nor after an exec.
#include "collectors/faults/who.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectors/faults/maps.h"
#include "collectors/kernel/proc/task_parse.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/task_identity.h"
#include "model/mem.h"

#define PENDING_MAX 8192
#define LOOKED_UP 16             // processes per settling
#define SHOWN 32                 // processes per frame
#define HITS_MAX 48              // mappings of one process that are told apart
#define LIFETIME_NS 500000000ull // of what was read, while the process goes on faulting
#define MISS_NS 20000000ull      // the same, when an address is in no known mapping
#define COST_SHARE 100           // and so many times what reading it took, whichever is more
#define MAPS_MOST (8u << 20)     // bytes of one file: some 80,000 mappings

struct hit {
    const struct text *name; // NULL: not known
    const char *kind;
    const struct text *code; // where most of the faulting instructions are: a majority vote
    uint64_t votes, minor, major, kernel, samples;
    double squares; // of what samples stood for, where that is more than the one fault
};

struct process {
    pid_t pid;
    uint64_t start; // clock ticks since boot; 0: not known
    const struct text *comm;
    struct fault_maps maps;
    uint64_t read_ns, cost_ns; // 0: never
    bool judged, wanted, looked;
    uint64_t weight;                 // faults in this frame
    struct hit unknown, gone, *hits; // gone: in no mapping that there is now
    size_t n_hits;
};

struct group { // of pending samples
    struct process *process;
    size_t first, count;
    uint64_t weight;
};

struct faults_who {
    const struct collect_options *options;
    char proc[128];
    struct fault *pending;
    size_t n_pending;
    uint64_t settling_ns; // when the last settling began
    struct group *groups;
    struct process **table; // open addressing, a power of two, at most half full
    size_t capacity, count;
};

static uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

struct faults_who *faults_who_new(const char *proc_path, const struct collect_options *options) {
    if (access(proc_path, R_OK))
        return NULL;
    struct faults_who *who = xcalloc(1, sizeof(*who));
    snprintf(who->proc, sizeof(who->proc), "%s", proc_path);
    who->options = options;
    who->pending = xcalloc(PENDING_MAX, sizeof(*who->pending));
    who->groups = xcalloc(PENDING_MAX, sizeof(*who->groups));
    who->capacity = 64;
    who->table = xcalloc(who->capacity, sizeof(struct process *));
    return who;
}

static void hits_forget(struct process *process) {
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
    hits_forget(process);
    free(process->hits);
    fault_maps_free(&process->maps);
    text_unref(process->comm);
    free(process);
}

void faults_who_free(struct faults_who *who) {
    if (!who)
        return;
    for (size_t i = 0; i < who->capacity; i++)
        if (who->table[i])
            process_free(who->table[i]);
    free(who->table);
    free(who->pending);
    free(who->groups);
    free(who);
}

// ---- processes by PID ----

static size_t table_slot(struct process *const *table, size_t capacity, pid_t pid) {
    size_t at = ((uint32_t)pid * 2654435761u) & (capacity - 1);
    while (table[at] && table[at]->pid != pid)
        at = (at + 1) & (capacity - 1);
    return at;
}

static void table_resize(struct faults_who *who, size_t capacity) {
    struct process **old = who->table;
    size_t n = who->capacity;
    who->table = xcalloc(capacity, sizeof(struct process *));
    who->capacity = capacity;
    for (size_t i = 0; i < n; i++)
        if (old[i])
            who->table[table_slot(who->table, capacity, old[i]->pid)] = old[i];
    free(old);
}

static struct process *process_get(struct faults_who *who, pid_t pid) {
    size_t at = table_slot(who->table, who->capacity, pid);
    if (who->table[at])
        return who->table[at];
    if (who->count * 2 >= who->capacity) {
        table_resize(who, who->capacity * 2);
        at = table_slot(who->table, who->capacity, pid);
    }
    struct process *process = xcalloc(1, sizeof(*process));
    process->pid = pid;
    process->gone = (struct hit){.kind = "gone"};
    who->table[at] = process;
    who->count++;
    return process;
}

static bool stat_of(const struct faults_who *who, pid_t pid, struct task_stat *out) {
    char path[160], text[1024];
    snprintf(path, sizeof(path), "%s/%d/stat", who->proc, (int)pid);
    long length = format_file(path, text, sizeof(text));
    return length > 0 && !task_stat_parse(text, (size_t)length, out);
}

// ---- mappings ----

static bool older(const struct process *process, uint64_t now_ns, uint64_t least_ns) {
    uint64_t cost = process->cost_ns * COST_SHARE;
    return !process->read_ns || now_ns - process->read_ns > (cost > least_ns ? cost : least_ns);
}

static void maps_read(const struct faults_who *who, struct process *process) {
    char path[160];
    uint64_t begin = clock_ns();
    snprintf(path, sizeof(path), "%s/%d/maps", who->proc, (int)process->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return; // it is gone, or not ours to see: what was known of it is the best there is
    struct fault_maps fresh = {0};
    int rc = fault_maps_read(&fresh, fd, MAPS_MOST);
    close(fd);
    process->read_ns = clock_ns();
    process->cost_ns = process->read_ns - begin;
    if (rc || !fresh.count) { // it ends just now
        fault_maps_free(&fresh);
        return;
    }
    fault_maps_free(&process->maps);
    process->maps = fresh;
}

static void maps_forget(struct process *process) {
    fault_maps_clear(&process->maps);
    process->read_ns = 0;
}

static void comm_set(struct process *process, const char *comm, size_t length) {
    if (process->comm && text_length(process->comm) == length && !memcmp(text_bytes(process->comm), comm, length))
        return;
    text_unref(process->comm);
    process->comm = text_new(comm, length);
}

static void process_look(struct faults_who *who, struct process *process) {
    struct task_stat task;
    if (stat_of(who, process->pid, &task)) {
        process->looked = true;
        if (process->start && process->start != task.start) { // another one with its number
            maps_forget(process);
            hits_forget(process);
        }
        process->start = task.start;
        comm_set(process, task.comm, task.comm_len);
    }
    if (older(process, clock_ns(), LIFETIME_NS))
        maps_read(who, process);
}

static const struct fault_map *map_of(struct faults_who *who, struct process *process, uint64_t address) {
    const struct fault_map *map = fault_maps_find(&process->maps, address);
    if (map || !process->looked || !older(process, clock_ns(), MISS_NS))
        return map;
    maps_read(who, process);
    return fault_maps_find(&process->maps, address);
}

// ---- sums ----

static bool text_is(const struct text *text, const char *bytes, size_t length) {
    return text && text_length(text) == length && !memcmp(text_bytes(text), bytes, length);
}

static struct hit *hit_get(const struct faults_who *who, struct process *process, const struct fault_map *map) {
    size_t length;
    // Read after the fault, and it is not there: it was unmapped. Else it may be newer than what was read.
    if (!map && process->maps.count && process->read_ns >= who->settling_ns) {
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

// The candidate that is left over when each vote for another one takes one of its own away.
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

static void fault_count(struct faults_who *who, struct process *process, const struct fault *fault) {
    const struct fault_map *map = map_of(who, process, fault->address);
    struct hit *hit = hit_get(who, process, map);
    uint64_t n = fault->stands_for;
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

static size_t groups_make(struct faults_who *who) {
    size_t n = 0;
    qsort(who->pending, who->n_pending, sizeof(*who->pending), fault_order);
    for (size_t i = 0; i < who->n_pending; i++) {
        if (!i || who->pending[i].pid != who->pending[i - 1].pid)
            who->groups[n++] = (struct group){.process = process_get(who, who->pending[i].pid), .first = i};
        who->groups[n - 1].count++;
        who->groups[n - 1].weight += who->pending[i].stands_for;
    }
    qsort(who->groups, n, sizeof(*who->groups), group_order);
    return n;
}

void faults_who_settle(struct faults_who *who) {
    who->settling_ns = clock_ns();
    size_t n = groups_make(who), looked = 0;
    for (size_t i = 0; i < n; i++) {
        struct process *process = who->groups[i].process;
        if (!process->judged)
            process->wanted = process->pid > 0 && task_identify(who->proc, who->options, process->pid).wanted;
        process->judged = true;
        if (!process->wanted)
            continue;
        process->looked = false;
        if (looked++ < LOOKED_UP)
            process_look(who, process);
        for (size_t k = 0; k < who->groups[i].count; k++)
            fault_count(who, process, &who->pending[who->groups[i].first + k]);
    }
    who->n_pending = 0;
}

void faults_who_add(struct faults_who *who, const struct fault *fault) {
    who->pending[who->n_pending++] = *fault;
    if (who->n_pending == PENDING_MAX)
        faults_who_settle(who);
}

void faults_who_exec(struct faults_who *who, pid_t pid, const char *comm, size_t length) {
    if (who->n_pending)
        faults_who_settle(who); // what it did before belongs to what it was before
    struct process *process = process_get(who, pid);
    maps_forget(process);
    comm_set(process, comm, length);
}

// ---- rows ----

static int process_order(const void *a, const void *b) {
    const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;
    return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight)
                                  : (x->pid > y->pid) - (x->pid < y->pid);
}

static void hit_tell(const struct process *process, const struct hit *hit,
                     void (*fn)(void *context, const struct faults_row *row), void *context) {
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

// Those that did not fault since the last frame: a process that comes back is read again.
static void processes_prune(struct faults_who *who) {
    size_t kept = 0;
    for (size_t i = 0; i < who->capacity; i++) {
        struct process *process = who->table[i];
        if (!process)
            continue;
        if (!process->weight) {
            process_free(process);
            who->table[i] = NULL;
            continue;
        }
        hits_forget(process);
        kept++;
    }
    who->count = kept;
    size_t capacity = 64;
    while (capacity < kept * 4)
        capacity *= 2;
    table_resize(who, capacity);
}

void faults_who_take(struct faults_who *who, void (*row)(void *context, const struct faults_row *row), void *context) {
    struct process **order = xcalloc(who->count + 1, sizeof(struct process *));
    size_t n = 0;
    for (size_t i = 0; i < who->capacity; i++)
        if (who->table[i] && who->table[i]->weight)
            order[n++] = who->table[i];
    qsort(order, n, sizeof(struct process *), process_order);
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        for (size_t k = 0; k < order[i]->n_hits; k++)
            hit_tell(order[i], &order[i]->hits[k], row, context);
        hit_tell(order[i], &order[i]->gone, row, context);
        hit_tell(order[i], &order[i]->unknown, row, context);
    }
    free(order);
    processes_prune(who);
}
