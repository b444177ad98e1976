// The command line: one table of options drives the parsing, --help and the tests of the documentation.
#ifndef TUI_OPTIONS_H
#define TUI_OPTIONS_H

#include <stdio.h>

#include "collectors/collector.h"
#include "collectors/kernel/perf/event/parse.h"
#include "model/nearest.h"
#include "tui/presets.h"
#include "views/view.h"

#define OPTION_PANES_MAX 16
#define OPTION_PIDS_MAX 256
#define OPTION_EVENTS_MAX 64

enum action {
    ACTION_TUI,
    ACTION_BATCH,
    ACTION_RECORD, // --record without a screen
    ACTION_HELP,
    ACTION_VERSION,
    ACTION_LIST,
    ACTION_DOCTOR,
    ACTION_CLEANUP,
};

enum list_what { LIST_PANES, LIST_COLUMNS, LIST_EVENTS, LIST_TRACEPOINTS, LIST_FUNCTIONS, LIST_PRESETS, LIST_RULES };

struct options {
    enum action action;
    enum list_what list;
    uint64_t delay_ns;
    bool delay_given;
    const char *record, *replay; // file names, "-": standard output, input; NULL: not given
    uint64_t iterations;         // 0: no limit
    enum format format;
    char pane_names[256]; // as given; names_resolve resolves them
    const struct view *panes[OPTION_PANES_MAX];
    size_t n_panes;
    pid_t pids[OPTION_PIDS_MAX];
    struct collect_options collect;             // its pids point into this struct
    const char *event_texts[OPTION_EVENTS_MAX]; // as given; events_resolve resolves them
    size_t n_event_texts;
    struct perf_event_list events;
    char *tracepoints; // of --tracepoint and --preset, one a line; NULL: none
    char *functions;   // of --function, one a line; NULL: none
    const char *graph; // of --graph; NULL: none
    char *probes;      // of --probe, one a line; NULL: none
    struct preset_files preset_files;
    const char *profile_event; // as given; NULL: not given
    struct perf_event_list profile_events;
    const char *sort, *filter; // NULL: not given
    char filter_note[200];     // a doubtful part of the filter; "": none
    size_t history_bytes;
    bool ascii;
    bool exit_code;  // of --batch: the exit status is that of the most severe finding
    bool no_profile; // findings sample no CPUs
    bool off_cpu;    // the pane profile shows it from the start
    char error[400]; // what is wrong with the command line, why, and what to do
};

// One row per option. parse stores the value in options, or writes options->error and returns false.
struct option_row {
    char letter;                        // 0: long only
    const char *name, *argument, *help; // no help: for tests only, not in --help
    bool (*parse)(struct options *options, const char *value);
};
extern const struct option_row option_rows[]; // ends with name NULL

void options_default(struct options *options);
// False: wrong usage, see options->error. Does not check the names of panes and columns: see names_resolve.
bool options_parse(struct options *options, int argc, char **argv);
void options_help(FILE *out);
bool options_wrong(struct options *options, const char *format, ...) __attribute__((format(printf, 2, 3)));

// names.c: finds the panes (default: the first one) and checks the sort column. False: see options->error.
bool names_resolve(struct options *options);

// names.c: opens the panes of these views with the given filter and order; the caller frees them. False: none has the
// column of --sort.
bool panes_open(const struct options *options, const struct view *const *which, size_t n, struct pane **out);
// The option --graph, and the parts that show what it chooses.
bool parse_graph(struct options *options, const char *value);
void pane_show_graph(struct pane *pane);
// Reports an unknown sort column, `which` being "no pane has" or the like. Returns the exit status.
int sort_unknown(const struct options *options, const char *which);

// events.c: resolves the names of --event and --profile-event. 0, or the exit status with options->error set.
int events_resolve(struct options *options);

#endif
