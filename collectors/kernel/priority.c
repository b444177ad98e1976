// Scheduling priority of ktop's threads. They use little CPU, but under load they would wait in the run queue like any
// other thread. Preferred: realtime, the only class that is independent of the session's autogroup (SCHED_RR, the
// lowest priorities, reset on fork). Else a short slice (6.12 on, needs no privilege): the scheduler then picks a
// thread sooner after it wakes.
#include "collectors/kernel/priority.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/perf/cpus.h"

#define SLICE_NS 100000
// The allocators of the sanitizers spin for their locks: for ever at realtime priority, if the holder waits for the
// same CPU.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MAY_BE_REALTIME false
#else
#define MAY_BE_REALTIME true
#endif

// The kernel's struct sched_attr (include/uapi/linux/sched/types.h), first version; not in every C library.
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static bool ask_short_slice(void) {
    struct attributes attributes = {.size = sizeof attributes};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0)
        return false;
    attributes.runtime = SLICE_NS;
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

const char *priority_ask(enum priority priority) {
    const struct sched_param low = {.sched_priority = (int)priority};
    if (MAY_BE_REALTIME && sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &low) == 0)
        return "realtime";
    return ask_short_slice() ? "short slice" : "ordinary";
}

void priority_drop(void) {
    const struct sched_param none = {0};
    // SCHED_RESET_ON_FORK stays: clearing it needs CAP_SYS_NICE.
    sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
    ask_short_slice();
}

int priority_on_cpu(uint32_t cpu, int (*work)(void *ctx), void *ctx) {
    cpu_set_t *before = CPU_ALLOC(CPUS_MAX), *one = CPU_ALLOC(CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    struct sched_param was = {0}, first = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
    int policy = sched_getscheduler(0);
    bool moved = false, raised = false;
    if (before && one && policy >= 0 && !sched_getparam(0, &was) && !sched_getaffinity(0, size, before)) {
        CPU_ZERO_S(size, one);
        CPU_SET_S((size_t)cpu, size, one);
        // Raise the priority before the move: at its old priority the thread might wait on the new CPU.
        raised = MAY_BE_REALTIME && !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
        moved = !sched_setaffinity(0, size, one);
    }
    int result = work(ctx);
    if (moved)
        sched_setaffinity(0, size, before);
    if (raised && (policy & ~SCHED_RESET_ON_FORK) == SCHED_OTHER)
        priority_drop(); // restores the short slice
    else if (raised)
        sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &was);
    CPU_FREE(before);
    CPU_FREE(one);
    return result;
}

void priority_budget(struct priority_budget *budget, uint64_t cpu_ns, uint64_t interval_ns) {
    uint64_t pct = budget->pct ? budget->pct : PRIORITY_PCT;
    bool raised = cpu_ns * 100 <= interval_ns * (budget->raised || !budget->decided ? pct : pct * 3 / 8);
    if (!interval_ns && budget->decided) // unknown load: keep the priority
        return;
    if (budget->decided && raised == budget->raised)
        return;
    if (raised || !interval_ns)
        priority_ask(PRIORITY_COLLECTOR);
    else
        priority_drop();
    budget->raised = raised || !interval_ns;
    budget->decided = true;
}
