// What pane.c, write.c and help.c share: contexts of parts, the sections behind them, the notes of a pane.
#ifndef VIEWS_PANE_PARTS_H
#define VIEWS_PANE_PARTS_H

#include "views/view.h"

#define PARTS_MAX 24
#define SOURCES_MAX 16
#define NOTES_MAX 64
#define BACK_MAX 4 // from a table to the list, to one item of the list, ...

// The state that Esc restores after a key moved the user to another part.
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
    struct pane_back back[BACK_MAX]; // Esc steps, the latest last
    size_t n_back;
    bool settled;     // a key was used: the focus stays where the user put it
    int automatic;    // else the part that got the focus by default
    bool enlarged;    // the focused part has the whole pane
    uint32_t toggled; // bit per part: toggled by its key
    uint32_t listed;  // bit per part: has a title and something to show; of the last draw
    uint32_t drawn;   // bit per part: is on the screen; of the last draw, all before it
    struct part_tab {
        int from, to; // cells of the part bar; 0, 0: not in it
    } tabs[PARTS_MAX];
    struct area bar; // height 0: not on the screen
};

// part_bar.c: the line that names all listed parts and marks those on the screen. Returns the part at that cell of the
// grid, or -1.
void part_bar_draw(struct pane *pane, struct area line);
int part_bar_at(const struct pane *pane, int x, int y);

// A context for part i; look may be NULL. The area is empty.
struct part_context part_context(struct pane *pane, const struct look *look, size_t i);

// The title on the screen.
void part_title(const struct part_context *ctx, char *out, size_t size);

struct source {
    const struct section *section; // lives as long as the frame
    uint64_t stale_ns;
    bool repeated; // the previous frame has the same section
};
// The sections that a part, or a whole pane, shows. Returns how many.
size_t part_sections(const struct part *part, const struct frame *frame, struct source out[SOURCES_MAX]);
// `all`: also the sources of parts that only files have (their collectors may not run).
size_t pane_sections(const struct pane *pane, const struct frame *frame, bool all, struct source out[SOURCES_MAX]);
// Why an empty part must not report "none": its first source was not measured in this frame. NULL: it was.
const char *part_unmeasured(const struct part *part, const struct look *look);
// True if none of the pane's sources was running then: expensive collectors run only while shown. False for a live
// frame: there they have just started.
bool pane_unrecorded(const struct pane *pane, const struct look *look);
extern const char pane_unrecorded_text[];
// Whether the part has a place on the screen: neither for files only, nor closed, nor hidden by its key.
bool pane_in_sight(const struct pane *pane, size_t i);
// Whether files have the part, if its kind has output in their format.
bool pane_in_files(const struct pane *pane, size_t i);

// The notes of a pane's sections, the most severe first, with those of stale sections. Texts live as long as the frame,
// or as `extra`.
struct pane_notes {
    struct note notes[NOTES_MAX];
    size_t n;
    char extra[SOURCES_MAX][96];
};
enum notes_of {
    NOTES_OF_DRAWN, // only about what is on the screen: a note about a column without room would waste a line
    NOTES_OF_PANE,  // also about what the parts show with more room
    NOTES_OF_ALL,   // also about values that only files have
};
void pane_notes(const struct pane *pane, const struct look *look, enum notes_of of, struct pane_notes *out);
// The rows that the notes take on a screen of that height, and drawing them.
int notes_height(const struct pane_notes *notes, int height);
void notes_draw(const struct pane_notes *notes, struct area area);

// How rows are shared out: needs in, heights out; height 0: no room. `keep` always gets room.
struct need {
    int min, want, weight;
};
void layout_share(const struct need *needs, size_t n, int height, size_t keep, int *heights);
// The area of each part, title included. bodies: the wanted body rows, 0: not shown; leasts: the minimum rows where
// above min_height.
void layout_parts(const struct view *view, struct area area, const int *bodies, const int *leasts, size_t focus,
                  struct area *out);
// The width of part i, which depends on which neighbours are shown.
int layout_width(const struct view *view, size_t i, int width, const int *bodies);

#endif
