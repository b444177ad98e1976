// The state of the collector "profile" and the parts that fill a section from it. One thread: the collector's.
#ifndef COLLECTORS_PROFILE_PROFILE_H
#define COLLECTORS_PROFILE_PROFILE_H

#include "collectors/collector.h"
#include "collectors/profile/addresses.h"
#include "collectors/profile/code.h"
#include "collectors/profile/maps.h"
#include "collectors/profile/sampling.h"
#include "collectors/profile/stacks.h"
#include "collectors/profile/tally.h"
#include "collectors/profile/unwinding.h"

#define PROFILE_EVENTS_KEPT 8192   // samples of an interval that the stream lists
#define PROFILE_SYMBOLS_SHOWN 1000 // rows of the table symbols
#define PROFILE_NOTES_KEPT 6       // of the symbol service, which gives each once

struct profile_recent {
    uint64_t time;
    uint32_t cpu, process, leaf; // IDs of names
    uint32_t path;               // number in the builder of the raw tree
    pid_t pid, tid;
};

struct profile {
    struct collect_options options; // with the PIDs of a request in place of --pid
    pid_t *pids;                    // these
    uint32_t hz;                    // that was asked for; 0: the default
    struct name_table *names;
    struct profile_sampling *sampling;
    struct space_maps *maps;
    struct unwinding *unwinding; // of copied stacks
    struct stacks *stacks;
    struct tally *tally;
    struct tree_builder *raw, *tree; // raw: as sampled; tree: with marks
    struct table_builder *symbols, *objects, *processes, *address_rows;
    struct addresses *addresses; // of the interval
    struct profile_code *code;
    struct profile_recent *recent; // a ring
    struct stacks_path path;
    struct tally_marks marks;
    // CALL_GRAPH_AUTO: user stacks that could be judged, and those of them that were broken, or cut, while stacks are
    // copied.
    struct {
        bool settled; // stacks are copied, or cannot be
        bool whole;   // they were copied in the whole interval
        uint64_t user, broken;
    } chains;
    // Of the interval.
    double seconds; // 0: the provisional one
    uint64_t samples, addresses_dropped, n_recent, lost, malformed, throttled, outside;
    struct symbols_note notes[PROFILE_NOTES_KEPT];
    size_t n_notes;
};

extern const struct tree_def profile_tree, profile_raw_tree;
extern const struct table_def profile_symbols_table, profile_objects_table, profile_processes_table,
    profile_samples_table, profile_addresses_table, profile_code_table;
extern const struct series_def profile_series[];
enum {
    PROFILE_SAMPLES_PER_S,
    PROFILE_BROKEN_PCT,
    PROFILE_FREQUENCY_HZ,
    PROFILE_LOST,
    PROFILE_ADDRESSES_DROPPED,
    PROFILE_N_SERIES
};

// What was sampled since the last call, into the section; empties the tree builders and n_recent.
void profile_fill(struct profile *profile, struct section *out);
void profile_notes(struct profile *profile, struct section *out);

#endif
