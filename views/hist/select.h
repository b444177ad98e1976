// Which histograms a part shows: one of its sets (latency, queue, size), and in it one value of a key column (device,
// operation) or all. The parts of a pane share the choice: a device chosen in the heat map is also chosen in the
// histogram. The pane's filter narrows it, as it narrows the tables (filter.c). list.c leads from a range of values to
// the list of its I/Os.
#ifndef VIEWS_HIST_SELECT_H
#define VIEWS_HIST_SELECT_H

#include "views/filter.h"
#include "views/hist/scale.h"
#include "views/view.h"

#define HIST_OTHERS "(others)" // the key under which a set collects the rest
#define HIST_SELECT_KEYS 6     // device, operation, process, command, cgroup, and one spare

// The first member of the state of every part kind that shows histograms, so that they can share it.
struct hist_select {
    const char *set; // one of the spec's names; NULL: the first
    struct {
        char column[24], value[FILTER_SIZE]; // "": all
        char label[32];                      // describes the value: the name of a process
    } key[HIST_SELECT_KEYS];
    // Used until the user chooses the key of the spec's `busiest`: see busiest.c.
    bool by_hand;
    char busy_column[24], busy_value[64]; // "": none, all
    uint64_t busy_number;                 // the frame of the last look-up
    struct filter filter;                 // of the pane, at the last draw
    const char *before;                   // the set from which the filter moved to this one; NULL: it did not
    bool seeks;                           // the filter has found no set to narrow yet; none chosen by hand since
    bool unmatched;                       // no key of the set contains the filter text: it narrows nothing
    uint64_t matched_number;              // the frame of the last look-up
};

// What a set's definition does not contain.
struct hist_measure {
    const char *set;
    const char *column;         // the same value in the list of single events; NULL: not there. Sets with the same
                                // column are one measure by different keys
    uint16_t linear;            // linear axis from 0 to this, as shares of it; 0: logarithmic axis
    const char *table;          // not a set of the frame, but the column `set` of this table, one value per row
    const struct hist_def *def; // with `table`: its definition; the keys are the table's
    const char *noun;           // for the title: "Size" histogram; NULL: "Latency"
    const char *better;         // with `table`: another table that may measure it better (struct column)
};

// The spec of part_hist and of part_heat.
struct hist_spec {
    const char *const *sets;             // names of hist sets or measures, NULL-terminated; the first is the default
    const struct hist_measure *measures; // ends with set NULL; may be NULL
    bool untyped;                        // its sets have one key: there are no types to choose from
    const char *busiest;                 // a measure with a table: the default choice is its largest value
    bool optional;    // its sets are filled only if the user asks for them; without one it takes no room
    const char *list; // the part that lists single events: Enter goes there; NULL: none
};

// The values of one histogram; buckets as in struct hist.
struct hist_values {
    uint64_t count, min, max;
    uint32_t n_buckets;
    const struct hist_bucket_count *buckets;
    struct hist_bucket_count one; // storage of a single value
};

const char *hist_select_set(const struct hist_select *select, const struct hist_spec *spec);
// Of an optional spec: whether a set of it is filled in a frame of the window. While none is chosen, the first such set
// is.
bool hist_select_filled(struct hist_select *select, const struct hist_spec *spec, const struct look *look);
const struct hist_measure *hist_select_measure(const struct hist_select *select, const struct hist_spec *spec);
// The chosen set of a frame. NULL if it has none, or repeats that of the previous frame: a sum over frames would count
// it twice.
const struct hist_set *hist_select_hists(const struct hist_select *select, const struct hist_spec *spec,
                                         const struct frame *frame);
// The next chosen histogram of the set: start with *at = 0; NULL at the end. The set may be NULL.
const struct hist *hist_select_next(const struct hist_select *select, const struct hist_set *set, size_t *at);
// The same for the chosen set or table of a frame; false at the end. `out` must not move.
bool hist_select_values(const struct hist_select *select, const struct hist_spec *spec, const struct frame *frame,
                        size_t *at, struct hist_values *out);
// The def of the chosen set: of the newest frame of the window that has it, or NULL.
const struct hist_def *hist_select_def(const struct hist_select *select, const struct hist_spec *spec,
                                       const struct look *look);
// False if the source of the chosen set is missing or has just started: not measured, rather than none.
bool hist_select_measured(const struct hist_select *select, const struct hist_spec *spec, const struct frame *frame);
// "device vda, op all", and the filter terms that do not narrow it, escaped for a screen. Returns the length.
size_t hist_select_text(const struct hist_select *select, const struct hist_def *def, char *out, size_t size);
// The choice and `more` for the right end of the title. ctx->state begins with a struct hist_select.
void hist_select_status(struct part_context *ctx, const char *more, char *out, size_t size);
// The definition of a set of the spec: of the newest frame of the window that has it, or NULL.
const struct hist_def *hist_set_def_of(const struct hist_spec *spec, const char *set, const struct look *look);
// Before drawing: applies the pane's filter and, until the user chooses, the spec's `busiest`. ctx->state begins with a
// struct hist_select; the result is copied to the other parts.
void hist_select_settle(struct part_context *ctx);
// Applies the pane's filter. A new filter moves to the set of the same measure that has its keys, and replaces the
// user's choice there.
void hist_filter_settle(struct part_context *ctx);
bool hist_has_key(const struct hist_def *def, const char *column);
// How many terms of the filter are keys of the set; for a text: 1 if a key contains it.
size_t hist_filter_fits(const struct filter *filter, const struct hist_spec *spec, const char *set,
                        const struct look *look);
// Whether the histogram with these keys passes the filter.
bool hist_filter_passes(const struct hist_select *select, const struct hist_def *def, const union cell *keys);
// The term of the filter for that column; -1: none.
int hist_filter_term(const struct hist_select *select, const char *column);
// ", not filtered by pid": the terms that do not apply to these histograms; "": none.
void hist_filter_text(const struct hist_select *select, const struct hist_def *def, char *out, size_t size);
// The title of the part: "Size heat map" for the kind "heat map".
void hist_select_title(const struct part_context *ctx, const char *kind, char *out, size_t size);
void hist_select_share(const struct part_context *ctx);
// The parts of the pane show this cell of the selected row from now on. Not measured: the busiest.
void hist_select_choose(struct pane *pane, const struct column *column, union cell value);
// A key cell as text: comparable, and escaped for a screen. "" if not measured.
void hist_select_key_text(const struct column *column, union cell value, char *out, size_t size);
// The keys v V t T m M. ctx->state begins with a struct hist_select. True if used; the other parts get the choice.
bool hist_select_key(struct part_context *ctx);
#define HIST_SELECT_PART_KEYS                                                                                          \
    {'v', "v V", "next, previous device, process, CPU, ... with data; then all"},                                      \
        {'t', "t T", "next, previous operation with data: reads, reads with a flag, writes, ...; then all"}, {         \
        'm', "m M", "next, previous measure: service, queue, total time, size, ..."                                    \
    }
// Which keys have an effect in this part.
bool hist_select_takes(const struct part *part, int key);
size_t hist_select_sources(const struct part *part, const char **names, size_t max);

// The chosen value of a key column; NULL: all.
const char *hist_select_chosen(const struct hist_select *select, const char *column);
// Goes to the list of the events of the chosen histograms in that frame, with the values of the row of the scale. False
// if the part has no list. back: the message if there is no other.
bool hist_select_list(struct part_context *ctx, const struct frame *frame, const struct hist_scale *scale, int row,
                      const char *back);

#endif
