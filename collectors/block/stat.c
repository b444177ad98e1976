// Sums of completed I/Os. block_stat_io runs per I/O: one hash look-up of its stream, and additions.
#include "collectors/block/stat.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "model/mem.h"

#define PLACES (BLOCK_PROCS_MAX * 2) // of proc_index; a power of two

struct block_stat *block_stat_new(void) {
    struct block_stat *stat = xcalloc(1, sizeof(*stat));
    stat->procs = xcalloc(BLOCK_PROCS_MAX, sizeof(*stat->procs)); // untouched pages cost nothing
    stat->proc_index = xcalloc(PLACES, sizeof(*stat->proc_index));
    stat->slots = xcalloc(BLOCK_SLOTS, sizeof(*stat->slots));
    stat->others = xcalloc(BLOCK_OPS + 1, sizeof(*stat->others));
    stat->recent = xcalloc(BLOCK_EVENTS_KEPT, sizeof(*stat->recent));
    stat->unattributed = xcalloc(BLOCK_EVENTS_KEPT, sizeof(*stat->unattributed));
    stat->rare = block_rare_new();
    stat->streams = xcalloc(BLOCK_STREAMS + 1, sizeof(*stat->streams));
    stat->last = &stat->streams[BLOCK_STREAMS];
    stat->last->dev = UINT32_MAX;
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
    free(stat->unattributed);
    block_rare_free(stat->rare);
    free(stat->streams);
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
    uint32_t i = proc_hash(io->tid, io->dev, io->op) & (PLACES - 1);
    for (; stat->proc_index[i]; i = (i + 1) & (PLACES - 1)) {
        const struct block_proc *p = &stat->procs[stat->proc_index[i] - 1];
        if (p->tid == io->tid && p->dev == io->dev && p->op == io->op && p->cgroup == io->cgroup &&
            !memcmp(p->comm, io->comm, BLOCK_COMM))
            return stat->proc_index[i] - 1;
    }
    if (stat->n_procs == BLOCK_PROCS_MAX)
        return UINT32_MAX;
    struct block_proc *p = &stat->procs[stat->n_procs++];
    *p = (struct block_proc){.tid = io->tid, .dev = io->dev, .op = io->op, .cgroup = io->cgroup, .task = UINT32_MAX};
    memcpy(p->comm, io->comm, BLOCK_COMM);
    p->device = block_stat_device(stat, io->dev);
    p->slot = stat->n_slots < BLOCK_SLOTS ? stat->n_slots++ : UINT32_MAX;
    stat->proc_index[i] = stat->n_procs;
    p->unwanted = stat->unwanted && stat->unwanted(stat->unwanted_ctx, p);
    return stat->n_procs - 1;
}

static bool proc_unwanted(const void *ctx, uint32_t proc) {
    const struct block_stat *stat = ctx;
    return proc == UINT32_MAX ? stat->unwanted != NULL : stat->procs[proc].unwanted;
}

// Allocated with the first stream that needs it: a new operation on a device.
static struct hist_acc *acc_of(struct hist_acc **acc) {
    if (!*acc)
        *acc = xcalloc(1, sizeof(**acc));
    return *acc;
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

// ---- streams ----

// Adjacent members are compared and copied in one step.
#define TOGETHER(first, second, at) (offsetof(struct first, second) - offsetof(struct first, at))
_Static_assert(TOGETHER(block_io, tid, dev) == 4 && TOGETHER(block_stream, tid, dev) == 4, "device and task");
_Static_assert(TOGETHER(block_io, kind, op) == 3 && TOGETHER(block_stream, kind, op) == 3, "operation, keys, kind");

static inline bool stream_fits(const struct block_stream *stream, const struct block_io *io) {
    return !memcmp(&stream->dev, &io->dev, 8) && !memcmp(&stream->op, &io->op, 4) && stream->cgroup == io->cgroup &&
           !memcmp(stream->comm, io->comm, BLOCK_COMM);
}

static void sum_clear(struct block_sum *sum) {
    *sum = (struct block_sum){.min = UINT64_MAX};
}

static struct block_stream *stream_new(struct block_stat *stat, const struct block_io *io) {
    struct block_stream *stream = &stat->streams[stat->n_streams++];
    *stream = (struct block_stream){.tid = io->tid, .dev = io->dev, .cgroup = io->cgroup};
    memcpy(&stream->op, &io->op, 4);
    memcpy(stream->comm, io->comm, BLOCK_COMM);
    sum_clear(&stream->sum_latency);
    sum_clear(&stream->sum_queue);
    sum_clear(&stream->sum_total);
    sum_clear(&stream->sum_size);
    stream->proc = proc_find(stat, io);
    stream->device = block_stat_device(stat, io->dev);
    struct block_device *device = &stat->devices[stream->device];
    stream->total = acc_of(&device->total[io->bio_key]);
    uint32_t slot = stream->proc != UINT32_MAX ? stat->procs[stream->proc].slot : UINT32_MAX;
    stream->slot =
        slot != UINT32_MAX ? &stat->slots[slot] : &stat->others[stream->proc != UINT32_MAX ? io->op : BLOCK_OPS];
    if (io->kind == BLOCK_IO_TOTAL_ONLY)
        return stream;
    if (io->kind == BLOCK_IO_REQUEST) {
        stream->device_latency = acc_of(&device->latency[io->key]);
        stream->queue = acc_of(&device->queue[io->key]);
    }
    bool unwanted = proc_unwanted(stat, stream->proc);
    stream->slow = unwanted ? stat->rare->filtered : block_rare_slow(stat->rare, &device->slow[io->op]);
    stream->few = unwanted || (stream->proc != UINT32_MAX && stat->procs[stream->proc].few < stat->rare->few_each);
    stream->device_size = acc_of(&device->size[io->op]);
    stream->per_sector = device->per_sector;
    if (device->per_sector > 0)
        stream->offset = acc_of(&device->offset[io->op]);
    return stream;
}

static __attribute__((noinline)) struct block_stream *stream_of(struct block_stat *stat, const struct block_io *io) {
    uint32_t kind;
    memcpy(&kind, &io->op, sizeof(kind));
    uint64_t hash = ((uint64_t)(uint32_t)io->tid << 32 | (io->dev ^ kind)) * 0x9e3779b97f4a7c15ull;
    const uint32_t places = sizeof(stat->stream_index) / sizeof(stat->stream_index[0]);
    uint32_t at = (uint32_t)(hash >> 32) % places;
    for (; stat->stream_index[at]; at = (at + 1) % places) {
        stat->last = &stat->streams[stat->stream_index[at] - 1];
        if (stream_fits(stat->last, io))
            return stat->last;
    }
    if (stat->n_streams == BLOCK_STREAMS) {
        block_stat_settle(stat);
        at = (uint32_t)(hash >> 32) % places;
    }
    stat->stream_index[at] = (uint16_t)(stat->n_streams + 1);
    stat->last = stream_new(stat, io);
    return stat->last;
}

static inline void sum_add(struct block_sum *sum, uint64_t value) {
    sum->count++;
    sum->sum += value;
    if (__builtin_expect(value > sum->max, 0))
        sum->max = value;
    if (__builtin_expect(value < sum->min, 0))
        sum->min = value;
}

// Adds to the device's and to the task's histogram.
static inline void value_add(struct hist_acc *acc, struct hist_acc *own, struct block_sum *sum, uint64_t value) {
    uint32_t at = hist_bucket(value);
    acc->buckets[at]++;
    own->buckets[at]++;
    sum_add(sum, value);
}

// The next I/O has another size.
static void sizes_add(struct block_stream *stream, uint32_t next) {
    if (stream->same_size) {
        struct block_sum *sum = &stream->sum_size;
        uint32_t at = hist_bucket(stream->bytes);
        stream->device_size->buckets[at] += stream->same_size;
        stream->slot->hists[BLOCK_OF_SIZE].buckets[at] += stream->same_size;
        sum->count += stream->same_size;
        sum->sum += (uint64_t)stream->bytes * stream->same_size;
        sum->max = stream->bytes > sum->max ? stream->bytes : sum->max;
        sum->min = stream->bytes < sum->min ? stream->bytes : sum->min;
    }
    stream->bytes = next;
    stream->same_size = 0;
}

static void sum_settle(struct hist_acc *acc, const struct block_sum *sum) {
    if (!acc || !sum->count)
        return;
    acc->count += sum->count;
    acc->sum += sum->sum;
    acc->max = sum->max > acc->max ? sum->max : acc->max;
    acc->not_min = ~sum->min > acc->not_min ? ~sum->min : acc->not_min;
}

static void parts_settle(struct hist_acc *acc) {
    if (!acc)
        return;
    acc->count = acc->sum = acc->max = acc->not_min = 0;
    for (uint32_t part = 0; part < BLOCK_PARTS; part++)
        if (acc->buckets[part]) {
            acc->count += acc->buckets[part];
            acc->sum += (uint64_t)part * acc->buckets[part];
            acc->max = part;
            acc->not_min = ~(uint64_t)part > acc->not_min ? ~(uint64_t)part : acc->not_min;
        }
}

static void sequences_settle(struct block_sequence_counts *counts, const struct block_stream *stream) {
    counts->known += stream->sequences[BLOCK_RANDOM] + stream->sequences[BLOCK_SEQUENTIAL];
    counts->sequential += stream->sequences[BLOCK_SEQUENTIAL];
}

static void stream_settle(struct block_stat *stat, struct block_stream *stream) {
    struct block_device *device = &stat->devices[stream->device];
    sizes_add(stream, 0);
    sum_settle(stream->device_latency, &stream->sum_latency);
    sum_settle(stream->queue, &stream->sum_queue);
    sum_settle(stream->total, &stream->sum_total);
    sum_settle(stream->device_size, &stream->sum_size);
    parts_settle(stream->offset);
    device->ios[stream->op] += stream->sum_size.count;
    device->bytes[stream->op] += stream->sum_size.sum;
    sequences_settle(&device->sequence, stream);
    if (stream->proc == UINT32_MAX) {
        stat->procs_left_out += stream->sum_size.count;
        return;
    }
    struct block_proc *proc = &stat->procs[stream->proc];
    proc->ios += stream->sum_size.count;
    proc->bytes += stream->sum_size.sum;
    proc->latency_ns += stream->sum_latency.sum;
    proc->bios += stream->sum_total.count;
    proc->total_ns += stream->sum_total.sum;
    sequences_settle(&proc->sequence, stream);
    sum_settle(&stream->slot->hists[BLOCK_OF_LATENCY], &stream->sum_latency);
    sum_settle(&stream->slot->hists[BLOCK_OF_QUEUE], &stream->sum_queue);
    sum_settle(&stream->slot->hists[BLOCK_OF_TOTAL], &stream->sum_total);
    sum_settle(&stream->slot->hists[BLOCK_OF_SIZE], &stream->sum_size);
}

void block_stat_settle(struct block_stat *stat) {
    for (uint32_t i = 0; i < stat->n_streams; i++)
        stream_settle(stat, &stat->streams[i]);
    if (stat->n_streams)
        memset(stat->stream_index, 0, sizeof(stat->stream_index));
    stat->n_streams = 0;
    stat->last = &stat->streams[BLOCK_STREAMS];
}

// ---- I/Os ----

static inline void recent_put(struct block_recent *recent, const struct block_io *io, uint32_t proc) {
    recent->arrival_ns = io->arrival_ns;
    recent->issue_ns = io->issue_ns;
    recent->end_ns = io->end_ns;
    recent->bio_ns = io->bio_ns;
    recent->sector = io->sector;
    recent->bytes = io->bytes;
    recent->proc = proc;
    recent->error = (int16_t)io->error;
    memcpy(recent->rwbs, io->rwbs, sizeof(recent->rwbs));
}

static void unattributed_put(struct block_unattributed *unattributed, const struct block_io *io) {
    unattributed->dev = io->dev;
    unattributed->tid = io->tid;
    memcpy(unattributed->comm, io->comm, BLOCK_COMM);
}

static inline void recent_add(struct block_stat *stat, const struct block_io *io, uint32_t proc) {
    uint32_t at = stat->n_recent++ % BLOCK_EVENTS_KEPT;
    if (io->end_ns < stat->recent_from) {
        stat->first_recent = stat->n_recent;
        return;
    }
    // Written sequentially and long out of the cache: prefetch the one after the next.
    __builtin_prefetch(&stat->recent[(at + 2) % BLOCK_EVENTS_KEPT], 1);
    recent_put(&stat->recent[at], io, proc);
    if (__builtin_expect(proc == UINT32_MAX, 0))
        unattributed_put(&stat->unattributed[at], io);
}

static inline uint64_t wait_of(const struct block_io *io) {
    return io->end_ns - (io->bio_ns ? io->bio_ns : io->arrival_ns ? io->arrival_ns : io->issue_ns);
}

// Returns whether the I/O is selected (-p, -u).
static __attribute__((noinline)) bool rare_add(struct block_stat *stat, struct block_stream *stream,
                                               const struct block_io *io) {
    struct block_slow *slow = stream->slow;
    if (io->error)
        error_add(stat, &stat->devices[stream->device], io->op, io->error, io->sector);
    if (slow == stat->rare->filtered)
        return false;
    struct block_pick pick = {.nth = stat->n_recent};
    uint64_t ranks[BLOCK_SLOW_WAYS] = {
        [BLOCK_SLOW_SERVICE] = io->end_ns - io->issue_ns, [BLOCK_SLOW_WAIT] = wait_of(io)};
    recent_put(&pick.io, io, stream->proc);
    unattributed_put(&pick.task, io);
    if (io->error)
        block_rare_failed(stat->rare, &pick);
    for (int by = 0; by < BLOCK_SLOW_WAYS; by++) {
        pick.rank = ranks[by];
        if (pick.rank > slow->least[by])
            block_rare_slowest(stat->rare, slow, by, &pick);
    }
    if (!stream->few)
        return true;
    struct block_proc *proc = &stat->procs[stream->proc];
    pick.rank = proc->few++;
    stream->few = pick.rank < stat->rare->few_each;
    if (stream->few)
        block_rare_few(stat->rare, &pick);
    return true;
}

void block_stat_io(struct block_stat *stat, const struct block_io *io) {
    if (__builtin_expect(io->kind == BLOCK_IO_REQUEUED, 0)) {
        stat->devices[block_stat_device(stat, io->dev)].requeues++;
        return;
    }
    struct block_stream *stream = stat->last;
    if (!stream_fits(stream, io))
        stream = stream_of(stat, io);
    if (io->bio_ns)
        value_add(stream->total, &stream->slot->hists[BLOCK_OF_TOTAL], &stream->sum_total, io->end_ns - io->bio_ns);
    if (io->kind == BLOCK_IO_TOTAL_ONLY)
        return;
    if (io->bytes != stream->bytes)
        sizes_add(stream, io->bytes);
    stream->same_size++;
    uint64_t latency = io->end_ns - io->issue_ns;
    uint32_t latency_at = hist_bucket(latency);
    sum_add(&stream->sum_latency, latency);
    stream->slot->hists[BLOCK_OF_LATENCY].buckets[latency_at]++;
    if (stream->device_latency) {
        stream->device_latency->buckets[latency_at]++;
        if (io->arrival_ns)
            value_add(stream->queue, &stream->slot->hists[BLOCK_OF_QUEUE], &stream->sum_queue,
                      io->issue_ns - io->arrival_ns);
    }
    if (stream->offset && io->sector != BLOCK_NO_SECTOR) {
        uint64_t part = (uint64_t)(int64_t)((double)(int64_t)io->sector * stream->per_sector);
        stream->offset->buckets[part < BLOCK_PARTS ? part : BLOCK_PARTS - 1]++; // exact: parts_settle sums it up
    }
    stream->sequences[io->sequence]++;
    const struct block_slow *slow = stream->slow;
    if (__builtin_expect(latency > slow->least[BLOCK_SLOW_SERVICE] || wait_of(io) > slow->least[BLOCK_SLOW_WAIT] ||
                             stream->few || io->error,
                         0) &&
        !rare_add(stat, stream, io))
        return;
    recent_add(stat, io, stream->proc);
}

void block_stat_count(struct block_stat *stat, const struct block_event *complete) {
    struct block_device *device = &stat->devices[block_stat_device(stat, complete->dev)];
    uint8_t op = (uint8_t)block_event_op(complete);
    device->ios[op]++;
    device->bytes[op] += complete->sectors * 512ull;
    if (complete->error)
        error_add(stat, device, op, complete->error, complete->sector);
}

void block_stat_unwanted(struct block_stat *stat) {
    for (uint32_t i = 0; i < stat->n_streams; i++) {
        struct block_stream *stream = &stat->streams[i];
        if (!proc_unwanted(stat, stream->proc))
            continue;
        if (stream->slow)
            stream->slow = stat->rare->filtered;
        stream->few = true;
    }
    block_rare_forget(stat->rare, proc_unwanted, stat);
}

static void acc_clear(struct hist_acc *const *accs, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (accs[i] && accs[i]->count)
            hist_acc_clear(accs[i]);
}

static void slot_clear(struct block_slot *slot) {
    for (int i = 0; i < BLOCK_MEASURES; i++)
        hist_acc_clear(&slot->hists[i]);
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
    memset(device->slow, 0, sizeof(device->slow));
}

static void acc_release(struct hist_acc **accs, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (accs[i] && !accs[i]->count) {
            free(accs[i]);
            accs[i] = NULL;
        }
}

void block_stat_release(struct block_stat *stat, uint32_t at) {
    struct block_device *device = &stat->devices[at];
    block_stat_settle(stat); // streams point to the histograms
    acc_release(device->latency, BLOCK_KEYS);
    acc_release(device->queue, BLOCK_KEYS);
    acc_release(device->total, BLOCK_KEYS);
    acc_release(device->size, BLOCK_OPS);
    acc_release(device->offset, BLOCK_OPS);
}

void block_stat_replaced(struct block_stat *stat, uint32_t at) {
    struct block_device *device = &stat->devices[at];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < stat->n_errors; i++)
        if (stat->errors[i].dev != device->dev)
            stat->errors[kept++] = stat->errors[i];
    stat->n_errors = kept;
    device->last_error = 0;
    device->last_error_sector = 0;
}

static uint64_t ios_of(const void *ctx, uint32_t proc) {
    const struct block_stat *stat = ctx;
    return stat->procs[proc].ios;
}

uint32_t block_stat_rare(const struct block_stat *stat, const struct block_chosen **out) {
    return block_rare_choose(stat->rare, block_stat_left_out(stat), ios_of, stat, out);
}

void block_stat_clear(struct block_stat *stat) {
    block_stat_settle(stat); // hist_acc_clear clears from min to max, so they must be set
    for (uint32_t i = 0; i < stat->n_devices; i++)
        device_clear(&stat->devices[i]);
    for (uint32_t i = 0; i < stat->n_slots; i++)
        slot_clear(&stat->slots[i]);
    for (int op = 0; op < BLOCK_OPS; op++)
        slot_clear(&stat->others[op]);
    for (uint32_t i = 0; i < stat->n_errors; i++)
        stat->errors[i].before = stat->errors[i].count;
    if (stat->n_procs)
        memset(stat->proc_index, 0, sizeof(*stat->proc_index) * PLACES);
    block_rare_clear(stat->rare);
    stat->n_procs = stat->n_slots = 0;
    stat->n_recent = stat->first_recent = stat->procs_left_out = 0;
}
