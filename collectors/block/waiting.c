// Finds the I/Os in flight for long: one pass over the flights.
#include "collectors/block/waiting.h"

#include "model/columns.h"

#include <string.h>

#include "collectors/block/flight.h"

enum { W_DEVICE, W_PID, W_COMM, W_OP, W_AGE, W_STATE, W_SECTOR, W_BYTES };

static const struct column columns[] = {
    [W_DEVICE] = COLUMN_DEVICE(.help = HELP_DEVICE),
    [W_PID] = COLUMN_PID(.help = "Process that submitted the I/O."),
    [W_COMM] = COLUMN_COMM(.help = "Thread that submitted the I/O."),
    [W_OP] = COLUMN_OP(2, .help = HELP_OP),
    [W_AGE] = NUMBER_COLUMN("age_us", "SINCE", UNIT_US, 7,
                            .help = "Time in flight: arrival in the block layer to the end of the interval."),
    [W_STATE] = COLUMN_STATE(8, .help = "issued: in the driver; queued: waits to be issued; arrived: waits for a "
                                        "request, or the device has none."),
    [W_SECTOR] = COLUMN_SECTOR(.help = "First sector (512 bytes)."),
    [W_BYTES] = COLUMN_BYTES(.help = "Size."),
};

const struct table_def block_waiting_table = {
    .name = "io_in_flight",
    .help = "I/Os in flight for 0.1 s and longer: the oldest 64, at least one of each device.",
    .columns = columns,
    .n_columns = sizeof(columns) / sizeof(columns[0]),
    .n_keys = 0,
};

// 0: not waited for.
static uint64_t in_flight_since(const struct block_match *match, const struct flight *f) {
    if (f->own || (f->state != FLIGHT_QUEUED && f->state != FLIGHT_ISSUED && f->state != FLIGHT_BIO))
        return 0;
    uint64_t since = f->io.bio_ns ? f->io.bio_ns : f->io.arrival_ns ? f->io.arrival_ns : f->io.issue_ns;
    // From before a gap in the events: its completion may be lost.
    return f->suspect && since <= match->lost_ts ? 0 : since;
}

static void waiting_take(struct block_waiting *out, const struct flight *f, uint64_t since) {
    *out = (struct block_waiting){
        .since_ns = since,
        .sector = f->io.sector,
        .dev = f->io.dev,
        .bytes = f->state == FLIGHT_BIO ? f->bio_bytes
                 : f->io.bytes          ? f->io.bytes
                                        : f->bio_bytes,
        .tid = f->io.tid,
        .op = f->io.op,
        .where = f->state == FLIGHT_ISSUED   ? BLOCK_WAITING_ISSUED
                 : f->state == FLIGHT_QUEUED ? BLOCK_WAITING_QUEUED
                                             : BLOCK_WAITING_ARRIVED,
    };
    memcpy(out->comm, f->io.comm, BLOCK_COMM);
}

// Index of the entry that a new one replaces: the youngest that is not the oldest of its disk, so that one hung disk
// does not hide another; n: none.
static size_t victim_index(const struct block_waiting *out, size_t n, uint32_t dev, uint64_t since) {
    bool oldest = true; // of its disk
    for (size_t i = 0; i < n; i++)
        oldest &= out[i].dev != dev || since < out[i].since_ns;
    for (size_t at = n; at-- > 0;) {
        bool has_older = out[at].dev == dev && since < out[at].since_ns;
        for (size_t i = 0; i < at && !has_older; i++)
            has_older = out[i].dev == out[at].dev;
        if (has_older)
            return oldest || since < out[at].since_ns ? at : n;
    }
    return oldest && since < out[n - 1].since_ns ? n - 1 : n;
}

size_t block_waiting_find(const struct block_match *match, uint64_t before_ns, struct block_waiting *out, size_t n) {
    size_t found = 0;
    for (uint32_t i = 0; i < match->high; i++) {
        const struct flight *f = &match->pool[i];
        uint64_t since = in_flight_since(match, f);
        if (!since || since >= before_ns)
            continue;
        size_t at = found < n ? found++ : victim_index(out, n, f->io.dev, since);
        if (at == n)
            continue;
        for (; at + 1 < found && out[at + 1].since_ns <= since; at++)
            out[at] = out[at + 1];
        for (; at > 0 && out[at - 1].since_ns > since; at--)
            out[at] = out[at - 1];
        waiting_take(&out[at], f, since);
    }
    return found;
}

void block_waiting_resolve(struct block_waiting *waiting, size_t n, const struct block_tasks *submitters) {
    for (size_t i = 0; i < n; i++) {
        waiting[i].pid = waiting[i].tid;
        waiting[i].wanted = block_tasks_pid(submitters, waiting[i].tid, &waiting[i].pid);
    }
}

void block_waiting_fill(const struct block_waiting *waiting, size_t n, uint64_t now_ns, struct block_names *names,
                        struct section *out) {
    static const char *const states[] = {"arrived", "queued", "issued"};
    struct table_builder *builder = table_builder_new(&block_waiting_table);
    for (size_t i = 0; i < n; i++) {
        const struct block_waiting *w = &waiting[i];
        if (!w->wanted)
            continue;
        uint32_t row = table_builder_add(builder);
        table_builder_set_text(builder, row, W_DEVICE, text_ref(block_names_get(names, w->dev, now_ns)));
        table_builder_set_num(builder, row, W_PID, w->pid);
        table_builder_set_text(builder, row, W_COMM, text_new(w->comm, strnlen(w->comm, BLOCK_COMM)));
        table_builder_set_text(builder, row, W_OP, text_from(block_op_names[w->op]));
        table_builder_set_num(builder, row, W_AGE, (double)(now_ns - w->since_ns) / 1e3);
        table_builder_set_text(builder, row, W_STATE, text_from(states[w->where]));
        if (w->sector != BLOCK_NO_SECTOR)
            table_builder_set_num(builder, row, W_SECTOR, (double)w->sector);
        table_builder_set_num(builder, row, W_BYTES, w->bytes);
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
}
