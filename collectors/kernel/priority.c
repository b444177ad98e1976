// A better place with the scheduler. What these threads take from others is small, but under load they would wait for
// their turn as long as everybody else. In the order of what helps: a realtime priority (the only one that does not
// depend on the session's autogroup; the lowest ones, in turns with its equals, and never inherited), then a short
// slice (6.12 on, needs no privilege), which makes the scheduler choose a thread sooner after it slept.
#include "collectors/kernel/priority.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/perf/cpus.h"

#define SLICE_NS 100000

// struct sched_attr of the kernel (include/uapi/linux/sched/types.h), first version; not in every C library.
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
    if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &low) == 0)
        return "realtime";
    return ask_short_slice() ? "short slice" : "ordinary";
}

void priority_drop(void) {
    const struct sched_param none = {0};
    // The flag stays: without CAP_SYS_NICE it cannot be taken back.
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
        // First the place, then the move: moved alone it might wait there.
        raised = !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
        moved = !sched_setaffinity(0, size, one);
    }
    int result = work(ctx);
    if (moved)
        sched_setaffinity(0, size, before);
    if (raised && (policy & ~SCHED_RESET_ON_FORK) == SCHED_OTHER)
        priority_drop(); // with the short slice
    else if (raised)
        sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &was);
    CPU_FREE(before);
    CPU_FREE(one);
    return result;
}

void priority_budget(struct priority_budget *budget, uint64_t cpu_ns, uint64_t interval_ns) {
    uint64_t pct = budget->pct ? budget->pct : PRIORITY_PCT;
    bool modest = cpu_ns * 100 <= interval_ns * (budget->modest || !budget->asked ? pct : pct * 3 / 8);
    if (!interval_ns && budget->asked) // as it was
        return;
    if (budget->asked && modest == budget->modest)
        return;
    if (modest || !interval_ns)
        priority_ask(PRIORITY_COLLECTOR);
    else
        priority_drop();
    budget->modest = modest || !interval_ns;
    budget->asked = true;
}
