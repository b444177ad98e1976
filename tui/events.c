// Resolves the names of --event before anything starts: a wrong name ends the program with one line.
#include <errno.h>
#include <string.h>

#include "tui/options.h"
#include "views/escape.h"

int events_resolve(struct options *options) {
    for (size_t i = 0; i < options->n_event_texts; i++) {
        char error[PERF_EVENT_ERROR], shown[PERF_EVENT_ERROR];
        int failed = perf_event_parse(&options->events, options->event_texts[i], NULL, error);
        if (!failed)
            continue;
        escape_text(error, strlen(error), shown, sizeof shown);
        bool wrong = failed == -EINVAL;
        options_wrong(options, "--event: %s%s", shown, wrong ? "; `ktop --list events` lists them" : "");
        return wrong ? 2 : 1;
    }
    options->collect.events = &options->events;
    return 0;
}
