// `r`: starts and ends a recording of the live frames.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tui/app.h"
#include "views/escape.h"

bool record_start(struct app *app, const char *path) {
    char why[200], shown[100];
    escape_fit(path, 60, shown, sizeof shown);
    if (!source_record(app->source, path, why, sizeof why)) {
        app_say(app, true, "not recorded: %s: %s", shown, why);
        return false;
    }
    snprintf(app->record_path, sizeof app->record_path, "%s", path);
    app_say(app, false, "recording to %s; r ends it", shown);
    return true;
}

void record_stop(struct app *app, bool quietly) {
    struct recorder_state state;
    char line[sizeof app->message], shown[100];
    source_record_stop(app->source, &state);
    source_record_line(app->record_path, &state, line, sizeof line);
    escape_fit(app->record_path, 60, shown, sizeof shown);
    app->message[0] = '\0';
    if (line[0])
        app_say(app, true, "%s", line);
    else if (!quietly)
        app_say(app, false, "recorded: %s, %llu frames, %.1f MiB", shown, (unsigned long long)state.frames,
                (double)state.bytes / (1 << 20));
}

static void record_done(struct app *app, const char *path) {
    if (*path)
        record_start(app, path);
}

void record_name(const struct app *app, char *name, size_t size) {
    char stamp[32], host[sizeof app->host];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    snprintf(host, sizeof host, "%s", app->host);
    for (char *c = host; *c; c++) // a host name must not contain a path separator
        if (*c == '/')
            *c = '_';
    snprintf(name, size, "ktop-%s-%s.ktop", host, stamp);
}

void record_toggle(struct app *app) {
    static const struct question question = {"record to: ", NULL, record_done};
    char name[160];
    if (app->source->replay) {
        app_say(app, true, "this is a recording already: copy its file");
        return;
    }
    if (app->source->recorder) {
        record_stop(app, false);
        return;
    }
    record_name(app, name, sizeof name);
    app->question = &question;
    prompt_start(&app->prompt, question.label, name);
}
