// The collector "offcpu": where threads block, as call paths weighted by blocked time. Runs only while the off-CPU
// flame graph is shown. Two sources of the kernel share a ring on each CPU: a record of every switch, from which the
// blocked time of every thread is known, and a sample with its stack of one in N switches.
//
// Both have a budget, a share of each CPU. N follows the rate of switches (offcpu_period). Where the records alone cost
// too much, switches are recorded and sampled in windows only, and times are scaled; between windows no event is open
// that the kernel works for at a switch.
#include "collectors/profile/offcpu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/perf/perf.h"
#include "collectors/kernel/proc/self.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/profile/cgroup.h"
#include "collectors/task_identity.h"
#include "model/clock.h"
#include "model/mem.h"

#define DRAIN_MS 50
#define SETTLE_NS 200000ull // a record that is that old is visible in its ring
#define FIRST_PERIOD 31     // until the rate of switches is known
#define RATE_NS 4000000ull  // shortest time over which a rate is measured
#define WINDOW_NS 50000000ull
#define WINDOWS_OFF_MAX 29           // times a window
#define WINDOW_EVERY_NS 750000000ull // at least; a window is shorter than WINDOW_NS then
#define DRAIN_SHORT_MS 10            // in a short window
#define ASK_AFTER_NS 100000000ull    // a block that long is worth reading its kernel stack
#define ASKED_MAX 256                // an interval: about 10 us each
#define SEEDS_MAX 20000              // threads that are looked at when the profile begins
#define LOOKED_AT_WINDOW 64          // awake threads that may have fallen asleep before a window, about 5 us each
#define LOOKED_AFTER_LOSS 2000
#define NAMES_MAX (1u << 20) // of one name table

// ---- the cost ----

static bool is_prime(uint64_t n) {
    for (uint64_t d = 3; d * d <= n; d += 2)
        if (n % d == 0)
            return false;
    return n % 2 != 0;
}

uint64_t offcpu_period(double switches_per_s) {
    if (switches_per_s <= OFFCPU_STACKS_PER_S)
        return 1;
    // Stacks are sampled in windows, like switches: half of what the time between them leaves is used in these.
    double per_s = OFFCPU_STACKS_PER_S * (1 + offcpu_windows_off(switches_per_s) / 2);
    uint64_t period = (uint64_t)(switches_per_s / per_s) + 1;
    for (period |= 1; !is_prime(period);) // programs that take turns would be in lock-step with an even one
        period += 2;
    return period;
}

double offcpu_windows_off(double switches_per_s) {
    double cost = switches_per_s * OFFCPU_RECORD_NS / 1e9, off = cost / OFFCPU_RECORDS_SHARE - 1;
    return off <= 0 ? 0 : off > WINDOWS_OFF_MAX ? WINDOWS_OFF_MAX : off;
}

// Follows the rate of each CPU while switches are recorded.
static void adapt(struct offcpu *offcpu, uint64_t now) {
    double most = 0;
    uint64_t ns = now - offcpu->rate_from;
    if (!offcpu->recording || ns < RATE_NS || now < offcpu->rate_from)
        return;
    double since = (double)(now - offcpu->rated); // with the time between two windows
    offcpu->period_most = 1;
    for (int cpu = 0; cpu < offcpu->n_cpus; cpu++) {
        struct offcpu_cpu *at = &offcpu->cpus[cpu];
        double per_s = (double)at->switches * 1e9 / (double)ns;
        // It falls slowly: bursts come again.
        at->per_s = per_s > at->per_s ? per_s : at->per_s + (per_s - at->per_s) * since / (1e9 + since);
        at->switches = 0;
        uint64_t period = offcpu_period(at->per_s);
        if (period > at->period || period * 5 < at->period * 4) {
            profile_sampling_set_period(offcpu->sampling, cpu, period);
            at->period = period;
        }
        offcpu->period_most = at->period > offcpu->period_most ? at->period : offcpu->period_most;
        most = at->per_s > most ? at->per_s : most;
    }
    offcpu->windows_off = offcpu_windows_off(offcpu->wakers ? OFFCPU_WAKER_COST * most : most);
    offcpu->rated = now;
    offcpu->rate_from = now;
}

static uint64_t window_ns(const struct offcpu *offcpu) {
    double most = (double)WINDOW_EVERY_NS / (1 + offcpu->windows_off);
    return most < (double)WINDOW_NS ? (uint64_t)most : WINDOW_NS;
}

static void window_end(struct offcpu *offcpu, uint64_t until, uint64_t now) {
    profile_sampling_switches(offcpu->sampling, false);
    blocks_pause(offcpu->blocks, until);
    offcpu->recording = false;
    offcpu->recorded_ns += until > offcpu->window_from ? until - offcpu->window_from : 0;
    offcpu->rate_from = now;
    offcpu->off_until = now + (uint64_t)(offcpu->windows_off * (double)window_ns(offcpu));
}

static bool look(void *context, pid_t pid, pid_t tid) {
    (void)context;
    return asleep_is(pid, tid);
}

static void window_begin(struct offcpu *offcpu, uint64_t now) {
    if (profile_sampling_switches(offcpu->sampling, true))
        return;     // the next drain tries again
    now = now_ns(); // opening may wait for the other CPUs
    blocks_resume(offcpu->blocks, now);
    offcpu->recording = true;
    offcpu->window_began = offcpu->window_from = offcpu->rate_from = now;
    blocks_look(offcpu->blocks, now, LOOKED_AT_WINDOW, look, NULL);
}

// ---- records ----

static bool space_wanted(struct offcpu *offcpu, struct space *space) {
    if (space->known.judged)
        return space->known.wanted;
    const struct collect_options *options = &offcpu->options;
    bool filters = thread_filters(options);
    space->known.judged = true;
    space->known.wanted = self_process(space->pid) ? options->show_self : true;
    if (space->known.wanted && (filters || !space->comm[0])) {
        struct task_identity identity = task_identify("/proc", options, space->pid);
        space->known.wanted = !filters || identity.wanted;
        if (!space->comm[0] && identity.found)
            snprintf(space->comm, sizeof space->comm, "%s", identity.status.name);
    }
    if (options->profile.cgroup && space->known.wanted)
        space->known.wanted = cgroup_has("/proc", space->pid, space->parent, options->profile.cgroup);
    return space->known.wanted;
}

static void on_sample(struct offcpu *offcpu, const struct profile_record *record) {
    if (record->tid <= 0) // the idle task, or a process outside this PID namespace
        return;
    struct space *space = space_maps_get(offcpu->maps, record->pid, record->time);
    offcpu->stacks_taken++;
    if (!space_wanted(offcpu, space))
        return;
    stacks_path(offcpu->stacks, space, record->tid, &record->sample, &offcpu->path);
    blocks_stack(offcpu->blocks, record->pid, record->tid, offcpu->path.ids, offcpu->path.n);
}

static void on_waking(struct offcpu *offcpu, const struct profile_record *record) {
    uint32_t ids[WAKING_FRAMES_MAX + 2];
    bool interrupt;
    pid_t tid = waking_thread(&offcpu->waking, record->sample.raw, record->sample.raw_size, &interrupt);
    if (!offcpu->wakers || !offcpu->recording || record->time < offcpu->window_began || tid <= 0 || record->pid < 0 ||
        !blocks_asks_waker(offcpu->blocks, tid))
        return;
    interrupt |= !record->tid; // the idle task wakes no thread itself
    struct space *space = space_maps_get(offcpu->maps, record->pid, record->time);
    if (record->pid && !space->comm[0] && !space->known.is_named) { // wakers of all processes are shown
        struct task_identity identity = task_identify("/proc", &offcpu->options, record->pid);
        if (identity.found)
            snprintf(space->comm, sizeof space->comm, "%s", identity.status.name);
    }
    stacks_path(offcpu->stacks, space, record->tid, &record->sample, &offcpu->path);
    blocks_waker(offcpu->blocks, tid, ids, waking_path(&offcpu->waking_names, &offcpu->path, interrupt, ids));
}

static void on_switch(struct offcpu *offcpu, const struct profile_record *record) {
    if (!offcpu->recording || record->time < offcpu->window_began)
        return;
    if (record->change.out && record->change.cpu < (uint32_t)offcpu->n_cpus) {
        offcpu->cpus[record->change.cpu].switches++;
        offcpu->switches++;
    }
    if (record->tid <= 0)
        return;
    if (record->change.out)
        blocks_out(offcpu->blocks, record->pid, record->tid, record->time, record->change.preempted);
    else
        blocks_in(offcpu->blocks, record->tid, record->time);
}

static void record_take(void *context, const struct profile_record *record) {
    struct offcpu *offcpu = context;
    switch (record->type) {
    case RECORD_SAMPLE:
        (record->sample.raw ? on_waking : on_sample)(offcpu, record);
        return;
    case RECORD_SWITCH:
        on_switch(offcpu, record);
        return;
    case RECORD_KSYMBOL:
        stacks_ksymbol(offcpu->stacks, record);
        return;
    case RECORD_LOST:
        offcpu->lost += record->lost ? record->lost : 1;
        space_maps_lost(offcpu->maps);
        blocks_lost(offcpu->blocks);
        return;
    case RECORD_FORK:
        blocks_fork(offcpu->blocks, record->tid);
        break;
    case RECORD_EXIT:
        blocks_exit(offcpu->blocks, record->tid, record->time);
        break;
    default:
        break;
    }
    space_maps_record(offcpu->maps, record);
}

// Returns up to when records were taken.
static uint64_t drain(struct offcpu *offcpu) {
    uint64_t now = now_ns(), until = now - SETTLE_NS;
    offcpu->lost += profile_sampling_drain(offcpu->sampling, until, record_take, offcpu);
    adapt(offcpu, now);
    return until;
}

static void offcpu_drain(struct collector_run *run) {
    struct offcpu *offcpu = run->state;
    uint64_t until = drain(offcpu), now = now_ns();
    if (!offcpu->recording && now >= offcpu->off_until)
        window_begin(offcpu, now);
    else if (offcpu->recording && offcpu->windows_off > 0 && now - offcpu->window_began >= window_ns(offcpu))
        window_end(offcpu, until, now);
    run->drain_ms = offcpu->recording && window_ns(offcpu) < WINDOW_NS ? DRAIN_SHORT_MS : DRAIN_MS;
}

// ---- opening and closing ----

static void process_gone(void *context, pid_t pid) {
    struct offcpu *offcpu = context;
    unwinding_process_gone(offcpu->unwinding, pid);
    if (offcpu->stacks)
        symbols_process_ended(stacks_symbols(offcpu->stacks), pid);
}

static struct name_table *names_kept; // trees of one name table can be merged. The collector's thread only

static int stacks_open(struct collector_run *run, bool renew) {
    struct offcpu *offcpu = run->state;
    if (renew) {
        name_table_unref(names_kept);
        names_kept = NULL;
    }
    names_kept = names_kept ? names_kept : name_table_new();
    const struct stacks_unwinder unwinder = unwinding_of(offcpu->unwinding);
    uint32_t max_stack = profile_sampling_source(offcpu->sampling)->max_stack;
    offcpu->stacks = stacks_new(offcpu->maps, names_kept, max_stack, &unwinder);
    if (!offcpu->stacks) {
        int rc = errno ? -errno : -ENOMEM;
        snprintf(run->reason, sizeof run->reason, "the thread that reads symbols cannot be started: %s", strerror(-rc));
        snprintf(run->fix, sizeof run->fix, "raise the limit of processes (ulimit -u) or of memory (ulimit -v)");
        return rc;
    }
    offcpu->tree = tree_builder_new(&offcpu_tree, names_kept);
    offcpu->no_stack = stacks_name(offcpu->stacks, "[stack not sampled]", NAME_MARK, "");
    offcpu->no_user = stacks_name(offcpu->stacks, "[user stack not sampled]", NAME_MARK, "");
    offcpu->waking_names =
        (struct waking_names){.woken_by = stacks_name(offcpu->stacks, "[woken by]", NAME_MARK, ""),
                              .interrupt = stacks_name(offcpu->stacks, "[interrupt]", NAME_MARK, ""),
                              .unknown = stacks_name(offcpu->stacks, "[waker unknown]", NAME_MARK, "")};
    blocks_set_wakers(offcpu->blocks, offcpu->wakers, offcpu->waking_names.unknown);
    return 0;
}

// The kernel writes the ID of the thread that is woken as it is outside of all PID namespaces.
static int wakers_set(struct offcpu *offcpu, bool on) {
    const char *tracefs = tracing_dir(NULL, NULL);
    int rc = !on ? 0 : ktop_in_child_pidns() ? -EOPNOTSUPP : tracefs ? waking_find(tracefs, &offcpu->waking) : -ENOENT;
    if (rc || on == offcpu->wakers)
        return rc;
    rc = profile_sampling_wakers(offcpu->sampling, on ? &offcpu->waking : NULL);
    offcpu->wakers = on && !rc;
    // The events were opened again: what happened meanwhile is in no record.
    space_maps_lost(offcpu->maps);
    blocks_lost(offcpu->blocks);
    blocks_set_wakers(offcpu->blocks, offcpu->wakers, offcpu->waking_names.unknown);
    if (offcpu->recording)
        blocks_look(offcpu->blocks, now_ns(), LOOKED_AFTER_LOSS, look, NULL);
    return rc;
}

static void stacks_shut(struct offcpu *offcpu) {
    space_maps_objects_forget(offcpu->maps);
    stacks_free(offcpu->stacks);
    tree_builder_free(offcpu->tree);
    index_clear(&offcpu->kernel_names);
    blocks_forget_stacks(offcpu->blocks);
    offcpu->stacks = NULL;
    offcpu->tree = NULL;
}

static void wakers_explain(int error, char *out, size_t size) {
    snprintf(out, size, "wakers cannot be recorded: %s",
             error == -EOPNOTSUPP ? "events carry host PIDs, which ktop cannot map in this PID namespace"
             : error == -ENOENT   ? "the kernel has no event sched:sched_waking, or tracefs is not available"
                                  : strerror(-error));
}

static int offcpu_request(struct collector_run *run, const struct request *request, struct answer *answer) {
    struct offcpu *offcpu = run->state;
    drain(offcpu);
    int rc = wakers_set(offcpu, request->on);
    if (rc)
        wakers_explain(rc, answer->sentence, sizeof answer->sentence);
    else
        snprintf(answer->sentence, sizeof answer->sentence, "%s", request->on ? "with wakers" : "without wakers");
    return rc;
}

static void seed(void *context, pid_t pid, pid_t tid) {
    struct offcpu *offcpu = context;
    blocks_asleep(offcpu->blocks, pid, tid, now_ns());
}

static int offcpu_open(struct collector_run *run) {
    struct offcpu *offcpu = xcalloc(1, sizeof *offcpu);
    run->state = offcpu;
    offcpu->options = *run->options;
    offcpu->profile = run->options->profile;
    offcpu->profile.event = NULL;
    offcpu->maps = space_maps_new("/proc", process_gone, offcpu);
    offcpu->unwinding = unwinding_new(offcpu->maps);
    offcpu->blocks = blocks_new();
    int rc = profile_sampling_open_switches(&offcpu->sampling, &offcpu->profile, FIRST_PERIOD);
    if (rc) {
        perf_explain(rc, false, run->reason, sizeof run->reason, run->fix, sizeof run->fix);
        return rc;
    }
    offcpu->n_cpus = profile_sampling_cpus(offcpu->sampling);
    offcpu->cpus = xcalloc((size_t)offcpu->n_cpus, sizeof *offcpu->cpus);
    for (int cpu = 0; cpu < offcpu->n_cpus; cpu++)
        offcpu->cpus[cpu].period = FIRST_PERIOD;
    rc = stacks_open(run, false);
    if (rc)
        return rc;
    rc = run->options->profile.wakers ? wakers_set(offcpu, true) : 0;
    if (rc) {
        wakers_explain(rc, run->reason, sizeof run->reason);
        return rc;
    }
    offcpu->recording = true;
    offcpu->settled = offcpu->window_from = offcpu->rate_from = offcpu->rated = now_ns();
    offcpu->unseeded = asleep_each(SEEDS_MAX, seed, offcpu) == SEEDS_MAX;
    run->poll_fd = profile_sampling_fd(offcpu->sampling);
    run->drain_ms = DRAIN_MS;
    return 0;
}

static void offcpu_close(struct collector_run *run) {
    struct offcpu *offcpu = run->state;
    run->state = NULL;
    if (!offcpu)
        return;
    profile_sampling_close(offcpu->sampling);
    stacks_shut(offcpu);
    unwinding_free(offcpu->unwinding);
    space_maps_free(offcpu->maps);
    blocks_free(offcpu->blocks);
    index_free(&offcpu->kernel_names);
    free(offcpu->cpus);
    free(offcpu);
}

// ---- frames ----

static uint32_t kernel_name(struct offcpu *offcpu, const struct asleep_frame *frame) {
    uint64_t hash = 0xcbf29ce484222325ull; // FNV-1a
    for (const char *at = frame->symbol; *at; at++)
        hash = (hash ^ (uint8_t)*at) * 0x100000001b3ull;
    for (const char *at = frame->module; *at; at++)
        hash = (hash ^ (uint8_t)*at ^ 0x100) * 0x100000001b3ull;
    uint32_t id = index_get(&offcpu->kernel_names, hash);
    if (id != INDEX_NONE)
        return id;
    char object[72];
    snprintf(object, sizeof object, "[%s]", frame->module[0] ? frame->module : "kernel");
    id = stacks_name(offcpu->stacks, frame->symbol, NAME_KERNEL, object);
    index_add(&offcpu->kernel_names, hash, id);
    return id;
}

static size_t ask(void *context, pid_t pid, pid_t tid, uint32_t *ids, size_t n_max) {
    struct offcpu *offcpu = context;
    struct asleep_frame frames[64];
    struct space *space = space_maps_get(offcpu->maps, pid, offcpu->settled);
    size_t n = 0;
    if (!space_wanted(offcpu, space))
        return 0;
    size_t found = asleep_stack(pid, tid, frames, sizeof frames / sizeof *frames);
    if (!found || found + 2 > n_max)
        return 0;
    ids[n++] = stacks_process(offcpu->stacks, space);
    if (strncmp(frames[found - 1].symbol, "ret_from_fork", 13)) // a kernel thread has no user frames
        ids[n++] = offcpu->no_user;
    while (found)
        ids[n++] = kernel_name(offcpu, &frames[--found]);
    return n;
}

static void give(void *context, pid_t pid, const uint32_t *ids, size_t n, uint64_t us) {
    struct offcpu *offcpu = context;
    struct space *space = space_maps_get(offcpu->maps, pid, offcpu->settled);
    if (!space_wanted(offcpu, space))
        return;
    uint32_t unknown[3] = {stacks_process(offcpu->stacks, space), offcpu->no_stack, offcpu->waking_names.unknown};
    offcpu->blocked_us += us;
    offcpu->unknown_us += n ? 0 : us;
    tree_builder_add(offcpu->tree, n ? ids : unknown, n ? n : 2u + offcpu->wakers, us);
}

// The time of the interval in which switches were recorded, and what it stands for.
static double scale_of(struct offcpu *offcpu, uint64_t until) {
    if (offcpu->recording && until > offcpu->window_from) {
        offcpu->recorded_ns += until - offcpu->window_from;
        offcpu->window_from = until;
    }
    uint64_t all = until > offcpu->settled ? until - offcpu->settled : 0;
    offcpu->recorded_pct = all ? 100 * (double)offcpu->recorded_ns / (double)all : NAN;
    offcpu->recorded_pct = offcpu->recorded_pct > 100 ? 100 : offcpu->recorded_pct;
    double scale = offcpu->recorded_ns ? (double)all / (double)offcpu->recorded_ns : 1;
    offcpu->recorded_ns = 0;
    return scale < 1 ? 1 : scale;
}

static int offcpu_sample(struct collector_run *run, struct section *out) {
    struct offcpu *offcpu = run->state;
    uint64_t until = drain(offcpu);
    double seconds = (double)(until - offcpu->settled) / 1e9, scale = scale_of(offcpu, until);
    if (offcpu->lost && offcpu->recording)
        blocks_look(offcpu->blocks, until, LOOKED_AFTER_LOSS, look, NULL);
    blocks_ask(offcpu->blocks, until - ASK_AFTER_NS, ASKED_MAX, ask, offcpu);
    offcpu->refused = blocks_refused(offcpu->blocks);
    blocks_settle(offcpu->blocks, until, scale, give, offcpu);
    offcpu->settled = until;
    section_set_state(out, SECTION_OK);
    offcpu_fill(offcpu, out, seconds);
    offcpu_notes(offcpu, out);
    offcpu->stacks_taken = offcpu->switches = offcpu->lost = offcpu->blocked_us = offcpu->unknown_us = 0;
    space_maps_prune(offcpu->maps, run->begin_ns);
    stacks_refresh(offcpu->stacks);
    if (stacks_last_name(offcpu->stacks) > NAMES_MAX) {
        stacks_shut(offcpu);
        int rc = stacks_open(run, true);
        if (rc)
            return rc;
    }
    int rc = profile_sampling_follow(offcpu->sampling);
    if (rc)
        perf_explain(rc, false, run->reason, sizeof run->reason, run->fix, sizeof run->fix);
    return rc;
}

static void offcpu_check(struct check_report *report) {
    struct check check = {.capability = "off-CPU profile"};
    const struct profile_options options = {0};
    int rc = profile_sampling_try_switches(&options);
    check.works = !rc;
    if (rc)
        perf_explain(rc, false, check.detail, sizeof check.detail, check.fix, sizeof check.fix);
    else
        snprintf(check.detail, sizeof check.detail, "records of context switches, up to %d stacks a second and CPU",
                 OFFCPU_STACKS_PER_S);
    report->add(report, &check);
}

static const struct tree_def *const trees[] = {&offcpu_tree, NULL};

const struct collector collector_offcpu = {
    .name = "offcpu",
    .help = "Where threads block: every context switch, and stacks of a sample of them. Cost: about 2 % of each CPU at "
            "most; threads that only switch run about 5 % slower.",
    .series = offcpu_series,
    .n_series = OFFCPU_N_SERIES,
    .trees = trees,
    .open = offcpu_open,
    .drain = offcpu_drain,
    .requests = 1u << REQUEST_WAKERS,
    .request = offcpu_request,
    .sample = offcpu_sample,
    .close = offcpu_close,
    .check = offcpu_check,
};
