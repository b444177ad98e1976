// Which tracepoints the collector `events` records: the ones of the command line at first, then changed by keys. The
// list is kept as the request's text, a specification a line; a refused request restores the one before.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "tui/app.h"
#include "views/part_table.h"

#define MOST_BYTES 16384

static size_t event_length(const char *spec, size_t length) {
    const char *condition = memmem(spec, length, " if ", 4);
    return condition ? (size_t)(condition - spec) : length;
}

// The list without the specification of that event, which the caller frees. *found: there was one.
static char *list_without(const char *list, const char *event, size_t length, bool *found) {
    size_t size = strlen(list) + 1, used = 0;
    char *out = xcalloc(1, size);
    *found = false;
    for (const char *line = list; *line;) {
        size_t n = strcspn(line, "\n");
        if (event_length(line, n) == length && !memcmp(line, event, length))
            *found = true;
        else if (n)
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "\n" : "", (int)n, line);
        line += n + (line[n] == '\n');
    }
    return out;
}

static void request(struct app *app, char *take_list) {
    if (!app->tracepoints_before)
        app->tracepoints_before = app->tracepoints;
    else
        free(app->tracepoints);
    app->tracepoints = take_list;
    runner_request(app->source->runner, NULL, &(struct request){.kind = REQUEST_EVENTS, .text = take_list});
}

static bool may_change(struct app *app) {
    if (!app->source->runner)
        app_say(app, true, "a recording has the tracepoints of its time: record with --tracepoint for others");
    return app->source->runner != NULL;
}

static const char *list_of(const struct app *app) {
    return app->tracepoints ? app->tracepoints : "";
}

static void add(struct app *app, const char *spec, char *take_list) {
    size_t used = strlen(take_list), length = strlen(spec);
    if (used + length > MOST_BYTES) {
        app_say(app, true, "too many tracepoints: remove some with Enter in the list");
        free(take_list);
        return;
    }
    take_list = xrealloc(take_list, used + length + 2);
    snprintf(take_list + used, length + 2, "%s%s", used ? "\n" : "", spec);
    request(app, take_list);
}

void tracepoints_toggle(struct app *app, const char *event) {
    bool found;
    if (!may_change(app))
        return;
    char *list = list_without(list_of(app), event, strlen(event), &found);
    app->tracepoint_typed[0] = '\0';
    if (found)
        request(app, list);
    else
        add(app, event, list);
}

// The pane in which tracepoints are chosen.
static bool shows_tracepoints(const struct view *view) {
    for (size_t i = 0; i < view->n_parts; i++)
        if (view->parts[i].kind == &part_table && ((const struct table_spec *)view->parts[i].spec)->toggles)
            return true;
    return false;
}

static void typed(struct app *app, const char *text) {
    bool found;
    text += strspn(text, " ");
    if (!*text || !may_change(app))
        return;
    snprintf(app->tracepoint_typed, sizeof app->tracepoint_typed, "%s", text);
    add(app, text, list_without(list_of(app), text, event_length(text, strlen(text)), &found));
    for (size_t i = 0; i < app->n_panes; i++)
        if (shows_tracepoints(app->panes[i]->view) && app->current != i)
            app_show_pane(app, i, true);
}

void tracepoints_count(struct app *app, const char *system) {
    if (app->source->runner)
        runner_request(app->source->runner, NULL, &(struct request){.kind = REQUEST_SURVEY, .text = system});
    else
        app_say(app, true, "a recording cannot count events");
}

static const struct question question = {"tracepoint [if filter]: ", NULL, typed};

void tracepoints_prompt(struct app *app) {
    if (!may_change(app))
        return;
    app->question = &question;
    prompt_start(&app->prompt, question.label, "");
}

void tracepoints_answered(struct app *app, const struct answer *answer) {
    if (answer->status != ANSWER_REFUSED && answer->status != ANSWER_DONE)
        return;
    if (answer->status == ANSWER_REFUSED && app->tracepoints_before) {
        size_t typed_at = strlen(app->tracepoints), length = strlen(app->tracepoint_typed);
        typed_at -= length < typed_at ? length : typed_at;
        free(app->tracepoints);
        app->tracepoints = app->tracepoints_before;
        app->tracepoints_before = NULL;
        if (length && !app->question) { // to be corrected, with the cursor at the error
            app->question = &question;
            prompt_start(&app->prompt, question.label, app->tracepoint_typed);
            if (answer->place >= (int32_t)typed_at && answer->place <= (int32_t)(typed_at + length))
                app->prompt.at = (size_t)answer->place - typed_at;
        }
        return;
    }
    free(app->tracepoints_before);
    app->tracepoints_before = NULL;
}
