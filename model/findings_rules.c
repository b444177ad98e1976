// The table of rules: a new rule is a `const struct rule` in its file and one X() here.
//
// Rules run in this order, which also orders findings of equal severity and age: most specific first. Three rules leave
// results in the context for later ones: cpu_saturated and cpu_limit for cpu_pressure and runaway_task, disk_hung for
// stuck_task, and that for blocked_tasks.
#include "model/findings_private.h"

// clang-format off
#define RULES(X) \
    X(oom_kill) X(disk_errors) X(disk_timeouts) X(read_only_remount) X(kernel_error) X(clock_step) X(fd_limit) X(pids_limit) \
    X(dead_server) X(stopped_process) X(traced_process) X(deadlock) X(lock_contention) X(file_lock) X(realtime_hog) X(pinned_tasks) X(cpu_saturated) X(cpu_limit) \
    X(cpu_pressure) X(cpu_steal) X(interrupt_load) X(tlb_shootdowns) X(ipi_storm) X(timer_storm) X(failing_calls) X(signal_storm) X(kernel_lock) X(switch_storm) X(cpu_throttled) X(memory_bound) X(minor_faults) X(runaway_task) \
    X(growing_process) X(tmpfs_memory) X(huge_pages_unused) X(slab_growth) X(page_tables) X(memory_low) X(compaction) X(memory_pressure) X(swapping) X(major_faults) X(deleted_file) \
    X(filesystem_full) X(disk_hung) X(dirty_throttled) X(sync_storm) X(disk_saturated) X(io_pressure) X(disk_latency) \
    X(io_throttled) X(stuck_task) X(blocked_tasks) X(crash_loop) X(zombies) X(fork_storm) X(proc_reader) X(log_flood) X(tracing_left_on) X(tcp_retransmits) \
    X(listen_drops) X(close_wait) X(zero_window) X(dns_no_answer) X(conntrack_full) X(local_ports) X(tcp_resets) X(udp_drops) X(interface_errors) X(link_flaps) \
    X(interface_drops) X(lost_events) X(collector_stale) X(collector_unavailable)
// clang-format on

#define DECLARE(kind) extern const struct rule rule_##kind;
#define ROW(kind) &rule_##kind,
RULES(DECLARE)

const struct rule *const rules[] = {RULES(ROW) NULL};

const struct finding_input finding_inputs[] = {
#define INPUT(of_, name_) {#of_, #name_},
    FINDINGS_INPUTS(INPUT)
#undef INPUT
        {NULL, NULL}};
