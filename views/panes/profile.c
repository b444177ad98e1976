// The pane `profile`: which functions use the CPUs, and on which call paths. Only data.
#include <string.h>

#include "views/flame/part_annotate.h"
#include "views/flame/part_callers.h"
#include "views/flame/part_flame.h"
#include "views/flame/part_subsecond.h"
#include "views/part_fields.h"
#include "views/part_table.h"

static enum role symbol_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    if (!strcmp(column->name, "self_pct"))
        return value.num >= 20 ? ROLE_WARNING : ROLE_TEXT;
    return ROLE_TEXT;
}

static enum role process_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    if (!strcmp(column->name, "broken_pct"))
        return value.num >= 10 ? ROLE_WARNING : ROLE_TEXT;
    return ROLE_TEXT;
}

static const struct flame_spec cpu = {
    .tree = "cpu",
    .source = "symbols",
    .events = "profile_samples",
    .unit = "samples",
    .callers = "callers",
    .annotate = "annotate",
    .empty = "no sample: every CPU was idle",
    .hz = "profile_frequency_hz",
    .hot_cold = "hotcold",
};
static const struct flame_spec hotcold = {
    .tree = "cpu",
    .source = "symbols",
    .cold = "offcpu",
    .unit = "us",
    .empty = "no thread ran or blocked",
    .hz = "profile_frequency_hz",
};
static const struct flame_spec offcpu = {
    .tree = "offcpu",
    .source = "offcpu_stacks_per_s",
    .wakers = true,
    .unit = "us",
    .empty = "no thread blocked",
};
static const struct table_spec symbols = {
    .source = {.tables = {"symbols"}, .sort = "self_pct", .then = "total_pct"},
    .shown = "self_pct total_pct samples symbol dso comm",
    .opens = "callers",
    .annotates = "annotate",
    .about = &annotate_about,
    .legend = "of this frame alone",
    .role = symbol_role,
    .text_rows = 40,
    .empty = "no sample: every CPU was idle",
};
static const struct table_spec objects = {
    .source = {.tables = {"objects"}, .sort = "self_pct", .then = "total_pct"},
    .shown = "self_pct total_pct samples dso comm",
    .legend = "of this frame alone",
    .role = symbol_role,
    .text_rows = 20,
    .empty = "no sample: every CPU was idle",
};
static const struct table_spec addresses = {
    .source = {.tables = {"addresses"}, .sort = "samples"},
    .shown = "samples offset symbol dso pid comm",
    .opens = "annotate",
    .annotates = "annotate",
    .legend = "of this frame alone",
    .text_rows = 20,
    .empty = "no sample: every CPU was idle",
};
static const struct table_spec processes = {
    .source = {.tables = {"profile_processes"}, .sort = "samples"},
    .shown = "pid comm samples cpu_pct user_pct kernel_pct broken_pct",
    .jump = {.pane = "tasks", .columns = "pid comm"},
    .legend = "of this frame alone",
    .role = process_role,
    .empty = "no sample: every CPU was idle",
};

static const struct part parts[] = {
    {
        .kind = &part_fields,
        .name = "summary",
        .spec =
            &(const struct fields_spec){
                .shown = "profile_samples_per_s=samples/s profile_broken_pct=broken_% profile_frequency_hz=frequency",
                .width = 18,
            },
        .min_height = 1,
    },
    {.kind = &part_flame, .name = "cpu", .title = "Flame graph", .spec = &cpu, .min_height = 7, .weight = 10},
    {.kind = &part_flame,
     .name = "offcpu",
     .title = "Off-CPU flame graph",
     .spec = &offcpu,
     .min_height = 7,
     .weight = 10,
     .toggle = 'k',
     .toggle_help =
         "show or hide the off-CPU flame graph: where threads block, by blocked time; it slows down threads that "
         "only switch by about 5 %",
     .on_request = true,
     .needs = (const char *const[]){"offcpu", NULL}},
    {.kind = &part_flame,
     .name = "hotcold",
     .title = "Hot and cold flame graph",
     .spec = &hotcold,
     .min_height = 7,
     .weight = 10,
     .toggle = 'K',
     .toggle_help = "show or hide the hot and cold flame graph: on-CPU and off-CPU time of the selected process in one",
     .on_request = true,
     .needs = (const char *const[]){"offcpu", NULL}},
    {.kind = &part_table, .name = "symbols", .title = "Symbols", .spec = &symbols, .min_height = 4, .weight = 2},
    {.kind = &part_table,
     .name = "profile_processes",
     .title = "Processes",
     .spec = &processes,
     .min_height = 3,
     .weight = 1,
     .right = true},
    {.kind = &part_subsecond,
     .name = "profile_samples",
     .title = "Sub-second heat map",
     .spec = &cpu,
     .min_height = 7,
     .weight = 1},
    {.kind = &part_table,
     .name = "objects",
     .title = "Objects",
     .spec = &objects,
     .min_height = 4,
     .weight = 2,
     .toggle = 'l',
     .toggle_help = "show or hide the table by object: program, library or kernel module"},
    {.kind = &part_table,
     .name = "addresses",
     .title = "Sampled instructions",
     .spec = &addresses,
     .min_height = 4,
     .weight = 2,
     .toggle = 't',
     .toggle_help = "show or hide the sampled instructions of all processes; Enter annotates their function"},
    {.kind = &part_annotate, .name = "annotate", .title = "Annotate", .spec = &cpu},
    {.kind = &part_callers, .name = "callers", .title = "Callers and callees", .spec = &cpu},
};

static const struct view_term terms[] = {
    {"sample", "one look at a CPU: the process that ran, and its call path; 99 a second and CPU by default"},
    {"width", "a frame's share of the samples of the span; not time from left to right"},
    {"self", "samples in which the function itself ran; total: also in functions that it called"},
    {"on-CPU",
     "what these samples show: time that tasks run. Time that they wait is in no sample: see off-CPU (key k)"},
    {"off-CPU",
     "time that threads sleep or wait uninterruptibly, until they run again; preempted threads are not in it"},
    {"hot and cold", "on-CPU and off-CPU time in one flame graph, in the same unit: what a process spends its time on"},
    {"not sampled", "blocked time without a stack: the thread blocks rarely, and stacks of 1 in N switches are taken"},
    {"woken by", "key W, off-CPU: above the stack of the block, the waker's from the innermost frame up; a waker's "
                 "wakeups get slower"},
    {"waker unknown", "the wakeup was not recorded, or the thread is still blocked"},
    {"broken", "a call path whose callers could not be found; it begins with a mark instead of the thread's start"},
    {0},
};

const struct view view_profile = {
    .name = "profile",
    .key = '0',
    .title = "Profile",
    .question = "Which functions use the CPUs, and on which call paths?",
    .terms = terms,
    .needs = (const char *const[]){"profile", NULL},
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
    .wide_from = 110,
};
