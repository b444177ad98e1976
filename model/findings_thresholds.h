// The thresholds of the rules, as data: rule, name, default. A name ends in its unit (_pct _s _ms _us _kib _per_s),
// else it is a number of things. Files may change them (tui/thresholds.h): before the first frame, so that all threads
// may read them.
#ifndef MODEL_FINDINGS_THRESHOLDS_H
#define MODEL_FINDINGS_THRESHOLDS_H

#include <stdbool.h>
#include <stddef.h>

// clang-format off
#define FINDINGS_THRESHOLDS(X) \
    X(disk_errors, errors, 1) X(disk_errors, critical_errors, 10) \
    X(disk_timeouts, timeouts, 1) X(disk_timeouts, requeues_per_s, 5) X(disk_timeouts, requeues_per_io, 2) \
    X(read_only_remount, info_s, 300) \
    X(clock_step, step_s, 0.5) X(clock_step, warning_step_s, 2) \
    X(fd_limit, used_pct, 90) X(fd_limit, critical_used_pct, 100) X(fd_limit, lasts_s, 1) \
    X(pids_limit, used_pct, 90) X(pids_limit, critical_used_pct, 100) X(pids_limit, lasts_s, 1) \
    X(dead_server, waits_s, 2.5) X(dead_server, critical_waits_s, 30) \
    X(stopped_process, lasts_s, 2.5) \
    X(traced_process, lasts_s, 3) \
    X(deadlock, threads, 2) \
    X(lock_contention, waiters, 1.8) X(lock_contention, turns_pct, 75) X(lock_contention, switches_per_s, 50) \
    X(file_lock, waits_s, 2.5) X(file_lock, waiters, 2) X(file_lock, alone_waits_s, 10) \
    X(realtime_hog, cpu_pct, 90) X(realtime_hog, waits_pct, 20) X(realtime_hog, pressure_pct, 40) \
    X(pinned_tasks, busy_pct, 90) X(pinned_tasks, idle_pct, 25) X(pinned_tasks, waits_pct, 20) X(pinned_tasks, pressure_pct, 40) X(pinned_tasks, use_pct, 70) X(pinned_tasks, tasks, 2) \
    X(cpu_saturated, busy_pct, 90) X(cpu_saturated, critical_busy_pct, 97) X(cpu_saturated, pressure_pct, 20) X(cpu_saturated, critical_pressure_pct, 60) X(cpu_saturated, critical_waiting_per_cpu, 1) X(cpu_saturated, waiting, 4) X(cpu_saturated, critical_waiting_without_psi_per_cpu, 3) \
    X(cpu_limit, throttled_pct, 25) X(cpu_limit, throttled_us_per_s, 100000) X(cpu_limit, explains_pct, 50) \
    X(cpu_pressure, pressure_pct, 40) X(cpu_pressure, own_waits_pct, 90) X(cpu_pressure, busy_below_pct, 90) \
    X(cpu_steal, steal_pct, 10) X(cpu_steal, critical_steal_pct, 30) \
    X(interrupt_load, busy_pct, 70) X(interrupt_load, critical_busy_pct, 95) X(interrupt_load, info_busy_pct, 30) X(interrupt_load, info_packets_per_s, 20000) \
    X(tlb_shootdowns, interrupts_per_s, 5000) X(tlb_shootdowns, warning_interrupts_per_s, 20000) \
    X(ipi_storm, interrupts_per_s, 5000) X(ipi_storm, warning_interrupts_per_s, 20000) \
    X(timer_storm, interrupts_per_s, 10000) X(timer_storm, warning_interrupts_per_s, 50000) \
    X(failing_calls, calls_per_s, 30000) \
    X(signal_storm, signals_per_s, 5000) X(signal_storm, warning_signals_per_s, 20000) \
    X(kernel_lock, waiting, 0.5) X(kernel_lock, warning_waiting, 2) \
    X(switch_storm, switches_per_s, 40000) \
    X(cpu_throttled, frequency_pct, 60) X(cpu_throttled, busy_pct, 80) \
    X(memory_bound, busy_pct, 50) X(memory_bound, bound_pct, 75) X(memory_bound, ipc, 0.8) \
    X(minor_faults, faults_per_s, 20000) X(minor_faults, warning_faults_per_s, 40000) X(minor_faults, system_pct, 20) \
    X(runaway_task, cpu_pct, 95) X(runaway_task, children_pct, 70) X(runaway_task, kernel_pct, 80) \
    X(growing_process, rss_kib, 16384) X(growing_process, grown_kib, 65536) X(growing_process, grows_s, 4) X(growing_process, pause_s, 2) X(growing_process, lasts_s, 3600) X(growing_process, critical_lasts_s, 20) X(growing_process, lasts_per_grown_s, 40) X(growing_process, info_lasts_per_grown_s, 300) X(growing_process, info_grows_s, 6) X(growing_process, missing_pct, 50) \
    X(tmpfs_memory, lasts_s, 120) X(tmpfs_memory, fills_s, 3) X(tmpfs_memory, share_pct, 25) \
    X(huge_pages_unused, unused_pct, 10) X(huge_pages_unused, warning_unused_pct, 20) X(huge_pages_unused, warning_available_pct, 20) \
    X(slab_growth, lasts_s, 4) X(slab_growth, growth_kib_per_s, 8192) X(slab_growth, unreclaimable_pct, 20) X(slab_growth, warning_s, 600) \
    X(page_tables, share_pct, 5) X(page_tables, warning_share_pct, 15) X(page_tables, lasts_s, 3) X(page_tables, growth_kib_per_s, 8192) X(page_tables, warning_s, 600) \
    X(memory_low, available_pct, 10) X(memory_low, critical_available_pct, 4) \
    X(compaction, stalls_per_s, 20) X(compaction, stalled_pct, 10) \
    X(memory_pressure, full_pct, 5) X(memory_pressure, critical_full_pct, 25) X(memory_pressure, some_pct, 20) X(memory_pressure, reclaims_per_s, 20) \
    X(swapping, in_per_s, 100) X(swapping, critical_in_per_s, 2000) X(swapping, out_per_s, 1000) \
    X(major_faults, faults_per_s, 500) X(major_faults, critical_faults_per_s, 10000) \
    X(deleted_file, share_pct, 10) X(deleted_file, warning_used_pct, 90) X(deleted_file, critical_left_kib, 1024) X(deleted_file, size_kib, 16384) \
    X(filesystem_full, left_pct, 2) X(filesystem_full, left_kib, 2097152) X(filesystem_full, critical_left_kib, 1024) X(filesystem_full, used_pct, 75) X(filesystem_full, full_in_s, 300) X(filesystem_full, full_soon_s, 20) X(filesystem_full, fills_s, 3) X(filesystem_full, creator_pct, 25) X(filesystem_full, size_kib, 16384) \
    X(disk_hung, stopped_s, 1) X(disk_hung, critical_stopped_s, 5) X(disk_hung, starved_s, 5) X(disk_hung, critical_starved_s, 30) X(disk_hung, discard_s, 10) X(disk_hung, critical_discard_s, 60) \
    X(dirty_throttled, held_pct, 25) X(dirty_throttled, others_held_pct, 10) X(dirty_throttled, full_pct, 30) \
    X(sync_storm, syncs_per_s, 50) X(sync_storm, stalled_pct, 30) \
    X(disk_saturated, busy_pct, 90) X(disk_saturated, pressure_pct, 20) X(disk_saturated, iowait_pct, 10) X(disk_saturated, busy_alone_pct, 95) X(disk_saturated, others_wait_pct, 5) X(disk_saturated, latency_us, 20000) X(disk_saturated, warning_latency_us, 50000) X(disk_saturated, critical_busy_pct, 97) X(disk_saturated, critical_full_pct, 60) \
    X(io_pressure, full_pct, 30) X(io_pressure, alone_pct, 80) X(io_pressure, busy_below_pct, 90) \
    X(disk_latency, program_writes_pct, 5) X(disk_latency, bulk_kib, 256) X(disk_latency, read_ms, 100) X(disk_latency, critical_read_ms, 500) X(disk_latency, write_ms, 100) X(disk_latency, critical_write_ms, 500) X(disk_latency, flush_ms, 500) X(disk_latency, critical_flush_ms, 2000) X(disk_latency, discard_ms, 2000) X(disk_latency, critical_discard_ms, 10000) \
    X(io_throttled, wait_us, 10000) X(io_throttled, latencies, 4) X(io_throttled, ios, 20) X(io_throttled, cgroup_ios, 10) X(io_throttled, limit_pct, 85) \
    X(stuck_task, blocked_s, 10) X(stuck_task, critical_blocked_s, 120) \
    X(blocked_tasks, per_cpu, 2) X(blocked_tasks, tasks, 4) X(blocked_tasks, critical_per_cpu, 8) X(blocked_tasks, critical_tasks, 32) \
    X(crash_loop, crashes, 3) X(crash_loop, critical_crashes, 30) X(crash_loop, failures, 8) \
    X(zombies, zombies, 10) X(zombies, warning_zombies, 200) \
    X(fork_storm, forks_per_s, 300) X(fork_storm, critical_forks_per_s, 3000) \
    X(proc_reader, cpu_pct, 25) X(proc_reader, open_pct, 40) X(proc_reader, child_open_pct, 25) X(proc_reader, lasts_s, 2.5) X(proc_reader, pressure_pct, 20) \
    X(log_flood, cpu_pct, 30) X(log_flood, warning_cpu_pct, 80) X(log_flood, lines_per_s, 1000) X(log_flood, waits_pct, 30) \
    X(tcp_retransmits, segments_per_s, 10) X(tcp_retransmits, sent_pct, 1) X(tcp_retransmits, critical_sent_pct, 10) \
    X(listen_drops, drops_per_s, 1) X(listen_drops, critical_drops_per_s, 100) \
    X(close_wait, sockets, 150) X(close_wait, warning_sockets, 300) X(close_wait, lasts_s, 2.5) \
    X(zero_window, stalled_s, 3) X(zero_window, drain_s, 10) X(zero_window, info_drain_s, 2) X(zero_window, slow_s, 3) \
    X(dns_no_answer, waits_s, 2.5) \
    X(conntrack_full, used_pct, 90) X(conntrack_full, critical_used_pct, 100) X(conntrack_full, lasts_s, 1) \
    X(local_ports, used_pct, 90) \
    X(tcp_resets, resets_per_s, 100) \
    X(udp_drops, drops_per_s, 10) X(udp_drops, dropped_pct, 1) X(udp_drops, critical_dropped_pct, 10) \
    X(interface_errors, errors_per_s, 1) X(interface_errors, critical_errors_per_s, 100) \
    X(link_flaps, changes, 4) X(link_flaps, warning_changes, 8) X(link_flaps, window_s, 60) X(link_flaps, quiet_s, 20) \
    X(interface_drops, drops_per_s, 10) X(interface_drops, dropped_pct, 0.5) X(interface_drops, critical_dropped_pct, 10) \
    X(collector_stale, warning_s, 10)
// clang-format on

enum {
#define THRESHOLD_ENUM(rule_, name_, initial_) THRESHOLD_##rule_##_##name_,
    FINDINGS_THRESHOLDS(THRESHOLD_ENUM)
#undef THRESHOLD_ENUM
        N_THRESHOLDS
};

struct threshold {
    const char *rule, *name;
    double initial;
};
extern const struct threshold thresholds[]; // N_THRESHOLDS, those of a rule one after the other
extern double thresholds_in_force[];        // in their order

// The value in force, for rules.
#define LIMIT(rule_, name_) (thresholds_in_force[THRESHOLD_##rule_##_##name_])

const char *threshold_unit(const struct threshold *threshold); // "%", "s", "KiB", "/s"; "": a number of things
// "90 %", as a file takes it.
void threshold_words(size_t i, double value, char *out, size_t size);
// A sentence in which {NAME} stands for a threshold of that rule, with the values in force.
void thresholds_expand(const char *rule, const char *sentence, char *out, size_t size);
// Index of RULE.NAME; N_THRESHOLDS: unknown.
size_t threshold_find(const char *rule, const char *name);
// Back to the defaults, without problems.
void thresholds_reset(void);

// Lines about files that could not be taken: notes of the findings. Copied; at most 4 are kept.
void thresholds_problem(const char *line);
size_t thresholds_problems(void);
const char *thresholds_problem_at(size_t i);

#endif
