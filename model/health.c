// Makes the section "health" from what every section says of itself. Its state here is the section's, or "stale" when
// the collector did not deliver in time.
#include "model/health.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { COLLECTOR, STATE, CPU_PCT, EVENTS_PER_S, LOST, DETAIL, N_COLLECTOR_COLUMNS };

static const struct column collector_columns[N_COLLECTOR_COLUMNS] = {
    [COLLECTOR] = {.name = "collector",
                   .title = "COLLECTOR",
                   .help =
                       "The source: a collector, each in a thread of its own, or frames, the thread that cuts them.",
                   .type = COLUMN_TEXT,
                   .width = 10,
                   .ascending = true},
    [STATE] =
        {.name = "state",
         .title = "STATE",
         .help = "ok, degraded (works in part), unavailable, starting, off (nothing that is shown needs it), or stale "
                 "(did not deliver in time).",
         .type = COLUMN_TEXT,
         .width = 11,
         .ascending = true},
    [CPU_PCT] = {.name = "cpu_pct",
                 .title = "CPU%",
                 .help = "CPU time that its thread used, of one CPU.",
                 .unit = UNIT_PCT,
                 .width = 6},
    [EVENTS_PER_S] = {.name = "events_per_s",
                      .title = "EVENTS/s",
                      .help = "Events of the kernel that it handled, per second.",
                      .unit = UNIT_PER_S,
                      .width = 8},
    [LOST] = {.name = "lost",
              .title = "LOST",
              .help = "Events that the kernel says were lost in the interval before ktop could read them.",
              .unit = UNIT_COUNT,
              .width = 6},
    [DETAIL] = {.name = "detail",
                .title = "DETAIL",
                .help = "What is missing or late, and why.",
                .type = COLUMN_TEXT,
                .ascending = true},
};

const struct table_def health_collectors_table = {
    .name = "collectors",
    .help = "How each collector does, and what it costs.",
    .columns = collector_columns,
    .n_columns = N_COLLECTOR_COLUMNS,
    .n_keys = 1,
};

enum { PID, HISTORY_FRAMES, HISTORY_BYTES, N_HISTORY_COLUMNS };

static const struct column history_columns[N_HISTORY_COLUMNS] = {
    [PID] =
        {.name = "pid", .title = "PID", .help = "ktop's own process.", .unit = UNIT_ID, .width = 7, .ascending = true},
    [HISTORY_FRAMES] = {.name = "history_frames",
                        .title = "FRAMES",
                        .help = "Frames that are kept to go back to.",
                        .unit = UNIT_COUNT,
                        .width = 7},
    [HISTORY_BYTES] = {.name = "history_bytes",
                       .title = "HISTORY",
                       .help = "Memory that frames and what they are made from hold; --history bounds it.",
                       .unit = UNIT_BYTES,
                       .width = 8},
};

const struct table_def health_history_table = {
    .name = "history",
    .help = "What is kept to go back to.",
    .columns = history_columns,
    .n_columns = N_HISTORY_COLUMNS,
    .n_keys = 1,
};

static double share(uint64_t part, uint64_t begin_ns, uint64_t end_ns, double scale) {
    return end_ns > begin_ns ? scale * (double)part / (double)(end_ns - begin_ns) : NAN;
}

// It has delivered nothing, and nobody waits for it.
static bool is_off(const struct frame *frame, const struct section *section, uint64_t stale_ns) {
    return frame->number && !stale_ns && section_state(section) == SECTION_STARTING && !section_notes(section) &&
           section_end(section) < frame->begin_ns;
}

static const struct text *collector_detail(const struct section *section, bool off, uint64_t stale_ns) {
    if (off)
        return text_from("runs only while a pane that needs it is shown or pinned (p)");
    if (stale_ns)
        return text_printf("its data is %.1f s old", (double)stale_ns / 1e9);
    const struct note *worst = NULL;
    for (size_t i = 0; i < section_notes(section); i++) {
        const struct note *note = section_note_at(section, i);
        if (!worst || note->severity > worst->severity)
            worst = note;
    }
    return worst ? text_from(worst->text) : NULL;
}

static void collector_row(struct table_builder *rows, const struct frame *frame, uint16_t i) {
    const struct section *section = frame->sections[i];
    uint64_t stale_ns = frame->stale_ns[i];
    bool off = is_off(frame, section, stale_ns);
    uint32_t row = table_builder_add(rows);
    table_builder_set_text(rows, row, COLLECTOR, text_from(section_collector(section)));
    table_builder_set_text(rows, row, STATE,
                           text_from(off        ? "off"
                                     : stale_ns ? "stale"
                                                : section_state_name(section_state(section))));
    // Of late data the rates would be those of another interval.
    if (!stale_ns && section_state(section) != SECTION_STARTING) {
        uint64_t begin = section_begin(section), end = section_end(section);
        table_builder_set_num(rows, row, CPU_PCT, share(section_cpu_ns(section), begin, end, 100));
        table_builder_set_num(rows, row, EVENTS_PER_S, share(section_seen(section), begin, end, 1e9));
        table_builder_set_num(rows, row, LOST, (double)section_lost(section));
    }
    table_builder_set_text(rows, row, DETAIL, collector_detail(section, off, stale_ns));
}

struct section *health_section(const struct frame *frame, const struct health_self *self) {
    struct section *section = section_new("health", frame->begin_ns, frame->end_ns);
    section_set_state(section, SECTION_OK);
    struct table_builder *rows = table_builder_new(&health_collectors_table);
    for (uint16_t i = 0; i < frame->n_sections; i++)
        collector_row(rows, frame, i);
    uint32_t row = table_builder_add(rows);
    table_builder_set_text(rows, row, COLLECTOR, text_from("frames"));
    table_builder_set_text(rows, row, STATE, text_from(section_state_name(SECTION_OK)));
    table_builder_set_num(rows, row, CPU_PCT, share(self->cpu_ns, frame->begin_ns, frame->end_ns, 100));
    section_table(section, table_builder_seal(rows));
    table_builder_free(rows);

    rows = table_builder_new(&health_history_table);
    row = table_builder_add(rows);
    table_builder_set_num(rows, row, PID, getpid());
    table_builder_set_num(rows, row, HISTORY_FRAMES, (double)self->history_frames);
    table_builder_set_num(rows, row, HISTORY_BYTES, (double)self->history_bytes);
    section_table(section, table_builder_seal(rows));
    table_builder_free(rows);
    return section;
}
