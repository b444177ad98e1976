// Enter on a row of a table: opens the part of the pane that its spec names (opens), or another pane (jump).
#ifndef VIEWS_TABLE_ENTER_H
#define VIEWS_TABLE_ENTER_H

#include "views/part_table.h"

// ctx is the table's; the row is a row of the join. False: nowhere.
bool table_annotate(struct part_context *ctx, const struct join *join, size_t row); // the key a
bool table_count(struct part_context *ctx, const struct join *join, size_t row);    // the key R
bool table_remove(struct part_context *ctx, const struct join *join, size_t row);   // the key D
bool table_enter(struct part_context *ctx, const struct join *join, size_t row);

#endif
