// The collector "events": tracepoints that the user chose, counted by tracepoint, the newest events of each interval
// with all fields. It runs only while a pane shows it; without a choice it records nothing. The event path counts by
// the record's ID and copies bytes; text is made only for rows that are drawn or written.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/collector.h"
#include "collectors/event_names.h"
#include "collectors/events/choice.h"
#include "collectors/events/event_recording.h"
#include "collectors/events/flows.h"
#include "collectors/events/group.h"
#include "collectors/events/lives.h"
#include "collectors/events/sources.h"
#include "collectors/events/survey.h"
#include "collectors/events/table.h"
#include "collectors/kernel/tracefs/event_text.h"
#include "collectors/kernel/tracefs/kept.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/stream_collector.h"
#include "model/clock.h"
#include "model/mem.h"

#define BY_HOST_PID "names of threads and processes"

struct events {
    const struct collect_options *options;
    struct tracepoints list;
    struct event_recording *recording; // NULL: nothing is chosen
    struct survey *survey;             // NULL: none goes on
    double *rates;                     // of the last surveys, by index in the list; NAN: none
    bool second;                       // of the two names of an instance
    struct event_names *names;
    struct table_builder *counts, *rows, *tracepoints;
    const struct text *yes;
};

// ---- opening ----

// Of events that stay chosen with the same filter. Either may be NULL.
static void totals_keep(const struct event_recording *before, struct event_recording *next) {
    for (size_t i = 0; before && next && i < next->choice.n; i++)
        for (size_t k = 0; k < before->choice.n; k++) {
            const struct event_counter *old = &before->counters[k];
            struct event_counter *counter = &next->counters[i];
            if (!text_compare(old->name, counter->name) &&
                !strcmp(text_bytes(old->filter), text_bytes(counter->filter)))
                counter->total = old->total + (double)old->count;
        }
}

// Replaces the recording by one of the specifications in `text`. On failure the previous one goes on.
static int events_choose(struct events *events, struct collector_run *run, const char *text,
                         struct choice_error *failure) {
    struct choice choice;
    struct event_recording *next = NULL;
    struct event_groups *groups = NULL;
    int error = event_groups_resolve(&groups, &choice, text, &events->list, tracing_dir(NULL, NULL), failure);
    if (!error)
        error = choice_check(&choice, text, failure);
    if (!error && choice.n) {
        error = event_recording_open(run, &choice, groups, events->names, events->second, &next);
        groups = NULL;
        events->second ^= !error;
        if (error)
            snprintf(failure->sentence, sizeof(failure->sentence), "%s", run->reason);
    }
    choice_free(&choice);
    event_groups_free(groups);
    if (error)
        return error;
    totals_keep(events->recording, next);
    event_recording_free(events->recording);
    events->recording = next;
    return 0;
}

static int events_open(struct collector_run *run) {
    struct events *events = run->state = xcalloc(1, sizeof(*events));
    const char *reason = NULL, *fix = NULL, *dir = tracing_dir(&reason, &fix);
    struct choice_error failure = {.sentence = ""};
    events->options = run->options;
    events->names = event_names_new(ktop_in_child_pidns() ? NULL : "/proc");
    events->counts = table_builder_new(&events_counts_table);
    events->rows = table_builder_new(&events_stream_table);
    events->tracepoints = table_builder_new(&events_tracepoints_table);
    events->yes = text_from("yes");
    int error = dir ? tracepoints_read(&events->list, dir) : -ENOENT;
    if (error) {
        snprintf(run->reason, sizeof(run->reason), "no tracepoints: %s", dir ? strerror(-error) : reason);
        snprintf(run->fix, sizeof(run->fix), "%s", fix ? fix : "run ktop as root");
        return error;
    }
    events->rates = xcalloc(events->list.n + 1, sizeof(*events->rates));
    for (size_t i = 0; i < events->list.n; i++)
        events->rates[i] = NAN;
    run->poll_fd = -1;
    if (!run->options || !run->options->tracepoints)
        return 0;
    error = events_choose(events, run, run->options->tracepoints, &failure);
    if (error) {
        memcpy(run->reason, failure.sentence, sizeof(run->reason));
        if (error == -ENOENT || error == -EINVAL || error == -E2BIG)
            snprintf(run->fix, sizeof(run->fix), "`ktop --list tracepoints` lists them");
    }
    return error;
}

static void events_close(struct collector_run *run) {
    struct events *events = run->state;
    run->state = NULL;
    if (!events)
        return;
    event_recording_free(events->recording);
    survey_close(events->survey);
    free(events->rates);
    tracepoints_free(&events->list);
    event_names_free(events->names);
    table_builder_free(events->counts);
    table_builder_free(events->rows);
    table_builder_free(events->tracepoints);
    text_unref(events->yes);
    free(events);
}

static void idle(struct collector_run *run) {
    run->drain_ms = 0;
    run->poll_fd = -1;
}

static int survey_start(struct events *events, struct collector_run *run, const char *system, struct answer *answer) {
    survey_close(events->survey);
    int error = survey_open(run, &events->list, system, answer->sentence, sizeof(answer->sentence), &events->survey);
    if (!error)
        snprintf(answer->sentence, sizeof(answer->sentence), "all events of %.60s are counted for one interval",
                 system);
    return error;
}

static int events_request(struct collector_run *run, const struct request *request, struct answer *answer) {
    struct events *events = run->state;
    struct choice_error failure = {.place = -1};
    if (request->kind == REQUEST_SURVEY)
        return survey_start(events, run, request->text, answer);
    int error = events_choose(events, run, request->text ? request->text : "", &failure);
    if (error) {
        memcpy(answer->sentence, failure.sentence, sizeof(answer->sentence));
        answer->place = failure.place;
    } else if (events->recording) {
        run->drain_ms = STREAM_BUSY_MS;
        snprintf(answer->sentence, sizeof(answer->sentence), "%zu tracepoint%s recorded", events->recording->choice.n,
                 events->recording->choice.n == 1 ? " is" : "s are");
    } else {
        idle(run);
        snprintf(answer->sentence, sizeof(answer->sentence), "no tracepoint is recorded");
    }
    return error;
}

// ---- an interval ----

static void events_drain(struct collector_run *run) {
    struct events *events = run->state;
    if (events->recording)
        event_recording_drain(events->recording, run, false);
    if (events->survey) {
        survey_drain(events->survey);
        run->drain_ms = STREAM_BUSY_MS;
    }
}

static void counts_fill(struct events *events, double scale, double seconds) {
    struct event_recording *recording = events->recording;
    struct table_builder *counts = events->counts;
    table_builder_clear(counts);
    for (size_t i = 0; recording && i < recording->choice.n; i++) {
        struct event_counter *counter = &recording->counters[i];
        bool is_call = sources_has_call(recording->sources, i);
        if (!recording->events[i].present && !is_call)
            continue;
        double count = (double)counter->count * (is_call ? 1 : scale);
        counter->total += isnan(count) ? 0 : count;
        uint32_t slot = table_builder_add(counts);
        table_builder_set_text(counts, slot, EVENTS_C_EVENT, text_ref(counter->name));
        table_builder_set_text(counts, slot, EVENTS_C_FILTER, text_ref(counter->filter));
        table_builder_set_num(counts, slot, EVENTS_C_RATE, seconds > 0 ? count / seconds : NAN);
        table_builder_set_num(counts, slot, EVENTS_C_COUNT, count);
        table_builder_set_num(counts, slot, EVENTS_C_TOTAL, counter->total);
        const char *action = recording->choice.events[i].action;
        table_builder_set_text(counts, slot, EVENTS_C_ACTION, action ? text_from(action) : NULL);
        counter->marked = action && !strcmp(action, "mark") ? counter->count : 0;
        counter->count = 0;
    }
}

static void row_fill(struct events *events, const struct kept_record *record, uint64_t mono, int64_t wall_ns) {
    struct event_recording *recording = events->recording;
    const struct event_counter *counter = &recording->counters[record->event];
    const uint8_t *bytes = kept_bytes(recording->kept, record);
    const bool is_call = !recording->events[record->event].present;
    const struct task_identity *identity = NULL;
    int32_t tid = 0;
    if (!is_call) {
        memcpy(&tid, bytes + recording->fields[record->event][0].offset, 4);
        identity = event_names_find(events->names, events->options, tid);
        if (!event_names_passes(events->names, events->options, tid, identity, true))
            return;
    }
    struct table_builder *rows = events->rows;
    uint32_t slot = table_builder_add(rows);
    table_builder_set_num(rows, slot, EVENTS_E_TIME, (double)((int64_t)mono + wall_ns) / 1e9);
    table_builder_set_num(rows, slot, EVENTS_E_CPU, record->cpu);
    table_builder_set_text(rows, slot, EVENTS_E_EVENT, text_ref(counter->name));
    if (is_call) {
        sources_call_row(recording->sources, rows, slot, bytes);
        return;
    }
    table_builder_set_num(rows, slot, EVENTS_E_PPID,
                          identity->found && identity->status.parent > 0 ? identity->status.parent : NAN);
    table_builder_set_text(rows, slot, EVENTS_E_COMM,
                           event_names_comm(events->names, identity, counter->format, bytes, record->size, tid));
    table_builder_set_num(rows, slot, EVENTS_E_PID, identity->status.pid);
    table_builder_set_num(rows, slot, EVENTS_E_TID, tid);
    table_builder_set_text(rows, slot, EVENTS_E_FIELDS,
                           counter->format ? event_format_text(counter->format, bytes, record->size) : NULL);
    table_builder_set_text(rows, slot, EVENTS_E_STACK,
                           recording->stacks ? event_stacks_text(recording->stacks, recording->kept, record) : NULL);
    sources_row(recording->sources, rows, slot, record->event, tid, mono);
    if (recording->groups) {
        const struct group_record fields = {bytes, record->size, record->cpu, tid, record->ts};
        const struct groups_namer namer = {events->names, events->options};
        const struct text *keys[2];
        double value;
        event_groups_row(recording->groups, record->event, &fields, &namer, keys, &value);
        table_builder_set_text(rows, slot, EVENTS_E_KEY, keys[0]);
        table_builder_set_text(rows, slot, EVENTS_E_KEY2, keys[1]);
        table_builder_set_num(rows, slot, EVENTS_E_VALUE, value);
        table_builder_set_num(rows, slot, EVENTS_E_LATENCY,
                              record->latency_ns ? (double)record->latency_ns / 1e3 : NAN);
    }
}

struct timed {
    uint64_t mono;
    const struct kept_record *record;
};

static int by_time(const void *a, const void *b) {
    uint64_t x = ((const struct timed *)a)->mono, y = ((const struct timed *)b)->mono;
    return (x > y) - (x < y);
}

// Returns how many events have no row.
static uint64_t rows_fill(struct events *events) {
    struct event_recording *recording = events->recording;
    const int64_t wall_ns = wall_offset_ns();
    uint64_t cursor = 0, shown = 0;
    const struct kept_record *record;
    table_builder_clear(events->rows);
    if (!recording)
        return 0;
    struct timed *timed = xmalloc(KEPT_RECORDS * sizeof(*timed));
    for (; (record = kept_next(recording->kept, &cursor)); shown++) {
        bool is_call = !recording->events[record->event].present;
        uint64_t mono = is_call ? record->ts : trace_clock_mono(stream_clock(recording->stream), record->ts);
        timed[shown] = (struct timed){mono, record};
    }
    if (recording->calls) // they were read before the tracepoints of the same time
        qsort(timed, shown, sizeof(*timed), by_time);
    for (uint64_t i = 0; i < shown; i++)
        row_fill(events, timed[i].record, timed[i].mono, wall_ns);
    free(timed);
    uint64_t left_out = recording->kept->n - shown;
    kept_clear(recording->kept);
    if (recording->stacks)
        event_stacks_clear(recording->stacks);
    event_names_begin(events->names);
    memset(recording->seen, 0, sizeof(recording->seen));
    return left_out;
}

static bool is_chosen(const struct event_recording *recording, const char *full) {
    for (size_t i = 0; recording && i < recording->choice.n; i++)
        if ((recording->events[i].present || sources_has_call(recording->sources, i)) &&
            !strcmp(text_bytes(recording->counters[i].name), full))
            return true;
    return false;
}

static void tracepoints_fill(struct events *events) {
    struct table_builder *builder = events->tracepoints;
    bool fresh = !table_builder_rows(builder);
    for (size_t i = 0; i < events->list.n; i++) {
        uint32_t slot = fresh ? table_builder_add(builder) : (uint32_t)i;
        if (fresh)
            table_builder_set_text(builder, slot, EVENTS_T_EVENT, text_from(events->list.names[i]));
        table_builder_set_text(builder, slot, EVENTS_T_CHOSEN,
                               is_chosen(events->recording, events->list.names[i]) ? text_ref(events->yes) : NULL);
        table_builder_set_num(builder, slot, EVENTS_T_RATE, events->rates[i]);
    }
}

// The frame keeps it, so that it is seen when the history is searched.
static void marks_note(const struct event_recording *recording, struct section *out) {
    char text[256];
    for (size_t i = 0; i < recording->choice.n; i++) {
        const struct event_counter *counter = &recording->counters[i];
        if (!counter->marked)
            continue;
        snprintf(text, sizeof(text), "marked: %s, %llu time%s in this frame", text_bytes(counter->name),
                 (unsigned long long)counter->marked, counter->marked == 1 ? "" : "s");
        section_note(out, SEVERITY_WARNING, NULL, text, NULL);
    }
}

static void absent_note(const struct event_recording *recording, struct section *out) {
    char text[256];
    size_t absent = 0, last = 0;
    for (size_t i = 0; i < recording->choice.n; i++)
        if (!recording->events[i].present && !recording->choice.events[i].is_call)
            absent++, last = i;
    if (!absent)
        return;
    snprintf(text, sizeof(text), "%zu tracepoints cannot be enabled on this kernel, for example %s", absent,
             text_bytes(recording->counters[last].name));
    section_note(out, SEVERITY_WARNING, NULL, text, NULL);
}

static void section_fill(struct events *events, struct collector_run *run, struct section *out) {
    struct event_recording *recording = events->recording;
    struct stream_frame frame = {.scale = 1};
    double seconds = (double)(run->end_ns - run->begin_ns) / 1e9;
    if (recording) {
        event_recording_drain(recording, run, true);
        for (int i = 0; i < EVENT_STACKS_DRAINS && recording->stacks && event_stacks_awaited(recording->stacks); i++)
            event_recording_drain(recording, run, true);
        if (recording->stream)
            stream_frame(recording->stream, &frame);
    }
    uint64_t seen = frame.events - (recording ? recording->dropped : 0), calls = recording ? recording->calls : 0;
    counts_fill(events, frame.scale, seconds);
    if (recording && recording->flows)
        flows_sample(recording->flows, events->names, events->options, wall_offset_ns(), out);
    event_groups_fill(recording ? recording->groups : NULL, &events_group_tables, frame.scale, seconds,
                      &(struct groups_namer){events->names, events->options}, out);
    uint64_t left_out = rows_fill(events);
    section_table(out, table_builder_seal(events->counts));
    section_stream(out, table_builder_seal(events->rows), left_out);
    section_series(out, &events_series[EVENTS_PER_S],
                   recording && seconds > 0 ? ((double)seen * frame.scale + (double)calls) / seconds : NAN);
    uint64_t lost = frame.lost + (recording ? sources_sample(recording->sources, wall_offset_ns(), out) : 0);
    section_series(out, &events_series[EVENTS_LOST], recording ? (double)lost : NAN);
    section_series(out, &events_series[EVENTS_RECORDED], recording ? 100 / frame.scale : NAN);
    if (!recording) {
        section_note(out, SEVERITY_INFO, NULL, "no tracepoint is chosen",
                     "choose with -t SYSTEM:EVENT or --preset; in the terminal with the key t");
        return;
    }
    if (recording->stream)
        stream_collector_notes(recording->stream, &frame, BY_HOST_PID, events->options, out);
    char losses[256], text[320];
    event_recording_losses(recording, losses, sizeof(losses));
    if (*losses) {
        snprintf(text, sizeof(text), "events were lost because buffers were full: %s", losses);
        section_note(out, SEVERITY_WARNING, NULL, text, "choose fewer events, filter them, or give --trace-buffer");
    }
    event_names_notes(events->names, events->options, "events", out);
    marks_note(recording, out);
    absent_note(recording, out);
    if (recording->choice.stacks && recording->stream && !recording->stacks)
        section_note(out, SEVERITY_WARNING, "stack", "this kernel writes no stacks (tracefs option stacktrace)", NULL);
    if (recording->no_marker)
        section_note(out, SEVERITY_WARNING, NULL,
                     "what programs write to trace_marker is not seen: this kernel does not copy it to other instances",
                     "Linux 6.11 does");
    section_events(out, seen + calls, lost);
    recording->dropped = recording->calls = 0;
}

static int events_sample(struct collector_run *run, struct section *out) {
    struct events *events = run->state;
    if (run->first && events->recording) // events before the first interval do not count
        return 0;
    section_fill(events, run, out);
    if (events->survey && survey_read(events->survey, events->rates)) {
        survey_close(events->survey);
        events->survey = NULL;
        if (!events->recording)
            idle(run);
    }
    tracepoints_fill(events);
    section_table(out, table_builder_seal(events->tracepoints));
    return 0;
}

static void events_check(struct check_report *report) {
    struct check check = {.capability = "tracepoints"};
    const char *reason = NULL, *fix = NULL, *dir = tracing_dir(&reason, &fix);
    struct tracepoints list;
    char instance[256];
    int error = dir ? tracepoints_read(&list, dir) : -ENOENT;
    size_t n = error ? 0 : list.n;
    if (!error)
        tracepoints_free(&list);
    if (!error)
        error = instance_create("doctor-events", instance, sizeof(instance));
    check.works = !error;
    if (!error) {
        instance_remove(instance);
        snprintf(check.detail, sizeof(check.detail), "%zu tracepoints, in an instance of ktop's own", n);
    } else if (dir) {
        tracing_explain(error, check.detail, sizeof(check.detail), check.fix, sizeof(check.fix));
    } else {
        snprintf(check.detail, sizeof(check.detail), "%s", reason);
        snprintf(check.fix, sizeof(check.fix), "%s", fix);
    }
    report->add(report, &check);
    sources_check(report);
}

static const struct table_def *const tables[] = {&events_counts_table,
                                                 &events_tracepoints_table,
                                                 &events_groups_table,
                                                 &events_latencies_table,
                                                 &events_programs_table,
                                                 &events_connections_table,
                                                 NULL};
static const struct hist_def *const hists[] = {&events_value_hist, &events_latency_hist, NULL};
static const struct table_def *const streams[] = {&events_stream_table, NULL};

const struct collector collector_events = {
    .name = "events",
    .help =
        "The tracepoints that were chosen, in a tracefs instance of its own: counts, and the newest 2,000 events of "
        "each interval. Runs only while a pane shows it.",
    .series = events_series,
    .n_series = EVENTS_SERIES,
    .tables = tables,
    .streams = streams,
    .hists = hists,
    .open = events_open,
    .drain = events_drain,
    .requests = 1u << REQUEST_EVENTS | 1u << REQUEST_SURVEY,
    .request = events_request,
    .sample = events_sample,
    .close = events_close,
    .check = events_check,
};
