// What the user chose to record: the tracepoints of the collector `events`, the probes of `probes`, the functions of
// `functions`.
// The ones of the command line at first, then changed by keys. Each list is kept as the request's text, a specification
// a line; a refused request restores the one before.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/session.h"
#include "model/mem.h"
#include "tui/app.h"
#include "views/part_table.h"

#define MOST_BYTES 16384

// Bytes of a specification that identify it: a later one with the same replaces it. "group SYSTEM:EVENT", a whole
// latency.
static size_t event_length(const char *spec, size_t length) {
    const char *condition =
        strncmp(spec, "group ", 6) ? memmem(spec, length, " if ", 4) : memmem(spec, length, " by ", 4);
    return condition ? (size_t)(condition - spec) : length;
}

static size_t whole_length(const char *spec, size_t length) {
    while (length && strchr(" \t", spec[length - 1]))
        length--;
    return length;
}

// A group of a probe is replaced as one of a tracepoint.
static size_t probe_length(const char *spec, size_t length) {
    return strncmp(spec, "group ", 6) ? whole_length(spec, length) : event_length(spec, length);
}

static const struct choice_kind {
    enum request_kind request;
    size_t (*length)(const char *spec, size_t length);
    const char *too_many, *recording;
} kinds[CHOICES] = {
    [CHOICE_TRACEPOINTS] = {REQUEST_EVENTS, event_length, "too many tracepoints: remove some with Enter in the list",
                            "a recording has the tracepoints of its time: record with --tracepoint for others"},
    [CHOICE_PROBES] = {REQUEST_PROBES, probe_length, "too many probes: remove some with D in the list",
                       "a recording has the probes of its time: record with --probe for others"},
    [CHOICE_FUNCTIONS] = {REQUEST_FUNCTIONS, whole_length, "too many patterns: remove some with D in the list",
                          "a recording has the functions of its time: record with --function for others"},
};

static const char *list_of(const struct app *app, enum choice_list which) {
    return app->choices[which].list ? app->choices[which].list : "";
}

// The list without that specification, and without the groups and latencies of that probe (NULL: any), which the caller
// frees. *found: the specification was in it.
static char *list_without(const struct app *app, enum choice_list which, const char *spec, const char *probe,
                          bool *found) {
    const struct choice_kind *kind = &kinds[which];
    char *copy = xstrdup(list_of(app, which)), *rest = copy, *line;
    size_t size = strlen(copy) + 1, used = 0, length = kind->length(spec, strlen(spec));
    char *out = xcalloc(1, size);
    *found = false;
    while ((line = strsep(&rest, "\n"))) {
        line += strspn(line, " \t");
        size_t n = strlen(line);
        if (kind->length(line, n) == length && !memcmp(line, spec, length))
            *found = true;
        else if (n && !(probe && session_probe_line_uses(line, probe)))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "\n" : "", line);
    }
    free(copy);
    return out;
}

static void request(struct app *app, enum choice_list which, char *take_list) {
    struct choices *choices = &app->choices[which];
    if (!choices->waits)
        choices->before = choices->list;
    else
        free(choices->list);
    choices->waits = true;
    choices->list = take_list;
    runner_request(app->source->runner, NULL, &(struct request){.kind = kinds[which].request, .text = take_list});
}

static bool may_change(struct app *app, enum choice_list which) {
    if (!app->source->runner)
        app_say(app, true, "%s", kinds[which].recording);
    return app->source->runner != NULL;
}

static void add(struct app *app, enum choice_list which, const char *spec, char *take_list) {
    size_t used = strlen(take_list), length = strlen(spec);
    if (used + length > MOST_BYTES) {
        app_say(app, true, "%s", kinds[which].too_many);
        free(take_list);
        return;
    }
    take_list = xrealloc(take_list, used + length + 2);
    snprintf(take_list + used, length + 2, "%s%s", used ? "\n" : "", spec);
    request(app, which, take_list);
}

void choices_toggle(struct app *app, const char *event) {
    bool found;
    if (!may_change(app, CHOICE_TRACEPOINTS))
        return;
    char *list = list_without(app, CHOICE_TRACEPOINTS, event, NULL, &found);
    app->choices[CHOICE_TRACEPOINTS].typed[0] = '\0';
    if (found)
        request(app, CHOICE_TRACEPOINTS, list);
    else
        add(app, CHOICE_TRACEPOINTS, event, list);
}

// The pane in which they are chosen.
bool choices_shown_by(const struct view *view, enum choice_list which) {
    for (size_t i = 0; i < view->n_parts; i++) {
        const struct table_spec *spec = view->parts[i].kind == &part_table ? view->parts[i].spec : NULL;
        if (!spec)
            continue;
        if (which == CHOICE_TRACEPOINTS ? spec->toggles != NULL
                                        : spec->removes && spec->removes_function == (which == CHOICE_FUNCTIONS))
            return true;
    }
    return false;
}

// What the current pane chooses: tracepoints on most panes.
static enum choice_list current(const struct app *app) {
    for (enum choice_list which = CHOICES - 1; which > CHOICE_TRACEPOINTS; which--)
        if (choices_shown_by(app->panes[app->current]->view, which))
            return which;
    return CHOICE_TRACEPOINTS;
}

void choices_remove(struct app *app, const char *spec, const char *name) {
    enum choice_list which = current(app);
    bool found;
    if (!may_change(app, which))
        return;
    char *list = list_without(app, which, spec, which == CHOICE_PROBES ? name : NULL, &found);
    app->choices[which].typed[0] = '\0';
    if (found)
        request(app, which, list);
    else
        free(list);
}

static bool has_line(const char *list, const char *text) {
    for (size_t n; *list; list += n + (list[n] == '\n')) {
        n = strcspn(list, "\n");
        if (n == strlen(text) && !memcmp(list, text, n))
            return true;
    }
    return false;
}

// A group, a latency, "stacks", a start or stop function that is typed again is removed.
static bool is_removed(const struct app *app, enum choice_list which, const char *text) {
    return (!strcmp(text, "stacks") || !strncmp(text, "start ", 6) || !strncmp(text, "stop ", 5) ||
            !strncmp(text, "group ", 6) || !strncmp(text, "latency ", 8)) &&
           has_line(list_of(app, which), text);
}

static void typed(struct app *app, enum choice_list which, const char *text) {
    struct choices *choices = &app->choices[which];
    bool found;
    text += strspn(text, " ");
    if (!*text || !may_change(app, which))
        return;
    snprintf(choices->typed, sizeof choices->typed, "%s", text);
    bool removed = is_removed(app, which, text);
    if (triggers_any(text))
        triggers_arm(app);
    char *list = list_without(app, which, text, NULL, &found);
    if (removed) {
        choices->typed[0] = '\0';
        request(app, which, list);
    } else {
        add(app, which, text, list);
    }
    for (size_t i = 0; i < app->n_panes; i++)
        if (choices_shown_by(app->panes[i]->view, which) && app->current != i)
            app_show_pane(app, i, true);
}

static void typed_tracepoint(struct app *app, const char *text) {
    typed(app, CHOICE_TRACEPOINTS, text);
}

static void typed_probe(struct app *app, const char *text) {
    typed(app, CHOICE_PROBES, text);
}

// "graph FUNCTION ...": instead of the graph before; "graph" alone: none.
static bool typed_graph(struct app *app, const char *text) {
    const char *whole = text;
    text += strspn(text, " ");
    if (strncmp(text, "graph", 5) || (text[5] && text[5] != ' '))
        return false;
    if (!may_change(app, CHOICE_FUNCTIONS))
        return true;
    text += 5 + strspn(text + 5, " ");
    snprintf(app->graph_typed, sizeof app->graph_typed, "%s", whole);
    app->graph_at = (size_t)(text - whole);
    runner_request(app->source->runner, NULL, &(struct request){.kind = REQUEST_GRAPH, .text = text});
    if (*text)
        pane_show_graph(app->panes[app->current]);
    return true;
}

static void typed_function(struct app *app, const char *text) {
    if (typed_graph(app, text))
        return;
    typed(app, CHOICE_FUNCTIONS, text);
}

void choices_count(struct app *app, const char *system) {
    if (app->source->runner)
        runner_request(app->source->runner, NULL, &(struct request){.kind = REQUEST_SURVEY, .text = system});
    else
        app_say(app, true, "a recording cannot count events");
}

static const struct question questions[CHOICES] = {
    [CHOICE_TRACEPOINTS] = {"tracepoint [if filter]: ", NULL, typed_tracepoint, &tracepoint_names},
    [CHOICE_PROBES] = {"probe (p PATH:FUNCTION ARGS, r FUNCTION $retval, group PROBE by ARG): ", NULL, typed_probe,
                       &probe_names},
    [CHOICE_FUNCTIONS] = {"functions (FILE:GLOB, GLOB of the kernel, GLOB > 10ms, graph GLOB depth=5): ", NULL,
                          typed_function, &function_names},
};

static void ask(struct app *app, enum choice_list which, const char *text) {
    app->question = &questions[which];
    prompt_start(&app->prompt, questions[which].label, text);
    complete_start(&app->complete, questions[which].names, &app->options->collect, &app->prompt);
}

void choices_prompt(struct app *app) {
    enum choice_list which = current(app);
    if (!may_change(app, which))
        return;
    ask(app, which, "");
}

static void refused(struct app *app, enum choice_list which, const struct answer *answer) {
    struct choices *choices = &app->choices[which];
    size_t typed_at = strlen(choices->list), length = strlen(choices->typed);
    typed_at -= length < typed_at ? length : typed_at;
    free(choices->list);
    choices->list = choices->before;
    choices->before = NULL;
    choices->waits = false;
    if (!length || app->question)
        return;
    ask(app, which, choices->typed); // to be corrected, with the cursor at the error
    if (answer->place >= (int32_t)typed_at && answer->place <= (int32_t)(typed_at + length))
        app->prompt.at = (size_t)answer->place - typed_at;
}

static bool graph_answered(struct app *app, const struct answer *answer) {
    if (answer->status != ANSWER_REFUSED && answer->status != ANSWER_DONE)
        return false;
    bool again = answer->status == ANSWER_REFUSED && app->graph_typed[0] && !app->question;
    if (again) {
        ask(app, CHOICE_FUNCTIONS, app->graph_typed);
        if (answer->place >= 0 && app->graph_at + (size_t)answer->place <= strlen(app->graph_typed))
            app->prompt.at = app->graph_at + (size_t)answer->place;
    }
    app->graph_typed[0] = '\0';
    return again;
}

bool choices_answered(struct app *app, const struct answer *answer) {
    if (answer->kind == REQUEST_GRAPH)
        return graph_answered(app, answer);
    for (enum choice_list which = 0; which < CHOICES; which++) {
        struct choices *choices = &app->choices[which];
        if (kinds[which].request != answer->kind)
            continue;
        if (answer->status == ANSWER_REFUSED && choices->waits) {
            refused(app, which, answer);
        } else if (answer->status == ANSWER_REFUSED || answer->status == ANSWER_DONE) {
            free(choices->before);
            choices->before = NULL;
            choices->waits = false;
        }
        return true;
    }
    return false;
}
