// What the files of the flame graph part share: its state. Zoom and selection are paths of names, so that they stay
// where they are when the next frame folds to other nodes.
#ifndef VIEWS_FLAME_STATE_H
#define VIEWS_FLAME_STATE_H

#include "views/flame/layout.h"
#include "views/flame/part_annotate.h"
#include "views/flame/span.h"

#define FLAME_BACK_MAX 16

struct flame_path {
    const struct text **names; // referenced; NULL: an unknown name
    uint32_t n;
};

struct flame_state {
    struct flame_choice choice; // first: see flame_choice_of
    struct fold *fold;          // NULL: nothing loaded
    struct {
        uint64_t version, changes; // of the trees, of their names
        struct fold_filter filter; // text: the state's own
        char text[FILTER_SIZE];
    } folded; // what the fold was made of: it is kept while that is the same
    struct flame_layout layout;
    struct flame_path zoom, selected;
    struct annotate_selected line; // whose place in the source was asked for
    uint32_t rest;                 // struct flame_zoom
    struct {
        uint32_t depth, rest;
    } back[FLAME_BACK_MAX]; // zooms that Esc goes back to, prefixes of the path
    uint32_t n_back;
    bool is_selected, gathered; // gathered: what is too narrow below the selected path
    bool root_below;            // a flame graph; else an icicle graph
    bool moved;                 // the selection or zoom moved: it is scrolled to
    bool started;               // hot and cold: the first zoom was chosen
    size_t top;                 // first row that is drawn
    int rows;                   // drawn last
};

void flame_path_set(struct flame_path *path, const struct fold *fold, uint32_t node);
void flame_path_forget(struct flame_path *path);
uint32_t flame_path_node(const struct flame_state *self, const struct flame_path *path);

// Folds what the choice has. NULL: there is no tree. The state's, until the next call.
const struct fold *flame_fold(struct part_context *ctx);
// The same, and lays it out. False: no samples.
bool flame_load(struct part_context *ctx, int width);
// The cell of the selection, of the zoom when nothing is selected. NULL: nothing is drawn.
const struct flame_cell *flame_selected(const struct flame_state *state, size_t *row);

// draw.c
struct flame_picture {
    const struct fold *fold;
    const struct flame_layout *layout;
    const struct flame_cell *selected; // or NULL
    bool root_below, difference;
    bool cold;      // off-CPU time is added
    bool inverted;  // callers: a node's own samples mean nothing
    size_t top;     // first row of the layout that is drawn
    int y, rows;    // of the part's area
    uint64_t all;   // samples that shares are of
    const char *of; // and what else, of so many samples; or NULL
    uint64_t of_total;
};
int flame_draw_rows(struct part_context *ctx, const struct flame_picture *picture); // how many
// What is selected, in one to three lines.
void flame_draw_detail(struct part_context *ctx, const struct flame_picture *picture, int y, int rows);
void flame_draw_none(struct part_context *ctx, const struct fold *fold); // why there is nothing to draw
void flame_draw(struct part_context *ctx);

// write.c: of the frame alone.
void flame_write_text(struct part_context *ctx, FILE *out);
void flame_write_csv(struct part_context *ctx, FILE *out);
void flame_write_json(struct part_context *ctx, struct json_object *pane);
void flame_write_folded(struct part_context *ctx, FILE *out);

// export.c: files of what the flame graph shows: the span, the filter, the zoom.
extern const struct part_file flame_files[];

#endif
