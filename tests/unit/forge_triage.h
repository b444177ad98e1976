// A machine in trouble and a calm one, for the tests of the pane triage.
#ifndef TESTS_UNIT_FORGE_TRIAGE_H
#define TESTS_UNIT_FORGE_TRIAGE_H

#include "model/findings.h"
#include "tests/unit/screens.h"

extern const struct view view_triage;

static const char *const names[] = {
    "load_1",
    "load_5",
    "load_15",
    "cpus_online",
    "procs_running",
    "procs_blocked",
    "cpu_user_pct",
    "cpu_nice_pct",
    "cpu_system_pct",
    "cpu_irq_pct",
    "cpu_softirq_pct",
    "cpu_steal_pct",
    "cpu_iowait_pct",
    "mem_total_kib",
    "mem_available_kib",
    "mem_used_kib",
    "mem_buffers_kib",
    "mem_cached_kib",
    "swap_total_kib",
    "swap_used_kib",
    "swap_in_per_s",
    "swap_out_per_s",
    "cpu_some_pct",
    "memory_some_pct",
    "memory_full_pct",
    "io_some_pct",
    "io_full_pct",
    "disk_read_bytes_per_s",
    "disk_write_bytes_per_s",
    "net_rx_bytes_per_s",
    "net_tx_bytes_per_s",
    "cpu_idle_pct",
};
#define N_SERIES (sizeof names / sizeof *names)

static const double calm[N_SERIES] = {0.21,  0.15, 0.08, 4, 1, 0, 1.5, 0, 0.7, 0,   0.1, 0,    0.2,   16e6, 12e6, 3e6,
                                      200e3, 5e6,  8e6,  0, 0, 0, 0.1, 0, 0,   0.2, 0.1, 4096, 20480, 1200, 900,  97.5};
static const double busy[N_SERIES] = {14.2, 9.8,  3.1,  4,     11,     6,     61,    2,    21,    0.2,  3.1,
                                      1.5,  11.2, 16e6, 0.4e6, 15.4e6, 20e3,  180e3, 8e6,  6.5e6, 3100, 8800,
                                      72,   41,   18,   63,    52,     210e6, 88e6,  11e6, 2.4e6, 0};

#define TASKS "tasks", "pid|comm|cpu_pct|rss_kib|read_bytes_per_s|write_bytes_per_s|run_queue_us"

static const char busy_tasks[] = "1|systemd|0.1|12000|0|0|-\n"
                                 "812|postgres|98.7|8123456|201000000|3000000|12000\n"
                                 "813|postgres|12|4200000|-|-|800\n"
                                 "4242|java \x1b[2J\xff|151.3|2100000|0|81000000|903000\n"
                                 "77|kswapd0|34.5|-|0|0|20\n"
                                 "9|rsync|0|9000|4000000|0|-";

static const char busy_findings[] =
    "critical|memory|memory_low|812|postgres|-|0.4G of 15.3G available (2.5 %), 8800 pages swapped out per second: "
    "postgres (pid 812) holds 7.7G|memory|75|-|mem_available_kib|400000|6200000\n"
    "critical|disk|disk_saturated|812|postgres|vda|vda busy 99 % of the time, reads take 45 ms|disk|12\n"
    "warning|scheduler|cpu_pressure|4242|java|-|somebody waited 72 % of the time for one of 4 CPUs|tasks|3\n"
    "info|kernel|collector_stale|-|-|-|counters has not answered for 5 s|health|0";

static inline const struct frame *make(uint64_t number, const double *series, const char *task_rows,
                                       const char *found) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number), *section;
    for (size_t i = 0; series && i < N_SERIES; i++)
        section_series(system, real_series(names[i]), series[i]);
    if (series) {
        section_table(system, forge_real("devices", "device|util_pct",
                                         series == busy ? "vda|99.2\nloop0|0" : "vda|0.4\nloop0|0"));
        section_table(system, forge_real("interfaces", "interface", "eth0"));
        section_table(system, forge_real("tcp", "resets_out_per_s", "0"));
    }
    frame_add_section(frame, system, 0);
    section = forge_section("tasks", number);
    if (task_rows)
        section_table(section, forge_real(TASKS, task_rows));
    frame_add_section(frame, section, 0);
    if (found) {
        section = forge_section("findings", number);
        section_table(section, forge_table(&findings_table, found));
        frame_add_section(frame, section, 0);
    }
    return frame;
}

#endif
