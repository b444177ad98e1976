// NUMA nodes: /sys/devices/system/node/node*/meminfo and numastat. A kernel without NUMA has none: no rows.
// Kernel document: Documentation/admin-guide/numastat.rst.
#include "collectors/system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/columns.h"
#include "model/mem.h"

#define NODES_MAX 64
#define NODE_LOOK_SAMPLES 60 // samples between searches for nodes, which are rarely hotplugged
#define NODE_PATH_SIZE 64

enum {
    NI_TOTAL,
    NI_FREE,
    NI_DIRTY,
    NI_FILE,
    NI_MAPPED,
    NI_ANON,
    NI_SHMEM,
    NI_SLAB,
    NI_HUGE_TOTAL,
    NI_HUGE_FREE,
    NI_FIELDS
};
static const char *const node_names[NI_FIELDS] = {
    [NI_TOTAL] = "MemTotal",
    [NI_FREE] = "MemFree",
    [NI_DIRTY] = "Dirty",
    [NI_FILE] = "FilePages",
    [NI_MAPPED] = "Mapped",
    [NI_ANON] = "AnonPages",
    [NI_SHMEM] = "Shmem",
    [NI_SLAB] = "Slab",
    [NI_HUGE_TOTAL] = "HugePages_Total",
    [NI_HUGE_FREE] = "HugePages_Free",
};
enum { NS_HIT, NS_MISS, NS_FOREIGN, NS_INTERLEAVE, NS_LOCAL, NS_OTHER, NS_FIELDS };
static const char *const numastat_names[NS_FIELDS] = {
    "numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node",
};

enum { NODE_ID, NODE_MEM, NODE_USED = NODE_MEM + NI_FIELDS, NODE_RATES, NODE_COLUMNS = NODE_RATES + NS_FIELDS };
static const struct column node_columns[NODE_COLUMNS] = {
    [NODE_ID] = COLUMN_NODE(.help = "NUMA node number."),
    [NODE_MEM + NI_TOTAL] = COLUMN_TOTAL_KIB(.help = "Memory of the node."),
    [NODE_MEM + NI_FREE] = COLUMN_FREE_KIB(.help = "Unused memory of the node."),
    [NODE_MEM + NI_DIRTY] = COLUMN_DIRTY_KIB(.help = "Dirty page cache, not yet under writeback."),
    [NODE_MEM + NI_FILE] = NUMBER_COLUMN("file_kib", "FILE", UNIT_KIB, 8, .help = "Page cache."),
    [NODE_MEM + NI_MAPPED] = COLUMN_MAPPED_KIB(.help = "Page cache mapped by processes."),
    [NODE_MEM + NI_ANON] = COLUMN_ANON_KIB(.help = "Anonymous memory: heaps and stacks."),
    [NODE_MEM + NI_SHMEM] = COLUMN_SHMEM_KIB(.help = "Shared memory and tmpfs."),
    [NODE_MEM + NI_SLAB] = COLUMN_SLAB_KIB(.help = "Kernel slab objects."),
    [NODE_MEM + NI_HUGE_TOTAL] = COLUMN_HUGE_PAGES_TOTAL(.help = "Huge pages reserved on the node."),
    [NODE_MEM + NI_HUGE_FREE] = COLUMN_HUGE_PAGES_FREE(.help = "Huge pages reserved and unused."),
    [NODE_USED] = COLUMN_USED_KIB(.help = "Total minus free."),
    [NODE_RATES + NS_HIT] = NUMBER_COLUMN("hits_per_s", "HIT/s", UNIT_PER_S, 8,
                                          .help = "Pages per second allocated here as intended (numa_hit)."),
    [NODE_RATES + NS_MISS] = NUMBER_COLUMN(
        "misses_per_s", "MISS/s", UNIT_PER_S, 8,
        .help = "Pages per second allocated here because the intended node was short of memory (numa_miss)."),
    [NODE_RATES + NS_FOREIGN] =
        NUMBER_COLUMN("foreign_per_s", "FORGN/s", UNIT_PER_S, 8,
                      .help = "Pages per second intended for this node and allocated elsewhere (numa_foreign)."),
    [NODE_RATES + NS_INTERLEAVE] = NUMBER_COLUMN("interleave_per_s", "INTRLV/s", UNIT_PER_S, 8,
                                                 .help = "Pages per second interleaved to this node as intended."),
    [NODE_RATES + NS_LOCAL] = NUMBER_COLUMN("local_per_s", "LOCAL/s", UNIT_PER_S, 8,
                                            .help = "Pages per second allocated here by tasks running here."),
    [NODE_RATES + NS_OTHER] = NUMBER_COLUMN("other_per_s", "OTHER/s", UNIT_PER_S, 8,
                                            .help = "Pages per second allocated here by tasks running on other nodes."),
};

const struct table_def system_numa_table = {
    .name = "numa",
    .help = "Memory of each NUMA node, and where allocations went",
    .columns = node_columns,
    .n_columns = NODE_COLUMNS,
    .n_keys = 1,
};

struct node {
    bool present;
    uint32_t slot;
    struct proc_file meminfo, numastat;
    char meminfo_path[NODE_PATH_SIZE], numastat_path[NODE_PATH_SIZE];
    uint64_t last_ns, counters[NS_FIELDS];
};

struct numa {
    struct table_builder *builder;
    uint64_t samples;
    struct node nodes[NODES_MAX];
};

static void *numa_create(void) {
    struct numa *numa = xcalloc(1, sizeof *numa);
    numa->builder = table_builder_new(&system_numa_table);
    return numa;
}

static void node_remove(struct numa *numa, struct node *node) {
    table_builder_remove(numa->builder, node->slot);
    proc_file_close(&node->meminfo);
    proc_file_close(&node->numastat);
    node->present = false;
}

static void numa_destroy(void *state) {
    struct numa *numa = state;
    for (size_t i = 0; i < NODES_MAX; i++)
        if (numa->nodes[i].present)
            node_remove(numa, &numa->nodes[i]);
    table_builder_free(numa->builder);
    free(numa);
}

static void nodes_look(struct numa *numa) {
    for (size_t i = 0; i < NODES_MAX; i++) {
        struct node *node = &numa->nodes[i];
        char path[NODE_PATH_SIZE];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%zu/meminfo", i);
        if (node->present || !proc_exists(path))
            continue;
        *node = (struct node){.present = true, .slot = table_builder_add(numa->builder)};
        memcpy(node->meminfo_path, path, sizeof path);
        snprintf(node->numastat_path, NODE_PATH_SIZE, "/sys/devices/system/node/node%zu/numastat", i);
        node->meminfo = PROC_FILE(node->meminfo_path);
        node->numastat = PROC_FILE(node->numastat_path);
        for (size_t k = 0; k < NS_FIELDS; k++)
            node->counters[k] = PROC_MISSING;
        table_builder_set_num(numa->builder, node->slot, NODE_ID, (double)i);
    }
}

// "Node 0 MemTotal: 4810956 kB": the names begin after the number of the node.
static void node_parse(struct proc_buffer *buffer, size_t id, uint64_t *values) {
    char prefix[16];
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "Node %zu ", id);
    const char *end = buffer->bytes + buffer->length;
    char *to = buffer->bytes;
    const char *line = to;
    do {
        const char *next = proc_next_line(line, end);
        size_t whole = (size_t)((next ? next : end) - line);
        if (whole > length && strncmp(line, prefix, length) == 0) {
            memmove(to, line + length, whole - length);
            to += whole - length;
        }
        line = next;
    } while (line);
    *to = '\0';
    buffer->length = (size_t)(to - buffer->bytes);
    proc_pairs(buffer, node_names, NI_FIELDS, values);
}

static void node_sample(struct numa *numa, size_t id, struct system_sample *sample) {
    struct node *node = &numa->nodes[id];
    uint64_t values[NI_FIELDS], counters[NS_FIELDS];
    if (proc_file_read(&node->meminfo, sample->buffer) < 0) {
        node_remove(numa, node); // the node went offline
        return;
    }
    node_parse(sample->buffer, id, values);
    for (uint16_t i = 0; i < NI_FIELDS; i++)
        table_builder_set_num(numa->builder, node->slot, NODE_MEM + i, counter_value(values[i]));
    double used = counter_value(values[NI_TOTAL]) - counter_value(values[NI_FREE]);
    table_builder_set_num(numa->builder, node->slot, NODE_USED, used < 0 ? 0 : used);
    proc_file_read(&node->numastat, sample->buffer);
    double seconds = system_elapsed(&node->last_ns, sample->now());
    proc_pairs(sample->buffer, numastat_names, NS_FIELDS, counters);
    for (uint16_t i = 0; i < NS_FIELDS; i++)
        table_builder_set_num(numa->builder, node->slot, NODE_RATES + i,
                              counter_rate(node->counters[i], counters[i], seconds));
    memcpy(node->counters, counters, sizeof counters);
}

static void numa_sample(void *state, struct system_sample *sample) {
    struct numa *numa = state;
    if (sample->all && numa->samples++ % NODE_LOOK_SAMPLES == 0)
        nodes_look(numa);
    for (size_t i = 0; i < NODES_MAX && sample->all; i++)
        if (numa->nodes[i].present)
            node_sample(numa, i, sample);
    section_table(sample->out, table_builder_seal(numa->builder));
}

const struct system_part system_numa_part = {
    .name = "numa",
    .create = numa_create,
    .sample = numa_sample,
    .destroy = numa_destroy,
};
