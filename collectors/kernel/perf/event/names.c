// The names of generic events as perf(1) spells them. Tables and look-ups only.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectors/kernel/perf/event/private.h"

#define HARDWARE(config, name, alias, help)                                                                            \
    { PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, name, alias, help }
#define SOFTWARE(config, name, alias, help)                                                                            \
    { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, name, alias, help }

const struct generic_name generic_names[] = {
    HARDWARE(CPU_CYCLES, "cycles", "cpu-cycles", "cycles while the CPU was not asleep"),
    HARDWARE(INSTRUCTIONS, "instructions", NULL, "instructions retired"),
    HARDWARE(CACHE_REFERENCES, "cache-references", NULL, "accesses to the last-level cache"),
    HARDWARE(CACHE_MISSES, "cache-misses", NULL, "misses of the last-level cache"),
    HARDWARE(BRANCH_INSTRUCTIONS, "branches", "branch-instructions", "branches completed"),
    HARDWARE(BRANCH_MISSES, "branch-misses", NULL, "mispredicted branches"),
    HARDWARE(BUS_CYCLES, "bus-cycles", NULL, "cycles of the bus"),
    HARDWARE(STALLED_CYCLES_FRONTEND, "stalled-cycles-frontend", "idle-cycles-frontend",
             "cycles stalled in the front end"),
    HARDWARE(STALLED_CYCLES_BACKEND, "stalled-cycles-backend", "idle-cycles-backend", "cycles stalled in the back end"),
    HARDWARE(REF_CPU_CYCLES, "ref-cycles", NULL, "cycles at the base frequency"),
    SOFTWARE(CPU_CLOCK, "cpu-clock", NULL, "time, ns"),
    SOFTWARE(TASK_CLOCK, "task-clock", NULL, "time that tasks ran, ns"),
    SOFTWARE(PAGE_FAULTS, "page-faults", "faults", "page faults"),
    SOFTWARE(CONTEXT_SWITCHES, "context-switches", "cs", "context switches"),
    SOFTWARE(CPU_MIGRATIONS, "cpu-migrations", "migrations", "task migrations to this CPU"),
    SOFTWARE(PAGE_FAULTS_MIN, "minor-faults", NULL, "page faults without I/O"),
    SOFTWARE(PAGE_FAULTS_MAJ, "major-faults", NULL, "page faults that waited for I/O"),
    SOFTWARE(ALIGNMENT_FAULTS, "alignment-faults", NULL, "unaligned accesses fixed by the kernel"),
    SOFTWARE(EMULATION_FAULTS, "emulation-faults", NULL, "instructions emulated by the kernel"),
    SOFTWARE(DUMMY, "dummy", NULL, "counts nothing"),
    SOFTWARE(BPF_OUTPUT, "bpf-output", NULL, "output of BPF programs"),
    SOFTWARE(CGROUP_SWITCHES, "cgroup-switches", NULL, "context switches to a task of another control group"),
    {0, 0, NULL, NULL, NULL},
};

const struct generic_name *generic_find(const char *name) {
    for (const struct generic_name *row = generic_names; row->name; row++)
        if (!strcmp(name, row->name) || (row->alias && !strcmp(name, row->alias)))
            return row;
    return NULL;
}

// ---- cache events: a cache, an operation, and whether all accesses or the misses ----

#define WORDS 5
#define OPERATIONS 3
#define READ 1
#define WRITE 2
#define PREFETCH 4

static const struct {
    const char *names[WORDS];
    uint8_t can; // which operations perf takes for it
} caches[PERF_COUNT_HW_CACHE_MAX] = {
    [PERF_COUNT_HW_CACHE_L1D] = {{"L1-dcache", "l1-d", "l1d", "L1-data"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_L1I] = {{"L1-icache", "l1-i", "l1i", "L1-instruction"}, READ | PREFETCH},
    [PERF_COUNT_HW_CACHE_LL] = {{"LLC", "L2"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_DTLB] = {{"dTLB", "d-tlb", "Data-TLB"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_ITLB] = {{"iTLB", "i-tlb", "Instruction-TLB"}, READ},
    [PERF_COUNT_HW_CACHE_BPU] = {{"branch", "branches", "bpu", "btb", "bpc"}, READ},
    [PERF_COUNT_HW_CACHE_NODE] = {{"node"}, READ | WRITE | PREFETCH},
};
static const char *const operations[OPERATIONS][WORDS] = {
    [PERF_COUNT_HW_CACHE_OP_READ] = {"load", "loads", "read"},
    [PERF_COUNT_HW_CACHE_OP_WRITE] = {"store", "stores", "write"},
    [PERF_COUNT_HW_CACHE_OP_PREFETCH] = {"prefetch", "prefetches", "speculative-read", "speculative-load"},
};
static const char *const results[2][WORDS] = {
    [PERF_COUNT_HW_CACHE_RESULT_ACCESS] = {"refs", "Reference", "ops", "access"},
    [PERF_COUNT_HW_CACHE_RESULT_MISS] = {"misses", "miss"},
};

// The longest of the words that text begins with and that ends there or before a "-". Its length, or 0.
static size_t word_match(const char *text, const char *const *words) {
    size_t best = 0;
    for (size_t i = 0; i < WORDS && words[i]; i++) {
        size_t n = strlen(words[i]);
        if (n > best && !strncmp(text, words[i], n) && (!text[n] || text[n] == '-'))
            best = n;
    }
    return best;
}

static size_t word_find(const char *text, const char *const (*rows)[WORDS], size_t n_rows, int *which) {
    size_t best = 0;
    for (size_t i = 0; i < n_rows; i++) {
        size_t n = word_match(text, rows[i]);
        if (n > best)
            best = n, *which = (int)i;
    }
    return best;
}

int cache_config(const char *name, uint64_t *config) {
    size_t n = 0;
    int cache = -1, operation = -1, result = -1;
    for (int i = 0; i < PERF_COUNT_HW_CACHE_MAX; i++) {
        size_t length = word_match(name, caches[i].names);
        if (length > n)
            n = length, cache = i;
    }
    if (!n)
        return 0;
    for (int words = 0; name[n]; words++) {
        int which = -1;
        const char *word = name + n + 1;
        size_t length = word_find(word, operations, OPERATIONS, &which);
        bool is_operation = length > 0;
        if (!length)
            length = word_find(word, results, 2, &which);
        if (!length || words == 2) // a word that means nothing, or one too many
            return 0;
        if (is_operation && operation < 0 && !(caches[cache].can & 1 << which))
            return -EINVAL;
        if (is_operation)
            operation = operation < 0 ? which : operation; // a second one is ignored, as in perf
        else
            result = result < 0 ? which : result;
        n += 1 + length;
    }
    *config =
        (uint64_t)cache | (uint64_t)(operation < 0 ? 0 : operation) << 8 | (uint64_t)(result < 0 ? 0 : result) << 16;
    return 1;
}

bool cache_name(size_t i, char *name, uint64_t *config) {
    static const char *const words[OPERATIONS][2] = {
        {"loads", "load-misses"}, {"stores", "store-misses"}, {"prefetches", "prefetch-misses"}};
    for (int cache = 0; cache < PERF_COUNT_HW_CACHE_MAX; cache++)
        for (int operation = 0; operation < OPERATIONS; operation++)
            for (int result = 0; result < 2; result++) {
                if (!(caches[cache].can & 1 << operation) || i--)
                    continue;
                snprintf(name, 64, "%s-%s", caches[cache].names[0], words[operation][result]);
                *config = (uint64_t)cache | (uint64_t)operation << 8 | (uint64_t)result << 16;
                return true;
            }
    return false;
}
