// The collector "extra": the events of -e on every CPU, as the table `counters`. Without -e nothing is open and nothing
// is read. Counts whole CPUs, whatever --pid says.
#include "collectors/counters/user_events.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "collectors/kernel/perf/perf.h"
#include "model/mem.h"

enum { EVENT, CPU, VALUE, UNIT, PER_S, COUNTED_PCT, STATE, N_COLUMNS };

static const struct column columns[N_COLUMNS] = {
    [EVENT] = {.name = "event",
               .title = "EVENT",
               .help = "The event as --event has it, or its name= term",
               .type = COLUMN_TEXT,
               .width = 28,
               .ascending = true},
    [CPU] = {.name = "cpu",
             .title = "CPU",
             .help = "Number of the CPU that it was counted on; of a PMU for a whole package the one that reads it",
             .unit = UNIT_ID,
             .width = 4,
             .ascending = true},
    [VALUE] = {.name = "value",
               .title = "VALUE",
               .help = "What was counted in the interval, scaled up for the time in which it was not, in `unit`",
               .unit = UNIT_COUNT,
               .width = 9},
    [UNIT] = {.name = "unit",
              .title = "UNIT",
              .help =
                  "What value counts where the PMU says it (Joules, MiB; ns for clocks); else nothing: plain events",
              .type = COLUMN_TEXT,
              .width = 7,
              .ascending = true},
    [PER_S] = {.name = "per_s",
               .title = "PER/s",
               .help = "The same per second; of Joules this is Watts",
               .unit = UNIT_PER_S,
               .width = 9},
    [COUNTED_PCT] = {.name = "counted_pct",
                     .title = "COUNTED%",
                     .help = "Share of the interval in which it counted; below 100 the PMU was shared and the value is "
                             "scaled up",
                     .unit = UNIT_PCT,
                     .width = 8},
    [STATE] = {.name = "state",
               .title = "STATE",
               .help =
                   "counts; shared: part of the time only, scaled; no turn: the PMU was never free for it; stays 0: "
                   "opened, but never moved while its CPU was busy; refused: the kernel does not open it (the notes "
                   "say why)",
               .type = COLUMN_TEXT,
               .width = 8,
               .ascending = true},
};

static const struct table_def counters_table = {
    .name = "counters",
    .help = "The events of --event on each CPU",
    .columns = columns,
    .n_columns = N_COLUMNS,
    .n_keys = 2,
};

struct state {
    struct extra extra;
    struct table_builder *rows;
    const struct text **names, **units;          // by event
    const struct text *words[EXTRA_REFUSED + 1]; // of the states
    uint64_t last_ns;
};

static int extra_collector_open(struct collector_run *run) {
    const struct perf_spec *spec = run->options->events;
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
    for (size_t i = 0; i <= EXTRA_REFUSED; i++)
        state->words[i] = text_from(extra_state_name((enum extra_state)i));
    extra_open(&state->extra, spec);
    return 0;
}

static void extra_collector_close(struct collector_run *run) {
    struct state *state = run->state;
    run->state = NULL;
    if (!state)
        return;
    for (size_t i = 0; state->rows && i < state->extra.spec->n; i++) {
        text_unref(state->names[i]);
        text_unref(state->units[i]);
    }
    for (size_t i = 0; i <= EXTRA_REFUSED; i++)
        text_unref(state->words[i]);
    free(state->names);
    free(state->units);
    if (state->rows) {
        extra_close(&state->extra);
        table_builder_free(state->rows);
    }
    free(state);
}

// Rows stand by event, then by CPU, and are made anew when CPUs come or go.
static void rows_make(struct state *state) {
    struct extra *extra = &state->extra;
    table_builder_clear(state->rows);
    for (size_t event = 0; event < extra->spec->n; event++)
        for (int number = 0; number < extra->n_cpus; number++) {
            struct extra_cpu *cpu = &extra->cpus[number];
            for (size_t i = 0; cpu->online && i < cpu->n_counters; i++) {
                struct extra_counter *counter = &cpu->counters[i];
                if (counter->event != event)
                    continue;
                counter->slot = table_builder_add(state->rows);
                table_builder_set_text(state->rows, counter->slot, EVENT, text_ref(state->names[event]));
                table_builder_set_num(state->rows, counter->slot, CPU, number);
                table_builder_set_text(state->rows, counter->slot, UNIT, text_ref(state->units[event]));
            }
        }
}

static void row_fill(struct state *state, const struct extra_counter *counter, enum extra_state is) {
    bool counts = is == EXTRA_COUNTS || is == EXTRA_SHARED;
    table_builder_set_num(state->rows, counter->slot, VALUE, counts ? counter->value : NAN);
    table_builder_set_num(state->rows, counter->slot, PER_S, counts ? counter->per_s : NAN);
    table_builder_set_num(state->rows, counter->slot, COUNTED_PCT, counter->counted_pct);
    table_builder_set_text(state->rows, counter->slot, STATE, text_ref(state->words[is]));
}

// ---- notes: one for each reason, with the events that it is about ----

struct about {
    char names[160];
    size_t at, n;
    bool *named; // by event: one of many CPUs is named once
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

// Whether the kernel has a PMU of the processor at all.
static bool pmu_present(void) {
    const struct perf_spec_event cycles = {.attr = {.size = sizeof cycles.attr, .type = PERF_TYPE_HARDWARE}};
    int fd = perf_spec_open(&cycles, 0, 0, -1, -1);
    if (fd >= 0)
        close(fd);
    return fd != -ENOENT;
}

static void refusal_word(int error, bool in_group, bool generic, char *reason, size_t reason_size, char *fix,
                         size_t fix_size) {
    if (in_group) {
        snprintf(reason, reason_size, "the kernel cannot count it in one group with the event before it");
        snprintf(fix, fix_size, "leave out the braces, or end them with :W, so that each counts alone where it must");
    } else if (error == -EINVAL) {
        snprintf(reason, reason_size,
                 "the kernel refuses it as it is written: a modifier or number that this event "
                 "does not take");
        snprintf(fix, fix_size,
                 "leave out its modifiers, or look at its numbers: `ktop --list events` has those that "
                 "open here");
    } else if (error == -ENOENT || error == -EOPNOTSUPP || error == -ENXIO || error == -ENODEV) {
        bool none = generic && !pmu_present();
        if (none)
            perf_explain(error, true, reason, reason_size, fix, fix_size);
        else {
            snprintf(reason, reason_size, "this machine's hardware or kernel does not have it");
            snprintf(fix, fix_size, "`ktop --list events` has those that open here");
        }
    } else {
        perf_explain(error, generic, reason, reason_size, fix, fix_size);
    }
}

static bool is_generic(const struct perf_spec_event *event) {
    return event->attr.type == PERF_TYPE_HARDWARE || event->attr.type == PERF_TYPE_HW_CACHE ||
           event->attr.type == PERF_TYPE_RAW;
}

static bool same_reason(const struct state *state, const struct extra_counter *one, const struct extra_counter *other) {
    const struct perf_spec_event *events = state->extra.spec->events;
    return one->error == other->error && one->led == other->led &&
           is_generic(&events[one->event]) == is_generic(&events[other->event]);
}

struct found {
    const struct extra_counter *counter;
    enum extra_state state;
};

// Each counter of every CPU that does not count, in the order of events.
static size_t find_silent(const struct state *state, struct found *out, size_t max) {
    const struct extra *extra = &state->extra;
    size_t n = 0;
    for (int number = 0; number < extra->n_cpus; number++) {
        const struct extra_cpu *cpu = &extra->cpus[number];
        for (size_t i = 0; cpu->online && i < cpu->n_sets; i++)
            for (size_t j = cpu->sets[i].first; j < cpu->sets[i].first + cpu->sets[i].n && n < max; j++) {
                enum extra_state is = extra_counter_state(extra, cpu, &cpu->sets[i], &cpu->counters[j]);
                if (is >= EXTRA_NO_TURN)
                    out[n++] = (struct found){&cpu->counters[j], is};
            }
    }
    return n;
}

static void note_word(const struct state *state, const struct found *found, const struct about *about,
                      struct section *out) {
    const struct extra_counter *counter = found->counter;
    char reason[256], fix[256];
    if (found->state == EXTRA_STAYS_0) {
        about_note(about, out, "opens, but has stayed at 0 while its CPU was busy: it does not count here",
                   "take another event, or look for who holds the counters (the NMI watchdog, a hypervisor)");
    } else if (found->state == EXTRA_NO_TURN) {
        about_note(about, out, "opens, but the PMU was never free for it",
                   "fewer events, smaller groups or :W; or: sysctl kernel.nmi_watchdog=0");
    } else {
        refusal_word(counter->error, counter->led, is_generic(&state->extra.spec->events[counter->event]), reason,
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
        about.named = xcalloc(state->extra.spec->n, sizeof *about.named);
        for (size_t j = i; j < n; j++) {
            bool same = found[j].state == found[i].state &&
                        (found[i].state != EXTRA_REFUSED || same_reason(state, found[i].counter, found[j].counter));
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

static int extra_collector_sample(struct collector_run *run, struct section *out) {
    struct state *state = run->state;
    if (!state->rows)
        return 0;
    struct extra *extra = &state->extra;
    extra_read(extra);
    if (extra->set.changed)
        rows_make(state);
    extra->set.changed = false;
    for (int number = 0; number < extra->n_cpus; number++) {
        const struct extra_cpu *cpu = &extra->cpus[number];
        for (size_t i = 0; cpu->online && i < cpu->n_sets; i++)
            for (size_t j = cpu->sets[i].first; j < cpu->sets[i].first + cpu->sets[i].n; j++)
                row_fill(state, &cpu->counters[j], extra_counter_state(extra, cpu, &cpu->sets[i], &cpu->counters[j]));
    }
    section_table(out, table_builder_seal(state->rows));
    notes_add(state, out);
    return 0;
}

// ---- --doctor ----

static void extra_check(struct check_report *report) {
    struct check check = {.capability = "events of --event"};
    struct perf_spec spec = {0};
    char error[PERF_SPEC_ERROR];
    static const char *const tried[] = {"cycles", "context-switches", "sched:sched_switch", "mem:0x1000:w"};
    size_t at = 0, works = 0, n = sizeof tried / sizeof *tried;
    for (size_t i = 0; i < n; i++) {
        size_t first = spec.n;
        int fd = perf_spec_parse(&spec, tried[i], NULL, error);
        fd = fd ? fd : perf_spec_open(&spec.events[first], 0, -1, 0, -1);
        if (fd >= 0)
            close(fd);
        works += fd >= 0;
        at += (size_t)snprintf(check.detail + at, sizeof check.detail - at, "%s%s%s", i ? ", " : "", tried[i],
                               fd < 0 ? " (not here)" : "");
    }
    perf_spec_free(&spec);
    check.works = works > 0;
    if (!works)
        snprintf(check.fix, sizeof check.fix, "run ktop as root, or: sysctl kernel.perf_event_paranoid=0");
    report->add(report, &check);
}

static const struct table_def *const tables[] = {&counters_table, NULL};

const struct collector collector_extra = {
    .name = "extra",
    .help = "The events of --event on each CPU through perf_event_open: one read per group, CPU and frame; nothing "
            "without --event.",
    .always = true,
    .tables = tables,
    .open = extra_collector_open,
    .sample = extra_collector_sample,
    .close = extra_collector_close,
    .check = extra_check,
};
