#include "collectors/events/survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/stream_collector.h"
#include "model/clock.h"
#include "model/mem.h"

#define IDS 65536
#define NONE UINT16_MAX
#define BUFFER_KIB 8192 // it must not grow: the next instance would not have the events
#define LEAST_NS 200000000ull

struct survey {
    const struct tracepoints *list;
    struct stream *stream;
    uint64_t began_ns;
    uint16_t by_id[IDS]; // index in the list
    uint64_t *counts;    // by index in the list
};

static void on_event(void *ctx, const struct ring_event *event) {
    struct survey *survey = ctx;
    uint16_t id;
    if (event->size < 8)
        return;
    memcpy(&id, event->data, 2);
    if (survey->by_id[id] != NONE)
        survey->counts[survey->by_id[id]]++;
}

static bool is_of(const char *name, const char *system) {
    size_t length = strlen(system);
    return !strncmp(name, system, length) && name[length] == ':';
}

static size_t ids_read(struct survey *survey, const char *dir, const char *system) {
    char path[512], text[32];
    size_t n = 0;
    for (size_t i = 0; i < survey->list->n && i < NONE; i++) {
        const char *name = survey->list->names[i];
        if (!is_of(name, system))
            continue;
        snprintf(path, sizeof(path), "%s/events/%s/%s/id", dir, system, strchr(name, ':') + 1);
        long length = format_file(path, text, sizeof(text));
        unsigned long id = length > 0 ? strtoul(text, NULL, 10) : 0;
        if (id && id < IDS) {
            survey->by_id[id] = (uint16_t)i;
            n++;
        }
    }
    return n;
}

static int events_enable(struct survey *survey, const char *system) {
    char file[160];
    snprintf(file, sizeof(file), "events/%s/enable", system);
    return instance_write(stream_instance(survey->stream), file, "1");
}

int survey_open(struct collector_run *run, const struct tracepoints *list, const char *system, char *sentence,
                size_t size, struct survey **out) {
    struct survey *survey = xcalloc(1, sizeof(*survey));
    const struct stream_config config = {.name = "survey",
                                         .what = "trace events",
                                         .budget_pct = STREAM_BUDGET_PCT,
                                         .buffer_kib = BUFFER_KIB,
                                         .max_kib = BUFFER_KIB,
                                         .on_event = on_event,
                                         .ctx = survey};
    struct stream_failure failure = {.reason = ""};
    survey->list = list;
    survey->counts = xcalloc(list->n + 1, sizeof(*survey->counts));
    memset(survey->by_id, 0xff, sizeof(survey->by_id));
    int error = strchr(system, '/') || !ids_read(survey, tracing_dir(NULL, NULL), system) ? -ENOENT : 0;
    if (error)
        snprintf(failure.reason, sizeof(failure.reason), "no tracepoint system %.80s", system);
    error = error ? error : stream_open(&config, &failure, &survey->stream);
    if (!error) {
        error = events_enable(survey, system);
        if (error)
            snprintf(failure.reason, sizeof(failure.reason), "the events of %.80s cannot be enabled: %s", system,
                     strerror(-error));
    }
    if (error) {
        snprintf(sentence, size, "%s", failure.reason);
        survey_close(survey);
        survey = NULL;
    } else {
        survey->began_ns = now_ns();
        run->drain_ms = STREAM_BUSY_MS;
    }
    *out = survey;
    return error;
}

void survey_close(struct survey *survey) {
    if (!survey)
        return;
    stream_close(survey->stream);
    free(survey->counts);
    free(survey);
}

void survey_drain(struct survey *survey) {
    stream_drain(survey->stream);
}

bool survey_read(struct survey *survey, double *rates) {
    struct stream_frame frame;
    uint64_t ns = now_ns() - survey->began_ns;
    if (ns < LEAST_NS)
        return false;
    survey_drain(survey);
    stream_frame(survey->stream, &frame);
    for (size_t id = 0; id < IDS; id++)
        if (survey->by_id[id] != NONE)
            rates[survey->by_id[id]] =
                (double)survey->counts[survey->by_id[id]] * frame.scale * 1e9 / (double)(ns - STREAM_SETTLE_NS);
    return true;
}
