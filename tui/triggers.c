// --on: what an event of the pane `events` does. The collector counts such events like others; each frame has
// the number of them.
#include <string.h>

#include "collectors/session.h"
#include "tui/app.h"
#include "views/escape.h"

const char *trigger_of(const struct frame *frame, const char *action) {
    const struct table *table = frame_table(frame, "counts");
    const struct table_def *def = table ? table_def(table) : NULL;
    int event = def ? table_column(def, "event") : -1, count = def ? table_column(def, "count") : -1,
        does = def ? table_column(def, "action") : -1;
    const union cell *row;
    for (size_t at = 0; event >= 0 && count >= 0 && does >= 0 && (row = table_next(table, &at));)
        if (row[count].num > 0 && row[does].text && !strcmp(text_bytes(row[does].text), action))
            return text_bytes(row[event].text);
    return NULL;
}

// A freeze once per choice: with frequent events there were no way back to the live screen.
void triggers_fire(struct app *app, const struct frame *frame) {
    char shown[100];
    const char *event = trigger_of(frame, "stop");
    if (event && app->source->recorder) {
        record_stop(app, false);
        return;
    }
    event = trigger_of(frame, "record");
    if (event && !app->source->recorder) {
        char name[160];
        record_name(app, name, sizeof name);
        record_start(app, name);
    }
    event = app->frozen ? NULL : trigger_of(frame, "freeze");
    if (!event || !rewind_live(&app->rewind))
        return;
    app->frozen = true;
    rewind_freeze(&app->rewind);
    escape_fit(event, 60, shown, sizeof shown);
    app_say(app, false, "frozen by %s; Space: live", shown);
}

void triggers_arm(struct app *app) {
    app->frozen = false;
    for (size_t i = 0; i < app->n_panes; i++) // the events come while another pane is shown, too
        if (choices_shown_by(app->panes[i]->view, CHOICE_TRACEPOINTS))
            app->panes[i]->pinned = true;
    app_want(app);
}

static bool is_action(const char *line, size_t length) {
    for (const char *const *action = session_actions(); *action; action++) {
        size_t n = strlen(*action);
        if (length > n && !memcmp(line, *action, n) && line[n] == ' ')
            return true;
    }
    return false;
}

bool triggers_any(const char *choice) {
    for (size_t n; choice && *choice; choice += n + (choice[n] == '\n')) {
        n = strcspn(choice, "\n");
        if (is_action(choice, n))
            return true;
    }
    return false;
}
