// The pane `events`: tracepoints that the user chooses, counted and listed. Only data.
#include "views/part_fields.h"
#include "views/part_table.h"
#include "views/row/part_row.h"

static const struct table_spec counts = {
    .source = {.tables = {"counts"}, .sort = "per_s", .then = "total"},
    .shown = "event per_s count total filter",
    .rest = "filter",
    .opens = "events",
    .opens_by = "event",
    .empty = "no tracepoint is chosen: t lists them",
};
static const struct table_spec list = {
    .source = {.tables = {"events"}, .stream = true},
    .shown = "time_s comm event args pid cpu tid",
    .rest = "args",
    .rest_or = "fields",
    .rest_wants = 20,
    .opens = "event",
    .left_out = "older",
    .empty = "no event was recorded in this interval",
};
static const struct row_spec event = {
    .source = {.tables = {"events"}, .stream = true},
    .heading = "event tid pid comm cpu",
    .lines = "fields args",
};
static const struct table_spec tracepoints = {
    .source = {.tables = {"tracepoints"}, .sort = "per_s"},
    .shown = "event chosen per_s",
    .toggles = "event",
    .empty = "no tracepoints",
};

static const struct part parts[] = {
    {
        .kind = &part_fields,
        .name = "summary",
        .spec =
            &(const struct fields_spec){
                .shown = "events_per_s=events/s events_lost=lost events_recorded_pct=recorded_%",
                .width = 18,
            },
        .min_height = 1,
    },
    {.kind = &part_table, .name = "counts", .title = "Tracepoints", .spec = &counts, .min_height = 3, .weight = 1},
    {
        .kind = &part_table,
        .name = "tracepoints",
        .title = "Choose: Enter adds or removes, R counts its system",
        .spec = &tracepoints,
        .min_height = 5,
        .weight = 3,
        .toggle = 't',
        .toggle_help = "list the tracepoints of this kernel, to choose some",
        .on_request = true,
    },
    {.kind = &part_table, .name = "events", .title = "Events", .spec = &list, .min_height = 5, .weight = 4},
    {.kind = &part_row, .name = "event", .title = "Event", .spec = &event},
};

const struct view view_events = {
    .name = "events",
    .key = '9',
    .title = "Events",
    .question = "What happens at the chosen tracepoints: how often, in which process, with which values?",
    .needs = (const char *const[]){"events", NULL},
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
};
