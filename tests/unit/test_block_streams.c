// Sums by stream (collectors/block/stat.h) against a reference that adds each I/O to every histogram and sum at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/block/stat.h"

enum { DEVICES = 3, TASKS = 200, IOS = 40000 };

struct reference_device {
    struct hist_acc latency[BLOCK_KEYS], queue[BLOCK_KEYS], total[BLOCK_KEYS], size[BLOCK_OPS], offset[BLOCK_OPS];
    uint64_t ios[BLOCK_OPS], bytes[BLOCK_OPS], errors, requeues;
    struct block_sequence_counts sequence;
};
struct plain_task {
    struct block_proc sums;
    struct hist_acc hists[BLOCK_MEASURES];
};

struct reference {
    struct reference_device devices[DEVICES];
    struct plain_task tasks[TASKS][DEVICES][BLOCK_OPS];
    struct block_io ios[IOS]; // outside its histograms
    uint64_t n;
};

static uint32_t device_of(const struct block_io *io) {
    return io->dev - (254u << 20);
}

static void sequence_add(struct block_sequence_counts *counts, uint8_t sequence) {
    counts->known += sequence != BLOCK_SEQUENCE_UNKNOWN;
    counts->sequential += sequence == BLOCK_SEQUENTIAL;
}

static void reference_device_add(struct reference_device *device, double per_sector, const struct block_io *io) {
    device->ios[io->op]++;
    device->bytes[io->op] += io->bytes;
    device->errors += io->error != 0;
    sequence_add(&device->sequence, io->sequence);
    hist_acc_add(&device->size[io->op], io->bytes);
    if (io->kind == BLOCK_IO_REQUEST) {
        hist_acc_add(&device->latency[io->key], io->end_ns - io->issue_ns);
        if (io->arrival_ns)
            hist_acc_add(&device->queue[io->key], io->issue_ns - io->arrival_ns);
    }
    if (io->sector != BLOCK_NO_SECTOR && per_sector > 0) {
        uint64_t part = (uint64_t)((double)io->sector * per_sector);
        hist_acc_add(&device->offset[io->op], part < 64 ? part : 63);
    }
}

static void reference_add(struct reference *reference, const struct block_stat *stat, const struct block_io *io) {
    struct reference_device *device = &reference->devices[device_of(io)];
    struct plain_task *task = &reference->tasks[io->tid][device_of(io)][io->op];
    device->requeues += io->kind == BLOCK_IO_REQUEUED;
    if (io->kind == BLOCK_IO_REQUEUED)
        return;
    if (io->bio_ns) {
        hist_acc_add(&device->total[io->bio_key], io->end_ns - io->bio_ns);
        task->sums.bios++;
        task->sums.total_ns += io->end_ns - io->bio_ns;
        hist_acc_add(&task->hists[BLOCK_OF_TOTAL], io->end_ns - io->bio_ns);
    }
    if (io->kind == BLOCK_IO_TOTAL_ONLY)
        return;
    reference_device_add(device, stat->devices[device_of(io)].per_sector, io);
    task->sums.ios++;
    task->sums.bytes += io->bytes;
    task->sums.latency_ns += io->end_ns - io->issue_ns;
    sequence_add(&task->sums.sequence, io->sequence);
    hist_acc_add(&task->hists[BLOCK_OF_LATENCY], io->end_ns - io->issue_ns);
    if (io->kind == BLOCK_IO_REQUEST && io->arrival_ns)
        hist_acc_add(&task->hists[BLOCK_OF_QUEUE], io->issue_ns - io->arrival_ns);
    hist_acc_add(&task->hists[BLOCK_OF_SIZE], io->bytes);
    reference->ios[reference->n++] = *io;
}

static struct block_io any_io(uint64_t now, uint32_t tasks) {
    static const char *const words[] = {"R", "RA", "WS", "WFS", "FWFS", "FF", "DS", "N", "RSM"};
    const char *word = words[rand() % 9];
    struct block_io io = {.issue_ns = now,
                          .end_ns = now + (uint64_t)(rand() % 4000000) * (uint64_t)(rand() % 3000),
                          .dev = (254u << 20) + (uint32_t)(rand() % DEVICES),
                          .tid = (int32_t)((uint32_t)rand() % tasks),
                          .bytes = (uint32_t)(rand() % 9) * 4096,
                          .sector = rand() % 10 ? (uint64_t)(rand() % 7000) : BLOCK_NO_SECTOR,
                          .kind = rand() % 2 ? BLOCK_IO_REQUEST : (uint8_t)(rand() % 4),
                          .sequence = (uint8_t)(rand() % 3),
                          .error = rand() % 50  ? 0
                                   : rand() % 2 ? -EIO
                                                : -ETIMEDOUT};
    io.op = (uint8_t)block_op_of(word);
    io.key = block_key_of(word, io.op);
    io.bio_key = rand() % 4 ? io.key : block_key_of("RS", BLOCK_READ);
    io.arrival_ns = rand() % 3 ? now - (uint64_t)(rand() % 100000) : 0;
    io.bio_ns = rand() % 3 ? now - (uint64_t)(rand() % 200000) : 0;
    snprintf(io.rwbs, sizeof(io.rwbs), "%s", word);
    snprintf(io.comm, sizeof(io.comm), "task%d", io.tid);
    return io;
}

// Both empty, or equal.
static void accs_equal(const struct hist_acc *acc, const struct hist_acc *wanted) {
    if (acc)
        assert_memory_equal(acc, wanted, sizeof(*acc));
    else
        assert_int_equal(wanted->count, 0);
}

static void devices_equal(const struct block_device *device, const struct reference_device *wanted) {
    for (int key = 0; key < BLOCK_KEYS; key++) {
        accs_equal(device->latency[key], &wanted->latency[key]);
        accs_equal(device->queue[key], &wanted->queue[key]);
        accs_equal(device->total[key], &wanted->total[key]);
    }
    for (int op = 0; op < BLOCK_OPS; op++) {
        accs_equal(device->size[op], &wanted->size[op]);
        accs_equal(device->offset[op], &wanted->offset[op]);
    }
    assert_memory_equal(device->ios, wanted->ios, sizeof(device->ios));
    assert_memory_equal(device->bytes, wanted->bytes, sizeof(device->bytes));
    assert_memory_equal(&device->sequence, &wanted->sequence, sizeof(device->sequence));
    assert_int_equal(device->errors, wanted->errors);
    assert_int_equal(device->requeues, wanted->requeues);
}

static void procs_equal(const struct block_stat *stat, const struct reference *reference) {
    static struct hist_acc none;
    for (uint32_t i = 0; i < stat->n_procs; i++) {
        const struct block_proc *proc = &stat->procs[i];
        const struct plain_task *task = &reference->tasks[proc->tid][stat->procs[i].dev - (254u << 20)][proc->op];
        assert_int_equal(proc->ios, task->sums.ios);
        assert_int_equal(proc->bytes, task->sums.bytes);
        assert_int_equal(proc->latency_ns, task->sums.latency_ns);
        assert_int_equal(proc->bios, task->sums.bios);
        assert_int_equal(proc->total_ns, task->sums.total_ns);
        assert_memory_equal(&proc->sequence, &task->sums.sequence, sizeof(proc->sequence));
        const struct block_slot *slot = proc->slot != UINT32_MAX ? &stat->slots[proc->slot] : NULL;
        for (int j = 0; j < BLOCK_MEASURES; j++)
            accs_equal(slot ? &slot->hists[j] : NULL, slot ? &task->hists[j] : &none);
    }
}

static void recent_equal(const struct block_stat *stat, const struct reference *reference) {
    assert_int_equal(stat->n_recent, reference->n);
    for (uint64_t i = block_stat_left_out(stat); i < reference->n; i++) {
        const struct block_recent *recent = &stat->recent[i % BLOCK_EVENTS_KEPT];
        const struct block_io *io = &reference->ios[i];
        const struct block_proc *proc = recent->proc != UINT32_MAX ? &stat->procs[recent->proc] : NULL;
        const struct block_unattributed *unattributed = &stat->unattributed[i % BLOCK_EVENTS_KEPT];
        assert_true(recent->arrival_ns == io->arrival_ns && recent->issue_ns == io->issue_ns);
        assert_true(recent->end_ns == io->end_ns && recent->bio_ns == io->bio_ns && recent->sector == io->sector);
        assert_int_equal(recent->bytes, io->bytes);
        assert_int_equal(recent->error, io->error);
        assert_string_equal(recent->rwbs, io->rwbs);
        assert_int_equal(proc ? proc->dev : unattributed->dev, io->dev);
        assert_int_equal(proc ? proc->tid : unattributed->tid, io->tid);
        assert_string_equal(proc ? proc->comm : unattributed->comm, io->comm);
    }
}

// More tasks than streams, devices of known and unknown size, with and without settling in between; two intervals.
static void streams_match_reference(void **state) {
    (void)state;
    struct block_stat *stat = block_stat_new();
    struct reference *reference = calloc(1, sizeof(*reference));
    srand(7);
    for (uint32_t i = 0; i < DEVICES; i++) {
        uint32_t at = block_stat_device(stat, (254u << 20) + i);
        stat->devices[at].per_sector = i ? 64.0 / 6400 * i : 0;
    }
    for (int interval = 0; interval < 3; interval++) {
        memset(reference, 0, sizeof(*reference));
        uint64_t forgotten = 0;
        for (int i = 0; i < IOS; i++) {
            if (interval == 1 && i >= IOS - 3000) // only the last thousand are stored
                stat->recent_from = i < IOS - 1000 ? UINT64_MAX : 0;
            if (stat->recent_from)
                forgotten = reference->n + 1;
            const struct block_io io = any_io(1000000000ull + (uint64_t)i * 1000, interval ? TASKS : 2);
            reference_add(reference, stat, &io);
            block_stat_io(stat, &io);
            if (rand() % 3000 == 0)
                block_stat_settle(stat);
        }
        block_stat_settle(stat);
        for (uint32_t i = 0; i < DEVICES; i++)
            devices_equal(&stat->devices[i], &reference->devices[i]);
        procs_equal(stat, reference);
        recent_equal(stat, reference);
        uint64_t old = reference->n - BLOCK_EVENTS_KEPT;
        assert_true(reference->n > BLOCK_EVENTS_KEPT &&
                    block_stat_left_out(stat) == (forgotten > old ? forgotten : old));
        assert_true(forgotten > old || interval != 1);
        uint64_t counted = stat->procs_left_out;
        for (uint32_t i = 0; i < stat->n_procs; i++)
            counted += stat->procs[i].ios;
        assert_int_equal(counted, reference->n);
        assert_true(!interval || stat->n_procs > BLOCK_SLOTS);
        assert_int_equal(stat->procs_left_out, 0);
        block_stat_clear(stat);
    }
    free(reference);
    block_stat_free(stat);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(streams_match_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
