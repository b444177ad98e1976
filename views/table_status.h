// The words at the right end of a table's title: how many rows of how many, the filter, the meaning of titles.
#ifndef VIEWS_TABLE_STATUS_H
#define VIEWS_TABLE_STATUS_H

#include "views/part_table.h"

// `top` is the first visible row, of `page` that fit.
void table_status(struct part_context *ctx, const struct rows *rows, long top, int page, char *out, size_t size);

#endif
