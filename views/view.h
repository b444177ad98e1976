// A view (a pane): the parts that it shows, the collectors that it needs and its keys. A new pane is one file in
// views/panes/ that defines a `const struct view` at its foot, and one row in views/table.c. A view calls no kernel, no
// collector, no ncurses.
//
// The generic part kinds (views/part_*.c) draw a part on a grid and write it as text, CSV and JSON; a view normally has
// no code of its own, only data.
#ifndef VIEWS_VIEW_H
#define VIEWS_VIEW_H

#include <stdio.h>

#include "model/history.h"
#include "views/filter.h"
#include "views/grid.h"

// Keys as views see them: Unicode code points, or one of these.
enum {
    KEY_VIEW_UP = 0x110000,
    KEY_VIEW_DOWN,
    KEY_VIEW_LEFT,
    KEY_VIEW_RIGHT,
    KEY_VIEW_PAGE_UP,
    KEY_VIEW_PAGE_DOWN,
    KEY_VIEW_HOME,
    KEY_VIEW_END,
    KEY_VIEW_ENTER,
    KEY_VIEW_BACK /* Esc or Backspace */,
    KEY_VIEW_CLICK /* at ctx->mouse_x/y */,
};

struct code_ask;
struct json_object;
struct part;
struct part_kind;
struct view;
struct write_info;

// The frame shown, and the frames before it. The caller holds all references during the call.
struct look {
    const struct frame *frame;         // may be NULL: nothing yet
    const struct frame *const *window; // frames that end with it, oldest first (heat maps, trends)
    size_t n_window;
    uint64_t from; // number of the first frame of the span that ends with `frame`; 0: that frame alone
    bool live;     // the newest; else frozen or rewound
};

// The user's settings for a pane; lives as long as the session. One per view; parts keep theirs in `parts`.
struct pane {
    const struct view *view;
    char filter[FILTER_SIZE];       // rows that contain it in any column, case ignored
    const struct part *filter_part; // the only part that it applies to; NULL: all
    char search[128];
    int focus;    // index of the part with the focus
    void **parts; // per part: the kind's private state
    bool pinned;
    bool csv_headed;            // the header lines of its tables have been written
    struct pane_layout *layout; // private to pane.c: where the parts were drawn last
};
struct pane *pane_new(const struct view *view);
void pane_free(struct pane *pane);

// One context for all callbacks.
struct part_context {
    const struct look *look;
    struct pane *pane;
    const struct part *part;
    void *state;      // of this part in this pane
    struct area area; // draw
    bool focused;
    int room;                      // status: the cells available
    char brief[FILTER_SIZE];       // status: the text if the whole does not fit; "": nothing
    int key, mouse_x, mouse_y;     // key; mouse relative to the part's area (without the title) of the last draw
    const char *jump_pane;         // key: set to move the user to another pane (Enter on a finding)
    char jump_filter[FILTER_SIZE]; // and the filter there
    char message[128];             // key: a text for the message line
    uint32_t frequency_hz;         // key: a new sampling frequency to request from the collectors; 0: none
    char counts[64];               // key: a system of tracepoints to count for one interval; "": none
    char toggles[160];             // key: a tracepoint to add to what is recorded, or to remove; "": none
    char removes[1024];            // key: a probe to remove, as it was given; "": none
    char removed_as[64];           // its name
    bool wakers;                   // key: request off-CPU paths with wakers, or without them again
    bool focus_take, focus_drop;   // key: it showed itself and wants the focus; it hid itself
    // key: set to move the user to that part of the same pane, at that frame, with a filter for that part alone; Esc
    // returns. Without a part: only to the frame.
    const struct part *go_part;
    uint64_t go_frame;
    char go_filter[FILTER_SIZE];
    struct timespec go_time; // key: set to move to the frame of that time of day; 0: none
};

// A file format of a part kind.
struct part_file {
    const char *suffix; // of the file's name, which selects it: ".svg"
    const char *what;   // "flame graph"
    // False if there is nothing to write.
    bool (*write)(struct part_context *ctx, const struct write_info *info, FILE *out);
};

struct part_key {
    int key;
    const char *name, *help;
}; // name: as shown, "o"; help: one line

struct part_kind {
    size_t state_size;
    void (*init)(void *state, const struct part *part);
    void (*done)(void *state, const struct part *part);
    // Optional: shows that row of the join of its own tables from now on; a table of the pane calls it. False: the row
    // cannot be identified. A part of such a kind has the whole pane while it has the focus (Esc returns), and else is
    // absent.
    bool (*open)(void *state, const struct part *part, const struct join *join, size_t row);
    int (*height)(struct part_context *ctx, int width); // rows wanted for the current data
    int (*least)(struct part_context *ctx);             // optional: body rows needed now, if more than min_height
    void (*draw)(struct part_context *ctx);
    bool (*key)(struct part_context *ctx); // true: used
    const struct part_key *keys;           // for the help; ends with key 0
    // NULL: every part of the kind uses all of its keys; else false for a key without effect in this part.
    bool (*takes)(const struct part *part, int key);
    // Files. NULL if a kind has no output in that format.
    void (*write_text)(struct part_context *ctx, FILE *out);
    void (*write_csv)(struct part_context *ctx, FILE *out);
    void (*write_folded)(struct part_context *ctx, FILE *out); // call paths, "comm;frame;frame 42", a line each
    // Adds itself to the JSON object of its group ("series", "tables", "histograms", "trees" or "events").
    void (*write_json)(struct part_context *ctx, struct json_object *pane);
    // Names, columns and their help, from the frame's schema (a blank frame suffices): help screen, --list columns, man
    // page.
    void (*describe)(const struct part *part, const struct frame *schema, FILE *out);
    // Optional: what is selected, in words, for the top of the help screen.
    void (*explain)(struct part_context *ctx, FILE *out);
    // Optional: to the next (direction 1) or previous (-1) row with the pane's search text; true if there is one.
    bool (*search)(struct part_context *ctx, int direction);
    // Optional: false if it has no such column.
    bool (*sort)(struct part_context *ctx, const char *column, bool ascending);
    // Optional: the title on the screen, if it depends on the part's state.
    void (*title)(const struct part_context *ctx, char *out, size_t size);
    // Optional: a few words for the right end of the title rule ("34 of 120 rows"); out is "" at the call.
    void (*status)(struct part_context *ctx, char *out, size_t size);
    // Optional: files of what the part shows, for the key w; ends with suffix NULL. The first is proposed. A format
    // here goes before the pane's own of that suffix.
    const struct part_file *files;
    // Optional: the names of the tables, histograms and series of the frame that it shows, for notes and staleness;
    // returns how many. Default: the part's own name.
    size_t (*sources)(const struct part *part, const char **names, size_t max);
    // Optional: whether it shows the column (of one of its sources) or series of that name, or may on a wide screen;
    // with a state: what it drew last, or will draw after `height`. Default: every column of its sources, and the
    // series that they name.
    bool (*shows)(const struct part *part, const void *state, const char *name);
    // Optional, after a key that it used or that opened it: what is to be asked of the collectors; NULL: nothing new.
    // The state's, until the next key.
    const struct code_ask *(*ask)(struct part_context *ctx);
    bool no_series; // it shows columns only
};

struct part {
    const struct part_kind *kind;
    const char *name;         // the contract's name of its data: "devices"
    const char *title;        // above it on the screen; NULL: none
    const void *spec;         // the kind's spec: struct table_spec, hist_spec, heat_spec, ...
    int min_height, weight;   // minimum body rows; its share of the rest (0: only its wanted height)
    bool right;               // from view.wide_from on: in the right column, beside the part before it
    bool hidden;              // in files only
    int toggle;               // key that shows and hides it; initially hidden. 0: none
    const char *toggle_help;  // one line
    bool on_request;          // with a toggle, for what is too expensive to be in every file: in files only while shown
    const char *const *needs; // collectors beyond the view's, while it is shown; NULL-terminated, or NULL
};

// A word in several columns and titles of a view, for its help.
struct view_term {
    const char *name, *help;
};

struct view {
    const char *name; // "disk"
    int key;          // '5'
    const char *title;
    const char *question;          // the question that it answers, one sentence: the first line of the help
    const struct view_term *terms; // ends with name NULL; or NULL
    const char *const *needs;      // collectors, NULL-terminated
    bool alone;                    // it shows nothing of others: --batch runs no more than these
    const struct part *parts;
    size_t n_parts;
    int wide_from; // width from which parts marked `right` are in a column of their own; 0: never
};

extern const struct view *const views[]; // views/table.c, NULL-terminated, in the contract's order
const struct view *view_find(const char *name);

// The part of that name; NULL: none, or name NULL.
const struct part *view_part(const struct view *view, const char *name);
// How many rows a key moves down in a list with `page` visible rows: Up -1, PageDown all but one; 0: another key.
long view_key_step(int key, long page);

// ---- drawing and keys, for tui/ ---- A pane shows at most four parts (more on a very tall screen), only those that
// are readable in the area. The part bar names the others; o, O and a click on a name lead to them.
void pane_draw(struct pane *pane, const struct look *look, struct area area); // notes and staleness included
// mouse_x/y: in cells of the grid of the last draw. True if used. Tries the focused part first, then the pane's own
// keys: focus, filter, search, sort, columns.
struct pane_answer {
    const char *jump_pane;
    char jump_filter[FILTER_SIZE];
    char message[128];
    uint32_t frequency_hz;      // to request from the collectors; 0: none
    char counts[64];            // a system of tracepoints to count for one interval; "": none
    char toggles[160];          // a tracepoint to add to what is recorded, or to remove; "": none
    char removes[1024];         // a probe to remove, as it was given; "": none
    char removed_as[64];        // its name
    bool wakers;                // to request: off-CPU paths with wakers, or without them again
    const struct code_ask *ask; // to ask of the collectors; NULL: nothing. Valid until the next call
    uint64_t go_frame;          // the frame to show from now on, by number; 0: unchanged
    bool go_live;               // back to the newest one
    struct timespec go_time;    // the time of day of the frame to show from now on; 0: unchanged
};
bool pane_key(struct pane *pane, const struct look *look, int key, int mouse_x, int mouse_y,
              struct pane_answer *answer);
bool pane_search(struct pane *pane, const struct look *look,
                 int direction); // to the next row that contains pane->search
void pane_set_filter(struct pane *pane, const char *filter);
// The filter that applies to the part. If the current one is for another part alone, the one that Esc restores.
const char *pane_filter(const struct pane *pane, const struct part *part);
// Shows the part of that name from now on, if the pane has one with a toggle.
void pane_show(struct pane *pane, const char *part);
// Adds the collectors that it needs to names, up to max: the view's, and those of its shown parts (`files`: of all that
// files have). Returns how many there are then.
size_t pane_needs(const struct pane *pane, bool files, const char **names, size_t n, size_t max);
// "-column": ascending, else descending. False: no such column in look->frame (a blank frame suffices).
bool pane_sort(struct pane *pane, const struct look *look, const char *column);
// The help of a pane, from the same tables: its question, columns, keys. look->frame may be a blank frame.
void pane_help(struct pane *pane, const struct look *look, FILE *out);

// ---- batch ----
enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, FORMAT_FOLDED };
struct write_info {
    const char *version, *host, *kernel;
};
// One frame of one pane: text block, CSV tables, one JSON object on one line, or folded call paths. 0, or -errno if out
// failed (EPIPE).
int pane_write(struct pane *pane, const struct look *look, enum format format, const struct write_info *info,
               FILE *out);
// Whether a pane of that view can be written in the format: only one with call paths as folded ones.
bool view_writes(const struct view *view, enum format format);
// The file formats of its parts, the focused part's first, each suffix once. Returns how many there are.
#define PANE_FILES_MAX 8
size_t pane_files(const struct pane *pane, const struct part_file *files[PANE_FILES_MAX]);
// The one that the name's suffix selects; NULL: none.
const struct part_file *pane_file(const struct pane *pane, const char *name);
// `file`: one of pane_files(). -ENODATA if there is nothing to write yet, -EIO if out failed.
int pane_write_file(struct pane *pane, const struct look *look, const struct part_file *file,
                    const struct write_info *info, FILE *out);

#endif
