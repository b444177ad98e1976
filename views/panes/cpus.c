// The pane `cpus`: how each CPU spends its time, how efficiently it runs, and its interrupts.
#include <string.h>

#include "views/part_fields.h"
#include "views/part_matrix.h"
#include "views/part_table.h"
#include "views/row/part_row.h"

static enum role cpu_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    if (column->type != COLUMN_NUMBER)
        return ROLE_TEXT;
    if (!strcmp(column->name, "idle_pct"))
        return value.num < 5 ? ROLE_CRITICAL : value.num < 20 ? ROLE_WARNING : ROLE_TEXT;
    if (!strcmp(column->name, "steal_pct"))
        return value.num >= 5 ? ROLE_CRITICAL : value.num >= 1 ? ROLE_WARNING : ROLE_TEXT;
    if (!strcmp(column->name, "iowait_pct"))
        return value.num >= 20 ? ROLE_WARNING : ROLE_TEXT;
    if (!strcmp(column->name, "irq_pct") || !strcmp(column->name, "softirq_pct"))
        return value.num >= 20 ? ROLE_WARNING : ROLE_TEXT;
    return ROLE_TEXT;
}

static const struct matrix_measure measures[] = {
    {"busy", "time not idle, %", "cpus", "idle_pct iowait_pct", .rest = true, .full = 100, .unit = UNIT_PCT},
    {"user", "time in user code, %", "cpus", "user_pct", .full = 100, .unit = UNIT_PCT},
    {"system", "time in the kernel, %", "cpus", "system_pct", .full = 100, .unit = UNIT_PCT},
    {"softirq", "time in softirqs, %", "cpus", "softirq_pct", .full = 100, .unit = UNIT_PCT},
    {"irq", "time in hardware interrupts, %", "cpus", "irq_pct", .full = 100, .unit = UNIT_PCT},
    {"iowait", "idle with a task waiting for I/O, %", "cpus", "iowait_pct", .full = 100, .unit = UNIT_PCT},
    {"steal", "time that the hypervisor gave to other guests, %", "cpus", "steal_pct", .full = 100, .unit = UNIT_PCT},
    {"IPC", "instructions per cycle", "cpu_counters", "ipc", .unit = UNIT_RATIO},
    {"MPKI", "cache misses per 1,000 instructions", "cpu_counters", "cache_mpki", .unit = UNIT_NONE},
    {"active", "frequency while not idle", "cpu_counters", "active_hz", .unit = UNIT_HZ},
    {"switches", "context switches per second", "cpu_counters", "context_switches_per_s", .unit = UNIT_PER_S},
    {"migrations", "tasks migrated from another CPU, per second", "cpu_counters", "migrations_per_s",
     .unit = UNIT_PER_S},
    {"faults", "page faults per second", "cpu_counters", "page_faults_per_s", .unit = UNIT_PER_S},
    {0},
};

static const struct part parts[] = {
    {
        .kind = &part_fields,
        .name = "summary",
        .spec =
            &(const struct fields_spec){
                .shown = "cpu_user_pct=user_% cpu_system_pct=system_% cpu_iowait_pct=iowait_% cpu_steal_pct=steal_% "
                         "cpu_irq_pct=irq_% cpu_softirq_pct=softirq_% cpu_idle_pct=idle_% cpu_some_pct=pressure_% "
                         "load_1=load procs_running=running context_switches_per_s=switches/s "
                         "interrupts_per_s=interrupts/s",
                .width = 18,
            },
        .min_height = 1,
    },
    {
        .kind = &part_matrix,
        .name = "map",
        .title = "All CPUs",
        .spec =
            &(const struct matrix_spec){
                .measures = measures,
                .thing = "CPU",
                .group = "node",
                .group_name = "node",
                .from = 64,
                .list = "cpus",
            },
        .min_height = 3,
    },
    {
        .kind = &part_table,
        .name = "cpus",
        .title = "CPUs (% of time)",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"cpus", "cpu_counters"}, .sort = "-cpu"},
                .shown = "cpu user_pct system_pct irq_pct softirq_pct steal_pct iowait_pct idle_pct ipc "
                         "context_switches_per_s migrations_per_s page_faults_per_s frequency_hz active_hz turbo_ratio "
                         "bound cache_miss_pct cache_mpki branch_miss_pct counted_pct nice_pct guest_pct "
                         "stalled_frontend_pct stalled_backend_pct retiring_pct bad_speculation_pct "
                         "frontend_bound_pct backend_bound_pct cycles_per_s instructions_per_s "
                         "cache_references_per_s cache_misses_per_s branch_misses_per_s major_faults_per_s node",
                .opens = "cpu",
                .role = cpu_role,
            },
        .min_height = 4,
        .weight = 3,
    },
    {
        .kind = &part_table,
        .name = "counters",
        .title = "Perf events (--event)",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"counters"}},
                .shown = "event cpu value per_s state unit counted_pct",
                .optional = true,
            },
        .min_height = 3,
        .weight = 2,
    },
    {
        .kind = &part_table,
        .name = "interrupts",
        .title = "Interrupts",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"interrupts"}, .sort = "per_s"},
                .shown = "irq cpu per_s name",
                .rest = "name",
                .empty = "no interrupt in this interval",
            },
        .min_height = 3,
        .weight = 2,
    },
    {
        .kind = &part_table,
        .name = "softirqs",
        .right = true,
        .title = "Softirqs",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"softirqs"}, .sort = "per_s"},
                .empty = "no softirq in this interval",
            },
        .min_height = 3,
        .weight = 1,
    },
    {
        .kind = &part_row,
        .name = "cpu",
        .title = "CPU",
        .spec =
            &(const struct row_spec){
                .source = {.tables = {"cpus", "cpu_counters"}},
                .heading = "cpu node",
                .shown = "user_pct system_pct iowait_pct softirq_pct steal_pct idle_pct ipc active_hz cache_miss_pct "
                         "context_switches_per_s migrations_per_s page_faults_per_s irq_pct nice_pct guest_pct "
                         "frequency_hz cycles_per_s instructions_per_s cache_misses_per_s branch_miss_pct",
            },
    },
};

const struct view view_cpus = {
    .name = "cpus",
    .key = '3',
    .title = "CPUs",
    .question = "What do the CPUs spend their time on, how efficient are they, and what interrupts them?",
    .needs = (const char *const[]){"system", "system.detail", "cpu_counters", "user_events", NULL},
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
    .wide_from = 80,
};
