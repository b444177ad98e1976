// The pane `probes`: probes that the user sets, counted and listed with their arguments. Only data.
#include "views/part_fields.h"
#include "views/part_groups.h"
#include "views/row/part_row.h"

static const struct table_spec probes = {
    .source = {.tables = {"probes"}, .sort = "hits_per_s", .then = "total"},
    .shown = "probe hits_per_s missed total state spec kind where hits missed_total in_flight entries kernel_missed",
    .rest = "spec",
    .rest_wants = 70,
    .removes = "spec",
    .removed_as = "probe",
    .opens = "events",
    .opens_by = "probe",
    .opens_none = "no hit of this probe in any frame of the history",
    .empty = "no probe is set: E adds one",
};
static const struct table_spec groups = GROUPS_SPEC("probe_groups", "probe", "hit", "arguments");
static const struct table_spec latencies = LATENCIES_SPEC("probe_latencies", "hit");
static const char *const sets[] = {"probe_latency", "probe_values", NULL};
static const struct hist_measure measures[] = GROUP_MEASURES("probe_latency", "probe_values");
static const struct hist_spec hists = GROUP_HISTS_SPEC(sets, measures);
static const struct table_spec list = {
    .source = {.tables = {"probe_events"}, .stream = true},
    .shown = "time_s comm probe args pid cpu tid",
    .rest = "args",
    .rest_wants = 20,
    .opens = "event",
    .left_out = "older",
    .empty = "no probe was hit in this interval",
};
static const struct row_spec event = {
    .source = {.tables = {"probe_events"}, .stream = true},
    .heading = "probe tid pid comm cpu",
    .lines = "args stack user_stack",
};

static const struct part parts[] = {
    {
        .kind = &part_fields,
        .name = "summary",
        .spec =
            &(const struct fields_spec){
                .shown = "probe_hits_per_s=hits/s probe_hits_lost=lost probe_recorded_pct=recorded_%",
                .width = 18,
            },
        .min_height = 1,
    },
    {.kind = &part_table, .name = "probes", .title = "Probes", .spec = &probes, .min_height = 3, .weight = 1},
    GROUP_PARTS("probe_groups", groups, "probe_latencies", latencies, "heat", "hist", hists),
    {.kind = &part_table, .name = "events", .title = "Hits", .spec = &list, .min_height = 5, .weight = 3},
    {.kind = &part_row, .name = "event", .title = "Hit", .spec = &event},
};

const struct view view_probes = {
    .name = "probes",
    .key = 'P',
    .title = "Probes",
    .question = "How often are these functions of the kernel or of a program called, in which process, with which "
                "arguments and results?",
    .needs = (const char *const[]){"probes", NULL},
    .alone = true,
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
};
