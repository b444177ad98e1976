// The columns of a table part: which are shown, their place on a line of a given width, and the column chooser.
#ifndef VIEWS_TABLE_COLUMNS_H
#define VIEWS_TABLE_COLUMNS_H

#include "views/part_table.h"

#define SHOWN_MAX 96

struct table_columns {
    const char *shown[SHOWN_MAX]; // names, in their order on the screen
    size_t n_shown;
    char *copy;               // storage of the names of the view's list
    bool chosen;              // by the user: the twin is then an ordinary column
    int left;                 // columns scrolled out at the left
    bool twin_shown;          // set when it first differed: columns that come and go with the rows are unreadable
    uint64_t twin_generation; // the generation of the rows that was checked
    bool choosing;
    int at, top; // of the chooser
};

struct table_slot {
    uint16_t column; // of the join
    int x, width;
};
struct table_line {
    struct table_slot slots[SHOWN_MAX];
    size_t n;
    size_t n_left_out; // columns that can be scrolled to
};

void columns_init(struct table_columns *columns, const struct table_spec *spec);
void columns_done(struct table_columns *columns);
// Places the columns. Never fails: a line that is too narrow shows the first columns only, cut.
void columns_line(struct table_columns *columns, const struct table_spec *spec, struct rows *rows, int width,
                  struct table_line *out);
// The row's column in the slot: the slot's own, or the one of spec->rest_or.
uint16_t slot_column(const struct table_slot *slot, const struct table_spec *spec, const struct join *join, size_t row);
// The table as lines of a log: what fits a wide line, the last column in full. `empty` (may be NULL): the text without
// rows.
void columns_write_text(struct table_columns *columns, const struct table_spec *spec, struct rows *rows,
                        const char *empty, FILE *out);
// The chooser: drawing it over the table, and its keys (true: used).
void columns_draw_chooser(struct table_columns *columns, const struct join *join, struct area area);
bool columns_key(struct table_columns *columns, const struct join *join, int key, int page);

#endif
