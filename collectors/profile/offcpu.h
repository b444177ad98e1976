// The state of the collector "offcpu" and the parts that fill a section from it. One thread: the collector's.
#ifndef COLLECTORS_PROFILE_OFFCPU_H
#define COLLECTORS_PROFILE_OFFCPU_H

#include "collectors/collector.h"
#include "collectors/profile/asleep.h"
#include "collectors/profile/blocks.h"
#include "collectors/profile/index.h"
#include "collectors/profile/maps.h"
#include "collectors/profile/sampling.h"
#include "collectors/profile/stacks.h"
#include "collectors/profile/unwinding.h"
#include "collectors/profile/waking.h"

#define OFFCPU_STACKS_PER_S 250   // of each CPU: 1 % of it at 40 us for taking a stack and naming it
#define OFFCPU_RECORD_NS 1200     // of a CPU for the records of one switch, written and read
#define OFFCPU_WAKER_COST 2       // with wakers, times that
#define OFFCPU_RECORDS_SHARE 0.01 // of a CPU, for those

struct offcpu_cpu {
    uint64_t switches; // since the rate was measured
    uint64_t period;   // a stack of one in so many
    double per_s;      // switches
};

struct offcpu {
    struct collect_options options;
    struct profile_options profile;
    struct profile_sampling *sampling;
    struct space_maps *maps;
    struct unwinding *unwinding;
    struct stacks *stacks;
    struct blocks *blocks;
    struct tree_builder *tree;
    struct stacks_path path;
    struct index kernel_names;  // of /proc/TID/stack
    uint32_t no_stack, no_user; // marks
    struct waking waking;       // the event
    struct waking_names waking_names;
    bool wakers; // paths go on with the stack of the waker
    struct offcpu_cpu *cpus;
    int n_cpus;
    uint64_t rate_from, rated, period_most; // rated: when switches were last counted
    bool recording;                         // switches; else it is between two windows
    bool unseeded;                          // there were more threads than were looked at
    double windows_off;
    // window_from: what is recorded is counted up to it.
    uint64_t window_began, window_from, off_until, settled;
    // Of the interval.
    uint64_t recorded_ns, stacks_taken, switches, lost, refused, blocked_us, unknown_us;
    double recorded_pct;
};

extern const struct tree_def offcpu_tree;
extern const struct series_def offcpu_series[];
enum {
    OFFCPU_STACKS,
    OFFCPU_SWITCHES,
    OFFCPU_RECORDED_PCT,
    OFFCPU_NO_STACK_PCT,
    OFFCPU_LOST,
    OFFCPU_N_SERIES,
};

void offcpu_fill(struct offcpu *offcpu, struct section *out, double seconds); // empties the tree builder
void offcpu_notes(const struct offcpu *offcpu, struct section *out);

// A stack of one in how many switches keeps to the budget: 1, or an odd prime.
uint64_t offcpu_period(double switches_per_s);
// How long switches are not recorded after each window, in windows. 0: they always are.
double offcpu_windows_off(double switches_per_s);

#endif
