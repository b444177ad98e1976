// The BPF programs that run at a function's entry and return, and the maps that they share with ktop. One program per
// place: a function of one process. Nothing is passed to ktop for a call: it reads the counts from shared memory.
//
// A call is known by its process, place and stack pointer, so recursion, threads and coroutines are distinguished. An
// entry that finds an entry with its own stack pointer proves that the earlier call ended without its return being
// reported: it was unwound (longjmp, an exception), or the kernel lost it (it keeps 64 nested returns of a thread).
//
// Whether a call counts is decided at its entry: on a chosen CPU, and while counting is on. The return of a call that
// does not count is ignored, wherever it happens.
#ifndef COLLECTORS_FUNCTIONS_PROGRAM_H
#define COLLECTORS_FUNCTIONS_PROGRAM_H

#include <sys/types.h>

#include "collectors/functions/spec.h"
#include "collectors/kernel/bpf/recorder.h"
#include "collectors/kernel/perf/cpus.h"
#include "model/hist.h"

#define CALLS_MAX 16384 // in flight; above it the oldest are forgotten

// Start and stop functions switch counting on and off, on whatever CPU they are entered.
struct function_switch {
    uint64_t on;
    uint64_t starts; // from off to on
};

struct function_cpus { // a set
    uint32_t words[CPUS_MAX / 32];
};
void function_cpus_parse(struct function_cpus *cpus, const char *list); // "0,2-5"

// The value of a place. Written by the programs of all CPUs at once, so by atomic additions, but for the extremes.
struct place_counts {
    uint64_t timing;         // written by ktop: 0: entries are counted only
    uint64_t slower_ns;      // the same: calls that take longer are listed; 0: none
    uint64_t roles;          // the same: bits of enum function_role
    uint64_t entries;        // of calls that count
    uint64_t skipped;        // of calls that do not
    uint64_t begun, returns; // of timed calls
    uint64_t unwound;        // timed calls that ended without a reported return
    uint64_t sum_ns, max_ns, not_min_ns;
    uint32_t buckets[HIST_BUCKETS];
};

#define CALL_ARGS 6
#define CALL_FRAMES 24

// A call that took longer than its limit.
struct call_record {
    uint64_t begin_ns, took_ns;
    uint32_t tid, pid;
    uint32_t place;
    int32_t stack_bytes; // of `frames`; < 0: no stack
    uint64_t args[CALL_ARGS];
    char comm[16];
    uint64_t frames[CALL_FRAMES]; // the caller first
};

struct function_maps {
    int counts; // array of struct place_counts
    int calls;  // hash: struct call_key to struct call_value
    int kernel; // the same for kernel functions, to struct kernel_value; -1: none is chosen
    uint32_t places;
    struct place_counts *shared;  // `counts` in memory
    struct bpf_recorder recorder; // of struct call_record; only if calls are listed
    bool lists;
    int switch_map;                   // an array of one struct function_switch; -1: counting is always on
    struct function_switch *switch_;  // `switch_map` in memory
    const struct function_cpus *cpus; // on which calls count; NULL: all
};

#define FUNCTION_MAPS_NONE ((struct function_maps){.counts = -1, .calls = -1, .kernel = -1, .switch_map = -1})

struct function_uses {
    bool lists, kernel, switched;     // calls are listed; functions of the kernel; start and stop functions
    const struct function_cpus *cpus; // must outlive the maps; NULL: all
};
// Counting is off. 0 or -errno; nothing is open then.
int function_maps_open(struct function_maps *maps, uint32_t places, const struct function_uses *uses);
void function_maps_close(struct function_maps *maps);

// How a program finds the index of its place: as a constant, or as the cookie of its attachment, so that one program
// serves all places.
#define PLACE_BY_COOKIE UINT32_MAX
struct function_abi {
    uint32_t place;
    uint32_t returned_bytes; // by which the stack pointer is higher after a return
    // Of the kernel: calls of a thread are nested, interrupts included, so the last one that was entered returns.
    bool kernel;
    const pid_t *pids; // only calls of these processes; n_pids 0: of all but `self`
    size_t n_pids;
    pid_t self; // 0: none is left out
};
void function_entry_program(struct bpf_code *code, const struct function_maps *maps, const struct function_abi *abi);
void function_return_program(struct bpf_code *code, const struct function_maps *maps, const struct function_abi *abi);

#endif
