// Which samples the flame graphs of a pane show: the span of time, the kinds of frames, the pane's filter. The parts of
// a pane share the choice (the first part of kind part_flame holds it). And the merged tree of a span, kept while the
// span only grows.
#ifndef VIEWS_FLAME_SPAN_H
#define VIEWS_FLAME_SPAN_H

#include "views/flame/fold.h"
#include "views/view.h"

// The spec of part_flame and the other parts that show a tree.
struct flame_spec {
    const char *tree;     // its name in the frame: "cpu"
    const char *source;   // a table or series of the same collector, which frames have before there is a tree
    const char *events;   // with samples as a stream: its name, for the sub-second heat map; or NULL
    const char *unit;     // "samples"
    const char *callers;  // the part of the pane that shows callers and callees of a symbol; or NULL
    const char *annotate; // the part of the pane that shows the instructions of a function; or NULL
    const char *empty;    // what to say without samples
    const char *hz;       // the series with the sampling frequency, which keys change; or NULL
    // Hot and cold: the tree of off-CPU time, in us, that is added to the samples as times; `unit` is "us". Or NULL.
    const char *cold;
    bool wakers;          // key W: paths go on with the stack of the waker
    const char *hot_cold; // the part of the pane that shows hot and cold of a process; or NULL
};

#define FLAME_SPANS 4 // 1 s, 10 s, 60 s, the whole history

enum flame_frames { FLAME_ALL, FLAME_USER, FLAME_KERNEL, FLAME_FRAMES };

// A marked span: its tree is its own, since the frames leave the history.
struct flame_mark {
    struct tree *tree;
    double seconds;
    int64_t end_s;  // when it ended, since 1970
    char label[48]; // "10 s to 12:00:05"
};

struct flame_merged {
    struct tree *tree;
    uint64_t from, to; // frame numbers
    double seconds;    // of the frames that have one
    double us;         // that its samples stand for; NAN: they are not of a frequency
};

struct flame_choice {
    int span; // one of FLAME_SPANS
    enum flame_frames frames;
    bool idle;                 // show the idle task's samples
    uint64_t from, to;         // frame numbers of a range that was marked on the heat map; to 0: none
    double begin_s, end_s;     // that range, since 1970
    struct flame_mark mark[2]; // A and B; both: the difference is shown
    struct flame_merged merged, cold;
    uint64_t version; // of the trees: another one whenever flame_trees() returns others
};

void flame_choice_init(struct flame_choice *choice);
void flame_choice_done(struct flame_choice *choice);
// Marks a range of time, and the frames in it; to 0: none.
void flame_choice_range(struct flame_choice *choice, uint64_t from, uint64_t to, double begin_s, double end_s);
// The pane's flame graph, whose filter holds for all; NULL: it has none. And the choice that the parts share.
const struct part *flame_part_of(const struct pane *pane);
struct flame_choice *flame_choice_of(struct pane *pane);

// The tree of the span that ends with the frame looked at; owned by the choice until the next call. NULL: no samples.
const struct tree *flame_span_tree(struct flame_choice *choice, const struct look *look, const struct flame_spec *spec);

// What is folded. A base: what the tree is compared with; the off-CPU time of a spec that adds it.
struct flame_trees {
    const struct tree *tree, *base; // NULL: none
    double scale;                   // microseconds of a sample, with off-CPU time; NAN: unknown
    struct tree *owned[2];
};
// Of the span, or of the marks. Valid until the next call; nothing is owned.
void flame_trees(struct flame_choice *choice, const struct look *look, const struct flame_spec *spec,
                 struct flame_trees *trees);
// The frames whose trees that one is the sum of and that are still kept, oldest first, look->n_window + 1 at most.
// Returns how many.
size_t flame_span_frames(const struct flame_choice *choice, const struct look *look, const struct flame_spec *spec,
                         const struct frame **frames);
// The part of the frame's tree that is in the marked range, by the times of its samples; the caller's to free. NULL: no
// range is marked, or the frame has no samples with times.
struct tree *flame_range_pick(const struct flame_choice *choice, const struct frame *frame,
                              const struct flame_spec *spec);
// The trees of one frame; none is owned.
void flame_trees_of(const struct frame *frame, const struct flame_spec *spec, struct flame_trees *trees);
// Those of the frame alone, for files: of look->from up to it when that is set. None if the frame before had the same.
// owned[] is the caller's to free.
void flame_frame_trees(const struct look *look, const struct flame_spec *spec, struct flame_trees *trees);
// "10 s", "whole history (620 s)", "12:00:01 - 12:00:05": what flame_trees() returned last.
void flame_span_text(const struct flame_choice *choice, char *out, size_t size);
bool flame_is_difference(const struct flame_choice *choice);
// Marks the span that is shown now as A (0) or B (1). False: it has no samples.
bool flame_mark(struct flame_choice *choice, const struct look *look, const struct flame_spec *spec, int which);
void flame_unmark(struct flame_choice *choice);
// The pane's filter and the chosen kinds of frames; `text` holds what filter->text points to.
void flame_filter(const struct flame_choice *choice, const char *pane_filter, const struct look *look,
                  char text[FILTER_SIZE], struct fold_filter *filter);
// How the trees are folded together.
void flame_filter_trees(const struct flame_spec *spec, const struct flame_trees *trees, struct fold_filter *filter);
// What the parts that show the tree take from a frame (part_kind.sources).
size_t flame_sources(const struct part *part, const char **names, size_t max);

#endif
