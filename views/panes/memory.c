// The pane `memory`: use, reclaim and swap, and page faults by task and mapping.
#include <string.h>

#include "views/part_fields.h"
#include "views/part_table.h"

// Rates that are 0 on a healthy machine: any of them shows that memory is short.
static enum role memory_role(const char *name, double value) {
    static const char *const bad[] = {"swap_in_per_s",      "swap_out_per_s", "allocation_stalls_per_s",
                                      "direct_scans_per_s", "refaults_per_s", "major_faults_per_s"};

    if (!strcmp(name, "oom_kills_per_s") || !strcmp(name, "full_pct"))
        return value > 0 ? ROLE_CRITICAL : ROLE_TEXT;
    if (!strcmp(name, "some_pct"))
        return value >= 10 ? ROLE_CRITICAL : value > 0 ? ROLE_WARNING : ROLE_TEXT;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (!strcmp(name, bad[i]))
            return value > 0 ? ROLE_WARNING : ROLE_TEXT;
    return ROLE_TEXT;
}

static const struct part parts[] = {
    {
        .kind = &part_fields,
        .name = "memory",
        .title = "Memory",
        .spec =
            &(const struct fields_spec){
                .source = {.tables = {"memory"}},
                .shown =
                    "available_kib=available used_kib=used free_kib=free total_kib=total "
                    "swap_used_kib=swap_used swap_total_kib=swap "
                    "some_pct=pressure_some_% full_pct=pressure_full_% major_faults_per_s=major_faults/s "
                    "minor_faults_per_s=minor_faults/s swap_in_per_s=swap_pages_in/s "
                    "swap_out_per_s=swap_pages_out/s "
                    "anon_kib=programs_(anon) cached_kib=page_cache buffers_kib=buffers shmem_kib=shared_and_tmpfs "
                    "dirty_kib=dirty writeback_kib=writeback "
                    "slab_kib=kernel_slab slab_unreclaimable_kib=slab_not_freeable page_tables_kib=page_tables "
                    "committed_kib=committed allocation_stalls_per_s=alloc_stalls/s refaults_per_s=refaults/s "
                    "oom_kills_per_s=OOM_kills/s direct_scans_per_s=direct_scans/s",
                .role = memory_role,
                .width = 24,
            },
        .min_height = 3,
    },
    {
        .kind = &part_table,
        .name = "top_faulters",
        .title = "Page faults by task",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"tasks"},
                           .sort = "major_faults_per_s",
                           .then = "minor_faults_per_s",
                           .limit = 100,
                           .positive = true},
                .shown = "pid user major_faults_per_s minor_faults_per_s rss_kib vsize_kib command read_bytes_per_s "
                         "state cpu_pct cgroup",
                .rest = "command",
                .rest_or = "comm",
                .twin = "tid",
                .jump = {.pane = "tasks", .columns = "pid"},
                .empty = "no page fault",
            },
        .min_height = 4,
        .weight = 2,
    },
    {
        .kind = &part_table,
        .name = "fault_mappings",
        .title = "Page faults by mapping",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"fault_mappings"},
                           .sort = "major_faults_per_s",
                           .then = "minor_faults_per_s",
                           .limit = 200},
                .shown = "pid comm major_faults_per_s minor_faults_per_s share_pct mapping error_pct kernel_pct kind "
                         "code samples",
                .rest = "mapping",
                .jump = {.pane = "tasks", .columns = "pid"},
                .empty = "no page fault in this interval",
            },
        .min_height = 3,
        .weight = 2,
    },
    {
        .kind = &part_table,
        .name = "numa",
        .title = "NUMA nodes",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"numa"}, .sort = "-node"},
                .shown = "node total_kib used_kib free_kib file_kib anon_kib misses_per_s other_per_s dirty_kib "
                         "shmem_kib slab_kib mapped_kib hits_per_s local_per_s foreign_per_s",
            },
        .min_height = 2,
    },
};

const struct view view_memory = {
    .name = "memory",
    .key = '4',
    .title = "Memory",
    .question = "How much memory is left, what uses it, does the machine reclaim or swap, and which tasks fault where?",
    .needs = (const char *const[]){"system", "system.detail", "tasks", "faults", NULL},
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
};
