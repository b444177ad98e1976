// Events as perf(1) names them: a string of the command line becomes attributes for perf_event_open(2). Covers generic
// hardware, software and cache events, raw and numeric ones, PMUs of /sys/bus/event_source with their aliases, formats,
// scales and units, tracepoints with globs, breakpoints, uprobes and kprobes, and the names of libpfm4; groups and
// modifiers as in tools/perf/Documentation/perf-list.txt. Documents: perf_event_open(2),
// Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}.
//
// Nothing is opened while parsing. One thread at a time (libpfm4 has global state).
#ifndef COLLECTORS_PERF_EVENT_H
#define COLLECTORS_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_parsed_event {
    // What is counted. size is set; read_format, sample_*, inherit, disabled and the like are the opener's to add.
    struct perf_event_attr attr;
    char *name;      // as it was written, or name=; of a glob the event's own
    char *unit;      // of count * scale: "Joules"; NULL: a plain count
    double scale;    // 1 for most
    uint64_t period; // of a period= term, for a sampler; 0: none
    unsigned group;  // events of the same number stand together in the array and are to be opened as one group
    bool guests;     // G or H was given
    bool weak;       // :W of its group: when they cannot be counted together, each alone
    char *cpus;      // "0,18": only on these CPUs (a cpumask, or one kind of cores); NULL: on every one
    bool uncore;     // counts a whole package or machine, never a task
    char *target;    // of uprobes and kprobes: what attr points to
};

// Owned by the caller; filled by perf_event_parse, emptied by perf_event_list_free.
struct perf_event_list {
    struct perf_parsed_event *events;
    size_t n;
    unsigned n_groups;
};

// Where the machine describes itself; for tests. NULL members: the machine's own.
struct perf_event_roots {
    const char *devices; // /sys/bus/event_source/devices
    const char *tracefs; // a mounted tracefs
    bool no_pfm;         // without libpfm4
};

#define PERF_EVENT_ERROR 320

// Adds the events of a string such as "cycles:u,{instructions,r1a8}:S" to *spec. 0; -EINVAL: the string is malformed or
// names what nobody knows; -EACCES and others: what it names cannot be looked up here. Then error has one sentence:
// which word is wrong, why, and the nearest right name; what was added before stays.
int perf_event_parse(struct perf_event_list *spec, const char *text, const struct perf_event_roots *roots,
                     char error[PERF_EVENT_ERROR]);
void perf_event_list_free(struct perf_event_list *spec);

// Opens it as a member of group_fd (-1: alone, or as the leader) for a CPU and PID as perf_event_open has them, with
// these flags of read_format. A descriptor, or -errno.
int perf_parsed_open(const struct perf_parsed_event *event, uint64_t read_format, int pid, int cpu, int group_fd);
// Why it was refused, in a few words.
const char *perf_event_refusal(int error);
// Whether the event is to be opened on that CPU.
bool perf_parsed_on_cpu(const struct perf_parsed_event *event, int cpu);

// Every name that can be given, in the order of its kinds: "hardware", "software", "cache", "PMU" (an alias as
// "pmu/name/"), "libpfm4", "raw", "breakpoint", "probe" (forms of it), "tracepoint".
struct perf_event_name {
    const char *kind, *name;
    const char *help;    // may be ""
    const char *example; // what to open to see whether it works here; NULL: a form without one
    const char *missing; // why it cannot work here, where that is known without a try; else NULL
};
void perf_event_names(const struct perf_event_roots *roots,
                      void (*each)(void *context, const struct perf_event_name *name), void *context);

#endif
