// Where Enter leads from a row of a table: to the part of the pane that its spec says (opens), or to another pane
// (jump_pane).
#ifndef VIEWS_TABLE_ENTER_H
#define VIEWS_TABLE_ENTER_H

#include "views/part_table.h"

// ctx is the table's; the row is one of the join. False: nowhere.
bool table_enter(struct part_context *ctx, const struct join *join, size_t row);

#endif
