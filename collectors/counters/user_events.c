// The collector "user_events": the events of -e on every CPU, as the table `counters`. Without -e it opens and reads
// nothing. It counts whole CPUs: --pid has no effect.
#include "collectors/counters/user_events.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "collectors/kernel/perf/perf.h"
#include "model/columns.h"
#include "model/mem.h"

enum { EVENT, CPU, VALUE, UNIT, PER_S, COUNTED_PCT, STATE, N_COLUMNS };

static const struct column columns[N_COLUMNS] = {
    [EVENT] = TEXT_COLUMN("event", "EVENT", 28, .help = "The event as given to --event, or its name= term."),
    [CPU] = COLUMN_CPU(.help = "CPU that counted it; for a PMU of a whole package, the CPU that reads it."),
    [VALUE] = NUMBER_COLUMN("value", "VALUE", UNIT_COUNT, 9, .merge = MERGE_SUM,
                            .help = "Count in the interval, in `unit`, scaled up for the time without a counter."),
    [UNIT] = TEXT_COLUMN("unit", "UNIT", 7,
                         .help = "Unit of value where the PMU names one (Joules, MiB; ns for clocks); empty: events."),
    [PER_S] = COLUMN_PER_S(.help = "The same per second; Joules per second are watts."),
    [COUNTED_PCT] = COLUMN_COUNTED_PCT(
            .help = "Share of the interval in which it counted; below 100 the PMU was shared and the value is scaled "
                    "up."),
    [STATE] = COLUMN_STATE(
        8, .help = "counts; shared: counted part of the time, scaled; no turn: the PMU was never free for it; stays 0: "
                   "opened, but at 0 while its CPU was busy; refused: the kernel does not open it (see the notes)."),
};

static const struct table_def counters_table = {
    .name = "counters",
    .help = "The events of --event on each CPU.",
    .columns = columns,
    .n_columns = N_COLUMNS,
    .n_keys = 2,
};

struct state {
    struct user_events events;
    struct table_builder *rows;
    const struct text **names, **units;         // by event
    const struct text *words[USER_REFUSED + 1]; // of the states
    uint64_t last_ns;
};

static int collector_open(struct collector_run *run) {
    const struct perf_event_list *spec = run->options->events;
    struct state *state = xcalloc(1, sizeof *state);
    run->state = state;
    if (!spec || !spec->n)
        return 0;
    state->rows = table_builder_new(&counters_table);
    state->names = xcalloc(spec->n, sizeof *state->names);
    state->units = xcalloc(spec->n, sizeof *state->units);
    for (size_t i = 0; i < spec->n; i++) {
        state->names[i] = text_from(spec->events[i].name);
        state->units[i] = spec->events[i].unit ? text_from(spec->events[i].unit) : NULL;
    }
    for (size_t i = 0; i <= USER_REFUSED; i++)
        state->words[i] = text_from(user_state_name((enum user_state)i));
    user_events_open(&state->events, spec);
    return 0;
}

static void collector_close(struct collector_run *run) {
    struct state *state = run->state;
    run->state = NULL;
    if (!state)
        return;
    for (size_t i = 0; state->rows && i < state->events.spec->n; i++) {
        text_unref(state->names[i]);
        text_unref(state->units[i]);
    }
    for (size_t i = 0; i <= USER_REFUSED; i++)
        text_unref(state->words[i]);
    free(state->names);
    free(state->units);
    if (state->rows) {
        user_events_close(&state->events);
        table_builder_free(state->rows);
    }
    free(state);
}

// Rows in the order of events, then CPUs; rebuilt at CPU hotplug.
static void rows_make(struct state *state) {
    struct user_events *events = &state->events;
    table_builder_clear(state->rows);
    for (size_t event = 0; event < events->spec->n; event++)
        for (int number = 0; number < events->n_cpus; number++) {
            struct user_cpu *cpu = &events->cpus[number];
            for (size_t i = 0; cpu->online && i < cpu->n_counters; i++) {
                struct user_counter *counter = &cpu->counters[i];
                if (counter->event != event)
                    continue;
                counter->slot = table_builder_add(state->rows);
                table_builder_set_text(state->rows, counter->slot, EVENT, text_ref(state->names[event]));
                table_builder_set_num(state->rows, counter->slot, CPU, number);
                table_builder_set_text(state->rows, counter->slot, UNIT, text_ref(state->units[event]));
            }
        }
}

static void row_fill(struct state *state, const struct user_counter *counter, enum user_state is) {
    bool counts = is == USER_COUNTS || is == USER_SHARED;
    table_builder_set_num(state->rows, counter->slot, VALUE, counts ? counter->value : NAN);
    table_builder_set_num(state->rows, counter->slot, PER_S, counts ? counter->per_s : NAN);
    table_builder_set_num(state->rows, counter->slot, COUNTED_PCT, counter->counted_pct);
    table_builder_set_text(state->rows, counter->slot, STATE, text_ref(state->words[is]));
}

// ---- notes: one per reason, with its events ----

struct about {
    char names[160];
    size_t at, n;
    bool *named; // by event: an event is named once, not once per CPU
};

static void about_add(struct about *about, const struct state *state, size_t event) {
    if (about->named[event])
        return;
    about->named[event] = true;
    if (about->n++ < 3)
        about->at += (size_t)snprintf(about->names + about->at, sizeof about->names - about->at, "%s%.40s",
                                      about->at ? ", " : "", text_bytes(state->names[event]));
}

static void about_note(const struct about *about, struct section *out, const char *reason, const char *fix) {
    char text[512], more[32] = "";
    if (about->n > 3)
        snprintf(more, sizeof more, " and %zu more", about->n - 3);
    snprintf(text, sizeof text, "%s%s: %s", about->names, more, reason);
    section_note(out, SEVERITY_WARNING, "event", text, fix);
    section_set_state(out, SECTION_DEGRADED);
}

// Whether the kernel has a core PMU.
static bool pmu_present(void) {
    const struct perf_parsed_event cycles = {.attr = {.size = sizeof cycles.attr, .type = PERF_TYPE_HARDWARE}};
    int fd = perf_parsed_open(&cycles, 0, 0, -1, -1);
    if (fd >= 0)
        close(fd);
    return fd != -ENOENT;
}

static void refusal_word(int error, bool in_group, bool generic, char *reason, size_t reason_size, char *fix,
                         size_t fix_size) {
    if (in_group) {
        snprintf(reason, reason_size, "the kernel cannot count it in a group with the preceding event");
        snprintf(fix, fix_size, "drop the braces, or end the group with :W to let events count separately");
    } else if (error == -EINVAL) {
        snprintf(reason, reason_size, "the kernel rejects it: an invalid modifier or number for this event");
        snprintf(fix, fix_size, "drop its modifiers or check its numbers; `ktop --list events` shows what opens here");
    } else if (error == -ENOENT || error == -EOPNOTSUPP || error == -ENXIO || error == -ENODEV) {
        bool none = generic && !pmu_present();
        if (none)
            perf_explain(error, true, reason, reason_size, fix, fix_size);
        else {
            snprintf(reason, reason_size, "this hardware or kernel does not have it");
            snprintf(fix, fix_size, "`ktop --list events` shows what opens here");
        }
    } else {
        perf_explain(error, generic, reason, reason_size, fix, fix_size);
    }
}

static bool is_generic(const struct perf_parsed_event *event) {
    return event->attr.type == PERF_TYPE_HARDWARE || event->attr.type == PERF_TYPE_HW_CACHE ||
           event->attr.type == PERF_TYPE_RAW;
}

static bool same_reason(const struct state *state, const struct user_counter *one, const struct user_counter *other) {
    const struct perf_parsed_event *events = state->events.spec->events;
    return one->error == other->error && one->led == other->led &&
           is_generic(&events[one->event]) == is_generic(&events[other->event]);
}

struct found {
    const struct user_counter *counter;
    enum user_state state;
};

// The counters that do not count, of every CPU, in the order of events.
static size_t find_silent(const struct state *state, struct found *out, size_t max) {
    const struct user_events *events = &state->events;
    size_t n = 0;
    for (int number = 0; number < events->n_cpus; number++) {
        const struct user_cpu *cpu = &events->cpus[number];
        for (size_t i = 0; cpu->online && i < cpu->n_sets; i++)
            for (size_t j = cpu->sets[i].first; j < cpu->sets[i].first + cpu->sets[i].n && n < max; j++) {
                enum user_state is = user_counter_state(events, cpu, &cpu->sets[i], &cpu->counters[j]);
                if (is >= USER_NO_TURN)
                    out[n++] = (struct found){&cpu->counters[j], is};
            }
    }
    return n;
}

static void note_word(const struct state *state, const struct found *found, const struct about *about,
                      struct section *out) {
    const struct user_counter *counter = found->counter;
    char reason[256], fix[256];
    if (found->state == USER_STAYS_0) {
        about_note(about, out, "opens, but stays at 0 while its CPU is busy: it does not count here",
                   "use another event, or free the counters (NMI watchdog, hypervisor)");
    } else if (found->state == USER_NO_TURN) {
        about_note(about, out, "opens, but the PMU was never free for it",
                   "fewer events, smaller groups or :W; or: sysctl kernel.nmi_watchdog=0");
    } else {
        refusal_word(counter->error, counter->led, is_generic(&state->events.spec->events[counter->event]), reason,
                     sizeof reason, fix, sizeof fix);
        about_note(about, out, reason, fix);
    }
}

static void notes_add(const struct state *state, struct section *out) {
    enum { MAX = 4096 };
    struct found *found = xcalloc(MAX, sizeof *found);
    bool *done = xcalloc(MAX, sizeof *done);
    size_t n = find_silent(state, found, MAX);
    for (size_t i = 0; i < n; i++) {
        struct about about = {0};
        if (done[i])
            continue;
        about.named = xcalloc(state->events.spec->n, sizeof *about.named);
        for (size_t j = i; j < n; j++) {
            bool same = found[j].state == found[i].state &&
                        (found[i].state != USER_REFUSED || same_reason(state, found[i].counter, found[j].counter));
            if (done[j] || !same)
                continue;
            done[j] = true;
            about_add(&about, state, found[j].counter->event);
        }
        note_word(state, &found[i], &about, out);
        free(about.named);
    }
    free(done);
    free(found);
}

static int collector_sample(struct collector_run *run, struct section *out) {
    struct state *state = run->state;
    if (!state->rows)
        return 0;
    struct user_events *events = &state->events;
    user_events_read(events);
    if (events->set.changed)
        rows_make(state);
    events->set.changed = false;
    for (int number = 0; number < events->n_cpus; number++) {
        const struct user_cpu *cpu = &events->cpus[number];
        for (size_t i = 0; cpu->online && i < cpu->n_sets; i++)
            for (size_t j = cpu->sets[i].first; j < cpu->sets[i].first + cpu->sets[i].n; j++)
                row_fill(state, &cpu->counters[j], user_counter_state(events, cpu, &cpu->sets[i], &cpu->counters[j]));
    }
    section_table(out, table_builder_seal(state->rows));
    notes_add(state, out);
    return 0;
}

// ---- --doctor ----

static void user_events_check(struct check_report *report) {
    struct check check = {.capability = "events of --event"};
    struct perf_event_list spec = {0};
    char error[PERF_EVENT_ERROR];
    static const char *const tried[] = {"cycles", "context-switches", "sched:sched_switch", "mem:0x1000:w"};
    size_t at = 0, works = 0, n = sizeof tried / sizeof *tried;
    for (size_t i = 0; i < n; i++) {
        size_t first = spec.n;
        int fd = perf_event_parse(&spec, tried[i], NULL, error);
        fd = fd ? fd : perf_parsed_open(&spec.events[first], 0, -1, 0, -1);
        if (fd >= 0)
            close(fd);
        works += fd >= 0;
        at += (size_t)snprintf(check.detail + at, sizeof check.detail - at, "%s%s%s", i ? ", " : "", tried[i],
                               fd < 0 ? " (not here)" : "");
    }
    perf_event_list_free(&spec);
    check.works = works > 0;
    if (!works)
        snprintf(check.fix, sizeof check.fix, "run ktop as root, or: sysctl kernel.perf_event_paranoid=0");
    report->add(report, &check);
}

static const struct table_def *const tables[] = {&counters_table, NULL};

const struct collector collector_user_events = {
    .name = "user_events",
    .help = "The events of --event on each CPU through perf_event_open: one read per group, CPU and frame; off without "
            "--event.",
    .always = true,
    .tables = tables,
    .open = collector_open,
    .sample = collector_sample,
    .close = collector_close,
    .check = user_events_check,
};
