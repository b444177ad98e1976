// The terminal program: its state, and the functions of its files. One thread; it waits only in poll.
#ifndef TUI_APP_H
#define TUI_APP_H

#include "tui/complete.h"
#include "tui/options.h"
#include "tui/prompt.h"
#include "tui/rewind.h"
#include "tui/screen.h"
#include "tui/source.h"

#define APP_PANES_MAX 32
#define APP_BACK_MAX 16

struct app;

// The use of the prompt line. tried (may be NULL) is called at every change of the text; on cancel with the text from
// before.
struct question {
    const char *label;
    void (*tried)(struct app *app, const char *text);
    void (*done)(struct app *app, const char *text);
    const struct name_source *names; // for a list as it is typed; NULL: none
};

struct overlay {
    char *text;   // NULL: not shown
    char **lines; // the text wrapped to this width
    size_t n_lines;
    int wrapped_to;
    long top;
    char title[64];
};

// What the user chose to record.
enum choice_list { CHOICE_TRACEPOINTS, CHOICE_PROBES, CHOICE_FUNCTIONS, CHOICES };
struct choices {
    char *list;             // the latest request, a specification a line; NULL: none
    bool waits;             // for the answer to the latest request
    char *before;           // the list before requests that have no answer yet; NULL: none
    char typed[PROMPT_MAX]; // of the latest request; "": it was chosen from the list
};

struct app {
    const struct options *options;
    struct source *source;
    uint64_t first_number; // of the frames shown
    bool ended;            // of the recording that is shown
    char record_path[256]; // of the recording that is written
    struct rewind rewind;
    struct pane *panes[APP_PANES_MAX];
    size_t n_panes, current;
    size_t back[APP_BACK_MAX]; // for Esc: the panes to return to after jumps
    size_t n_back;
    struct grid *grid;
    char host[65], kernel[65];
    char message[200];
    uint64_t message_until_ns; // 0: no message
    bool message_bad;
    bool wakers; // off-CPU paths have wakers: the latest request
    struct choices choices[CHOICES];
    char graph_typed[PROMPT_MAX];    // "graph ...", until it is answered; "": none
    size_t graph_at;                 // of the choice in it
    bool threads;                    // rows are threads: the latest request
    const struct question *question; // NULL: no prompt
    struct prompt prompt;
    struct complete complete; // what the text of the prompt may go on with
    char before[PROMPT_MAX];  // the text that a cancel restores
    struct overlay overlay;
    struct {
        int from, to;
    } tabs[APP_PANES_MAX]; // cells of the names in the pane bar
    bool frozen;           // by an event since the choice was last changed
    bool dirty, quit;
};

#define APP_HEADER_ROWS 2 // header line and pane bar above the pane; one line for prompt and messages below it

// app.c: runs until the user leaves; the exit status.
int app_run(const struct options *options);
void app_say(struct app *app, bool bad, const char *format, ...) __attribute__((format(printf, 3, 4)));
void app_show_pane(struct app *app, size_t index, bool remember);
void app_want(struct app *app); // sets the runner's list of collectors that the shown and pinned panes need

// triggers.c
void triggers_fire(struct app *app, const struct frame *frame); // a live frame has arrived
void triggers_arm(struct app *app);                             // the choice has events with actions
bool triggers_any(const char *choice);                          // specifications, one a line; NULL: none
// The event of the frame that has this action and came; NULL: none. The frame's.
const char *trigger_of(const struct frame *frame, const char *action);

// keys.c
void keys_handle(struct app *app, const struct screen_key *key);
void keys_help(FILE *out); // the keys that work everywhere, from the same table

// chrome.c
void chrome_draw(struct app *app, const struct look *look, int *cursor_x, int *cursor_y);
struct area chrome_body(const struct app *app); // the area of the pane
int chrome_tab_at(const struct app *app, int x, int y);

// overlay.c
void overlay_open(struct overlay *overlay, const char *title, char *take_text);
void overlay_close(struct overlay *overlay);
void overlay_draw(struct overlay *overlay, struct area area);
bool overlay_key(struct overlay *overlay, int key, int page); // true: used

// choices.c
bool choices_shown_by(const struct view *view, enum choice_list which);   // the pane in which they are chosen
void choices_toggle(struct app *app, const char *event);                  // "sched:sched_switch"
void choices_count(struct app *app, const char *system);                  // "sched"
void choices_remove(struct app *app, const char *spec, const char *name); // a probe or pattern, as it was given
void choices_prompt(struct app *app);                                     // key E: of what the pane shows
bool choices_answered(struct app *app, const struct answer *answer);      // true: its place is shown in the prompt

// save.c
void save_prompt(struct app *app);

// record.c
void record_toggle(struct app *app);                              // key r: prompts for a file, or ends the recording
void record_name(const struct app *app, char *name, size_t size); // a new one: host and time
bool record_start(struct app *app, const char *path);
void record_stop(struct app *app, bool quietly);

#endif
