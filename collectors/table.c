// The table of collectors: a new source is one file and one row here.
#include "collectors/collector.h"

#include <string.h>

// In the order of frames.
// clang-format off
extern const struct collector
    collector_system,
    collector_tasks,
    collector_task_counters,
    collector_cpu_counters,
    collector_user_events,
    collector_block,
    collector_faults,
    collector_sched,
    collector_syscalls,
    collector_events,
    collector_functions,
    collector_call_graph,
    collector_probes,
    collector_cpu_limits,
    collector_cgroups,
    collector_filesystems,
    collector_suspects,
    collector_sockets,
    collector_kmsg,
    collector_storms,
    collector_profile,
    collector_offcpu;

const struct collector *const collectors[] = {
    &collector_system,
    &collector_tasks,
    &collector_task_counters,
    &collector_cpu_counters,
    &collector_user_events,
    &collector_block,
    &collector_faults,
    &collector_sched,
    &collector_syscalls,
    &collector_events,
    &collector_functions,
    &collector_call_graph,
    &collector_probes,
    &collector_cpu_limits,
    &collector_cgroups,
    &collector_filesystems,
    &collector_suspects,
    &collector_sockets,
    &collector_kmsg,
    &collector_storms,
    &collector_profile,
    &collector_offcpu,
    NULL,
};
// clang-format on

const struct collector *collector_find(const char *name) {
    for (size_t i = 0; collectors[i]; i++)
        if (!strcmp(collectors[i]->name, name))
            return collectors[i];
    return NULL;
}
