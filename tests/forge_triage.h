// A machine in trouble and a calm one, for the tests of the pane triage.
#ifndef TESTS_FORGE_TRIAGE_H
#define TESTS_FORGE_TRIAGE_H

#include "model/findings.h"
#include "tests/screens.h"

extern const struct view view_triage;

static const struct series_def defs[] = {
    {"load_1", "load", "", UNIT_NONE},
    {"load_5", "load", "", UNIT_NONE},
    {"load_15", "load", "", UNIT_NONE},
    {"cpus_online", "CPUs", "", UNIT_COUNT},
    {"procs_running", "running", "", UNIT_COUNT},
    {"procs_blocked", "blocked", "", UNIT_COUNT},
    {"cpu_user_pct", "user", "", UNIT_PCT},
    {"cpu_nice_pct", "nice", "", UNIT_PCT},
    {"cpu_system_pct", "system", "", UNIT_PCT},
    {"cpu_irq_pct", "irq", "", UNIT_PCT},
    {"cpu_softirq_pct", "softirq", "", UNIT_PCT},
    {"cpu_steal_pct", "steal", "", UNIT_PCT},
    {"cpu_iowait_pct", "iowait", "", UNIT_PCT},
    {"mem_total_kib", "total", "", UNIT_KIB},
    {"mem_available_kib", "available", "", UNIT_KIB},
    {"mem_used_kib", "used", "", UNIT_KIB},
    {"mem_buffers_kib", "buffers", "", UNIT_KIB},
    {"mem_cached_kib", "cached", "", UNIT_KIB},
    {"swap_total_kib", "swap", "", UNIT_KIB},
    {"swap_used_kib", "swap", "", UNIT_KIB},
    {"swap_in_per_s", "in", "", UNIT_PER_S},
    {"swap_out_per_s", "out", "", UNIT_PER_S},
    {"cpu_some_pct", "some", "", UNIT_PCT},
    {"memory_some_pct", "some", "", UNIT_PCT},
    {"memory_full_pct", "full", "", UNIT_PCT},
    {"io_some_pct", "some", "", UNIT_PCT},
    {"io_full_pct", "full", "", UNIT_PCT},
    {"disk_read_bytes_per_s", "read", "", UNIT_BYTES_PER_S},
    {"disk_write_bytes_per_s", "write", "", UNIT_BYTES_PER_S},
    {"net_rx_bytes_per_s", "rx", "", UNIT_BYTES_PER_S},
    {"net_tx_bytes_per_s", "tx", "", UNIT_BYTES_PER_S},
    {"cpu_idle_pct", "idle", "", UNIT_PCT},
};
#define N_SERIES (sizeof defs / sizeof *defs)

static const double calm[N_SERIES] = {0.21,  0.15, 0.08, 4, 1, 0, 1.5, 0, 0.7, 0,   0.1, 0,    0.2,   16e6, 12e6, 3e6,
                                      200e3, 5e6,  8e6,  0, 0, 0, 0.1, 0, 0,   0.2, 0.1, 4096, 20480, 1200, 900,  97.5};
static const double busy[N_SERIES] = {14.2, 9.8,  3.1,  4,     11,     6,     61,    2,    21,    0.2,  3.1,
                                      1.5,  11.2, 16e6, 0.4e6, 15.4e6, 20e3,  180e3, 8e6,  6.5e6, 3100, 8800,
                                      72,   41,   18,   63,    52,     210e6, 88e6,  11e6, 2.4e6, 0};

static const struct column device_columns[] = {
    {.name = "device", .title = "DEVICE", .type = COLUMN_TEXT, .width = 8},
    {.name = "util_pct", .title = "UTIL%", .unit = UNIT_PCT, .width = 6},
};
static const struct table_def devices = {.name = "devices", .columns = device_columns, .n_columns = 2, .n_keys = 1};
static const struct column task_columns[] = {
    {.name = "pid", .title = "PID", .unit = UNIT_ID, .width = 7},
    {.name = "comm", .title = "COMMAND", .type = COLUMN_TEXT, .width = 15},
    {.name = "cpu_pct", .title = "CPU%", .unit = UNIT_PCT, .width = 6},
    {.name = "rss_kib", .title = "RSS", .unit = UNIT_KIB, .width = 7},
    {.name = "read_bytes_per_s", .title = "READ/s", .unit = UNIT_BYTES_PER_S, .width = 7},
    {.name = "write_bytes_per_s", .title = "WRITE/s", .unit = UNIT_BYTES_PER_S, .width = 7},
    {.name = "run_queue_us", .title = "RUNQ", .unit = UNIT_US, .width = 7},
};
static const struct table_def tasks = {.name = "tasks", .columns = task_columns, .n_columns = 7, .n_keys = 1};

static const struct column interface_columns[] = {{.name = "interface", .type = COLUMN_TEXT}};
static const struct table_def interfaces = {.name = "interfaces", .columns = interface_columns, .n_columns = 1};
static const struct column tcp_columns[] = {{.name = "resets_out_per_s"}};
static const struct table_def tcp = {.name = "tcp", .columns = tcp_columns, .n_columns = 1};

static const char busy_tasks[] = "1|systemd|0.1|12000|0|0|-\n"
                                 "812|postgres|98.7|8123456|201000000|3000000|12000\n"
                                 "813|postgres|12|4200000|-|-|800\n"
                                 "4242|java \x1b[2J\xff|151.3|2100000|0|81000000|903000\n"
                                 "77|kswapd0|34.5|-|0|0|20\n"
                                 "9|rsync|0|9000|4000000|0|-";

static const char busy_findings[] =
    "critical|memory|memory_low|812|postgres|-|0.4G of 15.3G available (2.5 %), 8800 pages swapped out per second: "
    "postgres (pid 812) holds 7.7G|memory|75\n"
    "critical|disk|disk_saturated|812|postgres|vda|vda busy 99 % of the time, reads take 45 ms|disk|12\n"
    "warning|scheduler|cpu_pressure|4242|java|-|somebody waited 72 % of the time for one of 4 CPUs|tasks|3\n"
    "info|kernel|collector_stale|-|-|-|counters has not answered for 5 s|health|0";

static inline const struct frame *make(uint64_t number, const double *series, const char *task_rows,
                                       const char *found) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number), *section;
    for (size_t i = 0; series && i < N_SERIES; i++)
        section_series(system, &defs[i], series[i]);
    if (series) {
        section_table(system, forge_table(&devices, series == busy ? "vda|99.2\nloop0|0" : "vda|0.4\nloop0|0"));
        section_table(system, forge_table(&interfaces, "eth0"));
        section_table(system, forge_table(&tcp, "0"));
    }
    frame_add_section(frame, system, 0);
    section = forge_section("tasks", number);
    if (task_rows)
        section_table(section, forge_table(&tasks, task_rows));
    frame_add_section(frame, section, 0);
    if (found) {
        section = forge_section("findings", number);
        section_table(section, forge_table(&findings_table, found));
        frame_add_section(frame, section, 0);
    }
    return frame;
}

#endif
