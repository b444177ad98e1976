// A forged /sys/bus/event_source/devices and tracefs, for the parser of event strings: an Intel-like processor, a
// hybrid one, RAPL, an uncore PMU of two boxes, an arm64 processor, probes, some tracepoints.
#ifndef TESTS_UNIT_FORGE_EVENTS_H
#define TESTS_UNIT_FORGE_EVENTS_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/kernel/perf/event/parse.h"
#include "tests/unit/forge_files.h"

struct forged {
    char root[64], devices[96], tracefs[96];
    struct perf_event_roots roots;
};

static inline void forge_put(const struct forged *forged, const char *path, const char *text) {
    char *line;
    if (asprintf(&line, "%s\n", text) < 0)
        abort();
    forge_file(forged->root, path, line);
    free(line);
}

// {"format/event", "config:0-7"} below a PMU; ends with NULL.
static inline void forge_pmu(const struct forged *forged, const char *name, const char *const (*files)[2]) {
    char path[256];
    for (; (*files)[0]; files++) {
        snprintf(path, sizeof path, "devices/%s/%s", name, (*files)[0]);
        forge_put(forged, path, (*files)[1]);
    }
}

static inline void forge_begin(struct forged *forged) {
    *forged = (struct forged){.root = "/tmp/ktop-events-XXXXXX"};
    if (!mkdtemp(forged->root))
        abort();
    snprintf(forged->devices, sizeof forged->devices, "%s/devices", forged->root);
    snprintf(forged->tracefs, sizeof forged->tracefs, "%s/tracefs", forged->root);
    forged->roots = (struct perf_event_roots){.devices = forged->devices, .tracefs = forged->tracefs, .no_pfm = true};
    forge_pmu(forged, "software", (const char *const[][2]){{"type", "1"}, {NULL, NULL}});
    forge_pmu(forged, "tracepoint", (const char *const[][2]){{"type", "2"}, {NULL, NULL}});
    forge_pmu(forged, "breakpoint", (const char *const[][2]){{"type", "5"}, {NULL, NULL}});
    forge_pmu(forged, "msr",
              (const char *const[][2]){
                  {"type", "9"}, {"format/event", "config:0-63"}, {"events/tsc", "event=0x00"}, {NULL, NULL}});
    forge_put(forged, "tracefs/events/sched/sched_switch/id", "316");
    forge_put(forged, "tracefs/events/sched/sched_wakeup/id", "318");
    forge_put(forged, "tracefs/events/sched/enable", "0");
    forge_put(forged, "tracefs/events/irq/softirq_entry/id", "150");
    forge_put(forged, "tracefs/events/ftrace/function/format", "no id: cannot be counted");
}

static inline void forge_intel(const struct forged *forged) {
    forge_pmu(forged, "cpu",
              (const char *const[][2]){{"type", "4"},
                                       {"format/event", "config:0-7"},
                                       {"format/umask", "config:8-15"},
                                       {"format/edge", "config:18"},
                                       {"format/inv", "config:23"},
                                       {"format/cmask", "config:24-31"},
                                       {"format/split", "config:0-3,40-43"},
                                       {"format/ldlat", "config1:0-15"},
                                       {"format/offcore_rsp", "config1:0-63"},
                                       {"format/far", "config2:4-7"},
                                       {"events/cpu-cycles", "event=0x3c"},
                                       {"events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
                                       {"events/topdown-fetch-bubbles", "event=0x9c,umask=0x1"},
                                       {"events/with-param", "event=0x10,umask=?"},
                                       {NULL, NULL}});
    forge_pmu(forged, "power",
              (const char *const[][2]){{"type", "12"},
                                       {"cpumask", "0,18"},
                                       {"format/event", "config:0-7"},
                                       {"events/energy-pkg", "event=0x02"},
                                       {"events/energy-pkg.unit", "Joules"},
                                       {"events/energy-pkg.scale", "2.3283064365386962890625e-10"},
                                       {NULL, NULL}});
    for (int i = 0; i < 2; i++) {
        char name[32], type[8];
        snprintf(name, sizeof name, "uncore_imc_%d", i);
        snprintf(type, sizeof type, "%d", 20 + i);
        forge_pmu(forged, name,
                  (const char *const[][2]){{"type", type},
                                           {"cpumask", i ? "18" : "0"},
                                           {"format/event", "config:0-7"},
                                           {"format/umask", "config:8-15"},
                                           {"events/data_reads", "event=0x04,umask=0x03"},
                                           {"events/data_reads.scale", "6.103515625e-5"},
                                           {"events/data_reads.unit", "MiB"},
                                           {NULL, NULL}});
    }
}

static inline void forge_hybrid(const struct forged *forged) {
    forge_pmu(forged, "cpu_core",
              (const char *const[][2]){{"type", "4"},
                                       {"cpus", "0-7"},
                                       {"format/event", "config:0-7"},
                                       {"events/slots", "event=0x00"},
                                       {NULL, NULL}});
    forge_pmu(forged, "cpu_atom",
              (const char *const[][2]){{"type", "10"}, {"cpus", "8-15"}, {"format/event", "config:0-7"}, {NULL, NULL}});
}

static inline void forge_arm(const struct forged *forged) {
    forge_pmu(forged, "armv8_pmuv3",
              (const char *const[][2]){{"type", "8"},
                                       {"cpus", "0-3"},
                                       {"format/event", "config:0-15"},
                                       {"format/long", "config1:0"},
                                       {"format/rdpmc", "config1:1"},
                                       {"events/cpu_cycles", "event=0x0011"},
                                       {"events/l1d_cache_refill", "event=0x0003"},
                                       {NULL, NULL}});
    forge_pmu(forged, "kprobe", (const char *const[][2]){{"type", "6"}, {"format/retprobe", "config:0"}, {NULL, NULL}});
    forge_pmu(
        forged, "uprobe",
        (const char *const[][2]){
            {"type", "7"}, {"format/retprobe", "config:0"}, {"format/ref_ctr_offset", "config:32-63"}, {NULL, NULL}});
}

static inline int forge_remove_one(const char *path, const struct stat *stat, int type, struct FTW *at) {
    (void)stat, (void)type, (void)at;
    return remove(path);
}

static inline void forge_end(struct forged *forged) {
    nftw(forged->root, forge_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
