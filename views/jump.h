// From a row to another pane, filtered to the row's task or device. Never to an empty pane: what is gone is shown in
// the newest frame that has it, and if no frame has it a message says so.
#ifndef VIEWS_JUMP_H
#define VIEWS_JUMP_H

#include "views/row/key.h"
#include "views/view.h"

// A name (in the column comm) that is not a thread in that pane.
struct jump_alias {
    const char *name;
    const char *filter; // finds the threads that it stands for; NULL: none
    const char *note;   // message after the jump: what the name means, and what is shown
    const char *none;   // message if nothing is found
};

struct jump {
    const char *pane;               // NULL: nowhere
    const char *columns;            // the first measured one becomes the filter; separated by blanks; or NULL
    const struct jump_alias *names; // ends with name NULL; or NULL
};

// True if the spec leads somewhere; ctx has the pane, or the message why not.
bool jump_key(struct part_context *ctx, const struct jump *jump, const struct row_key *key);
// The same by a filter. False, and a message in ctx->message, if no frame has a match in that pane.
bool jump_to(struct part_context *ctx, const char *pane, const char *filter, const char *note);

#endif
