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
    flame_unmark(choice);
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
    uint64_t after, to; // numbers of frames
    bool continued;     // what was before it is merged already
};

// The tree of look->window[i], of look->frame for i == n_window, if it is in the range and no other frame shows the
// same samples. NULL: it is not.
static const struct tree *tree_at(const struct look *look, size_t i, const char *name, const struct range *range) {
    bool last = i == look->n_window;
    const struct frame *frame = last ? look->frame : look->window[i];

    if (!frame || frame->number <= range->after || frame->number > range->to ||
        (!last && look->frame && frame->number >= look->frame->number))
        return NULL;
    const struct tree *tree = frame_tree(frame, name);
    bool oldest = !range->continued && frame->number == range->after + 1; // as stale, the samples of the frame before
    return tree && (oldest || !frame_tree_repeated(frame, name)) ? tree : NULL;
}

// Of frames in the range, those that can be merged with the newest; `first`: merged before, or NULL.
static struct tree *merge(const struct look *look, const char *name, const struct range *range,
                          const struct tree *first) {
    const struct tree **trees = xcalloc(look->n_window + 3, sizeof(*trees));
    size_t n = 0;
    const struct tree *newest = NULL;

    for (size_t i = look->n_window + 1; i-- > 0;) {
        const struct tree *tree = tree_at(look, i, name, range);
        if (!tree)
            continue;
        newest = newest ? newest : tree;
        if (!fits(tree, newest)) // the collector began anew with another name table
            break;
        trees[n++] = tree;
    }
    if (first && (!newest || fits(first, newest)))
        trees[n++] = first;
    struct tree *sum = n ? tree_merge(trees, n) : NULL;
    free(trees);
    return sum;
}

size_t flame_span_frames(const struct flame_choice *choice, const struct look *look, const char *name,
                         const struct frame **frames) {
    uint64_t from = choice->merged.from;
    struct range range = {.after = from ? from - 1 : 0, .to = choice->merged.to};
    size_t n = 0;

    for (size_t i = 0; i <= look->n_window; i++)
        if (tree_at(look, i, name, &range))
            frames[n++] = i == look->n_window ? look->frame : look->window[i];
    return n;
}

static double seconds_of(const struct look *look, uint64_t from, uint64_t to) {
    double seconds = 0;
    for (size_t i = 0; i < look->n_window; i++)
        if (look->window[i]->number >= from && look->window[i]->number <= to &&
            look->window[i]->number < look->frame->number)
            seconds += frame_interval_s(look->window[i]);
    return seconds + (look->frame->number >= from && look->frame->number <= to ? frame_interval_s(look->frame) : 0);
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

const struct tree *flame_span_tree(struct flame_choice *choice, const struct look *look, const char *name) {
    uint64_t from = look->from, to = look->frame ? look->frame->number : 0;

    if (!look->frame)
        return NULL;
    if (choice->to) {
        from = choice->from;
        to = choice->to;
    } else if (!from) {
        from = first_of(look, span_seconds[choice->span]);
        // Frames that left the history stay in the sum of the whole, or all of it would be merged anew at each frame.
        if (!span_seconds[choice->span] && choice->merged.from < from && choice->merged.to >= from &&
            choice->merged.to <= to && choice->merged.tree)
            from = choice->merged.from;
    }
    if (choice->merged.from == from && choice->merged.to == to)
        return choice->merged.tree;
    bool grows = choice->merged.tree && choice->merged.from == from && choice->merged.to < to && !choice->to;
    struct range range = {.after = grows ? choice->merged.to : from ? from - 1 : 0, .to = to, .continued = grows};
    struct tree *tree = merge(look, name, &range, grows ? choice->merged.tree : NULL);
    double before = grows ? choice->merged.seconds : 0;
    tree_free(choice->merged.tree);
    choice->merged.seconds = before + seconds_of(look, grows ? choice->merged.to + 1 : from, to);
    choice->version++;
    choice->merged.tree = tree;
    choice->merged.from = from;
    choice->merged.to = to;
    return tree;
}

bool flame_is_difference(const struct flame_choice *choice) {
    return choice->mark[0].tree && choice->mark[1].tree;
}

const struct tree *flame_trees(struct flame_choice *choice, const struct look *look, const char *name,
                               const struct tree **base) {
    *base = flame_is_difference(choice) ? choice->mark[0].tree : NULL;
    return *base ? choice->mark[1].tree : flame_span_tree(choice, look, name);
}

const struct tree *flame_frame_tree(const struct look *look, const char *name, struct tree **owned) {
    const struct frame *frame = look->frame;

    *owned = NULL;
    if (!frame || (!look->from && frame_tree_repeated(frame, name)))
        return NULL;
    if (!look->from)
        return frame_tree(frame, name);
    return *owned = merge(look, name, &(struct range){.after = look->from - 1, .to = frame->number}, NULL);
}

// ---- marks ----

bool flame_mark(struct flame_choice *choice, const struct look *look, const char *name, int which) {
    const struct tree *tree = flame_span_tree(choice, look, name);
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
        snprintf(out, size, "marked %.0f s", choice->merged.seconds);
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

size_t flame_sources(const struct part *part, const char **names, size_t max) {
    const struct flame_spec *spec = part->spec;
    size_t n = 0;

    if (n < max)
        names[n++] = spec->tree;
    if (n < max)
        names[n++] = spec->source;
    return n;
}
