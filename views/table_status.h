// The words at the right end of a table's title: how many of how many rows, what they are filtered by, what titles
// mean.
#ifndef VIEWS_TABLE_STATUS_H
#define VIEWS_TABLE_STATUS_H

#include "views/part_table.h"

// `top` is the first row that is seen, of `page` that have room.
void table_status(struct part_context *ctx, const struct rows *rows, long top, int page, char *out, size_t size);

#endif
