// Which histograms a part shows: one of its sets (latency, queue, size), and of it one value of a key column (device,
// operation) or all of them together. The parts of a pane share the choice: a device chosen in the heat map is chosen
// in the histogram beside it. The pane's filter narrows it, as it narrows the tables (filter.c). And the way from
// a range of values to the list of the I/Os in it (list.c).
#ifndef VIEWS_HIST_SELECT_H
#define VIEWS_HIST_SELECT_H

#include "views/filter.h"
#include "views/hist/scale.h"
#include "views/view.h"

#define HIST_OTHERS "(others)" // the key of what a set puts together
#define HIST_SELECT_KEYS 6     // device, operation, process, command, group, and one more

// The first member of the state of every part kind that shows histograms, so that they can share.
struct hist_select {
    const char *set; // one of the spec's names; NULL: the first
    struct {
        char column[24], value[FILTER_SIZE]; // "": not chosen, all
        char label[32];                      // what else says which it is: the name of a process
    } key[HIST_SELECT_KEYS];
    // While nothing is chosen by hand of the key that the spec's `busiest` has: see busiest.c.
    bool by_hand;
    char busy_column[24], busy_value[64]; // "": none, all
    uint64_t busy_number;                 // of the frame that it was looked up for
    struct filter filter;                 // of the pane, when it was drawn last
    const char *before;                   // the set from which the filter led to this one; NULL: it did not
    bool seeks;                           // no set was found yet that it narrows, and none was chosen by hand since
    bool unmatched;                       // its text stands nowhere in the keys of the set: it narrows nothing
    uint64_t matched_number;              // of the frame that this was looked up for
};

// What there is to know of a set beyond its definition.
struct hist_measure {
    const char *set;
    const char *column;         // of the list of single ones: where the same value stands; NULL: nowhere. Sets with
                                // the same one are one measure, kept by something else
    uint16_t linear;            // values from 0 to this on a linear axis, as shares of it; 0: a logarithmic axis
    const char *table;          // no set of the frame at all: the column `set` of this table, a value a row
    const struct hist_def *def; // with `table`: its definition; the keys are the table's
    const char *noun;           // for the title: "Size" histogram; NULL: "Latency"
    const char *better;         // with `table`: another one with these keys that may measure it better (struct column)
};

// The spec of part_hist and of part_heat.
struct hist_spec {
    const char *const
        *sets; // names of hist sets in the frame, or of measures; NULL-terminated; the first is shown first
    const struct hist_measure *measures; // ends with set NULL; NULL: nothing to add
    bool untyped;                        // its sets have one key only: there are no types to choose from
    const char *busiest;                 // a measure with a table: until the user chooses, what is largest in it
    const char *list;                    // the part of the pane that lists single ones: Enter goes there; NULL: none
};

// The values of one histogram; buckets as in struct hist.
struct hist_values {
    uint64_t count, min, max;
    uint32_t n_buckets;
    const struct hist_bucket_count *buckets;
    struct hist_bucket_count one; // storage of a value that stands alone
};

const char *hist_select_set(const struct hist_select *select, const struct hist_spec *spec);
const struct hist_measure *hist_select_measure(const struct hist_select *select, const struct hist_spec *spec);
// The chosen set of a frame. NULL where it has none, or repeats that of the frame before: who adds up frames would
// count it twice.
const struct hist_set *hist_select_hists(const struct hist_select *select, const struct hist_spec *spec,
                                         const struct frame *frame);
// The next chosen histogram of the set: start with *at = 0, ends with NULL. The set may be NULL.
const struct hist *hist_select_next(const struct hist_select *select, const struct hist_set *set, size_t *at);
// The same for the chosen set of a frame, whatever it is made from; false at the end. `out` must stay where it is.
bool hist_select_values(const struct hist_select *select, const struct hist_spec *spec, const struct frame *frame,
                        size_t *at, struct hist_values *out);
// The def of the chosen set: of the newest frame of the window that has it, or NULL.
const struct hist_def *hist_select_def(const struct hist_select *select, const struct hist_spec *spec,
                                       const struct look *look);
// False when the source of the chosen set is not there or has only begun: nothing was measured, not "none".
bool hist_select_measured(const struct hist_select *select, const struct hist_spec *spec, const struct frame *frame);
// "device vda, op all", and what the filter asks for that does not narrow it: fit for a screen. Returns the length.
size_t hist_select_text(const struct hist_select *select, const struct hist_def *def, char *out, size_t size);
// What is chosen, as the words at the right end of the title, and `more`. ctx->state begins with a struct hist_select.
void hist_select_status(struct part_context *ctx, const char *more, char *out, size_t size);
// The definition of a set of the spec: of the newest frame of the window that has it, or NULL.
const struct hist_def *hist_set_def_of(const struct hist_spec *spec, const char *set, const struct look *look);
// Before drawing: takes the pane's filter over, and of the spec's `busiest` shows what is busiest, until the user
// chooses. ctx->state begins with a struct hist_select, which the other parts then have too.
void hist_select_settle(struct part_context *ctx);
// The pane's filter, taken over. A new one leads to the set of the same measure that is kept by what it names, and
// takes the place of what was chosen by hand there.
void hist_filter_settle(struct part_context *ctx);
bool hist_has_key(const struct hist_def *def, const char *column);
// How much of what the filter asks for the set is kept by: of its terms, or of its text 1 when that stands there.
size_t hist_filter_fits(const struct filter *filter, const struct hist_spec *spec, const char *set,
                        const struct look *look);
// Whether the filter leaves the histogram with these keys.
bool hist_filter_lets(const struct hist_select *select, const struct hist_def *def, const union cell *keys);
// The term of the filter for that column; -1: none.
int hist_filter_term(const struct hist_select *select, const char *column);
// ", not filtered by pid": what it asks for that these histograms are not kept by; "": nothing.
void hist_filter_text(const struct hist_select *select, const struct hist_def *def, char *out, size_t size);
// The title of the part: "Size heat map" for the kind "heat map".
void hist_select_title(const struct part_context *ctx, const char *kind, char *out, size_t size);
void hist_select_share(const struct part_context *ctx);
// The parts of the pane show that from now on: the cell of a row that was selected. Not measured: what is busiest.
void hist_select_choose(struct pane *pane, const struct column *column, union cell value);
// A key cell as text: comparable and fit for a screen. "" for not measured.
void hist_select_key_text(const struct column *column, union cell value, char *out, size_t size);
// The keys v V t T m M. ctx->state begins with a struct hist_select. True when used; the other parts then know too.
bool hist_select_key(struct part_context *ctx);
#define HIST_SELECT_PART_KEYS                                                                                          \
    {'v', "v V", "next, previous device, process, CPU, ... with data; then all"},                                      \
        {'t', "t T", "next, previous operation with data: reads, reads with a flag, writes, ...; then all"}, {         \
        'm', "m M", "next, previous measure: service, queue, total time, size, ..."                                    \
    }
// Which keys do something in this part.
bool hist_select_takes(const struct part *part, int key);
size_t hist_select_sources(const struct part *part, const char **names, size_t max);

// What is chosen of a key column, NULL: all.
const char *hist_select_chosen(const struct hist_select *select, const char *column);
// Takes the user to the list of what was chosen, in that frame, with the values that the row of the scale counts.
// False when the part has no list. back: what to say then, when nothing more has to be said.
bool hist_select_list(struct part_context *ctx, const struct frame *frame, const struct hist_scale *scale, int row,
                      const char *back);

#endif
