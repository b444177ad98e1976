// The collector "events": tracepoints that the user chose, counted by tracepoint, the newest events of each interval
// with all fields. It runs only while a pane shows it; without a choice it records nothing. The event path counts by
// the record's ID and copies bytes; text is made only for rows that are drawn or written.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/collector.h"
#include "collectors/events/choice.h"
#include "collectors/events/event_text.h"
#include "collectors/events/exec_args.h"
#include "collectors/events/kept.h"
#include "collectors/events/names.h"
#include "collectors/events/survey.h"
#include "collectors/events/table.h"
#include "collectors/kernel/perf/perf.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/stream_collector.h"
#include "model/clock.h"
#include "model/mem.h"

#define BY_HOST_PID "names of threads and processes"
#define NO_EVENT 0xff
#define IDS 65536
#define PENDING_MAX 256
#define EXEC_DRAIN_MS 50 // while execs are recorded: their descriptor wakes the thread, not the stream's
#define TASK_COMM_LEN 16

struct counter {
    uint64_t count; // of the interval
    double total;
    struct event_format *format;
    const struct text *name, *filter;
};

// One choice while it is recorded: the stream points into it.
struct recording {
    struct choice choice;
    struct stream_event events[CHOICE_MAX];
    struct format_field fields[CHOICE_MAX]; // common_pid of each
    struct counter counters[CHOICE_MAX];
    struct stream *stream;
    struct exec_args *exec_args; // NULL: no exec is recorded, or perf is not available
    int exec_error;
    uint8_t exec_index;
    uint64_t exec_lost;    // at the last frame
    uint64_t exec_unknown; // rows of the frame without arguments
    uint64_t drained_ns;
    struct kept *kept;
    uint8_t by_id[IDS]; // index of the event; NO_EVENT: none
    uint8_t own[IDS];   // ktop's threads, by the low bits of their TIDs: 1 + index in own_tids
    pid_t own_tids[255];
    size_t n_own;
    uint8_t seen[IDS];            // by the low bits of a TID: it is in `pending`, or was looked up in this interval
    int32_t pending[PENDING_MAX]; // threads to be looked up after the drain, since they may exit soon
    size_t n_pending;
    uint64_t dropped; // ktop's own events: not counted as events
};

struct events {
    const struct collect_options *options;
    struct tracepoints list;
    struct recording *recording; // NULL: nothing is chosen
    struct survey *survey;       // NULL: none goes on
    double *rates;               // of the last surveys, by index in the list; NAN: none
    bool second;                 // of the two names of an instance
    struct event_names *names;
    struct table_builder *counts, *rows, *tracepoints;
    const struct text *yes;
};

// ---- the event path ----

static void on_event(void *ctx, const struct ring_event *event) {
    struct recording *recording = ctx;
    uint16_t id;
    int32_t tid;
    if (event->size < 8)
        return;
    memcpy(&id, event->data, 2);
    uint8_t index = recording->by_id[id];
    if (index == NO_EVENT)
        return;
    memcpy(&tid, event->data + recording->fields[index].offset, 4);
    uint8_t own = recording->own[tid & (IDS - 1)];
    if (own && recording->own_tids[own - 1] == tid) {
        recording->dropped++;
        return;
    }
    recording->counters[index].count++;
    if (__builtin_expect(!recording->seen[tid & (IDS - 1)], 0) && recording->n_pending < PENDING_MAX) {
        recording->seen[tid & (IDS - 1)] = 1;
        recording->pending[recording->n_pending++] = tid;
    }
    kept_put(recording->kept, event->ts, event->cpu, index, event->data, event->size);
}

static void on_self(void *ctx, pid_t tid) {
    struct recording *recording = ctx;
    uint8_t *own = &recording->own[tid & (IDS - 1)];
    if (*own) {
        recording->own_tids[*own - 1] = tid;
    } else if (recording->n_own < sizeof(recording->own_tids) / sizeof(recording->own_tids[0])) {
        recording->own_tids[recording->n_own] = tid;
        *own = (uint8_t)++recording->n_own;
    }
}

// ---- opening ----

static void recording_free(struct recording *recording) {
    if (!recording)
        return;
    stream_close(recording->stream);
    exec_args_close(recording->exec_args);
    for (size_t i = 0; i < recording->choice.n; i++) {
        event_format_unref(recording->counters[i].format);
        text_unref(recording->counters[i].name);
        text_unref(recording->counters[i].filter);
    }
    kept_free(recording->kept);
    choice_free(&recording->choice);
    free(recording);
}

static void events_fill(struct recording *recording) {
    for (size_t i = 0; i < recording->choice.n; i++) {
        const struct choice_event *event = &recording->choice.events[i];
        recording->fields[i] = (struct format_field){.name = "common_pid"};
        recording->events[i] = (struct stream_event){
            .system = event->system,
            .name = event->name,
            .filter = event->filter,
            .optional = event->by_glob,
            .fields = &recording->fields[i],
            .n_fields = 1,
        };
    }
}

static void formats_read(struct recording *recording, const char *dir) {
    char path[512], *text = xmalloc(FORMAT_BYTES_MAX);
    for (size_t i = 0; i < recording->choice.n; i++) {
        const struct choice_event *event = &recording->choice.events[i];
        struct counter *counter = &recording->counters[i];
        counter->name = text_printf("%s:%s", event->system, event->name);
        counter->filter = event->filter ? text_from(event->filter) : NULL;
        if (!recording->events[i].present)
            continue;
        recording->by_id[recording->events[i].id] = (uint8_t)i;
        snprintf(path, sizeof(path), "%s/events/%s/%s/format", dir, event->system, event->name);
        long length = format_file(path, text, FORMAT_BYTES_MAX);
        counter->format = length > 0 ? event_format_new(text, (size_t)length, event->system) : NULL;
    }
    free(text);
}

// In a child PID namespace perf and the trace have different IDs.
static void exec_args_start(struct recording *recording) {
    recording->exec_index = NO_EVENT;
    for (size_t i = 0; i < recording->choice.n; i++) {
        const struct choice_event *event = &recording->choice.events[i];
        if (strcmp(event->system, "sched") || strcmp(event->name, "sched_process_exec") ||
            !recording->events[i].present)
            continue;
        recording->exec_index = (uint8_t)i;
        recording->exec_error =
            ktop_in_child_pidns() ? -EOPNOTSUPP : exec_args_open(recording->events[i].id, &recording->exec_args);
    }
}

static struct stream_config config_of(struct recording *recording, const char *name) {
    return (struct stream_config){
        .name = name,
        .what = "trace events",
        .events = recording->events,
        .n_events = recording->choice.n,
        .budget_pct = STREAM_BUDGET_PCT,
        .high_rate = true,
        .on_event = on_event,
        .on_self = on_self,
        .ctx = recording,
    };
}

// Takes the choice. 0, or -errno with run->reason and run->fix; nothing is left then.
static int recording_open(struct events *events, struct collector_run *run, struct choice *choice,
                          struct recording **out) {
    struct recording *recording = xcalloc(1, sizeof(*recording));
    recording->choice = *choice;
    *choice = (struct choice){.n = 0};
    memset(recording->by_id, NO_EVENT, sizeof(recording->by_id));
    recording->kept = kept_new();
    events_fill(recording);
    // The previous choice is recorded until this one is.
    const struct stream_config config = config_of(recording, events->second ? "events-b" : "events");
    int error = stream_collector_open(&config, true, run, &recording->stream);
    if (error) {
        recording_free(recording);
        return error;
    }
    formats_read(recording, tracing_dir(NULL, NULL));
    exec_args_start(recording);
    events->second = !events->second;
    *out = recording;
    return 0;
}

// Replaces the recording by one of the specifications in `text`. On failure the previous one goes on.
static int events_choose(struct events *events, struct collector_run *run, const char *text,
                         struct choice_error *failure) {
    struct choice choice;
    struct recording *next = NULL;
    int error = choice_resolve(&choice, text, &events->list, failure);
    if (!error)
        error = choice_check(&choice, text, failure);
    if (!error && choice.n) {
        error = recording_open(events, run, &choice, &next);
        if (error)
            snprintf(failure->sentence, sizeof(failure->sentence), "%s", run->reason);
    }
    choice_free(&choice);
    if (error)
        return error;
    recording_free(events->recording);
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
    recording_free(events->recording);
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

// Programs are looked up within some 100 us, while they still run; the stream keeps its pace.
static bool drains_exec(struct recording *recording, struct collector_run *run) {
    uint64_t now = now_ns();
    exec_args_drain(recording->exec_args);
    run->poll_fd = exec_args_fd(recording->exec_args);
    run->drain_ms = STREAM_BUSY_MS;
    if (now - recording->drained_ns < STREAM_BUSY_MS * 1000000ull)
        return true;
    recording->drained_ns = now;
    return false;
}

static void recording_drain(struct events *events, struct collector_run *run, bool all) {
    struct recording *recording = events->recording;
    if (recording->exec_args && drains_exec(recording, run) && !all)
        return;
    stream_collector_drain(recording->stream, run, STREAM_BUSY_MS);
    for (size_t i = 0; i < recording->n_pending; i++)
        event_names_find(events->names, events->options, recording->pending[i]);
    recording->n_pending = 0;
    if (recording->exec_args) {
        run->poll_fd = exec_args_fd(recording->exec_args);
        run->drain_ms = run->drain_ms < EXEC_DRAIN_MS ? run->drain_ms : EXEC_DRAIN_MS;
    }
}

static void events_drain(struct collector_run *run) {
    struct events *events = run->state;
    if (events->recording)
        recording_drain(events, run, false);
    if (events->survey) {
        survey_drain(events->survey);
        run->drain_ms = STREAM_BUSY_MS;
    }
}

static void counts_fill(struct events *events, double scale, double seconds) {
    struct recording *recording = events->recording;
    struct table_builder *counts = events->counts;
    table_builder_clear(counts);
    for (size_t i = 0; recording && i < recording->choice.n; i++) {
        struct counter *counter = &recording->counters[i];
        if (!recording->events[i].present)
            continue;
        double count = (double)counter->count * scale;
        counter->total += isnan(count) ? 0 : count;
        uint32_t slot = table_builder_add(counts);
        table_builder_set_text(counts, slot, EVENTS_C_EVENT, text_ref(counter->name));
        table_builder_set_text(counts, slot, EVENTS_C_FILTER, text_ref(counter->filter));
        table_builder_set_num(counts, slot, EVENTS_C_RATE, seconds > 0 ? count / seconds : NAN);
        table_builder_set_num(counts, slot, EVENTS_C_COUNT, count);
        table_builder_set_num(counts, slot, EVENTS_C_TOTAL, counter->total);
        counter->count = 0;
    }
}

static const struct text *comm_of(const struct task_identity *identity, struct event_format *format,
                                  const uint8_t *record, uint32_t size, int32_t tid) {
    char name[64], id[32], file[4096];
    if (identity->found)
        return text_from(identity->status.name);
    if (!tid)
        return text_from("swapper");
    // Events of an exit, and of a switch, carry the name of the thread that ran.
    for (int i = 0; format && i < 2; i++)
        if (event_format_field(format, record, size, i ? "prev_pid" : "pid", id, sizeof(id)) && atoi(id) == tid &&
            event_format_field(format, record, size, i ? "prev_comm" : "comm", name, sizeof(name)) && *name)
            return text_from(name);
    // An exec names the thread after its file: no other event has "filename" and "old_pid".
    if (format && event_format_field(format, record, size, "old_pid", id, sizeof(id)) &&
        event_format_field(format, record, size, "filename", file, sizeof(file))) {
        const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
        return text_new(base, strnlen(base, TASK_COMM_LEN - 1));
    }
    return NULL;
}

static void row_fill(struct events *events, const struct kept_record *record, int64_t wall_ns) {
    struct recording *recording = events->recording;
    const struct counter *counter = &recording->counters[record->event];
    const uint8_t *bytes = kept_bytes(recording->kept, record);
    int32_t tid;
    memcpy(&tid, bytes + recording->fields[record->event].offset, 4);
    const struct task_identity *identity = event_names_find(events->names, events->options, tid);
    if (thread_filters(events->options) && !identity->wanted && identity->found)
        return;
    struct table_builder *rows = events->rows;
    uint32_t slot = table_builder_add(rows);
    uint64_t mono = trace_clock_mono(stream_clock(recording->stream), record->ts);
    table_builder_set_num(rows, slot, EVENTS_E_TIME, (double)((int64_t)mono + wall_ns) / 1e9);
    table_builder_set_num(rows, slot, EVENTS_E_CPU, record->cpu);
    table_builder_set_text(rows, slot, EVENTS_E_COMM, comm_of(identity, counter->format, bytes, record->size, tid));
    table_builder_set_num(rows, slot, EVENTS_E_PID, identity->status.pid);
    table_builder_set_num(rows, slot, EVENTS_E_TID, tid);
    table_builder_set_text(rows, slot, EVENTS_E_EVENT, text_ref(counter->name));
    table_builder_set_text(rows, slot, EVENTS_E_FIELDS,
                           counter->format ? event_format_text(counter->format, bytes, record->size) : NULL);
    if (recording->exec_args && record->event == recording->exec_index) {
        const struct text *args = exec_args_find(recording->exec_args, tid, mono);
        recording->exec_unknown += !args;
        table_builder_set_text(rows, slot, EVENTS_E_ARGS, text_ref(args));
    }
}

// Returns how many events have no row.
static uint64_t rows_fill(struct events *events) {
    struct recording *recording = events->recording;
    const int64_t wall_ns = wall_offset_ns();
    uint64_t cursor = 0, shown = 0;
    const struct kept_record *record;
    table_builder_clear(events->rows);
    if (!recording)
        return 0;
    for (; (record = kept_next(recording->kept, &cursor)); shown++)
        row_fill(events, record, wall_ns);
    uint64_t left_out = recording->kept->n - shown;
    kept_clear(recording->kept);
    event_names_begin(events->names);
    memset(recording->seen, 0, sizeof(recording->seen));
    return left_out;
}

static bool is_chosen(const struct recording *recording, const char *full) {
    for (size_t i = 0; recording && i < recording->choice.n; i++)
        if (recording->events[i].present && !strcmp(text_bytes(recording->counters[i].name), full))
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

static void absent_note(const struct recording *recording, struct section *out) {
    char text[256];
    size_t absent = 0, last = 0;
    for (size_t i = 0; i < recording->choice.n; i++)
        if (!recording->events[i].present)
            absent++, last = i;
    if (!absent)
        return;
    snprintf(text, sizeof(text), "%zu tracepoints cannot be enabled on this kernel, for example %s", absent,
             text_bytes(recording->counters[last].name));
    section_note(out, SEVERITY_WARNING, NULL, text, NULL);
}

static void exec_note(struct recording *recording, struct section *out) {
    char text[256], reason[160], fix[256];
    if (recording->exec_error == -EOPNOTSUPP) {
        section_note(out, SEVERITY_INFO, "args",
                     "arguments of programs are unknown: this PID namespace has its own PIDs",
                     "run ktop in the first PID namespace (containers: --pid=host)");
    } else if (recording->exec_error) {
        perf_explain(recording->exec_error, false, reason, sizeof(reason), fix, sizeof(fix));
        snprintf(text, sizeof(text), "arguments of programs are unknown: %s", reason);
        section_note(out, SEVERITY_INFO, "args", text, fix);
    }
    if (!recording->exec_args)
        return;
    uint64_t lost = exec_args_lost(recording->exec_args);
    if (recording->exec_unknown) {
        snprintf(text, sizeof(text), "arguments of %llu programs are unknown: %s",
                 (unsigned long long)recording->exec_unknown,
                 lost != recording->exec_lost ? "their samples were lost" : "they exited within 1 ms");
        section_note(out, SEVERITY_INFO, "args", text, NULL);
    }
    recording->exec_lost = lost;
    recording->exec_unknown = 0;
    exec_args_follow(recording->exec_args);
}

static void section_fill(struct events *events, struct collector_run *run, struct section *out) {
    struct recording *recording = events->recording;
    struct stream_frame frame = {.scale = 1};
    double seconds = (double)(run->end_ns - run->begin_ns) / 1e9;
    if (recording) {
        recording_drain(events, run, true);
        stream_frame(recording->stream, &frame);
    }
    uint64_t seen = frame.events - (recording ? recording->dropped : 0);
    counts_fill(events, frame.scale, seconds);
    uint64_t left_out = rows_fill(events);
    section_table(out, table_builder_seal(events->counts));
    section_stream(out, table_builder_seal(events->rows), left_out);
    section_series(out, &events_series[EVENTS_PER_S],
                   recording && seconds > 0 ? (double)seen * frame.scale / seconds : NAN);
    section_series(out, &events_series[EVENTS_LOST], recording ? (double)frame.lost : NAN);
    section_series(out, &events_series[EVENTS_RECORDED], recording ? 100 / frame.scale : NAN);
    if (!recording) {
        section_note(out, SEVERITY_INFO, NULL, "no tracepoint is chosen",
                     "choose with -t SYSTEM:EVENT or --preset; in the terminal with the key t");
        return;
    }
    stream_collector_notes(recording->stream, &frame, BY_HOST_PID, events->options, out);
    absent_note(recording, out);
    exec_note(recording, out);
    section_events(out, seen, frame.lost);
    recording->dropped = 0;
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
}

static const struct table_def *const tables[] = {&events_counts_table, &events_tracepoints_table, NULL};
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
    .open = events_open,
    .drain = events_drain,
    .requests = 1u << REQUEST_EVENTS | 1u << REQUEST_SURVEY,
    .request = events_request,
    .sample = events_sample,
    .close = events_close,
    .check = events_check,
};
