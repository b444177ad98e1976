// NUMA nodes: /sys/devices/system/node/node*/meminfo and numastat. A kernel without NUMA has none: no rows.
// Kernel document: Documentation/admin-guide/numastat.rst.
#include "collectors/system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define NODES_MAX 64
#define NODE_LOOK_SAMPLES 60 // nodes come and go rarely: looked for this seldom
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
#define KIB(name_, title_, help_)                                                                                      \
    { .name = (name_), .title = (title_), .help = (help_), .unit = UNIT_KIB, .width = 8 }
#define COUNT(name_, title_, help_)                                                                                    \
    { .name = (name_), .title = (title_), .help = (help_), .unit = UNIT_COUNT, .width = 8 }
#define PER_S(name_, title_, help_)                                                                                    \
    { .name = (name_), .title = (title_), .help = (help_), .unit = UNIT_PER_S, .width = 8 }

static const struct column node_columns[NODE_COLUMNS] = {
    [NODE_ID] = {.name = "node",
                 .title = "NODE",
                 .help = "Number of the NUMA node",
                 .unit = UNIT_ID,
                 .width = 4,
                 .ascending = true},
    [NODE_MEM + NI_TOTAL] = KIB("total_kib", "TOTAL", "Memory of the node"),
    [NODE_MEM + NI_FREE] = KIB("free_kib", "FREE", "Memory of the node that holds nothing at all"),
    [NODE_MEM + NI_DIRTY] = KIB("dirty_kib", "DIRTY", "Written by programs and not yet being written to a disk"),
    [NODE_MEM + NI_FILE] = KIB("file_kib", "FILE", "Page cache on the node"),
    [NODE_MEM + NI_MAPPED] = KIB("mapped_kib", "MAPPED", "Page cache on the node that programs have mapped"),
    [NODE_MEM + NI_ANON] = KIB("anon_kib", "ANON", "Heaps and stacks of programs on the node"),
    [NODE_MEM + NI_SHMEM] = KIB("shmem_kib", "SHMEM", "Shared memory and tmpfs on the node"),
    [NODE_MEM + NI_SLAB] = KIB("slab_kib", "SLAB", "The kernel's own objects on the node"),
    [NODE_MEM + NI_HUGE_TOTAL] = COUNT("huge_pages_total", "HUGE", "Huge pages set aside on the node"),
    [NODE_MEM + NI_HUGE_FREE] = COUNT("huge_pages_free", "HUGEFREE", "Huge pages of the node that nobody uses"),
    [NODE_USED] = KIB("used_kib", "USED", "Total less free"),
    [NODE_RATES + NS_HIT] = PER_S("hits_per_s", "HIT/s", "Pages per second allocated on this node as was wanted"),
    [NODE_RATES + NS_MISS] =
        PER_S("misses_per_s", "MISS/s",
              "Pages per second allocated here because the node that was wanted was short of memory"),
    [NODE_RATES + NS_FOREIGN] =
        PER_S("foreign_per_s", "FORGN/s", "Pages per second wanted here and allocated elsewhere"),
    [NODE_RATES + NS_INTERLEAVE] =
        PER_S("interleave_per_s", "INTRLV/s", "Pages per second interleaved to this node as was wanted"),
    [NODE_RATES + NS_LOCAL] = PER_S("local_per_s", "LOCAL/s", "Pages per second allocated here by tasks that ran here"),
    [NODE_RATES + NS_OTHER] =
        PER_S("other_per_s", "OTHER/s", "Pages per second allocated here by tasks that ran on another node"),
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
        node_remove(numa, node); // the node was taken out
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
