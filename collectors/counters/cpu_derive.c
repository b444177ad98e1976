// Derives ratios and bottlenecks from the counters of a CPU. Pure arithmetic; both events of a ratio are of one group.
#include <math.h>

#include "collectors/counters/cpu_counters.h"

const char *const counter_bound_words[N_BOUND] = {
    [BOUND_IDLE] = "idle",
    [BOUND_COMPUTE] = "compute-bound",
    [BOUND_MEMORY] = "memory-bound",
    [BOUND_BACKEND] = "backend-bound",
    [BOUND_FRONTEND] = "frontend-bound",
    [BOUND_BRANCHES] = "branchy",
};

#define IDLE_CYCLES 20e6 // a second: about one percent of a slow CPU
#define MISS_CYCLES 100  // lowest cost of a memory access
#define BRANCH_CYCLES 15 // lowest cost of a branch misprediction

const char counter_bound_help[] =
    "What holds this CPU up. idle: fewer than 20M cycles/s. With top-down: branchy when bad speculation takes 25% of "
    "the "
    "slots, frontend-bound from 35%, backend-bound from 40% (memory-bound when its misses of the last-level cache, at "
    "100 cycles each, come to half of the cycles), compute-bound when 50% retire. Without: branchy when the branch "
    "misses, at 15 cycles each, come to 25% of the cycles, memory-bound as above while IPC is below 1, backend-bound "
    "or "
    "frontend-bound when it stalls there in 60% of the cycles, compute-bound from IPC 2. Else nothing";

double ratio_of(double part, double whole) {
    return whole > 0 && part >= 0 ? part / whole : NAN;
}

static int place_in(const struct perf_group *group, unsigned event) {
    for (int i = 0; i < group->n; i++)
        if (group->which[i] == event)
            return i;
    return -1;
}

// The rates of both events in the first group that has both.
static bool pair_find(const struct counter_cpu *cpu, unsigned a, unsigned b, double *a_per_s, double *b_per_s) {
    if (cpu->state[a] != COUNTER_COUNTS || cpu->state[b] != COUNTER_COUNTS)
        return false;
    for (unsigned g = 0; g < cpu->n_groups; g++) {
        int at_a = place_in(&cpu->groups[g], a), at_b = place_in(&cpu->groups[g], b);
        if (at_a < 0 || at_b < 0)
            continue;
        *a_per_s = cpu->rates[g].per_s[at_a];
        *b_per_s = cpu->rates[g].per_s[at_b];
        if (!isnan(*a_per_s) && !isnan(*b_per_s))
            return true;
    }
    return false;
}

double cpu_counters_ratio(const struct counter_cpu *cpu, unsigned part, unsigned whole) {
    double a, b;
    return pair_find(cpu, part, whole, &a, &b) ? ratio_of(a, b) : NAN;
}

double cpu_counters_ratio_all(const struct cpu_counters *counters, unsigned part, unsigned whole) {
    double parts = 0, wholes = 0, a, b;
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        if (counters->cpus[cpu].online && pair_find(&counters->cpus[cpu], part, whole, &a, &b)) {
            parts += a;
            wholes += b;
        }
    return ratio_of(parts, wholes);
}

// Shares of the slots. The divisor is the sum of the four, not the slots event: the kernel derives the four from
// hardware fractions that do not add up to it exactly, and small cores have no slots event.
static void derive_topdown(const struct counter_cpu *cpu, struct cpu_derived *out) {
    out->retiring = out->bad_speculation = out->frontend = out->backend = NAN;
    for (unsigned g = 0; g < cpu->n_groups; g++) {
        double value[4], sum = 0;
        bool all = true;
        for (unsigned i = 0; i < 4; i++) {
            unsigned event = TOPDOWN_RETIRING + i;
            int at = cpu->state[event] == COUNTER_COUNTS ? place_in(&cpu->groups[g], event) : -1;
            value[i] = at < 0 ? NAN : cpu->rates[g].per_s[at];
            all &= !isnan(value[i]);
            sum += value[i];
        }
        if (!all || !(sum > 0))
            continue;
        out->retiring = value[0] / sum;
        out->bad_speculation = value[1] / sum;
        out->frontend = value[2] / sum;
        out->backend = value[3] / sum;
        return;
    }
}

// Cycles per second of the time in which the CPU was not halted. Both ways measure that time by a clock that runs at
// the TSC rate, but only while the CPU is not halted.
static double derive_active_hz(const struct counter_cpu *cpu) {
    double tsc_hz = cpu->hardware_per_s[TSC], share = cpu_counters_ratio(cpu, APERF, MPERF);
    if (isnan(share))
        share = cpu_counters_ratio(cpu, CYCLES, REF_CYCLES);
    return share * (isnan(tsc_hz) ? cpu->base_hz : tsc_hz);
}

void cpu_counters_derive(const struct counter_cpu *cpu, struct cpu_derived *out) {
    double base_hz = isnan(cpu->base_hz) ? cpu->hardware_per_s[TSC] : cpu->base_hz;
    out->cycles_per_s = cpu->hardware_per_s[CYCLES];
    out->ipc = cpu_counters_ratio(cpu, INSTRUCTIONS, CYCLES);
    out->active_hz = derive_active_hz(cpu);
    out->turbo_ratio = ratio_of(out->active_hz, base_hz);
    out->cache_miss_ratio = cpu_counters_ratio(cpu, CACHE_MISSES, CACHE_REFERENCES);
    out->cache_mpki = cpu_counters_ratio(cpu, CACHE_MISSES, INSTRUCTIONS) * 1000;
    out->branch_miss_ratio = cpu_counters_ratio(cpu, BRANCH_MISSES, BRANCHES);
    out->stalled_frontend = cpu_counters_ratio(cpu, STALLED_FRONTEND, CYCLES);
    out->stalled_backend = cpu_counters_ratio(cpu, STALLED_BACKEND, CYCLES);
    out->cache_misses_per_cycle = cpu_counters_ratio(cpu, CACHE_MISSES, CYCLES);
    out->branch_misses_per_cycle = cpu_counters_ratio(cpu, BRANCH_MISSES, CYCLES);
    derive_topdown(cpu, out);
}

// The rules of counter_bound_help. Comparisons with NAN are false: a missing value triggers no rule.
enum counter_bound cpu_counters_bound(const struct cpu_derived *cpu, bool last_level) {
    bool to_memory = last_level && cpu->cache_misses_per_cycle * MISS_CYCLES >= 0.5;
    if (cpu->cycles_per_s < IDLE_CYCLES)
        return BOUND_IDLE;
    if (!isnan(cpu->retiring)) {
        if (cpu->bad_speculation >= 0.25)
            return BOUND_BRANCHES;
        if (cpu->backend >= 0.4)
            return to_memory ? BOUND_MEMORY : BOUND_BACKEND;
        if (cpu->frontend >= 0.35)
            return BOUND_FRONTEND;
        return cpu->retiring >= 0.5 ? BOUND_COMPUTE : BOUND_UNKNOWN;
    }
    if (to_memory && cpu->ipc < 1)
        return BOUND_MEMORY;
    if (cpu->branch_misses_per_cycle * BRANCH_CYCLES >= 0.25)
        return BOUND_BRANCHES;
    if (cpu->stalled_backend >= 0.6)
        return BOUND_BACKEND;
    if (cpu->stalled_frontend >= 0.6)
        return BOUND_FRONTEND;
    return cpu->ipc >= 2 ? BOUND_COMPUTE : BOUND_UNKNOWN;
}
