// The filter language: text that a row contains, or blank-separated terms that must all hold: COLUMN=VALUE (exact; for
// numbers also COLUMN=LOW..HIGH, LOW included, HIGH excluded), COLUMN~TEXT (contains), and != > >= < <=. Text or values
// in double quotes (\" and \\ inside) are literal, including blanks at their ends. Terms on columns that a table lacks,
// but another table of the frame has, do not apply to it: "pid=12" leaves the disks unfiltered.
#ifndef VIEWS_FILTER_H
#define VIEWS_FILTER_H

#include "model/frame.h"

enum filter_operator {
    FILTER_EQUAL,
    FILTER_UNEQUAL,
    FILTER_MORE,
    FILTER_MORE_EQUAL,
    FILTER_LESS,
    FILTER_LESS_EQUAL,
    FILTER_CONTAINS
};

struct filter_term {
    char name[64];
    enum filter_operator op;
    bool quoted;
    uint8_t value; // offset in the filter's text; may contain blanks: a term ends where the next one begins
};

enum filter_flaw {
    FILTER_WHOLE,
    FILTER_OPEN,  // unclosed quote there
    FILTER_BEHIND // the text there, after a quoted value, is no term
};

#define FILTER_TERMS_MAX 8
#define FILTER_SIZE 256 // bytes of text: a cgroup path and some terms
struct filter {
    size_t n; // 0: plain text that rows contain; "": no filter at all
    struct filter_term terms[FILTER_TERMS_MAX];
    char text[FILTER_SIZE];
    enum filter_flaw flaw; // a flawed filter is applied as if complete: it is still being typed
    uint8_t flaw_at;       // offset in the parsed text
};

// Whether the text has terms on columns of this frame's tables; otherwise it is plain text. Filters with equal `n` and
// equal bytes of `text` (zero-padded) are equal.
bool filter_parse(const char *text, const struct frame *frame, struct filter *out);
// Checks the filter. Unless it is plausible, writes one line: what is wrong, why, and how to write it. An unknown
// column is only a note where it may be plain text (root=UUID), but an error with an order comparison.
enum filter_doubt { FILTER_MEANT, FILTER_NOTE, FILTER_WRONG };
enum filter_doubt filter_check(const char *text, const struct frame *frame, char *out, size_t size);
const char *filter_value(const struct filter *filter, size_t term);
// False while its value is still empty.
bool filter_has_value(const struct filter *filter, size_t term);
// The value as typed, quoted if necessary or `quoted`. Returns its full length.
size_t filter_value_text(const char *value, bool quoted, char *out, size_t size);
// Whether the term holds for the cell of its column. Numbers compare by value, with or without the suffixes shown (500,
// 2ms, 4K), times since 1970 also by time of day (14:13 is any time in that minute, 23:59..0:01 crosses midnight), or
// equal as shown; texts byte by byte or as shown (escaped). A one-letter operation (op=R) matches any flags, op="R"
// only none. Not measured is shown as - and equal to it; "-" in quotes is the text. An empty value, as while typing,
// matches every cell; in quotes it matches empty text.
bool filter_holds(const struct filter *filter, size_t term, const struct column *column, union cell cell);
// Whether a row with these n columns, all of them keys, passes the filter: all terms on one of them hold, or one of
// them contains the text.
bool filter_passes(const struct filter *filter, const struct column *columns, size_t n, const union cell *cells);
// Whether the cell contains the text, ignoring case; a number that is a key does when its digits do.
bool cell_contains(const struct column *column, bool is_key, union cell cell, const char *text);
// The number of a value in the filter language, in the column's unit.
bool filter_number(const struct column *column, const char *value, double *out);
// 14:13, 14:13:20 or 14:13:20.5: seconds since midnight, and the resolution of the last digit.
bool filter_clock(const char *text, double *seconds, double *step);
// The term as typed. Returns its full length.
size_t filter_term_text(const struct filter *filter, size_t term, char *out, size_t size);
// The same, escaped for a screen; without the column and "=" when `brief`. Returns the length written.
size_t filter_term_shown(const struct filter *filter, size_t term, bool brief, char *out, size_t size);
// The filter that matches this cell, "" when it is not measured.
void filter_for(const struct column *column, union cell cell, char *out, size_t size);
// Adds the term for the cell, measured or not, to the terms in out. False: no room, and out is unchanged.
bool filter_add(const struct column *column, union cell cell, enum filter_operator op, char *out, size_t size);

#endif
