// A row in full: every measured column with its title, then long texts, wrapped. It follows the row from frame to
// frame. A page of the row part.
#ifndef VIEWS_ROW_FULL_H
#define VIEWS_ROW_FULL_H

#include "views/row/key.h"

struct row_full {
    struct rows rows;
    int top; // first visible line
    int n_lines, page;
};

void row_full_done(struct row_full *self);
// lines: names of text columns with lines of their own, separated by blanks, in this order; NULL: none. A chain of
// calls ("inner < outer") gets one line per call. False: the frame does not have the row.
bool row_full_draw(struct row_full *self, const struct rows_source *source, const struct row_key *key,
                   const char *lines, const struct frame *frame, struct area area);
bool row_full_key(struct row_full *self, int key);  // scrolls
bool row_full_scrolls(const struct row_full *self); // some lines were off the screen
void row_full_write(struct row_full *self, const struct rows_source *source, const struct row_key *key,
                    const struct frame *frame, FILE *out);

#endif
