// A choice of functions while it is counted: probes in every process that has them, and what was read up to the last
// frame. One thread owns it.
#ifndef COLLECTORS_FUNCTIONS_RUNNING_H
#define COLLECTORS_FUNCTIONS_RUNNING_H

#include "collectors/collector.h"
#include "collectors/functions/attach.h"
#include "collectors/functions/find.h"

#define FUNCTION_PLACES_MAX 512 // functions times processes
#define FUNCTION_COST_PCT 25    // of a CPU: a choice that costs the programs more is refused, and stopped at twice that

// A function in one process.
struct function_place {
    uint16_t function, user; // of the choice
    // What was read up to the last frame, and the difference to the one before.
    struct place_counts *before, *now; // NULL: never called
    uint64_t max_ns, min_ns;           // of the interval, within the precision of the histogram
    double calls_total;
};

struct running {
    struct function_choice choice;
    struct function_maps maps;
    struct function_place *places;
    uint32_t n_places;
    struct uprobes *probes; // by user
    char (*comms)[16];      // by user
    bool every;             // processes that start later are added
    double bound_pct;       // FUNCTION_COST_PCT
    char stopped[160];      // why it was stopped; "": it runs
    const pid_t *pids;      // kernel: only calls of these processes; borrowed
    size_t n_pids, refused; // refused: functions that the kernel does not probe
    bool show_self;
    struct function_cpus cpus;
    bool some_cpus, starts; // only on `cpus`; there are start functions
    uint32_t high;          // intervals in a row above the bound
    double cost_us;         // of all calls of the interval, estimated
    uint8_t *known;         // by PID: how often it was looked at: before an exec, and after it
};

// Resolves the list, attaches and checks the rate: 0, or -errno with the sentence and its place in the list. `before`
// (NULL: none): what ran up to now; the rates of its patterns are not checked again. -ENODATA: nothing is chosen.
int running_open(struct running **out, const char *list, const struct collect_options *options,
                 const struct running *before, struct choice_error *error);
void running_free(struct running *running); // NULL is allowed

// Ends the interval: reads the counts into places[].now, as differences. Adds processes that started.
void running_read(struct running *running);
// Stops it when it costs too much. `seconds` of the interval.
void running_bound(struct running *running, double seconds);

#endif
