// Captured sub-buffers from raw bytes to histograms, against a reference matcher: all events in one array sorted by
// time, each completion searched linearly.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "collectors/block/stat.h"
#include "tests/unit/forge_block.h"

struct run {
    struct block_formats formats;
    struct block_match *match;
    struct block_stat *stat;
    struct block_event events[8192];
    bool flush[8192];
    size_t n, finished;
    uint64_t latency[8192];
};

static void on_done(void *ctx, const struct block_io *io) {
    struct run *run = ctx;
    block_stat_io(run->stat, io);
    if (io->kind != BLOCK_IO_REQUEST)
        return;
    run->latency[run->finished++] = io->end_ns - io->issue_ns;
}

static void on_event(void *ctx, const struct ring_event *raw) {
    struct run *run = ctx;
    struct block_event event;
    assert_true(block_event_decode(&run->formats, raw->ts, raw->data, raw->size, &event));
    assert_true(run->n < 8192);
    run->flush[run->n] = block_op_of(event.rwbs) == BLOCK_FLUSH;
    run->events[run->n++] = event;
    block_match_event(run->match, &event);
}

// Latency by the reference; UINT64_MAX: no issue.
static uint64_t reference_latency(const struct run *run, size_t end, bool *used) {
    const struct block_event *complete = &run->events[end];
    for (size_t i = 0; i < end; i++) { // the oldest unused one
        const struct block_event *issue = &run->events[i];
        bool flush = run->flush[end] && run->flush[i];
        if (used[i] || issue->kind != BLOCK_ISSUE || issue->dev != complete->dev)
            continue;
        if (!flush && (issue->sector != complete->sector || issue->sectors != complete->sectors || !issue->sectors))
            continue;
        used[i] = true;
        return complete->ts - issue->ts;
    }
    return UINT64_MAX;
}

static int compare(const void *a, const void *b) {
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

static void captured(void **state) {
    (void)state;
    static struct run run;
    static bool used[8192];
    static uint64_t wanted[8192];
    struct forge_source source;
    size_t n_wanted = 0, unmatched = 0, flush_ends = 0;
    forge_formats(&run.formats, BLOCK_DATA);
    forge_load(&source, BLOCK_DATA, 2);
    run.match = block_match_new(256, on_done, &run);
    run.stat = block_stat_new();
    struct ring *ring = forge_ring(&source);
    ring_drain(ring, UINT64_MAX, on_event, &run);
    for (size_t i = 0; i < run.n; i++) {
        if (run.events[i].kind == BLOCK_REQUEUE) // that issue has no completion
            reference_latency(&run, i, used);
        if (run.events[i].kind != BLOCK_COMPLETE)
            continue;
        uint64_t latency = reference_latency(&run, i, used);
        if (latency != UINT64_MAX)
            wanted[n_wanted++] = latency;
        else if (!run.events[i].sectors)
            flush_ends++;
        else
            unmatched++;
    }
    const struct block_counts *counts = block_match_counts(run.match);
    assert_true(n_wanted > 100);
    assert_int_equal(run.finished, n_wanted);
    assert_int_equal(counts->completed, n_wanted);
    assert_int_equal(counts->unmatched_completions, unmatched);
    assert_int_equal(counts->flush_ends, flush_ends);
    assert_true(flush_ends > 0 && counts->requeues > 0); // the recording has these, reads, writes and a discard
    qsort(wanted, n_wanted, sizeof(wanted[0]), compare);
    qsort(run.latency, run.finished, sizeof(run.latency[0]), compare);
    assert_memory_equal(wanted, run.latency, n_wanted * sizeof(wanted[0]));

    uint64_t ops[BLOCK_OPS] = {0}, in_buckets = 0;
    block_stat_settle(run.stat);
    for (uint32_t d = 0; d < run.stat->n_devices; d++)
        for (int key = 0; key < BLOCK_KEYS; key++) {
            const struct hist_acc *acc = run.stat->devices[d].latency[key];
            ops[block_key_op((uint8_t)key) % BLOCK_OPS] += acc ? acc->count : 0;
            for (uint32_t b = 0; acc && b < HIST_BUCKETS; b++)
                in_buckets += acc->buckets[b];
        }
    assert_int_equal(in_buckets, n_wanted);
    assert_true(ops[BLOCK_READ] && ops[BLOCK_WRITE] && ops[BLOCK_FLUSH] && ops[BLOCK_DISCARD]);
    ring_free(ring);
    block_stat_free(run.stat);
    block_match_free(run.match);
    forge_unload(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(captured)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
