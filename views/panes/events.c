// The pane `events`: tracepoints that the user chooses, counted and listed. Only data.
#include "views/part_fields.h"
#include "views/part_groups.h"
#include "views/row/part_row.h"

static const struct table_spec counts = {
    .source = {.tables = {"counts"}, .sort = "per_s", .then = "total"},
    .shown = "event per_s count total filter",
    .rest = "filter",
    .opens = "events",
    .opens_by = "event",
    .empty = "no tracepoint is chosen: t lists them",
};
static const struct table_spec groups = GROUPS_SPEC("groups", "event", "event", "fields");
static const struct table_spec latencies = LATENCIES_SPEC("event_latencies", "event");
static const char *const sets[] = {"event_latency", "event_values", NULL};
static const struct hist_measure measures[] = GROUP_MEASURES("event_latency", "event_values");
static const struct hist_spec hists = GROUP_HISTS_SPEC(sets, measures);
static const struct table_spec list = {
    .source = {.tables = {"events"}, .stream = true, .only = "-result"},
    .shown = "time_s comm event args pid cpu tid",
    .rest = "args",
    .rest_or = "fields",
    .rest_wants = 20,
    .parent = "ppid",
    .opens = "event",
    .left_out = "older",
    .empty = "no event was recorded in this interval",
};
static const struct table_spec calls = {
    .source = {.tables = {"events"}, .stream = true, .only = "result"},
    .shown = "time_s comm pid result path flags event cpu tid",
    .rest = "path",
    .rest_or = "fields",
    .rest_wants = 30,
    .parent = "ppid",
    .optional = true,
    .opens = "event",
    .left_out = "older",
    .empty = "no system call was recorded: the presets open and mount record them",
};
static const struct row_spec event = {
    .source = {.tables = {"events"}, .stream = true},
    .heading = "event tid pid comm cpu ppid",
    .lines = "fields args stack",
};
static const struct table_spec tracepoints = {
    .source = {.tables = {"tracepoints"}, .sort = "per_s"},
    .shown = "event chosen per_s",
    .toggles = "event",
    .empty = "no tracepoints",
};

static const struct table_spec programs = {
    .source = {.tables = {"programs"}, .sort = "time_s"},
    .shown = "time_s pid comm status lifetime_us args parent ppid cpu_us rss_max_kib cwd",
    .rest = "args",
    .rest_wants = 20,
    .parent = "ppid",
    .optional = true,
    .opens = "program",
    .empty = "no program was started or ended: the preset exec records them",
};
static const struct row_spec program = {
    .source = {.tables = {"programs"}},
    .heading = "comm pid status",
    .lines = "args cwd parent",
};

static const struct table_spec connections = {
    .source = {.tables = {"connections"}, .sort = "time_s"},
    .shown = "local local_port remote remote_port end duration_us comm sent_bytes received_bytes retransmits_total "
             "pid direction time_s state",
    .rest = "comm",
    .optional = true,
    .opens = "connection",
    .empty = "no TCP connection ended or had retransmissions: the presets tcplife and tcpretrans record them",
};
static const struct row_spec connection = {
    .source = {.tables = {"connections"}},
    .heading = "local local_port remote remote_port",
    .lines = "end",
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
    GROUP_PARTS("groups", groups, "event_latencies", latencies, "event_heat", "event_hist", hists),
    {.kind = &part_table, .name = "programs", .title = "Programs", .spec = &programs, .min_height = 3, .weight = 3},
    {.kind = &part_row, .name = "program", .title = "Program", .spec = &program},
    {.kind = &part_table,
     .name = "connections",
     .title = "TCP connections",
     .spec = &connections,
     .min_height = 3,
     .weight = 3},
    {.kind = &part_row, .name = "connection", .title = "TCP connection", .spec = &connection},
    {.kind = &part_table, .name = "calls", .title = "System calls", .spec = &calls, .min_height = 3, .weight = 4},
    {.kind = &part_table, .name = "events", .title = "Events", .spec = &list, .min_height = 4, .weight = 2},
    {.kind = &part_row, .name = "event", .title = "Event", .spec = &event},
};

const struct view view_events = {
    .name = "events",
    .key = '9',
    .title = "Events",
    .question = "What happens at the chosen tracepoints: how often, in which process, with which values?",
    .needs = (const char *const[]){"events", NULL},
    .alone = true,
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
};
