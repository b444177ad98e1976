// Adding up finished I/O. block_stat_io runs for every I/O: two small look-ups by hash, and additions.
#include "collectors/block_stat.h"

#include <errno.h>
#include <stdlib.h>

#include "model/mem.h"

struct block_stat *block_stat_new(void) {
    struct block_stat *stat = xcalloc(1, sizeof(*stat));
    stat->procs_capacity = 1024;
    stat->procs = xcalloc(stat->procs_capacity, sizeof(*stat->procs));
    stat->proc_mask = stat->procs_capacity * 2 - 1;
    stat->proc_index = xcalloc(stat->procs_capacity * 2, sizeof(*stat->proc_index));
    stat->slots = xcalloc(BLOCK_SLOTS, sizeof(*stat->slots)); // memory that is not touched costs nothing
    stat->others = xcalloc(BLOCK_OPS, sizeof(*stat->others));
    stat->recent = xcalloc(BLOCK_EVENTS_KEPT, sizeof(*stat->recent));
    return stat;
}

void block_stat_free(struct block_stat *stat) {
    if (!stat)
        return;
    for (uint32_t i = 0; i < stat->n_devices; i++) {
        struct block_device *device = &stat->devices[i];
        for (int key = 0; key < BLOCK_KEYS; key++) {
            free(device->latency[key]);
            free(device->queue[key]);
            free(device->total[key]);
        }
        for (int op = 0; op < BLOCK_OPS; op++) {
            free(device->size[op]);
            free(device->offset[op]);
        }
    }
    free(stat->devices);
    free(stat->procs);
    free(stat->proc_index);
    free(stat->slots);
    free(stat->others);
    free(stat->recent);
    free(stat);
}

uint32_t block_stat_device(struct block_stat *stat, uint32_t dev) {
    uint8_t *guess = &stat->device_cache[(dev * 0x9e3779b1u) >> 26];
    if (*guess && stat->devices[*guess - 1].dev == dev)
        return *guess - 1u;
    uint32_t i = 0;
    while (i < stat->n_devices && stat->devices[i].dev != dev)
        i++;
    if (i == stat->n_devices) {
        if (stat->n_devices == stat->devices_capacity) {
            stat->devices_capacity = stat->devices_capacity ? stat->devices_capacity * 2 : 16;
            stat->devices = xrealloc(stat->devices, stat->devices_capacity * sizeof(*stat->devices));
        }
        stat->devices[stat->n_devices++] = (struct block_device){.dev = dev};
    }
    if (i < UINT8_MAX)
        *guess = (uint8_t)(i + 1);
    return i;
}

static uint32_t proc_hash(int32_t tid, uint32_t dev, uint8_t op) {
    uint64_t h = ((uint64_t)(uint32_t)tid << 32 | (dev << 3 | op)) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(h >> 40);
}

static uint32_t proc_find(struct block_stat *stat, const struct block_io *io) {
    uint32_t i = proc_hash(io->tid, io->dev, io->op) & stat->proc_mask;
    for (; stat->proc_index[i]; i = (i + 1) & stat->proc_mask) {
        const struct block_proc *p = &stat->procs[stat->proc_index[i] - 1];
        if (p->tid == io->tid && p->dev == io->dev && p->op == io->op && p->cgroup == io->cgroup &&
            !memcmp(p->comm, io->comm, BLOCK_COMM))
            return stat->proc_index[i] - 1;
    }
    if (stat->n_procs == stat->procs_capacity)
        return UINT32_MAX;
    struct block_proc *p = &stat->procs[stat->n_procs++];
    *p = (struct block_proc){.tid = io->tid, .dev = io->dev, .op = io->op, .cgroup = io->cgroup, .who = UINT32_MAX};
    memcpy(p->comm, io->comm, BLOCK_COMM);
    p->device = block_stat_device(stat, io->dev);
    p->slot = stat->n_slots < BLOCK_SLOTS ? stat->n_slots++ : UINT32_MAX;
    stat->proc_index[i] = stat->n_procs;
    return stat->n_procs - 1;
}

// Made with its first value: an operation that is new to a device.
static inline struct hist_acc *acc_of(struct hist_acc **acc) {
    if (__builtin_expect(!*acc, 0))
        *acc = xcalloc(1, sizeof(**acc));
    return *acc;
}

static inline void acc_add(struct hist_acc **acc, uint64_t value) {
    hist_acc_add(acc_of(acc), value);
}

// An I/O's latency and size are added up twice, by device and by task: their buckets are looked for once.
struct measure {
    uint64_t latency;
    uint32_t latency_at, bytes_at;
};

static void sequence_add(struct block_sequence_counts *counts, uint8_t sequence) {
    counts->known += sequence != BLOCK_SEQUENCE_UNKNOWN;
    counts->sequential += sequence == BLOCK_SEQUENTIAL;
}

static void error_add(struct block_stat *stat, struct block_device *device, uint8_t op, int32_t error,
                      uint64_t sector) {
    device->errors++;
    device->timeouts += error == -ETIMEDOUT;
    device->last_error = error;
    device->last_error_sector = sector;
    uint32_t i = 0;
    while (i < stat->n_errors &&
           (stat->errors[i].dev != device->dev || stat->errors[i].op != op || stat->errors[i].error != error))
        i++;
    if (i == BLOCK_ERRORS_MAX)
        return;
    if (i == stat->n_errors)
        stat->errors[stat->n_errors++] = (struct block_error){.dev = device->dev, .error = error, .op = op};
    stat->errors[i].count++;
    stat->errors[i].sector = sector;
}

static inline void device_add(struct block_device *device, const struct block_io *io, const struct measure *measure) {
    device->ios[io->op]++;
    device->bytes[io->op] += io->bytes;
    if (io->what == BLOCK_IO_REQUEST) {
        hist_acc_add_at(acc_of(&device->latency[io->key]), measure->latency_at, measure->latency);
        if (io->arrival_ns)
            acc_add(&device->queue[io->key], io->issue_ns - io->arrival_ns);
    }
    hist_acc_add_at(acc_of(&device->size[io->op]), measure->bytes_at, io->bytes);
    if (io->sector != BLOCK_NO_SECTOR && device->per_sector > 0) {
        uint64_t part = (uint64_t)((double)io->sector * device->per_sector);
        acc_add(&device->offset[io->op], part < 64 ? part : 63);
    }
    sequence_add(&device->sequence, io->sequence);
}

static inline void proc_add(struct block_stat *stat, struct block_proc *p, const struct block_io *io,
                            const struct measure *measure) {
    p->ios++;
    p->bytes += io->bytes;
    p->latency_ns += measure->latency;
    sequence_add(&p->sequence, io->sequence);
    struct block_slot *slot = p->slot != UINT32_MAX ? &stat->slots[p->slot] : &stat->others[io->op];
    hist_acc_add_at(&slot->latency, measure->latency_at, measure->latency);
    hist_acc_add_at(&slot->size, measure->bytes_at, io->bytes);
}

// What is written one after the other and long not in the cache: the one after the next is asked for.
static void prefetch(struct block_recent *recent) {
    for (size_t at = 0; at < sizeof(*recent); at += 64)
        __builtin_prefetch((char *)recent + at, 1);
}

void block_stat_io(struct block_stat *stat, const struct block_io *io) {
    uint32_t at = block_stat_device(stat, io->dev); // may move the devices
    struct block_device *device = &stat->devices[at];
    if (io->what == BLOCK_IO_REQUEUED) {
        device->requeues++;
        return;
    }
    bool whole = io->what != BLOCK_IO_REST;
    uint64_t latency = io->end_ns - io->issue_ns;
    const struct measure measure = {latency, hist_bucket(latency), hist_bucket(io->bytes)};
    if (io->bio_ns)
        acc_add(&device->total[io->bio_key], io->end_ns - io->bio_ns);
    if (whole)
        device_add(device, io, &measure);
    if (whole && io->error)
        error_add(stat, device, io->op, io->error, io->sector);
    uint32_t proc = proc_find(stat, io);
    if (proc != UINT32_MAX) {
        struct block_proc *p = &stat->procs[proc];
        if (whole)
            proc_add(stat, p, io, &measure);
        if (io->bio_ns) {
            p->bios++;
            p->total_ns += io->end_ns - io->bio_ns;
        }
    } else {
        stat->procs_left_out += whole;
    }
    if (!whole)
        return;
    struct block_recent *recent = &stat->recent[stat->n_recent++ % BLOCK_EVENTS_KEPT];
    prefetch(&stat->recent[(stat->n_recent + 1) % BLOCK_EVENTS_KEPT]);
    recent->io = *io;
    recent->proc = proc;
}

void block_stat_count(struct block_stat *stat, const struct block_event *complete) {
    struct block_device *device = &stat->devices[block_stat_device(stat, complete->dev)];
    device->ios[complete->op]++;
    device->bytes[complete->op] += complete->sectors * 512ull;
    if (complete->error)
        error_add(stat, device, complete->op, complete->error, complete->sector);
}

static void acc_clear(struct hist_acc *const *accs, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (accs[i] && accs[i]->count)
            hist_acc_clear(accs[i]);
}

static void device_clear(struct block_device *device) {
    acc_clear(device->latency, BLOCK_KEYS);
    acc_clear(device->queue, BLOCK_KEYS);
    acc_clear(device->total, BLOCK_KEYS);
    acc_clear(device->size, BLOCK_OPS);
    acc_clear(device->offset, BLOCK_OPS);
    device->errors = device->timeouts = device->requeues = 0;
    memset(device->ios, 0, sizeof(device->ios));
    memset(device->bytes, 0, sizeof(device->bytes));
    device->sequence = (struct block_sequence_counts){0};
}

void block_stat_clear(struct block_stat *stat) {
    for (uint32_t i = 0; i < stat->n_devices; i++)
        device_clear(&stat->devices[i]);
    for (uint32_t i = 0; i < stat->n_slots; i++) {
        hist_acc_clear(&stat->slots[i].latency);
        hist_acc_clear(&stat->slots[i].size);
    }
    for (int op = 0; op < BLOCK_OPS; op++) {
        hist_acc_clear(&stat->others[op].latency);
        hist_acc_clear(&stat->others[op].size);
    }
    for (uint32_t i = 0; i < stat->n_errors; i++)
        stat->errors[i].before = stat->errors[i].count;
    if (stat->n_procs > stat->procs_capacity / 2 && stat->procs_capacity < BLOCK_PROCS_MAX) {
        stat->procs_capacity *= 2;
        stat->procs = xrealloc(stat->procs, stat->procs_capacity * sizeof(*stat->procs));
        free(stat->proc_index);
        stat->proc_index = xcalloc(stat->procs_capacity * 2, sizeof(*stat->proc_index));
        stat->proc_mask = stat->procs_capacity * 2 - 1;
    } else if (stat->n_procs) {
        memset(stat->proc_index, 0, sizeof(*stat->proc_index) * stat->procs_capacity * 2);
    }
    stat->n_procs = stat->n_slots = 0;
    stat->n_recent = stat->procs_left_out = 0;
}
