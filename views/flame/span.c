// Merges the trees of a span of frames. A live span of the whole history grows by one frame at a time: what was merged
// is kept, and only the new frames are added.
#include "views/flame/span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/flame/part_flame.h"
#include "views/write.h"

static const int span_seconds[FLAME_SPANS] = {1, 10, 60, 0};

void flame_choice_init(struct flame_choice *choice) {
    choice->span = 1;
    choice->idle = true; // sampled only when that was asked for
}

static void mark_free(struct flame_mark *mark) {
    tree_free(mark->tree);
    *mark = (struct flame_mark){0};
}

void flame_choice_done(struct flame_choice *choice) {
    tree_free(choice->merged.tree);
    tree_free(choice->cold.tree);
    flame_unmark(choice);
}

void flame_choice_range(struct flame_choice *choice, uint64_t from, uint64_t to, double begin_s, double end_s) {
    choice->from = from;
    choice->to = to;
    choice->begin_s = begin_s;
    choice->end_s = end_s;
    tree_free(choice->merged.tree);
    tree_free(choice->cold.tree);
    choice->merged = choice->cold = (struct flame_merged){0};
    choice->version++;
}

const struct part *flame_part_of(const struct pane *pane) {
    for (size_t i = 0; i < pane->view->n_parts; i++)
        if (pane->view->parts[i].kind == &part_flame)
            return &pane->view->parts[i];
    return NULL;
}

struct flame_choice *flame_choice_of(struct pane *pane) {
    const struct part *part = flame_part_of(pane);
    return part ? pane->parts[part - pane->view->parts] : NULL;
}

// ---- merging ----

static bool fits(const struct tree *a, const struct tree *b) {
    return tree_def(a) == tree_def(b) && tree_names(a) == tree_names(b);
}

struct range {
    const char *name, *also;           // the tree, and one that the frame must have as well, or NULL
    const char *hz;                    // or NULL
    uint64_t after, to;                // numbers of frames
    bool continued;                    // what was before it is merged already
    const struct flame_choice *marked; // with a marked range of time; or NULL
    const struct flame_spec *spec;     // of `marked`
};

// Frame i of the window, look->frame for i == n_window, if its tree is in the range. NULL: it is not.
static const struct frame *frame_at(const struct look *look, size_t i, const struct range *range) {
    bool last = i == look->n_window;
    const struct frame *frame = last ? look->frame : look->window[i];

    return frame && frame->number > range->after && frame->number <= range->to &&
                   (last || !look->frame || frame->number < look->frame->number) && frame_tree(frame, range->name) &&
                   (!range->also || frame_tree(frame, range->also))
               ? frame
               : NULL;
}

// Whether no other frame of the range shows the same samples. The oldest one shows those of the frame before as stale.
static bool is_counted(const struct frame *frame, const struct range *range) {
    return (!range->continued && frame->number == range->after + 1) || !frame_tree_repeated(frame, range->name);
}

struct tree *flame_range_pick(const struct flame_choice *choice, const struct frame *frame,
                              const struct flame_spec *spec) {
    const struct table *samples = choice->to && spec->events ? frame_stream(frame, spec->events, NULL) : NULL;
    int time = samples ? table_column(table_def(samples), "time_s") : -1;
    int path = samples ? table_column(table_def(samples), "path") : -1;
    const union cell *row;
    size_t at = 0, n = 0;

    if (time < 0 || path < 0)
        return NULL;
    uint32_t *nodes = xcalloc(table_rows(samples) + 1, sizeof(*nodes));
    while ((row = table_next(samples, &at)))
        if (row[time].num >= choice->begin_s && row[time].num < choice->end_s && row[path].num >= 0 &&
            row[path].num < UINT32_MAX)
            nodes[n++] = (uint32_t)row[path].num;
    struct tree *picked = tree_pick(frame_tree(frame, spec->tree), nodes, n);
    free(nodes);
    return picked;
}

// Adds the frames in the range that can be merged with the newest to what was merged before.
static void merge(const struct look *look, const struct range *range, struct flame_merged *merged) {
    const struct tree **trees = xcalloc(look->n_window + 3, sizeof(*trees)), *newest = NULL;
    struct tree **picked = xcalloc(look->n_window + 1, sizeof(*picked));
    double us = 0, seconds = 0;
    size_t n = 0, n_picked = 0;

    for (size_t i = look->n_window + 1; i-- > 0;) {
        const struct frame *frame = frame_at(look, i, range);
        const struct tree *tree = frame ? frame_tree(frame, range->name) : NULL;
        if (!tree)
            continue;
        newest = newest ? newest : tree;
        if (!fits(tree, newest)) // the collector began anew with another name table
            break;
        seconds += frame_interval_s(frame);
        if (!is_counted(frame, range))
            continue;
        us += range->hz ? 1e6 * (double)tree_node(tree, 0)->total / frame_series(frame, range->hz, NULL) : 0;
        struct tree *part = range->marked ? flame_range_pick(range->marked, frame, range->spec) : NULL;
        if (part)
            picked[n_picked++] = part;
        trees[n++] = part ? part : tree;
    }
    merged->seconds += n_picked ? range->marked->end_s - range->marked->begin_s : seconds;
    if (merged->tree && newest && !fits(merged->tree, newest)) {
        tree_free(merged->tree);
        *merged = (struct flame_merged){.seconds = seconds};
    }
    if (merged->tree)
        trees[n++] = merged->tree;
    struct tree *sum = n ? tree_merge(trees, n) : NULL;
    free(trees);
    for (size_t i = 0; i < n_picked; i++)
        tree_free(picked[i]);
    free(picked);
    tree_free(merged->tree);
    merged->tree = sum;
    merged->us += us;
}

size_t flame_span_frames(const struct flame_choice *choice, const struct look *look, const struct flame_spec *spec,
                         const struct frame **frames) {
    uint64_t from = choice->merged.from;
    struct range range = {
        .name = spec->tree, .also = spec->cold, .after = from ? from - 1 : 0, .to = choice->merged.to};
    size_t n = 0;

    for (size_t i = 0; i <= look->n_window; i++) {
        const struct frame *frame = frame_at(look, i, &range);
        if (frame && is_counted(frame, &range))
            frames[n++] = frame;
    }
    return n;
}

// The number of the first frame of so many seconds; one that is half inside belongs to it.
static uint64_t first_of(const struct look *look, int seconds) {
    uint64_t from = look->frame->number, span = (uint64_t)seconds * 1000000000;

    for (size_t i = look->n_window; i-- > 0;) {
        const struct frame *frame = look->window[i];
        uint64_t middle = frame->begin_ns + (frame->end_ns - frame->begin_ns) / 2;
        if (seconds && middle + span < look->frame->end_ns)
            break;
        from = frame->number < from ? frame->number : from;
    }
    return from;
}

static const struct tree *span_load(struct flame_choice *choice, struct flame_merged *merged, const struct look *look,
                                    struct range range) {
    uint64_t from = look->from, to = look->frame ? look->frame->number : 0;

    if (!look->frame)
        return NULL;
    if (choice->to) {
        range.marked = choice;
        from = choice->from;
        // Samples of the range's end may have been read with the frame after it.
        to = range.spec->events && choice->to < to ? choice->to + 1 : choice->to;
    } else if (!from) {
        from = first_of(look, span_seconds[choice->span]);
        // Frames that left the history stay in the sum of the whole, or all of it would be merged anew at each frame.
        if (!span_seconds[choice->span] && merged->from < from && merged->to >= from && merged->to <= to &&
            merged->tree)
            from = merged->from;
    }
    if (merged->from == from && merged->to == to)
        return merged->tree;
    range.continued = merged->tree && merged->from == from && merged->to < to && !choice->to;
    range.after = range.continued ? merged->to : from ? from - 1 : 0;
    range.to = to;
    if (!range.continued) {
        tree_free(merged->tree);
        *merged = (struct flame_merged){0};
    }
    merge(look, &range, merged);
    choice->version++;
    merged->from = from;
    merged->to = to;
    return merged->tree;
}

const struct tree *flame_span_tree(struct flame_choice *choice, const struct look *look,
                                   const struct flame_spec *spec) {
    return span_load(
        choice, &choice->merged, look,
        (struct range){.name = spec->tree, .also = spec->cold, .hz = spec->cold ? spec->hz : NULL, .spec = spec});
}

static double scale_of(const struct flame_merged *merged) {
    uint64_t total = merged->tree ? tree_node(merged->tree, 0)->total : 0;
    return total ? merged->us / (double)total : 0;
}

bool flame_is_difference(const struct flame_choice *choice) {
    return choice->mark[0].tree && choice->mark[1].tree;
}

void flame_trees(struct flame_choice *choice, const struct look *look, const struct flame_spec *spec,
                 struct flame_trees *trees) {
    *trees = (struct flame_trees){0};
    if (flame_is_difference(choice)) {
        trees->base = choice->mark[0].tree;
        trees->tree = choice->mark[1].tree;
        return;
    }
    trees->tree = flame_span_tree(choice, look, spec);
    if (!spec->cold)
        return;
    trees->base =
        span_load(choice, &choice->cold, look, (struct range){.name = spec->cold, .also = spec->tree, .spec = spec});
    trees->scale = scale_of(&choice->merged);
}

void flame_trees_of(const struct frame *frame, const struct flame_spec *spec, struct flame_trees *trees) {
    *trees = (struct flame_trees){.tree = frame_tree(frame, spec->tree),
                                  .base = spec->cold ? frame_tree(frame, spec->cold) : NULL,
                                  .scale = spec->cold ? 1e6 / frame_series(frame, spec->hz, NULL) : 0};
}

void flame_frame_trees(const struct look *look, const struct flame_spec *spec, struct flame_trees *trees) {
    const char *const names[2] = {spec->tree, spec->cold};
    const struct frame *frame = look->frame;

    *trees = (struct flame_trees){0};
    if (frame && !look->from) {
        flame_trees_of(frame, spec, trees);
        trees->tree = frame_tree_repeated(frame, spec->tree) ? NULL : trees->tree;
        trees->base = spec->cold && frame_tree_repeated(frame, spec->cold) ? NULL : trees->base;
        return;
    }
    for (int i = 0; i < 2 && frame && names[i]; i++) {
        struct flame_merged merged = {0};
        struct range range = {
            .name = names[i], .hz = spec->cold && !i ? spec->hz : NULL, .after = look->from - 1, .to = frame->number};
        merge(look, &range, &merged);
        trees->owned[i] = merged.tree;
        trees->scale = i ? trees->scale : scale_of(&merged);
    }
    trees->tree = trees->owned[0];
    trees->base = trees->owned[1];
}

// ---- marks ----

bool flame_mark(struct flame_choice *choice, const struct look *look, const struct flame_spec *spec, int which) {
    const struct tree *tree = flame_span_tree(choice, look, spec);
    char clock[CLOCK_SIZE];

    if (!tree || !tree_node(tree, 0)->total)
        return false;
    mark_free(&choice->mark[which]);
    choice->mark[which].tree = tree_merge(&tree, 1);
    choice->version++;
    clock_write(look->frame->wall.tv_sec, clock);
    choice->mark[which].seconds = choice->merged.seconds;
    choice->mark[which].end_s = look->frame->wall.tv_sec;
    snprintf(choice->mark[which].label, sizeof(choice->mark[which].label), "%.0f s to %s", choice->merged.seconds,
             clock);
    return true;
}

void flame_unmark(struct flame_choice *choice) {
    mark_free(&choice->mark[0]);
    mark_free(&choice->mark[1]);
    choice->version++;
}

// ---- words ----

void flame_span_text(const struct flame_choice *choice, char *out, size_t size) {
    if (flame_is_difference(choice))
        snprintf(out, size, "B: %s, A: %s", choice->mark[1].label, choice->mark[0].label);
    else if (choice->to)
        snprintf(out, size, "marked %.*f s", choice->merged.seconds < 9.95 ? 2 : 0, choice->merged.seconds);
    else if (span_seconds[choice->span])
        snprintf(out, size, "last %.*f s", choice->merged.seconds < 9.95 ? 1 : 0, choice->merged.seconds);
    else
        snprintf(out, size, "whole history, %.0f s", choice->merged.seconds);
}

void flame_filter(const struct flame_choice *choice, const char *pane_filter, const struct look *look,
                  char text[FILTER_SIZE], struct fold_filter *filter) {
    struct filter parsed;

    *filter = (struct fold_filter){.text = text,
                                   .user = choice && choice->frames == FLAME_USER,
                                   .kernel = choice && choice->frames == FLAME_KERNEL,
                                   .idle = choice && choice->idle};
    text[0] = '\0';
    if (!pane_filter[0] || !look->frame)
        return;
    filter_parse(pane_filter, look->frame, &parsed);
    if (!parsed.n)
        snprintf(text, FILTER_SIZE, "%s", parsed.text);
    for (size_t i = 0; i < parsed.n; i++) {
        const char *name = parsed.terms[i].name, *value = filter_value(&parsed, i);
        if (parsed.terms[i].op != FILTER_EQUAL && parsed.terms[i].op != FILTER_CONTAINS)
            continue;
        if (!strcmp(name, "pid") || !strcmp(name, "tid"))
            filter->pid = strtol(value, NULL, 10);
        else if (!strcmp(name, "comm") || !strcmp(name, "symbol"))
            snprintf(text, FILTER_SIZE, "%s", value);
    }
}

void flame_filter_trees(const struct flame_spec *spec, const struct flame_trees *trees, struct fold_filter *filter) {
    filter->add = spec->cold;
    filter->scale = trees->scale;
    filter->idle &= !spec->cold;
}

size_t flame_sources(const struct part *part, const char **names, size_t max) {
    const struct flame_spec *spec = part->spec;
    size_t n = 0;

    if (n < max)
        names[n++] = spec->tree;
    if (n < max)
        names[n++] = spec->source;
    if (n < max && spec->cold)
        names[n++] = spec->cold;
    return n;
}
