// From a row to another pane, where a filter finds what the row tells of. Never to a pane that is empty by that filter:
// what is gone is shown in the newest frame that has it, and what never was there is said not to be.
#ifndef VIEWS_JUMP_H
#define VIEWS_JUMP_H

#include "views/row/key.h"
#include "views/view.h"

// A name (in the column comm) that stands for nobody who is in that pane.
struct jump_name {
    const char *name;
    const char *filter; // what leads to those behind it; NULL: nothing does
    const char *note;   // what to say then, what it is and what is shown
    const char *none;   // when nothing is found
};

struct jump {
    const char *pane;              // NULL: nowhere
    const char *columns;           // the first measured value of them becomes the filter there, blank between; or NULL
    const struct jump_name *names; // ends with name NULL; or NULL
};

// True when the spec leads somewhere: ctx says where, or why there is nothing to see.
bool jump_key(struct part_context *ctx, const struct jump *jump, const struct row_key *key);
// The same by a filter. False, and a word in ctx->message, when that pane has nothing of it in any frame.
bool jump_to(struct part_context *ctx, const char *pane, const char *filter, const char *note);

#endif
