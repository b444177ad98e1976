// Resolves names of the command line that are in the program's tables (panes, columns), and makes the panes.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "collectors/runner.h"
#include "model/findings.h"
#include "model/groups.h"
#include "model/health.h"
#include "tui/options.h"
#include "views/escape.h"

#define NAMES_MAX 1024

static bool pane_add(struct options *options, const char *name) {
    const char *names[64];
    size_t n = 0;
    const struct view *view = view_find(name);
    for (size_t i = 0; i < options->n_panes; i++)
        if (options->panes[i] == view)
            return true;
    if (view && options->n_panes < OPTION_PANES_MAX) {
        options->panes[options->n_panes++] = view;
        return true;
    }
    for (; views[n] && n < 63; n++)
        names[n] = views[n]->name;
    names[n] = NULL;
    char shown[64];
    escape_text(name, strlen(name), shown, sizeof shown);
    const char *nearest = name_nearest(name, names);
    if (nearest)
        return options_wrong(options, "--pane %s: no such pane, did you mean %s? `ktop --list panes` lists them", shown,
                             nearest);
    return options_wrong(options, "--pane %s: no such pane: `ktop --list panes` lists them", shown);
}

static size_t add_columns(const struct table_def *const *defs, const char **names, size_t n) {
    for (; defs && *defs; defs++)
        for (uint16_t i = 0; i < (*defs)->n_columns && n < NAMES_MAX - 1; i++)
            names[n++] = (*defs)->columns[i].name;
    return n;
}

static bool sort_check(struct options *options) {
    const struct table_def *const own[] = {&findings_table, &groups_table, NULL};
    const char *names[NAMES_MAX];
    const char *wanted = options->sort + (options->sort[0] == '-');
    size_t n = add_columns(own, names, 0);
    for (size_t i = 0; collectors[i]; i++) {
        n = add_columns(collectors[i]->tables, names, n);
        n = add_columns(collectors[i]->streams, names, n);
    }
    names[n] = NULL;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], wanted))
            return true;
    char shown[64];
    escape_text(wanted, strlen(wanted), shown, sizeof shown);
    const char *nearest = name_nearest(wanted, names);
    if (nearest)
        return options_wrong(options, "--sort %s: no such column, did you mean %s? `ktop --list columns` lists them",
                             shown, nearest);
    // The tables that the model makes are not in that list: the panes decide.
    return true;
}

static bool filter_resolve(struct options *options) {
    char line[sizeof options->filter_note];
    struct frame *blank = runner_blank_frame();
    enum filter_doubt doubt = filter_check(options->filter, blank, line, sizeof line);
    frame_unref(blank);
    if (doubt == FILTER_WRONG)
        return options_wrong(options, "--filter: %s", line);
    if (doubt == FILTER_NOTE)
        snprintf(options->filter_note, sizeof options->filter_note, "%s", line);
    return true;
}

// Every chosen pane must have something to say in the format; else the panes that have.
static bool format_check(struct options *options) {
    char with[128] = "";
    for (size_t i = 0; views[i]; i++)
        if (view_writes(views[i], options->format))
            snprintf(with + strlen(with), sizeof with - strlen(with), "%s%s", *with ? "," : "", views[i]->name);
    for (size_t i = 0; i < options->n_panes; i++) {
        const struct view *view = options->panes[i];
        if (view && !view_writes(view, options->format))
            return options_wrong(options, "--format folded: the pane %s has no call paths: use --pane %s", view->name,
                                 with);
    }
    return true;
}

bool names_resolve(struct options *options) {
    char names[sizeof options->pane_names];
    strcpy(names, options->pane_names);
    for (char *rest = names, *name; (name = strsep(&rest, ","));)
        if ((*name || strchr(options->pane_names, ',')) && !pane_add(options, name))
            return false;
    if (!options->n_panes)
        options->panes[options->n_panes++] = views[0];
    // Folded call paths are the data of the pane's own collectors.
    bool alone = options->action == ACTION_BATCH && !options->record;
    for (size_t i = 0; i < options->n_panes && options->format != FORMAT_FOLDED; i++)
        alone &= options->panes[i]->alone;
    options->collect.wanted_only = alone;
    return format_check(options) && (!options->sort || sort_check(options)) &&
           (!options->filter || filter_resolve(options));
}

bool parse_graph(struct options *options, const char *value) {
    options->collect.graph = options->graph = value;
    return *value || options_wrong(options, "--graph needs functions of the kernel, for example 'vfs_read depth=5'");
}

void pane_show_graph(struct pane *pane) {
    static const char *const parts[] = {"graph", "graph_functions", "graph_calls"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        pane_show(pane, parts[i]);
}

bool panes_open(const struct options *options, const struct view *const *which, size_t n, struct pane **out) {
    struct frame *blank = runner_blank_frame();
    const struct look look = {.frame = blank, .live = true};
    bool sorted = !options->sort;
    for (size_t i = 0; i < n; i++) {
        out[i] = pane_new(which[i]);
        if (options->filter)
            pane_set_filter(out[i], options->filter);
        if (options->off_cpu)
            pane_show(out[i], "offcpu");
        if (options->graph)
            pane_show_graph(out[i]);
        if (options->sort && pane_sort(out[i], &look, options->sort))
            sorted = true;
    }
    frame_unref(blank);
    return sorted;
}

int sort_unknown(const struct options *options, const char *which) {
    char shown[64];
    escape_text(options->sort, strlen(options->sort), shown, sizeof shown);
    fprintf(stderr, "ktop: --sort %s: %s that column: `ktop --list columns` lists them\n", shown, which);
    return 2;
}
