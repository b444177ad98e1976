// The check before a probe is recorded: how often it is hit, and what that costs the programs that hit it. Counted for
// 200 ms with a buffer of a few pages that is never read.
#ifndef COLLECTORS_PROBES_RATE_H
#define COLLECTORS_PROBES_RATE_H

#include "collectors/probes/define.h"
#include "collectors/rate_limit.h"

// Hits per second above which a probe is refused, and above which a running one is stopped. In a file every hit traps
// into the kernel twice.
double probe_rate_most(const struct probe_spec *spec);
void probe_rate_limit(double per_s); // for tests: the same one for all; 0: none. Before any check
// The time that one hit costs the program, in us: on a fast machine, or at most. A uprobe took 10 us in a virtual
// machine whose traps are slow; its return adds little.
double probe_hit_us(const struct probe_spec *spec, bool most);

// Counts the hits of those probes, which are defined. results[i]: 0; -EDQUOT: it is hit too often; -errno: the kernel
// does not enable it; with the sentence and its place in the specification. 0, or -errno: none could be checked.
int probe_rate_check(const struct probe *const *probes, size_t n, int *results, struct choice_error *errors);
// Sum of the entries and overruns in the text of a per_cpu/cpuN/stats file.
uint64_t probe_rate_stats(const char *text);

#endif
