// What --event and --profile-event name, looked up before anything starts: a wrong word ends the program with one line.
#include <errno.h>
#include <string.h>

#include "tui/options.h"
#include "views/escape.h"

// 0, or the exit status; options->error has the sentence.
static int event_parse(struct options *options, const char *option, const char *text, struct perf_event_list *out) {
    char error[PERF_EVENT_ERROR], shown[PERF_EVENT_ERROR];
    int failed = perf_event_parse(out, text, NULL, error);
    bool wrong = failed == -EINVAL;
    if (!failed)
        return 0;
    escape_text(error, strlen(error), shown, sizeof shown);
    options_wrong(options, "--%s: %s%s", option, shown, wrong ? "; `ktop --list events` lists them" : "");
    return wrong ? 2 : 1;
}

static int profile_event_resolve(struct options *options) {
    struct perf_event_list *events = &options->profile_events;
    int status = event_parse(options, "profile-event", options->profile_event, events);
    if (status)
        return status;
    bool good = events->n > 0;
    for (size_t i = 0; i < events->n; i++) // more than one: one for each kind of cores
        good &= !events->events[i].uncore && (events->n == 1 || events->events[i].cpus);
    if (!good) {
        options_wrong(options, "--profile-event: expected one event that CPUs count, for example "
                               "LLC-load-misses/period=1000/");
        return 2;
    }
    options->collect.profile.event = events;
    return 0;
}

int events_resolve(struct options *options) {
    for (size_t i = 0; i < options->n_event_texts; i++) {
        int status = event_parse(options, "event", options->event_texts[i], &options->events);
        if (status)
            return status;
    }
    options->collect.events = &options->events;
    return options->profile_event ? profile_event_resolve(options) : 0;
}
