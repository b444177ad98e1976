// One row a collector: the state of its section, or "stale" if it missed the deadline, or "off".
#include "model/health.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/columns.h"

enum { COLLECTOR, STATE, CPU_PCT, EVENTS_PER_S, LOST, DETAIL, N_COLLECTOR_COLUMNS };

static const struct column collector_columns[N_COLLECTOR_COLUMNS] = {
    [COLLECTOR] = TEXT_COLUMN("collector", "COLLECTOR", 13,
                              .help = "Data source, one thread each; frames: the thread that builds frames."),
    [STATE] = COLUMN_STATE(11, .help = "ok, degraded (partial data), unavailable, starting, off (no shown pane needs "
                                       "it), stale (missed the deadline)."),
    [CPU_PCT] = COLUMN_CPU_PCT(.help = "CPU time of its thread, in percent of one CPU."),
    [EVENTS_PER_S] = NUMBER_COLUMN("events_per_s", "EVENTS/s", UNIT_PER_S, 8, .help = "Kernel events read per second."),
    [LOST] = NUMBER_COLUMN("lost", "LOST", UNIT_COUNT, 6, .help = "Events lost in the interval."),
    [DETAIL] = TEXT_COLUMN("detail", "DETAIL", 0, .help = "What is missing or late, and why."),
};

const struct table_def health_collectors_table = {
    .name = "collectors",
    .help = "State and cost of each collector.",
    .columns = collector_columns,
    .n_columns = N_COLLECTOR_COLUMNS,
    .n_keys = 1,
};

enum { PID, HISTORY_FRAMES, HISTORY_BYTES, N_HISTORY_COLUMNS };

static const struct column history_columns[N_HISTORY_COLUMNS] = {
    [PID] = COLUMN_PID(.help = "PID of ktop."),
    [HISTORY_FRAMES] = NUMBER_COLUMN("history_frames", "FRAMES", UNIT_COUNT, 7, .help = "Frames kept for rewind."),
    [HISTORY_BYTES] = NUMBER_COLUMN("history_bytes", "HISTORY", UNIT_BYTES, 8,
                                    .help = "Memory of all kept frames; --history limits it."),
};

const struct table_def health_history_table = {
    .name = "history",
    .help = "The rewind history.",
    .columns = history_columns,
    .n_columns = N_HISTORY_COLUMNS,
    .n_keys = 1,
};

static double share(uint64_t part, uint64_t begin_ns, uint64_t end_ns, double scale) {
    return end_ns > begin_ns ? scale * (double)part / (double)(end_ns - begin_ns) : NAN;
}

// It has delivered nothing, and no pane needs it.
static bool is_off(const struct frame *frame, const struct section *section, uint64_t stale_ns) {
    return frame->number && !stale_ns && section_state(section) == SECTION_STARTING && !section_notes(section) &&
           section_end(section) < frame->begin_ns;
}

static const struct text *collector_detail(const struct section *section, bool off, uint64_t stale_ns,
                                           const struct health_lease *lease) {
    if (off)
        return text_from(lease ? lease->words : "runs only while a pane that needs it is shown or pinned (p)");
    if (stale_ns)
        return text_printf("its data is %.1f s old", (double)stale_ns / 1e9);
    const struct note *worst = NULL;
    for (size_t i = 0; i < section_notes(section); i++) {
        const struct note *note = section_note_at(section, i);
        if (!worst || note->severity > worst->severity)
            worst = note;
    }
    if (lease && lease->runs && (!worst || worst->severity == SEVERITY_INFO))
        return text_from(lease->words);
    return worst ? text_from(worst->text) : NULL;
}

static void collector_row(struct table_builder *rows, const struct frame *frame, uint16_t i,
                          const struct health_self *self) {
    const struct section *section = frame->sections[i];
    uint64_t stale_ns = frame->stale_ns[i];
    const struct health_lease *lease = self->lease.collector ? &self->lease : NULL;
    if (lease && strcmp(lease->collector, section_collector(section)) != 0)
        lease = NULL;
    bool starting = section_state(section) == SECTION_STARTING && !section_notes(section);
    bool off = is_off(frame, section, stale_ns) || (lease && !lease->runs && starting);
    uint32_t row = table_builder_add(rows);
    table_builder_set_text(rows, row, COLLECTOR, text_from(section_collector(section)));
    table_builder_set_text(rows, row, STATE,
                           text_from(off        ? "off"
                                     : stale_ns ? "stale"
                                                : section_state_name(section_state(section))));
    // Rates of stale data cover another interval.
    if (!stale_ns && section_state(section) != SECTION_STARTING) {
        uint64_t begin = section_begin(section), end = section_end(section);
        table_builder_set_num(rows, row, CPU_PCT, share(section_cpu_ns(section), begin, end, 100));
        table_builder_set_num(rows, row, EVENTS_PER_S, share(section_seen(section), begin, end, 1e9));
        table_builder_set_num(rows, row, LOST, (double)section_lost(section));
    }
    table_builder_set_text(rows, row, DETAIL, collector_detail(section, off, stale_ns, lease));
}

struct section *health_section(const struct frame *frame, const struct health_self *self) {
    struct section *section = section_new("health", frame->begin_ns, frame->end_ns);
    section_set_state(section, SECTION_OK);
    struct table_builder *rows = table_builder_new(&health_collectors_table);
    for (uint16_t i = 0; i < frame->n_sections; i++)
        collector_row(rows, frame, i, self);
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
