// The block collector's histograms: their definitions, and filling a section with them.
#include "collectors/block/filler.h"

#include <math.h>
#include <stdlib.h>

#include "model/columns.h"
#include "model/mem.h"

static const struct column hist_device_keys[] = {
    COLUMN_DEVICE(.help = HELP_DEVICE),
    COLUMN_OP(2, .help = HELP_OP),
};
static const struct column hist_device_flag_keys[] = {
    COLUMN_DEVICE(.help = HELP_DEVICE),
    COLUMN_OP(4, .help = HELP_OP_FLAGS),
};
static const struct column hist_process_keys[] = {
    COLUMN_PID(.help = "Process ID; 0: kernel writeback or throttled I/O; none: the others."),
    COLUMN_COMM(.help = "Name of the process, (writeback), (throttled), or (others)."),
    COLUMN_OP(2, .help = HELP_OP),
};
static const struct column hist_cgroup_keys[] = {
    COLUMN_CGROUP(24, .help = "Path of the cgroup; none: unknown."),
    COLUMN_OP(2, .help = HELP_OP),
};
static const struct column hist_comm_keys[] = {
    COLUMN_COMM(.help = "Thread that submitted the I/O."),
    COLUMN_OP(2, .help = HELP_OP),
};
const struct hist_def block_latency_hist = {
    .name = "io_latency",
    .title = "Service time",
    .span = "issue to complete",
    .unit_name = "us",
    .divisor = 1000,
    .unit = UNIT_US,
    .help = "Service time of completed I/Os: issue to completion.",
    .keys = hist_device_flag_keys,
    .n_keys = 2,
};
const struct hist_def block_queue_hist = {
    .name = "io_queue",
    .title = "Queue time",
    .span = "arrival to issue",
    .unit_name = "us",
    .divisor = 1000,
    .unit = UNIT_US,
    .help = "Queue time of completed I/Os: arrival in the block layer to issue.",
    .keys = hist_device_flag_keys,
    .n_keys = 2,
};
const struct hist_def block_size_hist = {
    .name = "io_size",
    .title = "I/O size",
    .unit_name = "bytes",
    .divisor = 1,
    .unit = UNIT_BYTES,
    .help = "Size of completed I/Os.",
    .keys = hist_comm_keys,
    .n_keys = 2,
};
const struct hist_def block_total_hist = {
    .name = "io_total",
    .title = "Total time",
    .span = "what programs wait",
    .unit_name = "us",
    .divisor = 1000,
    .unit = UNIT_US,
    .help = "Total time of bios: arrival in the block layer to completion; what programs wait for. Includes cgroup "
            "throttling "
            "on partitions, not on whole disks.",
    .keys = hist_device_flag_keys,
    .n_keys = 2,
};
const struct hist_def block_device_size_hist = {
    .name = "io_size_by_device",
    .title = "I/O size by disk",
    .unit_name = "bytes",
    .divisor = 1,
    .unit = UNIT_BYTES,
    .help = "Size of completed I/Os.",
    .keys = hist_device_keys,
    .n_keys = 2,
};
const struct hist_def block_offset_hist = {
    .name = "io_offset",
    .title = "I/O offset",
    .unit_name = "64ths",
    .divisor = 1,
    .unit = UNIT_NONE,
    .help = "First sector of completed I/Os, in 64ths of the device (0 to 63).",
    .keys = hist_device_keys,
    .n_keys = 2,
};

// The three times, by the same keys.
#define IN_US .unit_name = "us", .divisor = 1000, .unit = UNIT_US
#define BY_PROCESS "of the 64 processes with most I/O; the others as (others)."
#define BY_CGROUP "of the 64 cgroups with most I/O; the others as (others)."
const struct hist_def block_process_hists[BLOCK_TIMES] = {
    [BLOCK_OF_LATENCY] =
        {
            .name = "io_latency_by_process",
            .title = "Service time by process",
            .help = "Service time (issue to completion) " BY_PROCESS,
            IN_US,
            .keys = hist_process_keys,
            .n_keys = sizeof(hist_process_keys) / sizeof(hist_process_keys[0]),
        },
    [BLOCK_OF_QUEUE] =
        {
            .name = "io_queue_by_process",
            .title = "Queue time by process",
            .help = "Queue time (arrival to issue) " BY_PROCESS,
            IN_US,
            .keys = hist_process_keys,
            .n_keys = sizeof(hist_process_keys) / sizeof(hist_process_keys[0]),
        },
    [BLOCK_OF_TOTAL] =
        {
            .name = "io_total_by_process",
            .title = "Total time by process",
            .help = "Total time (bio arrival to completion) " BY_PROCESS,
            IN_US,
            .keys = hist_process_keys,
            .n_keys = sizeof(hist_process_keys) / sizeof(hist_process_keys[0]),
        },
};
const struct hist_def block_cgroup_hists[BLOCK_TIMES] = {
    [BLOCK_OF_LATENCY] =
        {
            .name = "io_latency_by_cgroup",
            .title = "Service time by cgroup",
            .help = "Service time (issue to completion) " BY_CGROUP,
            IN_US,
            .keys = hist_cgroup_keys,
            .n_keys = sizeof(hist_cgroup_keys) / sizeof(hist_cgroup_keys[0]),
        },
    [BLOCK_OF_QUEUE] =
        {
            .name = "io_queue_by_cgroup",
            .title = "Queue time by cgroup",
            .help = "Queue time (arrival to issue) " BY_CGROUP,
            IN_US,
            .keys = hist_cgroup_keys,
            .n_keys = sizeof(hist_cgroup_keys) / sizeof(hist_cgroup_keys[0]),
        },
    [BLOCK_OF_TOTAL] =
        {
            .name = "io_total_by_cgroup",
            .title = "Total time by cgroup",
            .help = "Total time (bio arrival to completion) " BY_CGROUP,
            IN_US,
            .keys = hist_cgroup_keys,
            .n_keys = sizeof(hist_cgroup_keys) / sizeof(hist_cgroup_keys[0]),
        },
};

// ---- by device and operation ----

// Adds the histograms of n procs to the sum; false when one has none.
static bool add_procs(struct block_filler *filler, const struct block_proc_order *order, uint32_t n,
                      enum block_measure measure) {
    for (uint32_t i = 0; i < n; i++)
        if (order[i].proc->slot == UINT32_MAX)
            return false;
    for (uint32_t i = 0; i < n; i++)
        hist_acc_add_all(&filler->sum, &filler->stat->slots[order[i].proc->slot].hists[measure]);
    return true;
}

static struct hist *take_sum(struct block_filler *filler) {
    struct hist *hist = hist_seal(&filler->sum);
    hist_acc_clear(&filler->sum);
    return hist;
}

struct hist *block_filler_hist(struct block_filler *filler, const struct block_proc_order *order, uint32_t n,
                               enum block_measure measure) {
    return add_procs(filler, order, n, measure) ? take_sum(filler) : NULL;
}

static void add_hist(struct hist_set *set, const struct text *take_name, const struct text *op,
                     const struct hist_acc *acc) {
    if (!acc || !acc->count) {
        text_unref(take_name);
        return;
    }
    const union cell keys[2] = {{.text = take_name}, {.text = text_ref(op)}};
    hist_set_add(set, keys, hist_seal(acc));
}

static const struct text *key_text(struct block_filler *filler, uint8_t key) {
    if (!filler->keys[key]) {
        char name[8];
        block_key_name(key, name);
        filler->keys[key] = text_from(name);
    }
    return filler->keys[key];
}

static void fill_hists(struct block_filler *filler, struct section *out) {
    const struct block_stat *stat = filler->stat;
    struct hist_set *latency = hist_set_new(&block_latency_hist), *queue = hist_set_new(&block_queue_hist),
                    *total = hist_set_new(&block_total_hist), *size = hist_set_new(&block_device_size_hist),
                    *offset = hist_set_new(&block_offset_hist);
    for (uint32_t i = 0; i < stat->n_devices; i++) {
        const struct block_device *device = &stat->devices[i];
        const struct text *name = block_filler_device(filler, device->dev);
        for (int key = 0; key < BLOCK_KEYS; key++) {
            if (!device->latency[key] && !device->queue[key] && !device->total[key])
                continue;
            const struct text *op = key_text(filler, (uint8_t)key);
            add_hist(latency, text_ref(name), op, device->latency[key]);
            add_hist(queue, text_ref(name), op, device->queue[key]);
            add_hist(total, text_ref(name), op, device->total[key]);
        }
        for (int op = 0; op < BLOCK_OPS; op++) {
            add_hist(size, text_ref(name), filler->ops[op], device->size[op]);
            add_hist(offset, text_ref(name), filler->ops[op], device->offset[op]);
        }
        text_unref(name);
    }
    section_hists(out, latency);
    section_hists(out, queue);
    section_hists(out, total);
    section_hists(out, size);
    section_hists(out, offset);
}

// ---- by process, cgroup and command: the 64 largest, and (others) ----

static int process_compare(const void *left, const void *right) {
    const struct block_proc_order *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    int order = block_comm_compare(a, b);
    return order ? order : (int)a->proc->op - (int)b->proc->op;
}

static int command_compare(const void *left, const void *right) {
    const struct block_proc_order *a = left, *b = right;
    int order = block_comm_compare(a, b);
    return order ? order : (int)a->proc->op - (int)b->proc->op;
}

static int cgroup_op_compare(const void *left, const void *right) {
    const struct block_proc_order *a = left, *b = right;
    int order = block_cgroups_differ(a->task->cgroup, b->task->cgroup);
    return order ? order : (int)a->proc->op - (int)b->proc->op;
}

#define GROUPS_MAX 64

struct group {
    const struct block_proc_order *first; // n of them
    uint32_t n;
    uint64_t ios;
};

static int group_larger(const void *left, const void *right) {
    const struct group *a = left, *b = right;
    return a->ios > b->ios ? -1 : a->ios < b->ios;
}

// A way to group procs, and the histograms built from the groups.
struct grouping {
    int (*compare)(const void *left, const void *right);
    // Sets the leading keys of a group; first NULL: (others).
    void (*keys)(const struct block_proc_order *first, union cell *out);
    struct {
        const struct hist_def *def; // NULL: end
        enum block_measure measure;
    } sets[BLOCK_TIMES];
};

// Merges these groups into (others), per operation; n may be 0.
static void others_add(struct block_filler *filler, const struct grouping *grouping, struct hist_set *set,
                       enum block_measure measure, const struct group *groups, uint32_t n) {
    for (uint8_t op = 0; op < BLOCK_OPS; op++) {
        for (uint32_t i = 0; i < n; i++)
            if (groups[i].first->proc->op == op)
                add_procs(filler, groups[i].first, groups[i].n, measure);
        if (!filler->filters)
            hist_acc_add_all(&filler->sum, &filler->stat->others[op].hists[measure]);
        if (!filler->sum.count)
            continue;
        union cell keys[3];
        grouping->keys(NULL, keys);
        keys[hist_set_def(set)->n_keys - 1].text = text_ref(filler->ops[op]);
        hist_set_add(set, keys, take_sum(filler));
    }
}

static void groups_add(struct block_filler *filler, const struct grouping *grouping, struct hist_set *set,
                       enum block_measure measure, const struct group *groups, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const struct block_proc_order *first = groups[i].first;
        add_procs(filler, first, groups[i].n, measure);
        if (!filler->sum.count)
            continue;
        union cell keys[3];
        grouping->keys(first, keys);
        keys[hist_set_def(set)->n_keys - 1].text = text_ref(filler->ops[first->proc->op]);
        hist_set_add(set, keys, take_sum(filler));
    }
}

// Groups the first n procs once for all histograms of a grouping.
static void fill_groups(struct block_filler *filler, uint32_t n, const struct grouping *grouping, struct section *out) {
    struct group *groups = xcalloc(n + 1, sizeof(*groups));
    uint32_t n_groups = 0;

    qsort(filler->order, n, sizeof(*filler->order), grouping->compare);
    for (uint32_t i = 0; i < n; i += groups[n_groups++].n) {
        struct group *group = &groups[n_groups];
        for (group->first = &filler->order[i]; i + group->n < n; group->n++) {
            const struct block_proc_order *next = &group->first[group->n];
            if (grouping->compare(group->first, next) != 0)
                break;
            group->ios += next->proc->ios > next->proc->bios ? next->proc->ios : next->proc->bios;
        }
    }
    qsort(groups, n_groups, sizeof(*groups), group_larger);
    uint32_t shown = n_groups < GROUPS_MAX ? n_groups : GROUPS_MAX;
    for (size_t i = 0; i < BLOCK_TIMES && grouping->sets[i].def; i++) {
        struct hist_set *set = hist_set_new(grouping->sets[i].def);
        enum block_measure measure = grouping->sets[i].measure;
        others_add(filler, grouping, set, measure, groups + shown, n_groups - shown);
        groups_add(filler, grouping, set, measure, groups, shown);
        section_hists(out, set);
    }
    free(groups);
}

static void process_keys(const struct block_proc_order *first, union cell *out) {
    out[0].num = first ? first->pid : NAN;
    out[1].text = text_from(first ? first->comm : "(others)");
}

static void cgroup_keys(const struct block_proc_order *first, union cell *out) {
    const struct text *cgroup = first ? first->task->cgroup : NULL;
    out[0].text = !first ? text_from("(others)") : cgroup ? text_ref(cgroup) : NULL;
}

static void command_keys(const struct block_proc_order *first, union cell *out) {
    out[0].text = text_from(first ? first->comm : "(others)");
}

static const struct grouping groupings[] = {
    {process_compare,
     process_keys,
     {{&block_process_hists[BLOCK_OF_LATENCY], BLOCK_OF_LATENCY},
      {&block_process_hists[BLOCK_OF_QUEUE], BLOCK_OF_QUEUE},
      {&block_process_hists[BLOCK_OF_TOTAL], BLOCK_OF_TOTAL}}},
    {cgroup_op_compare,
     cgroup_keys,
     {{&block_cgroup_hists[BLOCK_OF_LATENCY], BLOCK_OF_LATENCY},
      {&block_cgroup_hists[BLOCK_OF_QUEUE], BLOCK_OF_QUEUE},
      {&block_cgroup_hists[BLOCK_OF_TOTAL], BLOCK_OF_TOTAL}}},
    {command_compare, command_keys, {{&block_size_hist, BLOCK_OF_SIZE}}},
};

void block_hists_fill(struct block_filler *filler, struct section *out) {
    uint32_t kept = 0;

    fill_hists(filler, out);
    // Procs without a histogram are already in stat->others.
    for (uint32_t i = 0; i < filler->n_order; i++)
        if (filler->order[i].proc->slot != UINT32_MAX) {
            struct block_proc_order swap = filler->order[kept];
            filler->order[kept++] = filler->order[i];
            filler->order[i] = swap;
        }
    for (size_t i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++)
        fill_groups(filler, kept, &groupings[i], out);
}
