// Builds the rows of a frame, once per frame: names are looked up and texts made only here. Rows of threads are merged
// by process. Histograms are in hists.c, the list of I/Os in list.c.
#include <math.h>
#include <stdlib.h>

#include "collectors/block/filler.h"
#include "model/mem.h"

#define GONE_NS 60000000000ull

static int row_compare(const void *left, const void *right) {
    const struct block_proc_order *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->proc->dev != b->proc->dev)
        return a->proc->dev < b->proc->dev ? -1 : 1;
    if (a->proc->op != b->proc->op)
        return a->proc->op < b->proc->op ? -1 : 1;
    return block_comm_compare(a, b);
}

static int cgroup_compare(const void *left, const void *right) {
    const struct block_proc_order *a = left, *b = right;
    int order = block_cgroups_differ(a->task->cgroup, b->task->cgroup);
    if (order || a->proc->op != b->proc->op)
        return order ? order : (int)a->proc->op - (int)b->proc->op;
    return a->proc->dev < b->proc->dev ? -1 : a->proc->dev > b->proc->dev;
}

static void resolve_procs(struct block_filler *filler) {
    const struct block_stat *stat = filler->stat;
    block_tasks_resolve(filler->fill->submitters, filler->fill->stat, filler->fill->end_ns);
    filler->order = xcalloc(stat->n_procs + 1, sizeof(*filler->order));
    for (uint32_t i = 0; i < stat->n_procs; i++) {
        const struct block_proc *p = &stat->procs[i];
        const struct block_task *task = block_task_get(filler->fill->submitters, p);
        bool known = p->task != UINT32_MAX;
        if (known ? !task->wanted : filler->filters)
            continue;
        filler->order[filler->n_order++] = (struct block_proc_order){
            p, task, known ? task->pid : p->tid, known && task->comm ? text_bytes(task->comm) : p->comm};
    }
}

// Sums over threads, devices or operations.
struct sums {
    uint64_t ios, bytes, latency_ns, bios, total_ns;
    struct block_sequence_counts sequence;
    const struct text *cgroup; // NULL when they differ
};

static void sums_add(struct sums *sums, const struct block_proc_order *order) {
    const struct block_proc *p = order->proc;
    bool first = !sums->ios && !sums->bios;
    sums->cgroup = first                                                     ? order->task->cgroup
                   : block_cgroups_differ(sums->cgroup, order->task->cgroup) ? NULL
                                                                             : sums->cgroup;
    sums->ios += p->ios;
    sums->bytes += p->bytes;
    sums->latency_ns += p->latency_ns;
    sums->bios += p->bios;
    sums->total_ns += p->total_ns;
    sums->sequence.known += p->sequence.known;
    sums->sequence.sequential += p->sequence.sequential;
}

static void set_ratio(struct table_builder *builder, uint32_t row, uint16_t column, uint64_t sum, uint64_t count,
                      double factor) {
    if (count)
        table_builder_set_num(builder, row, column, (double)sum / (double)count * factor);
}

// Average per bio, and total per second: the second column follows the first.
static void set_total(const struct block_filler *filler, struct table_builder *builder, uint32_t row, uint16_t column,
                      const struct sums *sums) {
    set_ratio(builder, row, column, sums->total_ns, sums->bios, 1e-3);
    if (sums->bios)
        table_builder_set_num(builder, row, column + 1, (double)sums->total_ns / 1e3 / filler->seconds);
}

static void set_p99(struct block_filler *filler, struct table_builder *builder, uint32_t row, uint16_t column,
                    const struct block_proc_order *first, uint32_t n, enum block_measure measure) {
    struct hist *hist = block_filler_hist(filler, first, n, measure);
    if (hist && hist->count)
        table_builder_set_num(builder, row, column, hist_quantile(hist, 0.99) / 1000);
    hist_free(hist);
}

static void fill_processes(struct block_filler *filler, struct section *out) {
    struct table_builder *builder = table_builder_new(&block_process_table);
    qsort(filler->order, filler->n_order, sizeof(*filler->order), row_compare);
    for (uint32_t i = 0, n; i < filler->n_order; i += n) {
        const struct block_proc_order *first = &filler->order[i];
        struct sums sums = {0};
        for (n = 0; i + n < filler->n_order && !row_compare(first, &first[n]); n++)
            sums_add(&sums, &first[n]);
        uint32_t row = table_builder_add(builder);
        table_builder_set_num(builder, row, BLOCK_P_PID, first->pid);
        table_builder_set_text(builder, row, BLOCK_P_COMM, text_from(first->comm));
        table_builder_set_text(builder, row, BLOCK_P_DEVICE, block_filler_device(filler, first->proc->dev));
        table_builder_set_text(builder, row, BLOCK_P_OP, text_ref(filler->ops[first->proc->op]));
        table_builder_set_num(builder, row, BLOCK_P_IOS, (double)sums.ios / filler->seconds);
        table_builder_set_num(builder, row, BLOCK_P_BYTES, (double)sums.bytes / filler->seconds);
        set_ratio(builder, row, BLOCK_P_LATENCY, sums.latency_ns, sums.ios, 1e-3);
        set_ratio(builder, row, BLOCK_P_SEQUENTIAL, sums.sequence.sequential, sums.sequence.known, 100);
        set_ratio(builder, row, BLOCK_P_AVG_BYTES, sums.bytes, sums.ios, 1);
        if (sums.cgroup)
            table_builder_set_text(builder, row, BLOCK_P_CGROUP, text_ref(sums.cgroup));
        set_total(filler, builder, row, BLOCK_P_TOTAL, &sums);
        set_p99(filler, builder, row, BLOCK_P_P99, first, n, BLOCK_OF_LATENCY);
        set_p99(filler, builder, row, BLOCK_P_TOTAL_P99, first, n, BLOCK_OF_TOTAL);
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
}

static void fill_cgroups(struct block_filler *filler, struct section *out) {
    struct table_builder *builder = table_builder_new(&block_cgroup_table);
    qsort(filler->order, filler->n_order, sizeof(*filler->order), cgroup_compare);
    for (uint32_t i = 0, n; i < filler->n_order; i += n) {
        const struct block_proc_order *first = &filler->order[i];
        struct sums sums = {0};
        for (n = 0; i + n < filler->n_order && !cgroup_compare(first, &first[n]); n++)
            sums_add(&sums, &first[n]);
        uint32_t row = table_builder_add(builder);
        if (sums.cgroup)
            table_builder_set_text(builder, row, BLOCK_C_CGROUP, text_ref(sums.cgroup));
        table_builder_set_text(builder, row, BLOCK_C_DEVICE, block_filler_device(filler, first->proc->dev));
        table_builder_set_text(builder, row, BLOCK_C_OP, text_ref(filler->ops[first->proc->op]));
        table_builder_set_num(builder, row, BLOCK_C_IOS, (double)sums.ios / filler->seconds);
        table_builder_set_num(builder, row, BLOCK_C_BYTES, (double)sums.bytes / filler->seconds);
        set_ratio(builder, row, BLOCK_C_LATENCY, sums.latency_ns, sums.ios, 1e-3);
        set_total(filler, builder, row, BLOCK_C_TOTAL, &sums);
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
}

static void fill_errors(struct block_filler *filler, struct section *out) {
    struct table_builder *builder = table_builder_new(&block_errors_table);
    for (uint32_t i = 0; i < filler->stat->n_errors; i++) {
        const struct block_error *error = &filler->stat->errors[i];
        uint32_t row = table_builder_add(builder);
        table_builder_set_text(builder, row, BLOCK_X_DEVICE, block_filler_device(filler, error->dev));
        table_builder_set_text(builder, row, BLOCK_X_OP, text_ref(filler->ops[error->op]));
        table_builder_set_text(builder, row, BLOCK_X_ERROR, block_error_text(error->error));
        table_builder_set_num(builder, row, BLOCK_X_ERRORS, (double)(error->count - error->before) / filler->seconds);
        table_builder_set_num(builder, row, BLOCK_X_COUNT, (double)error->count);
        if (error->sector != BLOCK_NO_SECTOR)
            table_builder_set_num(builder, row, BLOCK_X_SECTOR, (double)error->sector);
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
}

// Merged histogram of an operation's keys (BLOCK_OPS: of all); NULL: no I/O.
static struct hist *by_op(struct hist_acc *const *accs, int op) {
    const struct hist *hists[BLOCK_KEYS];
    size_t n = 0;
    for (int key = 0; key < BLOCK_KEYS; key++)
        if (accs[key] && accs[key]->count && (op == BLOCK_OPS || block_key_op((uint8_t)key) == op))
            hists[n++] = hist_seal(accs[key]);
    struct hist *all = n ? hist_merge(hists, n) : NULL;
    while (n)
        hist_free((struct hist *)hists[--n]);
    return all;
}

static void set_quantiles(struct table_builder *builder, uint32_t row, struct hist_acc *const *accs, int op,
                          const uint16_t *columns, size_t n) {
    static const double quantiles[] = {0.5, 0.99, 0.999};
    struct hist *hist = by_op(accs, op);
    for (size_t i = 0; hist && i < n; i++)
        table_builder_set_num(builder, row, columns[i], hist_quantile(hist, quantiles[i]) / 1000);
    hist_free(hist);
}

static void set_mean(struct table_builder *builder, uint32_t row, uint16_t column, struct hist_acc *const *accs) {
    uint64_t count = 0, sum = 0;
    for (int key = 0; key < BLOCK_KEYS; key++)
        if (accs[key]) {
            count += accs[key]->count;
            sum += accs[key]->sum;
        }
    set_ratio(builder, row, column, sum, count, 1e-3);
}

// The disk's oldest I/O in flight; waiting[] is sorted oldest first.
static void set_oldest(const struct block_filler *filler, struct table_builder *builder, uint32_t row, uint32_t dev) {
    const struct block_fill *fill = filler->fill;
    size_t i = 0;
    while (i < fill->n_waiting && fill->waiting[i].dev != dev)
        i++;
    if (i == fill->n_waiting) {
        table_builder_set_num(builder, row, BLOCK_D_OLDEST, 0);
        return;
    }
    const struct block_waiting *waiting = &fill->waiting[i];
    table_builder_set_num(builder, row, BLOCK_D_OLDEST, (double)(fill->end_ns - waiting->since_ns) / 1e3);
    table_builder_set_num(builder, row, BLOCK_D_OLDEST_PID, waiting->pid);
    table_builder_set_text(builder, row, BLOCK_D_OLDEST_COMM, block_comm_text(waiting->comm));
}

static void fill_device(struct block_filler *filler, struct table_builder *builder, const struct block_device *device) {
    static const uint16_t reads[] = {BLOCK_D_READ_P50, BLOCK_D_READ_P99, BLOCK_D_READ_P999};
    static const uint16_t writes[] = {BLOCK_D_WRITE_P50, BLOCK_D_WRITE_P99};
    double seconds = filler->seconds;
    uint32_t row = table_builder_add(builder);
    table_builder_set_text(builder, row, BLOCK_D_DEVICE, block_filler_device(filler, device->dev));
    table_builder_set_num(builder, row, BLOCK_D_ERRORS, (double)device->errors / seconds);
    set_mean(builder, row, BLOCK_D_QUEUE, device->queue);
    set_mean(builder, row, BLOCK_D_SERVICE, device->latency);
    set_mean(builder, row, BLOCK_D_TOTAL, device->total);
    set_quantiles(builder, row, device->latency, BLOCK_READ, reads, 3);
    set_quantiles(builder, row, device->latency, BLOCK_WRITE, writes, 2);
    set_ratio(builder, row, BLOCK_D_SEQUENTIAL, device->sequence.sequential, device->sequence.known, 100);
    table_builder_set_num(builder, row, BLOCK_D_TIMEOUTS, (double)device->timeouts / seconds);
    table_builder_set_num(builder, row, BLOCK_D_REQUEUES, (double)device->requeues / seconds);
    table_builder_set_num(builder, row, BLOCK_D_FLUSHES, (double)device->ios[BLOCK_FLUSH] / seconds);
    table_builder_set_num(builder, row, BLOCK_D_DISCARDS, (double)device->ios[BLOCK_DISCARD] / seconds);
    if (device->busy_ns != BLOCK_BUSY_UNKNOWN) // an event at the edge may be traced late
        table_builder_set_num(builder, row, BLOCK_D_BUSY, fmin(100, (double)device->busy_ns / seconds / 1e7));
    set_oldest(filler, builder, row, device->dev);
    table_builder_set_text(builder, row, BLOCK_D_LAST_ERROR, block_error_text(device->last_error));
    if (device->last_error && device->last_error_sector != BLOCK_NO_SECTOR)
        table_builder_set_num(builder, row, BLOCK_D_LAST_SECTOR, (double)device->last_error_sector);
}

static void fill_devices(struct block_filler *filler, struct section *out) {
    const struct block_stat *stat = filler->stat;
    struct table_builder *builder = table_builder_new(&block_devices_table);
    for (uint32_t i = 0; i < stat->n_devices; i++) {
        const struct block_device *device = &stat->devices[i];
        uint64_t ios = 0;
        for (int op = 0; op < BLOCK_OPS; op++)
            ios += device->ios[op];
        if (ios || !block_names_gone(filler->fill->names, device->dev))
            fill_device(filler, builder, device);
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
}

// A disk that is gone, or was replaced by another with the same dev_t (sda pulled, a new sda inserted).
static void forget_gone(const struct block_names *names, struct block_stat *stat, uint32_t at, uint64_t now_ns) {
    struct block_device *device = &stat->devices[at];
    uint64_t gone = block_names_gone(names, device->dev), before = block_names_previous_gone(names, device->dev);
    if (gone && gone + GONE_NS < now_ns)
        block_stat_release(stat, at);
    if (before == device->previous_gone_ns)
        return;
    device->previous_gone_ns = before;
    block_stat_replaced(stat, at);
}

// I/O in flight on a removed disk completes within the kernel's limits (30 s for SCSI, plus retries). The completion of
// the rest will never be traced.
static void drop_gone(const struct block_names *names, struct block_match *match, uint32_t dev, uint64_t now_ns) {
    uint64_t gone = block_names_gone(names, dev), before = block_names_previous_gone(names, dev);
    if (gone && gone + GONE_NS < now_ns)
        block_match_drop(match, dev, now_ns);
    else if (before)
        block_match_drop(match, dev, before);
}

static void fill_paths(const struct block_names *names, struct block_match *match) {
    uint32_t heads[32], dev;
    block_match_heads(match, heads, block_names_heads(names, heads, sizeof(heads) / sizeof(heads[0])));
    for (uint32_t i = 0; block_names_disk(names, i, &dev); i++)
        block_match_no_path(match, dev);
    const struct block_part *paths;
    for (size_t n = block_names_paths(names, &paths); n--;)
        block_match_path(match, paths[n]);
}

void block_fill_disks(struct block_names *names, struct block_stat *stat, struct block_match *match, uint64_t now_ns) {
    uint32_t dev;
    bool fresh = block_names_refresh(names, now_ns);
    block_stat_settle(stat);
    // Every disk has a row from the start: zero errors is a measurement.
    for (uint32_t i = 0; block_names_disk(names, i, &dev); i++)
        block_stat_device(stat, dev);
    for (uint32_t i = 0; i < stat->n_devices; i++) {
        uint64_t sectors = block_names_sectors(names, stat->devices[i].dev);
        stat->devices[i].per_sector = sectors ? (double)BLOCK_PARTS / (double)sectors : 0;
        if (!fresh)
            continue;
        drop_gone(names, match, stat->devices[i].dev, now_ns);
        forget_gone(names, stat, i, now_ns);
    }
    const struct block_part *parts;
    size_t n = block_names_parts(names, &parts);
    if (!fresh)
        return;
    fill_paths(names, match);
    block_match_parts(match, parts, n);
}

void block_fill_section(const struct block_fill *fill, struct section *out) {
    struct block_filler filler = {
        .fill = fill, .stat = fill->stat, .seconds = NAN, .filters = block_tasks_filters(fill->submitters)};
    if (fill->end_ns > fill->begin_ns)
        filler.seconds = (double)(fill->end_ns - fill->begin_ns) / 1e9;
    block_stat_settle(fill->stat);
    for (int op = 0; op < BLOCK_OPS; op++)
        filler.ops[op] = text_from(block_op_names[op]);
    resolve_procs(&filler);
    fill_devices(&filler, out);
    fill_processes(&filler, out);
    fill_cgroups(&filler, out);
    fill_errors(&filler, out);
    block_waiting_fill(fill->waiting, fill->n_waiting, fill->end_ns, fill->names, out);
    block_hists_fill(&filler, out);
    block_list_fill(&filler, out);
    free(filler.order);
    for (int op = 0; op < BLOCK_OPS; op++)
        text_unref(filler.ops[op]);
    for (int key = 0; key < BLOCK_KEYS; key++)
        text_unref(filler.keys[key]);
}
