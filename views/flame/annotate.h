// The lines of an annotated function: its source lines and instructions in the order of addresses, each with its
// samples. Made of the table `code` (instructions) and of the sampled addresses (hot.h).
#ifndef VIEWS_FLAME_ANNOTATE_H
#define VIEWS_FLAME_ANNOTATE_H

#include "views/flame/hot.h"

enum annotate_kind { ANNOTATE_SOURCE, ANNOTATE_CODE, ANNOTATE_GAP };

struct annotate_line {
    enum annotate_kind kind;
    uint64_t samples;                          // of a source line: of the instructions up to the next one
    double offset, address;                    // of the (first) instruction
    const struct text *text, *function, *file; // borrowed from the frame's table; NULL: unknown. text: of a source
                                               // line, or of an instruction
    uint32_t line;                             // 0: unknown
};

struct annotate {
    struct annotate_line *lines;
    size_t n;
    const struct text *note;   // what is missing; or NULL
    size_t hottest;            // the instruction with the most samples; n: none
    struct annotate_line line; // the source line with the most samples; samples 0: none
};

// The table `code` of the newest frame that has the function; with `line_only`, one that has at least its line. NULL:
// none. At most `frames` frames are looked at.
const struct table *annotate_code(const struct look *look, const char *symbol, const char *object, bool line_only,
                                  size_t frames);
// The offsets of its instructions, NAN: none.
void annotate_range(const struct table *code, double *low, double *high);
// `code` may be NULL: then the sampled addresses alone are the lines. Valid as long as the table.
struct annotate annotate_make(const struct table *code, const struct hot *hot);
void annotate_free(struct annotate *annotate);
// "hot.c:14", "[unknown]"; the whole path with `whole`. Not escaped.
void annotate_place(const struct text *file, uint32_t line, bool whole, char *out, size_t size);
// Where the function is, for a line about it: "hot.c:14; f inlined at hot.c:20". "": unknown.
void annotate_where(const struct look *look, const char *symbol, const char *object, char *out, size_t size);

#endif
