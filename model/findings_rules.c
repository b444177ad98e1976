// The table of rules: a new rule is a `const struct rule` in its file and one X() here.
//
// Rules run in this order, which also orders findings of equal severity and age: most specific first. Three rules leave
// results in the context for later ones: cpu_saturated and cpu_limit for cpu_pressure and runaway_task, disk_hung for
// stuck_task, and that for blocked_tasks.
#include "model/findings_private.h"

// clang-format off
#define RULES(X) \
    X(oom_kill) X(disk_errors) X(disk_timeouts) X(cpu_saturated) X(cpu_limit) X(cpu_pressure) \
    X(cpu_steal) X(interrupt_load) X(cpu_throttled) X(memory_bound) X(runaway_task) X(memory_low) \
    X(memory_pressure) X(swapping) X(major_faults) X(filesystem_full) X(disk_hung) X(disk_saturated) \
    X(io_pressure) X(disk_latency) X(io_throttled) X(stuck_task) X(blocked_tasks) X(zombies) \
    X(fork_storm) X(tcp_retransmits) X(listen_drops) X(tcp_resets) X(udp_drops) X(interface_errors) \
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
