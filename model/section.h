// A section: the data of one collector for one interval. Built by that collector's thread, immutable once handed to the
// live model, reference-counted, shared by every frame that shows it (several frames may show a late collector's last
// section, marked stale).
#ifndef MODEL_SECTION_H
#define MODEL_SECTION_H

#include <stdint.h>

#include "model/hist.h"
#include "model/table.h"
#include "model/tree.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };
const char *severity_name(enum severity severity);

enum section_state {
    SECTION_STARTING, // no data yet
    SECTION_OK,
    SECTION_DEGRADED,    // works in part: the notes name what is missing
    SECTION_UNAVAILABLE, // not allowed by this kernel, machine or user: the notes have the reason and the fix
};
const char *section_state_name(enum section_state state);

struct series_def {
    const char *name; // the contract's name, snake_case with the unit
    const char *title;
    const char *help;
    enum unit unit;
    enum merge merge;
};

struct section;

struct section *section_new(const char *collector, uint64_t begin_ns, uint64_t end_ns); // CLOCK_MONOTONIC
const struct section *section_ref(const struct section *section);
void section_unref(const struct section *section);

// ---- building; every "take" passes ownership to the section ----
void section_set_state(struct section *section, enum section_state state);
// `column` (may be NULL): the column or series that the note explains. Strings are copied. A note is one plain
// sentence.
void section_note(struct section *section, enum severity severity, const char *column, const char *text,
                  const char *fix);
void section_series(struct section *section, const struct series_def *def, double value); // NAN: not measured
void section_table(struct section *section, struct table *take);
void section_hists(struct section *section, struct hist_set *take);
void section_tree(struct section *section, struct tree *take);
// The individual events of the interval, oldest first; left_out is the number that was not kept.
void section_stream(struct section *section, struct table *take_events, uint64_t left_out);
// Events in the interval: read, and reported lost by the kernel.
void section_events(struct section *section, uint64_t seen, uint64_t lost);
// CPU time of the collector's thread in the interval.
void section_cost(struct section *section, uint64_t cpu_ns);
// Takes in the previous section, which no frame will show: this section is then about both intervals (enum merge, enum
// table_rows_of). Histograms, trees of the same name table, streams, events seen and lost, and the cost are added.
void section_absorb(struct section *section, const struct section *before);

// ---- reading ----
struct note {
    enum severity severity;
    const char *column, *text, *fix; // column and fix may be NULL
};
const char *section_collector(const struct section *section);
enum section_state section_state(const struct section *section);
uint64_t section_begin(const struct section *section);
uint64_t section_end(const struct section *section);
uint64_t section_ns(const struct section *section); // the length of its interval; 0: none yet
uint64_t section_seen(const struct section *section);
uint64_t section_lost(const struct section *section);
uint64_t section_cpu_ns(const struct section *section);
size_t section_notes(const struct section *section);
const struct note *section_note_at(const struct section *section, size_t i);
size_t section_n_series(const struct section *section);
double section_series_at(const struct section *section, size_t i, const struct series_def **def);
const struct table *section_find_table(const struct section *section, const char *name);
const struct hist_set *section_find_hists(const struct section *section, const char *name);
const struct tree *section_find_tree(const struct section *section, const char *name);
size_t section_n_defs(const struct section *section); // of its tables and streams
const struct table_def *section_def_at(const struct section *section, size_t i);
bool section_has_column(const struct section *section, const char *name); // a table or stream of it has
const struct table *section_find_stream(const struct section *section, const char *name, uint64_t *left_out);

#endif
