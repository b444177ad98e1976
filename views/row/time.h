// A row over time: a small chart for each of its numbers, and a line for each frame. A page of the row part.
#ifndef VIEWS_ROW_TIME_H
#define VIEWS_ROW_TIME_H

#include "views/row/points.h"

struct row_time {
    struct row_points points;
    uint64_t selected; // number of a frame; 0: none
    size_t top, page;  // of the lines
    int table_y;       // row of the first line, in the area
};

void row_time_reset(struct row_time *self); // before another row is shown
void row_time_draw(struct row_time *self, const char *heading, struct area area);
// Moves the selection; Enter goes to the selected frame.
bool row_time_key(struct row_time *self, struct part_context *ctx);
void row_time_status(const struct row_time *self, char *out, size_t size);
void row_time_write(const struct row_time *self, const char *heading, FILE *out);

#endif
