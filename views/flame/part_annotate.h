// The instructions of one function with the share of its samples that each has, between its source lines. It is there
// only after the key a on a function of a flame graph or of a table with a column `symbol`. spec: struct flame_spec,
// the flame graph's.
#ifndef VIEWS_PART_ANNOTATE_H
#define VIEWS_PART_ANNOTATE_H

#include "model/code_ask.h"
#include "views/flame/span.h"
#include "views/part_table.h"

extern const struct part_kind part_annotate;

// ctx: of a part that shows functions, at the key a; `part`: the part of this kind. False: the name is no function's.
bool annotate_choose(struct part_context *ctx, const struct text *name, const char *part);

// ---- the line of a selected function ----

extern const struct table_about annotate_about; // of a table with the columns symbol and dso

struct annotate_selected {
    const struct text *name; // that was asked for; a reference
    struct code_ask ask;
};
void annotate_selected_forget(struct annotate_selected *selected);
// What to ask for so that annotate_where() has an answer; NULL: it was asked, or there is none.
const struct code_ask *annotate_select(struct part_context *ctx, struct annotate_selected *selected,
                                       const struct text *name);

#endif
