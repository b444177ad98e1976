// The list of names above a prompt, while it is typed: which names the text may go on with, and the keys that take one.
// Reads nothing itself: a lister's thread does (collectors/name_list.h), and the list follows when it answers.
#ifndef TUI_COMPLETE_H
#define TUI_COMPLETE_H

#include "collectors/session.h"
#include "tui/prompt.h"

struct complete {
    struct name_lister *lister; // NULL: no list
    char asked[PROMPT_MAX];     // the text that the list is for: up to the cursor
    uint64_t version;           // of that request
    bool waits;                 // for its answer; `list` is of an older text
    bool tab;                   // a Tab is done when the answer is there
    struct name_list list;
    long picked; // which of its names is in the prompt, from 1; 0: none
};

// The prompt is open: begins a list of that source (NULL: none).
void complete_start(struct complete *complete, const struct name_source *source, const struct collect_options *options,
                    const struct prompt *prompt);
void complete_stop(struct complete *complete);    // the prompt is closed
int complete_fd(const struct complete *complete); // readable when an answer is there; -1: none comes
void complete_answered(struct complete *complete, struct prompt *prompt);
// A key that the list takes: Tab, Shift-Tab, Up, Down. False: it is the prompt's.
bool complete_key(struct complete *complete, struct prompt *prompt, int key);
void complete_typed(struct complete *complete, const struct prompt *prompt); // after every other key
// Draws it at the bottom of the area.
void complete_draw(const struct complete *complete, struct area area);

#endif
