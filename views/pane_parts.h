// What pane.c, write.c and help.c share: contexts of parts, the sections behind them, the notes of a pane.
#ifndef VIEWS_PANE_PARTS_H
#define VIEWS_PANE_PARTS_H

#include "views/view.h"

#define PARTS_MAX 24
#define SOURCES_MAX 16
#define NOTES_MAX 64
#define BACK_MAX 4 // from a table to the list, to one of the list, ...

// What Esc brings back after a key took the user to another part.
struct pane_back {
    int focus;
    bool enlarged;
    char filter[FILTER_SIZE];
    const struct part *filter_part;
    bool moved;     // to another frame
    uint64_t frame; // 0: live
};

struct pane_layout {
    struct area bodies[PARTS_MAX];   // of the last draw, without the title; height 0: not on the screen
    struct pane_back back[BACK_MAX]; // where Esc leads, the latest last
    size_t n_back;
    bool settled;     // a key was used: the focus stays where the user has it
    int automatic;    // else the part that got it by itself
    bool enlarged;    // the part with the focus has the whole pane
    uint32_t toggled; // bit per part: shown by its key
    uint32_t listed;  // bit per part: has a title and something to show; of the last draw
    uint32_t drawn;   // bit per part: is on the screen; of the last draw, all before it
    struct part_tab {
        int from, to; // cells of the part bar; 0, 0: not in it
    } tabs[PARTS_MAX];
    struct area bar; // height 0: not on the screen
};

// part_bar.c: the line that names all listed parts and marks those on the screen. The part at that cell of the grid, or
// -1.
void part_bar_draw(struct pane *pane, struct area line);
int part_bar_at(const struct pane *pane, int x, int y);

// A context for part i, for a look that may be NULL; area empty.
struct part_context part_context(struct pane *pane, const struct look *look, size_t i);

// What heads it.
void part_title(const struct part_context *ctx, char *out, size_t size);

struct source {
    const struct section *section; // lives as long as the frame
    uint64_t stale_ns;
    bool repeated; // it stands in the frame before as well
};
// The sections that a part, or a whole pane, shows. Returns how many.
size_t part_sections(const struct part *part, const struct frame *frame, struct source out[SOURCES_MAX]);
// `all`: also those that only a part needs that is not on the screen now (its collectors may not run).
size_t pane_sections(const struct pane *pane, const struct frame *frame, bool all, struct source out[SOURCES_MAX]);
// Why an empty part may not say that nothing happened: its first source was not measured in this frame. NULL: it was.
const char *part_unmeasured(const struct part *part, const struct look *look);
// True when none of the pane's sources was running at that time: dear collectors run only while somebody looks. Of a
// live frame false: there they have only begun.
bool pane_unrecorded(const struct pane *pane, const struct look *look);
extern const char pane_unrecorded_text[];
// Whether the part has a place on the screen now: not in files only, opened or shown by its key.
bool pane_in_sight(const struct pane *pane, size_t i);

// The notes of a pane's sections, the most severe first, the stale ones' own included. Texts live as long as the frame,
// or as `extra`.
struct pane_notes {
    struct note notes[NOTES_MAX];
    size_t n;
    char extra[SOURCES_MAX][96];
};
enum notes_of {
    NOTES_OF_DRAWN, // those that explain what stands on the screen: of a column without room a note only takes a line
    NOTES_OF_PANE,  // also of what the parts show where there is room
    NOTES_OF_ALL,   // also of values that no part of the pane shows: files hold such values as well
};
void pane_notes(const struct pane *pane, const struct look *look, enum notes_of of, struct pane_notes *out);
// Rows that the notes take of a screen of that height, and drawing them.
int notes_height(const struct pane_notes *notes, int height);
void notes_draw(const struct pane_notes *notes, struct area area);

// How rows are shared out. needs in, heights out; a height of 0 means: no room. `keep` always gets room.
struct need {
    int min, want, weight;
};
void layout_share(const struct need *needs, size_t n, int height, size_t keep, int *heights);
// The area of each part, title included. bodies: the body rows that each part wants, 0: it is not shown; leasts: the
// ones that it needs where that is more than its min_height.
void layout_parts(const struct view *view, struct area area, const int *bodies, const int *leasts, size_t focus,
                  struct area *out);
// The width of part i, which depends on which of its neighbours are shown.
int layout_width(const struct view *view, size_t i, int width, const int *bodies);

#endif
