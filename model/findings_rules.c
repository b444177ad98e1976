// The table of rules, most telling first. A new rule is a check function and a row here.
#include "model/findings_private.h"

const struct rule rules[] = {
    {"oom_kill", "memory", "memory", true, check_oom_kill},
    {"disk_errors", "disk", "disk", true, check_disk_errors},
    {"disk_timeouts", "disk", "disk", true, check_disk_timeouts},
    {"cpu_saturated", "cpu", "tasks", false, check_cpu_saturated},
    {"cpu_pressure", "scheduler", "tasks", false, check_cpu_pressure},
    {"cpu_steal", "cpu", "cpus", false, check_steal},
    {"interrupt_load", "kernel", "cpus", false, check_interrupt_load},
    {"runaway_task", "process", "tasks", false, check_runaway},
    {"memory_low", "memory", "memory", false, check_memory_low},
    {"memory_pressure", "memory", "memory", false, check_memory_pressure},
    {"swapping", "memory", "memory", false, check_swapping},
    {"major_faults", "memory", "memory", false, check_major_faults},
    {"disk_saturated", "disk", "disk", false, check_disk_saturated},
    {"io_pressure", "disk", "disk", false, check_io_pressure},
    {"disk_latency", "disk", "disk", false, check_disk_latency},
    {"io_throttled", "disk", "disk", false, check_io_throttled},
    {"blocked_tasks", "process", "tasks", false, check_blocked_tasks},
    {"zombies", "process", "tasks", false, check_zombies},
    {"fork_storm", "process", "tasks", false, check_fork_storm},
    {"tcp_retransmits", "network", "network", false, check_retransmits},
    {"listen_drops", "network", "network", false, check_listen_drops},
    {"tcp_resets", "network", "network", false, check_resets},
    {"interface_errors", "network", "network", false, check_interface_errors},
    {"interface_drops", "network", "network", false, check_interface_drops},
    {"lost_events", "kernel", "health", true, check_lost_events},
    {"collector_stale", "kernel", "health", false, check_stale},
    {"collector_unavailable", "kernel", "health", false, check_unavailable},
};
const size_t n_rules = sizeof(rules) / sizeof(rules[0]);
