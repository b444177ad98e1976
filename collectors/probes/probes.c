// The collector "probes": dynamic events that the user defines - kprobes, uprobes, USDT, fprobes, event probes -
// counted, the newest hits of each interval with their arguments, lost returns. It runs only while a pane shows it;
// without a probe it records nothing.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/collector.h"
#include "collectors/event_names.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/kernel/tracefs/tracers.h"
#include "collectors/probes/rate.h"
#include "collectors/probes/recording.h"
#include "collectors/probes/table.h"
#include "collectors/user_stacks.h"
#include "model/clock.h"
#include "model/mem.h"

#define BY_HOST_PID "names of threads and processes"
#define TRACERS_NS 4500000000ull // between two searches for other tracers
#define RATIO_MOST 32            // of a stream: it samples as little as it can

struct probes {
    const struct collect_options *options;
    struct recording *recording; // NULL: no probe
    bool second;                 // of the two groups and instances: the old one goes on until the new one records
    uint32_t over_budget;        // intervals in a row
    struct event_names *names;
    struct user_stacks *user_stacks; // NULL: not used yet
    struct table_builder *table, *rows;
    struct tracer tracers[TRACERS_MAX]; // others, of the last search
    size_t n_tracers;
    uint64_t tracers_ns; // of the last search; 0: none
};

// ---- the user's choice ----

// What a probe that stays has counted so far.
static void carry(const struct recording *from, struct recording *to) {
    for (size_t i = 0; i < to->set.n; i++)
        for (size_t k = 0; from && k < from->set.n; k++) {
            const struct probe_counter *old = &from->counters[k];
            struct probe_counter *counter = &to->counters[i];
            if (strcmp(from->set.probes[k]->spec.text, to->set.probes[i]->spec.text))
                continue;
            counter->total = old->total + (double)old->hits;
            memcpy(counter->stopped, old->stopped, sizeof(counter->stopped));
            if (!counter->stopped[0])
                continue;
            stream_event_switch(to->stream, counter->event, false);
            if (counter->entry != NO_EVENT)
                stream_event_switch(to->stream, counter->entry, false);
        }
}

// Replaces the recording by one of the probes in the list. On failure the previous one goes on.
static int probes_choose(struct probes *probes, struct collector_run *run, const char *list,
                         struct choice_error *failure) {
    const struct collect_options *options = probes->options;
    struct recording *next = NULL;
    struct probe_set set;
    int error = probe_set_parse(&set, list, failure);
    if (!error)
        error = probe_set_find_grouped(&set, failure);
    if (!error && set.n) {
        atomic_store(&run->waits_for, "its probes to be defined");
        error = probe_set_define(&set, probes->second ? "probes_b" : "probes",
                                 options && options->n_pids ? options->pids[0] : 0, failure);
        if (!error)
            error = probe_set_check_rates(&set, probes->recording ? &probes->recording->set : NULL, failure);
        if (!error) {
            error = recording_open(&set, probes->second ? "probes-b" : "probes", run, &next);
            if (error) {
                snprintf(failure->sentence, sizeof(failure->sentence), "%s", run->reason);
                failure->place = -1;
            }
        }
        atomic_store(&run->waits_for, NULL);
    }
    probe_set_free(&set);
    if (error)
        return error;
    if (next) {
        carry(probes->recording, next);
        probes->second = !probes->second;
    }
    recording_free(probes->recording);
    probes->recording = next;
    probes->over_budget = 0;
    return 0;
}

static int probes_open(struct collector_run *run) {
    struct probes *probes = run->state = xcalloc(1, sizeof(*probes));
    const char *reason = NULL, *fix = NULL;
    struct choice_error failure = {.place = -1};
    probes->options = run->options;
    probes->names = event_names_new(ktop_in_child_pidns() ? NULL : "/proc");
    probes->table = table_builder_new(&probes_table);
    probes->rows = table_builder_new(&probes_stream_table);
    run->poll_fd = -1;
    if (!tracing_dir(&reason, &fix)) {
        snprintf(run->reason, sizeof(run->reason), "no probes: %s", reason);
        snprintf(run->fix, sizeof(run->fix), "%s", fix);
        return -ENODEV;
    }
    if (run->options)
        probe_rate_limit(run->options->test.probe_limit);
    if (!run->options || !run->options->probes)
        return 0;
    int error = probes_choose(probes, run, run->options->probes, &failure);
    if (error)
        memcpy(run->reason, failure.sentence, sizeof(run->reason));
    return error;
}

static void probes_close(struct collector_run *run) {
    struct probes *probes = run->state;
    run->state = NULL;
    if (!probes)
        return;
    recording_free(probes->recording);
    event_names_free(probes->names);
    user_stacks_free(probes->user_stacks);
    table_builder_free(probes->table);
    table_builder_free(probes->rows);
    free(probes);
}

static int probes_request(struct collector_run *run, const struct request *request, struct answer *answer) {
    struct probes *probes = run->state;
    struct choice_error failure = {.place = -1};
    int error = probes_choose(probes, run, request->text ? request->text : "", &failure);
    if (error) {
        memcpy(answer->sentence, failure.sentence, sizeof(answer->sentence));
        answer->place = failure.place;
    } else if (probes->recording) {
        size_t n = probes->recording->set.n;
        for (size_t i = 0; i < probes->recording->set.n; i++)
            n -= probes->recording->set.refused[i][0] != '\0';
        run->drain_ms = STREAM_BUSY_MS;
        snprintf(answer->sentence, sizeof(answer->sentence), "%zu probe%s recorded", n, n == 1 ? " is" : "s are");
    } else {
        run->drain_ms = 0;
        run->poll_fd = -1;
        snprintf(answer->sentence, sizeof(answer->sentence), "no probe is recorded");
    }
    return error;
}

// ---- an interval ----

// What is known of a thread is read soon after its first hit, because it may exit.
static void thread_see(struct probes *probes, int32_t tid) {
    const struct task_identity *identity = event_names_find(probes->names, probes->options, tid);
    if (!probes->recording->stacks || !event_stacks_has(probes->recording->stacks, KEPT_USER_STACK))
        return;
    if (!probes->user_stacks && !ktop_in_child_pidns()) // events have PIDs of the first namespace
        probes->user_stacks = user_stacks_new("/proc");
    if (probes->user_stacks)
        user_stacks_see(probes->user_stacks, identity->status.pid);
}

static void probes_drain(struct collector_run *run) {
    struct probes *probes = run->state;
    struct recording *recording = probes->recording;
    if (!recording)
        return;
    stream_collector_drain(recording->stream, run, STREAM_BUSY_MS);
    for (size_t i = 0; i < recording->n_pending; i++)
        thread_see(probes, recording->pending[i]);
    recording->n_pending = 0;
}

static void table_fill(struct probes *probes, double scale, double seconds) {
    struct recording *recording = probes->recording;
    struct table_builder *table = probes->table;
    struct probe_missed missed[PROBES_MAX];
    table_builder_clear(table);
    if (!recording)
        return;
    recording_missed(recording, missed);
    for (size_t i = 0; i < recording->set.n; i++) {
        struct probe_counter *counter = &recording->counters[i];
        const bool refused = recording->set.refused[i][0];
        double hits = refused ? NAN : (double)counter->hits * scale;
        counter->total += isnan(hits) ? 0 : hits;
        uint32_t slot = table_builder_add(table);
        table_builder_set_text(table, slot, PROBES_P_PROBE, text_ref(counter->name));
        table_builder_set_text(table, slot, PROBES_P_KIND, text_ref(counter->kind));
        table_builder_set_text(table, slot, PROBES_P_WHERE, text_ref(counter->where));
        table_builder_set_num(table, slot, PROBES_P_RATE, seconds > 0 ? hits / seconds : NAN);
        table_builder_set_num(table, slot, PROBES_P_HITS, hits);
        table_builder_set_num(table, slot, PROBES_P_TOTAL, refused ? NAN : counter->total);
        if (!refused) {
            table_builder_set_num(table, slot, PROBES_P_MISSED, missed[i].missed);
            table_builder_set_num(table, slot, PROBES_P_MISSED_TOTAL, missed[i].missed_total);
            table_builder_set_num(table, slot, PROBES_P_KERNEL_MISSED, missed[i].kernel);
            table_builder_set_num(table, slot, PROBES_P_ENTRIES,
                                  counter->pair == NOT_PAIRED ? NAN : (double)counter->entries * scale);
            table_builder_set_num(table, slot, PROBES_P_IN_FLIGHT, missed[i].in_flight);
        }
        table_builder_set_text(table, slot, PROBES_P_STATE,
                               text_from(refused               ? "refused"
                                         : counter->stopped[0] ? "stopped"
                                                               : "on"));
        table_builder_set_text(table, slot, PROBES_P_SPEC, text_ref(counter->spec));
    }
}

static void stacks_fill(struct probes *probes, const struct kept_record *record, uint32_t slot, int32_t pid) {
    struct recording *recording = probes->recording;
    const struct kept *kept = recording->kept[record->event];
    const struct probe_event *info = &recording->infos[recording->counters[record->event].event];
    bool in_file = recording_in_file(recording, record->event);
    uint64_t addresses[USER_STACK_FRAMES + 1];
    if (!in_file && event_stacks_has(recording->stacks, KEPT_KERNEL_STACK))
        table_builder_set_text(probes->rows, slot, PROBES_E_STACK, event_stacks_text(recording->stacks, kept, record));
    size_t n = probes->user_stacks ? event_stacks_user(recording->stacks, kept, record, addresses) : 0;
    if (n && info->caller && record->size >= info->caller + 8u) {
        memmove(addresses + 2, addresses + 1, (n - 1) * sizeof(*addresses));
        memcpy(&addresses[1], kept_bytes(kept, record) + info->caller, 8);
        n++;
    }
    bool returns = in_file && recording->set.probes[record->event]->spec.returns;
    if (n)
        table_builder_set_text(probes->rows, slot, PROBES_E_USER_STACK,
                               user_stacks_text(probes->user_stacks, pid, addresses, n, returns ? 0 : 1));
}

static void row_fill(struct probes *probes, const struct kept_record *record, int64_t wall_ns) {
    struct recording *recording = probes->recording;
    const struct probe_counter *counter = &recording->counters[record->event];
    const uint8_t *bytes = kept_bytes(recording->kept[record->event], record);
    struct table_builder *rows = probes->rows;
    int32_t tid;
    memcpy(&tid, bytes + recording->fields[counter->event][0].offset, 4);
    const struct task_identity *identity = event_names_find(probes->names, probes->options, tid);
    if (!event_names_passes(probes->names, probes->options, tid, identity, true))
        return;
    uint32_t slot = table_builder_add(rows);
    uint64_t mono = trace_clock_mono(stream_clock(recording->stream), record->ts);
    table_builder_set_num(rows, slot, PROBES_E_TIME, (double)((int64_t)mono + wall_ns) / 1e9);
    table_builder_set_num(rows, slot, PROBES_E_CPU, record->cpu);
    table_builder_set_text(rows, slot, PROBES_E_COMM, event_names_text(probes->names, identity, tid));
    table_builder_set_num(rows, slot, PROBES_E_PID, identity->status.pid);
    table_builder_set_num(rows, slot, PROBES_E_TID, tid);
    table_builder_set_text(rows, slot, PROBES_E_PROBE, text_ref(counter->name));
    table_builder_set_text(rows, slot, PROBES_E_ARGS,
                           counter->format ? event_format_text(counter->format, bytes, record->size) : NULL);
    if (recording->stacks)
        stacks_fill(probes, record, slot, identity->status.pid);
    if (recording->set.groups) {
        const struct group_record fields = {bytes, record->size, record->cpu, tid, record->ts};
        const struct groups_namer namer = {probes->names, probes->options};
        const struct text *keys[2];
        double value;
        event_groups_row(recording->set.groups, record->event, &fields, &namer, keys, &value);
        table_builder_set_text(rows, slot, PROBES_E_KEY, keys[0]);
        table_builder_set_text(rows, slot, PROBES_E_KEY2, keys[1]);
        table_builder_set_num(rows, slot, PROBES_E_VALUE, value);
        table_builder_set_num(rows, slot, PROBES_E_LATENCY,
                              record->latency_ns ? (double)record->latency_ns / 1e3 : NAN);
    }
}

// Returns how many hits have no row.
static uint64_t rows_fill(struct probes *probes) {
    struct recording *recording = probes->recording;
    const int64_t wall_ns = wall_offset_ns();
    const struct kept_record *record;
    struct recording_walk walk;
    table_builder_clear(probes->rows);
    if (!recording)
        return 0;
    recording_walk(recording, &walk);
    while ((record = recording_next(recording, &walk)))
        row_fill(probes, record, wall_ns);
    for (size_t i = 0; i < recording->set.n; i++)
        kept_clear(recording->kept[i]);
    if (recording->stacks)
        event_stacks_clear(recording->stacks);
    if (probes->user_stacks) {
        user_stacks_wait(probes->user_stacks);
        user_stacks_begin(probes->user_stacks);
    }
    event_names_begin(probes->names);
    memset(recording->seen, 0, sizeof(recording->seen));
    return walk.left_out;
}

static void notes_add(struct recording *recording, const struct stream_frame *frame, struct probes *probes,
                      struct section *out) {
    const char *cpus = probes->options ? probes->options->trace.cpus : NULL;
    char some[160];
    if (cpus) {
        snprintf(some, sizeof(some), "only hits on the CPUs %.100s are recorded (--trace-cpus)", cpus);
        section_note(out, SEVERITY_INFO, "hits", some, NULL);
    }
    char text[256];
    stream_collector_notes(recording->stream, frame, BY_HOST_PID, probes->options, out);
    event_names_notes(probes->names, probes->options, "hits", out);
    if (recording->set.stacks && (!recording->stacks || !event_stacks_has(recording->stacks, KEPT_USER_STACK)))
        section_note(out, SEVERITY_WARNING, "user_stack",
                     "this kernel writes no user stacks (tracefs option userstacktrace)", NULL);
    for (size_t i = 0; i < recording->set.n; i++) {
        const struct probe *probe = recording->set.probes[i];
        if (recording->counters[i].stopped[0]) {
            snprintf(text, sizeof(text), "%s is stopped: %s", probe->event, recording->counters[i].stopped);
            section_note(out, SEVERITY_WARNING, "state", text,
                         "remove it, and add it again with ! before it or with a filter");
        }
        if (recording->set.refused[i][0])
            section_note(out, SEVERITY_WARNING, "state", recording->set.refused[i], NULL);
        if (probe->note[0])
            section_note(out, SEVERITY_INFO, "args", probe->note, NULL);
    }
}

// They may share a function with a probe, and slow it down or replace it.
static void tracers_note(struct probes *probes, uint64_t now, struct section *out) {
    char text[256];
    const char *where = tracing_dir(NULL, NULL);
    if (where && (!probes->tracers_ns || now - probes->tracers_ns >= TRACERS_NS)) {
        probes->tracers_ns = now;
        probes->n_tracers = tracers_find(where, "/sys", probes->tracers, TRACERS_MAX);
    }
    tracers_text(probes->tracers, probes->n_tracers, text, sizeof(text));
    if (probes->n_tracers)
        section_note(out, SEVERITY_INFO, NULL, text, NULL);
}

static int probes_sample(struct collector_run *run, struct section *out) {
    struct probes *probes = run->state;
    struct recording *recording = probes->recording;
    struct stream_frame frame = {.scale = 1};
    double seconds = (double)(run->end_ns - run->begin_ns) / 1e9;
    uint64_t hits = 0;
    if (run->first && recording) // hits before the first interval do not count
        return 0;
    if (recording) {
        probes_drain(run);
        for (int i = 0; i < EVENT_STACKS_DRAINS && recording->stacks && event_stacks_awaited(recording->stacks); i++)
            probes_drain(run);
        stream_frame(recording->stream, &frame);
        probes->over_budget = frame.ratio >= RATIO_MOST ? probes->over_budget + 1 : 0;
        recording_bound(recording, seconds, frame.scale, probes->over_budget >= 2);
        for (size_t i = 0; i < recording->set.n; i++)
            hits += recording->counters[i].hits;
    }
    table_fill(probes, frame.scale, seconds);
    section_table(out, table_builder_seal(probes->table));
    event_groups_fill(recording ? recording->set.groups : NULL, &probes_group_tables, frame.scale, seconds,
                      &(struct groups_namer){probes->names, probes->options}, out);
    uint64_t left_out = rows_fill(probes);
    section_stream(out, table_builder_seal(probes->rows), left_out);
    section_series(out, &probes_series[PROBES_PER_S],
                   recording && seconds > 0 ? (double)hits * frame.scale / seconds : NAN);
    section_series(out, &probes_series[PROBES_LOST], recording ? (double)frame.lost : NAN);
    section_series(out, &probes_series[PROBES_RECORDED], recording ? 100 / frame.scale : NAN);
    tracers_note(probes, run->end_ns, out);
    if (!recording) {
        section_note(out, SEVERITY_INFO, NULL, "no probe is set",
                     "--probe 'p /usr/bin/bash:readline', or the key E in the terminal");
        return 0;
    }
    notes_add(recording, &frame, probes, out);
    section_events(out, hits, frame.lost);
    for (size_t i = 0; i < recording->set.n; i++)
        recording->counters[i].hits = recording->counters[i].entries = 0;
    return 0;
}

// ---- the doctor ----

static void check_one(struct check_report *report, const char *capability, const char *list, const char *built_with) {
    struct check check = {.capability = capability};
    struct choice_error failure = {.place = -1};
    struct probe_set set;
    int error = probe_set_parse(&set, list, &failure);
    if (!error)
        error = probe_set_define(&set, "doctor", 0, &failure);
    check.works = !error;
    snprintf(check.detail, sizeof(check.detail), "%s", error ? failure.sentence : "the kernel accepts one");
    if (error == -ENODEV || error == -EACCES)
        snprintf(check.fix, sizeof(check.fix), "run ktop as root");
    else if (error)
        snprintf(check.fix, sizeof(check.fix), "use %s", built_with);
    probe_set_free(&set);
    report->add(report, &check);
}

// kprobes and uprobes have their lines already (doctor_trace.c).
static void probes_check(struct check_report *report) {
    check_one(report, "fprobes", "f:doctor_function vfs_read", "Linux 6.5 or later with CONFIG_FPROBE_EVENTS");
    check_one(report, "event probes", "e:doctor_event sched.sched_switch pid=$next_pid",
              "Linux 5.15 or later with CONFIG_KPROBE_EVENTS");
}

static const struct table_def *const tables[] = {&probes_table, &probes_groups_table, &probes_latencies_table, NULL};
static const struct hist_def *const hists[] = {&probes_value_hist, &probes_latency_hist, NULL};
static const struct table_def *const streams[] = {&probes_stream_table, NULL};

const struct collector collector_probes = {
    .name = "probes",
    .help = "The probes that were chosen, in a tracefs instance of its own: counts, lost returns, and the newest 2,000 "
            "hits of each interval with their arguments. Runs only while a pane shows it.",
    .series = probes_series,
    .n_series = PROBES_SERIES,
    .tables = tables,
    .streams = streams,
    .hists = hists,
    .open = probes_open,
    .drain = probes_drain,
    .requests = 1u << REQUEST_PROBES,
    .request = probes_request,
    .sample = probes_sample,
    .close = probes_close,
    .check = probes_check,
};
