// The NUMA node of each CPU: /sys/devices/system/node/node*/cpulist. Read again only when the set of online CPUs has
// changed. NAN on a kernel without NUMA.
#include "collectors/system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/kernel/perf/cpus.h"
#include "model/mem.h"

#define NODES_MAX 1024 // MAX_NUMNODES of the largest configuration

void system_topology_load(double *nodes, size_t n) {
    bool *nodes_there = xcalloc(NODES_MAX, sizeof *nodes_there), *set = xcalloc(n ? n : 1, sizeof *set);
    char text[4096], path[80];
    int top = 0;
    for (size_t i = 0; i < n; i++)
        nodes[i] = NAN;
    if (proc_read_line("/sys/devices/system/node/online", text, sizeof text) == 0)
        top = cpu_list_parse(text, nodes_there, NODES_MAX);
    for (int node = 0; node < top; node++) {
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
        if (!nodes_there[node] || proc_read_line(path, text, sizeof text))
            continue;
        for (size_t i = 0; i < n; i++)
            set[i] = false;
        cpu_list_parse(text, set, (int)n);
        for (size_t i = 0; i < n; i++)
            if (set[i])
                nodes[i] = node;
    }
    free(nodes_there);
    free(set);
}
