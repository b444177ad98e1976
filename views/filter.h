// The filter language: a text that a row contains, or terms with blanks between that all must hold: COLUMN=VALUE
// (exactly that; of numbers also COLUMN=LOW..HIGH: from LOW on, and below HIGH), COLUMN~TEXT (contains it), and != > >=
// < <=. A text or a value may stand in double quotes, \" and \\ within for " and \: it is then that and nothing else,
// whatever it reads like, blanks at its ends included. Tables that do not have a term's column (another one of the
// frame does) are shown as if it were not there: "pid=12" leaves the disks alone.
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
    uint8_t value; // where it begins in the filter's text; may hold blanks: a term ends where the next one begins
};

enum filter_flaw {
    FILTER_WHOLE,
    FILTER_OPEN,  // the quote there is not closed
    FILTER_BEHIND // what stands there, behind something in quotes, is no term
};

#define FILTER_TERMS_MAX 8
#define FILTER_SIZE 256 // of its text: a control group's path and some terms beside it
struct filter {
    size_t n; // 0: no terms, but a text that rows contain; "": no filter at all
    struct filter_term terms[FILTER_TERMS_MAX];
    char text[FILTER_SIZE];
    enum filter_flaw flaw; // while it is typed, it is taken as if it were whole
    uint8_t flaw_at;       // in what was parsed
};

// Whether the text names columns, that is, ones that a table of this frame has. Else it is a text that rows contain.
// Two that agree in n and in all bytes of `text`, which is filled up with zeros, ask for the same.
bool filter_parse(const char *text, const struct frame *frame, struct filter *out);
// Whether the text can be meant: else one line in out says what cannot be, why, and what to write. An unknown column is
// only doubted where it may well be a text (root=UUID); what is compared by more or less is not.
enum filter_doubt { FILTER_MEANT, FILTER_NOTE, FILTER_WRONG };
enum filter_doubt filter_check(const char *text, const struct frame *frame, char *out, size_t size);
const char *filter_value(const struct filter *filter, size_t term);
// False while its value is not typed yet.
bool filter_asks(const struct filter *filter, size_t term);
// The value as it is typed: in quotes where it must be, or `quoted`. Returns the length that it would have.
size_t filter_value_text(const char *value, bool quoted, char *out, size_t size);
// Whether the term holds for the cell of its column. Numbers are compared by value, with or without the suffixes that
// they are shown with (500, 2ms, 4K), times since 1970 also by the clock (14:13 is any time in that minute, 23:59..0:01
// goes over midnight), or equal as they are shown; texts byte by byte or as they are shown (with escapes). An operation
// of one letter (op=R) is one with any flags, op="R" without any. What is not measured is shown as -, and equal to it;
// "-" in quotes is that text. An empty value, as while it is being typed, holds for every cell; in quotes it is empty.
bool filter_holds(const struct filter *filter, size_t term, const struct column *column, union cell cell);
// Whether a row of these n columns, keys all of them, has what the filter asks for: the terms that name one of them
// hold, or one of them contains the text.
bool filter_lets(const struct filter *filter, const struct column *columns, size_t n, const union cell *cells);
// A text contains the other one, upper and lower case alike; a number that is a key does when its digits do.
bool cell_contains(const struct column *column, bool is_key, union cell cell, const char *text);
// The number that a value of the language stands for, in the column's unit.
bool filter_number(const struct column *column, const char *value, double *out);
// 14:13, 14:13:20 or 14:13:20.5: the seconds of the day, and how many its last digit stands for.
bool filter_clock(const char *text, double *seconds, double *step);
// The term as it is typed. Returns the length that it would have.
size_t filter_term_text(const struct filter *filter, size_t term, char *out, size_t size);
// The same, fit for a screen; without the column and "=" when `brief`. Returns what it wrote.
size_t filter_term_shown(const struct filter *filter, size_t term, bool brief, char *out, size_t size);
// The filter that finds this cell, "" when it is not measured.
void filter_for(const struct column *column, union cell cell, char *out, size_t size);
// Adds the term for the cell, also of one that is not measured, to the terms in out. False: it has no room, and out
// stays as it is.
bool filter_add(const struct column *column, union cell cell, enum filter_operator op, char *out, size_t size);

#endif
