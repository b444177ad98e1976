// Shared state of the code that fills one section: tables (fill.c), histograms (hists.c), list of I/Os (list.c).
#ifndef COLLECTORS_BLOCK_FILLER_H
#define COLLECTORS_BLOCK_FILLER_H

#include <string.h>

#include "collectors/block/table.h"

struct block_filler {
    const struct block_fill *fill;
    const struct block_stat *stat;
    double seconds;
    bool filters; // -p or -u is active
    const struct text *ops[BLOCK_OPS], *keys[BLOCK_KEYS];
    struct block_proc_order *order; // the wanted procs, sorted as by_process
    uint32_t n_order;
    struct hist_acc sum; // scratch, empty between uses
};

struct block_proc_order {
    const struct block_proc *proc;
    const struct block_task *task;
    int32_t pid;
    const char *comm;
};

// Returns a reference that the caller owns.
static inline const struct text *block_filler_device(const struct block_filler *filler, uint32_t dev) {
    return text_ref(block_names_get(filler->fill->names, dev, filler->fill->end_ns));
}

static inline const struct text *block_comm_text(const char *comm) {
    return text_new(comm, strnlen(comm, BLOCK_COMM));
}

static inline int block_comm_compare(const struct block_proc_order *a, const struct block_proc_order *b) {
    return strncmp(a->comm, b->comm, 64);
}

static inline int block_cgroups_differ(const struct text *a, const struct text *b) {
    return !a || !b ? (a != NULL) - (b != NULL) : strcmp(text_bytes(a), text_bytes(b));
}

// Merged histogram of n procs, owned by the caller; NULL when one of them has no histogram.
struct hist *block_filler_hist(struct block_filler *filler, const struct block_proc_order *order, uint32_t n,
                               enum block_measure measure);
// Name of the error; NULL: no error.
const struct text *block_error_text(int32_t error);
void block_list_fill(const struct block_filler *filler, struct section *out);
// Reorders the procs.
void block_hists_fill(struct block_filler *filler, struct section *out);

#endif
