// `ktop --list events`: every name that --event takes, each tried for real on one CPU.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tui/list.h"
#include "views/escape.h"

struct listing {
    bool tracepoint_tried; // closing one takes the kernel 40 ms, and there are thousands: one try covers all
    int tracepoint;
};

static int first_cpu(const struct perf_parsed_event *event) {
    int cpu = 0;
    while (cpu < 8192 && !perf_parsed_on_cpu(event, cpu))
        cpu++;
    return cpu;
}

static int event_try(const char *text) {
    struct perf_event_list spec = {0};
    char error[PERF_EVENT_ERROR];
    int fd = perf_event_parse(&spec, text, NULL, error);
    if (!fd)
        fd = perf_parsed_open(&spec.events[0], 0, -1, first_cpu(&spec.events[0]), -1);
    if (fd >= 0)
        close(fd);
    perf_event_list_free(&spec);
    return fd < 0 ? fd : 0;
}

static void event_list(void *context, const struct perf_event_name *name) {
    struct listing *listing = context;
    char shown[512], help[512], why[128] = "";
    int failed = 0;
    if (!strcmp(name->kind, "tracepoint")) {
        if (!listing->tracepoint_tried)
            listing->tracepoint = event_try(name->example);
        listing->tracepoint_tried = true;
        failed = listing->tracepoint;
    } else if (name->example) {
        failed = event_try(name->example);
    }
    if (failed)
        snprintf(why, sizeof why, "%s", perf_event_refusal(failed));
    else if (name->missing)
        snprintf(why, sizeof why, "%s", name->missing);
    escape_text(name->name, strlen(name->name), shown, sizeof shown);
    escape_text(name->help, strlen(name->help), help, sizeof help);
    printf("%-36s %-10s %-5s %s%s%s\n", shown, name->kind,
           *why            ? "no"
           : name->example ? "opens"
                           : "form",
           help, *help && *why ? "; " : "", why);
}

void list_events_each(void) {
    struct listing listing = {0};
    perf_event_names(NULL, event_list, &listing);
}
