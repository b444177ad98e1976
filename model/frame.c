// Frames: made and filled by one thread, then immutable and shared. Look-ups go by the contract's names over all
// sections, so that callers need not know which collector delivers what.
#include "model/frame.h"

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

// Keeps the count out of the public struct.
struct counted_frame {
    atomic_uint refs;
    struct frame frame;
};

static struct counted_frame *counted(const struct frame *frame) {
    return (struct counted_frame *)((char *)frame - offsetof(struct counted_frame, frame));
}

struct frame *frame_new(uint64_t number, uint64_t begin_ns, uint64_t end_ns, struct timespec wall) {
    struct counted_frame *made = mem_alloc(sizeof(*made));
    atomic_init(&made->refs, 1);
    made->frame.number = number;
    made->frame.begin_ns = begin_ns;
    made->frame.end_ns = end_ns;
    made->frame.wall = wall;
    return &made->frame;
}

void frame_add_section(struct frame *frame, const struct section *take, uint64_t stale_ns) {
    if (frame->n_sections == FRAME_SECTIONS_MAX) {
        section_unref(take);
        return;
    }
    frame->stale_ns[frame->n_sections] = stale_ns;
    frame->sections[frame->n_sections++] = take;
}

const struct frame *frame_ref(const struct frame *frame) {
    // Relaxed: the caller already holds a reference.
    if (frame)
        atomic_fetch_add_explicit(&counted(frame)->refs, 1, memory_order_relaxed);
    return frame;
}

void frame_unref(const struct frame *frame) {
    // Release by all, acquire by the last: all reads are complete before the memory is freed.
    if (!frame || atomic_fetch_sub_explicit(&counted(frame)->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint16_t i = 0; i < frame->n_sections; i++)
        section_unref(frame->sections[i]);
    origin_unref(frame->origin);
    mem_free(counted(frame), sizeof(struct counted_frame));
}

bool frame_shared(const struct frame *frame) {
    return atomic_load_explicit(&counted(frame)->refs, memory_order_relaxed) > 1;
}

double frame_interval_s(const struct frame *frame) {
    return frame->end_ns > frame->begin_ns ? (double)(frame->end_ns - frame->begin_ns) / 1e9 : 0;
}

uint64_t frame_lost(const struct frame *frame) {
    uint64_t lost = 0;
    for (uint16_t i = 0; i < frame->n_sections; i++)
        if (!frame->repeated[i]) // else counted in the previous frame
            lost += section_lost(frame->sections[i]);
    return lost;
}

const struct section *frame_section(const struct frame *frame, const char *collector, uint64_t *stale_ns) {
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        if (strcmp(section_collector(frame->sections[i]), collector) != 0)
            continue;
        if (stale_ns)
            *stale_ns = frame->stale_ns[i];
        return frame->sections[i];
    }
    return NULL;
}

const struct table *frame_table(const struct frame *frame, const char *name) {
    const struct table *found = NULL;
    for (uint16_t i = 0; !found && i < frame->n_sections; i++)
        found = section_find_table(frame->sections[i], name);
    return found;
}

const struct hist_set *frame_hists(const struct frame *frame, const char *name) {
    const struct hist_set *found = NULL;
    for (uint16_t i = 0; !found && i < frame->n_sections; i++)
        found = section_find_hists(frame->sections[i], name);
    return found;
}

const struct tree *frame_tree(const struct frame *frame, const char *name) {
    const struct tree *found = NULL;
    for (uint16_t i = 0; !found && i < frame->n_sections; i++)
        found = section_find_tree(frame->sections[i], name);
    return found;
}

struct tree *frames_tree(const struct frame *const *frames, size_t n, uint64_t from, const char *name) {
    const struct tree **trees = xcalloc(n, sizeof(struct tree *));
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (frames[i]->number < from)
            continue;
        const struct tree *tree = frame_tree(frames[i], name);
        // A repeated section is the same section as in the previous frame, so its tree is the one found there.
        if (tree && (!count || trees[count - 1] != tree))
            trees[count++] = tree;
    }
    struct tree *sum = count ? tree_merge(trees, count) : NULL;
    free(trees);
    return sum;
}

const struct table *frame_stream(const struct frame *frame, const char *name, uint64_t *left_out) {
    const struct table *found = NULL;
    for (uint16_t i = 0; !found && i < frame->n_sections; i++)
        found = section_find_stream(frame->sections[i], name, left_out);
    return found;
}

bool frame_has_column(const struct frame *frame, const char *name) {
    for (uint16_t i = 0; i < frame->n_sections; i++)
        if (section_has_column(frame->sections[i], name))
            return true;
    return false;
}

bool frame_hists_repeated(const struct frame *frame, const char *name) {
    for (uint16_t i = 0; i < frame->n_sections; i++)
        if (section_find_hists(frame->sections[i], name))
            return frame->repeated[i];
    return false;
}

bool frame_stream_repeated(const struct frame *frame, const char *name) {
    uint64_t left_out;
    for (uint16_t i = 0; i < frame->n_sections; i++)
        if (section_find_stream(frame->sections[i], name, &left_out))
            return frame->repeated[i];
    return false;
}

bool frame_table_repeated(const struct frame *frame, const char *name) {
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        const struct table *table = section_find_table(frame->sections[i], name);
        if (table)
            return frame->repeated[i] && table_def(table)->rows == ROWS_REPORTED_ONCE;
    }
    return false;
}

bool frame_tree_repeated(const struct frame *frame, const char *name) {
    for (uint16_t i = 0; i < frame->n_sections; i++)
        if (section_find_tree(frame->sections[i], name))
            return frame->repeated[i];
    return false;
}

double frame_series(const struct frame *frame, const char *name, const struct series_def **def) {
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        const struct section *section = frame->sections[i];
        for (size_t s = 0, n = section_n_series(section); s < n; s++) {
            const struct series_def *found;
            double value = section_series_at(section, s, &found);
            if (strcmp(found->name, name) != 0)
                continue;
            if (def)
                *def = found;
            return value;
        }
    }
    if (def)
        *def = NULL;
    return NAN;
}
