// The filter language: a text that a row contains, or terms with blanks between that all must hold: COLUMN=VALUE
// (exactly that), and != > >= < <=. Tables that do not have a term's column (another one of the frame does) are shown
// as if it were not there: "pid=12" leaves the disks alone.
#ifndef VIEWS_FILTER_H
#define VIEWS_FILTER_H

#include "model/frame.h"

enum filter_operator { FILTER_EQUAL, FILTER_UNEQUAL, FILTER_MORE, FILTER_MORE_EQUAL, FILTER_LESS, FILTER_LESS_EQUAL };

struct filter_term {
    char name[64];
    enum filter_operator op;
    const char *value; // within the filter; may hold blanks: a term ends where the next one begins
};

#define FILTER_TERMS_MAX 8
struct filter {
    size_t n;
    struct filter_term terms[FILTER_TERMS_MAX];
    char text[128];
};

// Whether the text names columns, that is, ones that a table of this frame has. Else it is a text that rows contain.
// The terms point into `out`: it must not be moved.
bool filter_parse(const char *text, const struct frame *frame, struct filter *out);
// Whether the term holds for the cell of its column. Numbers are compared by value, with or without the suffixes that
// they are shown with (500, 2ms, 4K), or equal as they are shown; texts byte by byte or as they are shown (with
// escapes). An operation of one letter (op=R) is one with any flags. An empty value, as while it is being typed, holds
// for every cell.
bool filter_holds(const struct filter_term *term, const struct column *column, union cell cell);
// The filter that finds this cell, "" when it is not measured.
void filter_for(const struct column *column, union cell cell, char *out, size_t size);

#endif
