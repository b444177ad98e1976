// The collector "profile": which functions use the CPUs, sampled on every CPU with their call paths. Runs only while a
// pane needs it. The cost is that of the samples: 99 a second and busy CPU by default.
#include "collectors/profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/kernel/perf/perf.h"
#include "collectors/kernel/proc/self.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/profile/cgroup.h"
#include "collectors/task_identity.h"
#include "model/clock.h"
#include "model/mem.h"

#define DRAIN_MS 100        // mappings of a process that ends sooner after its first sample cannot be read
#define SETTLE_NS 200000ull // a record that is that old is visible in its ring
#define SYMBOLS_WAIT_MS 60  // for files that are being read, at the end of an interval
#define BROKEN_LEAST 8      // stacks, and the share of all, from which on stacks are copied
#define BROKEN_PCT 2
#define NAMES_MAX (1u << 20) // of one name table: then a new one begins, which older trees do not share

// Trees of one name table can be merged, also when the pane was closed in between. The collector's thread only.
static struct name_table *names_kept;

// ---- records ----

static void space_judge(struct profile *profile, struct space *space) {
    bool filters = thread_filters(&profile->options);
    space->known.judged = true;
    space->known.wanted = true;
    if (space->pid <= 0) {
        space->known.wanted = !filters && !profile->options.profile.cgroup;
    } else if (!profile->options.show_self && self_process(space->pid)) {
        space->known.wanted = false;
    } else if (filters || !space->comm[0]) {
        struct task_identity identity = task_identify("/proc", &profile->options, space->pid);
        space->known.wanted = identity.wanted;
        if (!identity.found && !space->comm[0] && space->parent > 0) // it ended; its name was that of its parent
            identity = task_identify("/proc", &profile->options, space->parent);
        if (!space->comm[0] && identity.found)
            snprintf(space->comm, sizeof space->comm, "%s", identity.status.name);
    }
    const char *cgroup = profile->options.profile.cgroup;
    if (cgroup && space->known.wanted)
        space->known.wanted = cgroup_has("/proc", space->pid, space->parent, cgroup);
}

// Whether a user stack is worth a larger copy. Of a callchain: when it did not end where a thread begins. Of the
// program itself only its symbols say that; a library that is not the C library, and code outside known mappings, begin
// none.
static void stack_judge(struct profile *profile, const struct stacks_path *path) {
    if (profile->chains.settled || !path->n_user)
        return;
    const struct text *outermost = name_table_text(profile->names, path->ids[1]);
    const struct text *next = path->n_user > 1 ? name_table_text(profile->names, path->ids[2]) : NULL;
    bool cut = outermost && name_kind(outermost) == NAME_MARK;
    if (profile_sampling_source(profile->sampling)->stack_bytes) {
        profile->chains.user++;
        profile->chains.broken += cut;
        return;
    }
    if (!outermost || cut)
        return;
    bool decided = name_kind(outermost) == NAME_LIBRARY || !name_object(outermost)[0];
    if (!decided && !path->incomplete && !symbols_idle(stacks_symbols(profile->stacks)))
        return;
    profile->chains.user++;
    profile->chains.broken += path->incomplete || !tally_whole(outermost, next);
}

// Between the process and the outermost frame, a mark for the tally. Returns the path's number.
static uint32_t path_add(struct profile *profile, struct stacks_path *path) {
    if ((!path->whole && !path->incomplete) || path->n == STACKS_PATH_MAX)
        return tree_builder_add(profile->raw, path->ids, path->n, 1);
    memmove(path->ids + 2, path->ids + 1, (path->n - 1) * sizeof *path->ids);
    path->ids[1] = path->whole ? profile->marks.whole : profile->marks.broken;
    return tree_builder_add(profile->raw, path->ids, ++path->n, 1);
}

static void address_add(struct profile *profile, struct space *space, pid_t tid, const struct stacks_path *path) {
    struct address *added;
    if (path->n < 2 || !addresses_add(profile->addresses, path->ids[0], path->ids[path->n - 1], path->leaf, &added))
        return;
    added->pid = space->pid;
    added->kernel = path->leaf_kernel;
    added->offset = path->leaf;
    if (!added->kernel)
        stacks_place(profile->stacks, space, tid, path->leaf, &added->object, &added->offset);
}

static void on_sample(struct profile *profile, const struct profile_record *record) {
    const struct profile_sample *sample = &record->sample;
    struct stacks_path *path = &profile->path;
    if (!record->pid && (!record->tid || ktop_in_child_pidns())) {
        bool outside = ktop_in_child_pidns();
        profile->outside += outside;
        if (outside || !profile->options.profile.idle)
            return;
    }
    struct space *space = space_maps_get(profile->maps, record->pid, record->time);
    if (!space->known.judged)
        space_judge(profile, space);
    if (!space->known.wanted)
        return;
    stacks_path(profile->stacks, space, record->tid, sample, path);
    stack_judge(profile, path);
    uint32_t number = path_add(profile, path);
    address_add(profile, space, record->tid, path);
    space->counts.samples++;
    space->counts.kernel += sample->kernel;
    space->counts.period += sample->period;
    profile->samples++;
    profile->recent[profile->n_recent++ % PROFILE_EVENTS_KEPT] = (struct profile_recent){
        record->time, sample->cpu, path->ids[0], path->ids[path->n - 1], number, record->pid, record->tid};
}

static void record_take(void *context, const struct profile_record *record) {
    struct profile *profile = context;
    switch (record->type) {
    case RECORD_SAMPLE:
        on_sample(profile, record);
        break;
    case RECORD_KSYMBOL:
        stacks_ksymbol(profile->stacks, record);
        break;
    case RECORD_LOST:
        profile->lost += record->lost ? record->lost : 1;
        space_maps_lost(profile->maps);
        break;
    case RECORD_THROTTLED:
        profile->throttled++;
        break;
    default:
        space_maps_record(profile->maps, record);
    }
}

static void drain(struct profile *profile) {
    profile->malformed += profile_sampling_drain(profile->sampling, now_ns() - SETTLE_NS, record_take, profile);
}

static void profile_drain(struct collector_run *run) {
    struct profile *profile = run->state;
    drain(profile);
    if (profile->chains.settled || profile->chains.broken < BROKEN_LEAST ||
        100 * profile->chains.broken < BROKEN_PCT * profile->chains.user)
        return;
    drain(profile); // what comes meanwhile is lost with the rings
    profile->chains.settled = profile_sampling_copy_more(profile->sampling) != 0;
    profile->chains.user = profile->chains.broken = 0;
    if (!profile->chains.settled)
        space_maps_lost(profile->maps);
}

// ---- opening and closing ----

static void process_gone(void *context, pid_t pid) {
    struct profile *profile = context;
    unwinding_process_gone(profile->unwinding, pid);
    if (profile->stacks)
        symbols_process_ended(stacks_symbols(profile->stacks), pid);
}

// The symbol service with its name table, and the trees of it.
static int stacks_open(struct collector_run *run, bool renew) {
    struct profile *profile = run->state;
    if (renew) {
        name_table_unref(names_kept);
        names_kept = NULL;
    }
    if (!names_kept)
        names_kept = name_table_new();
    profile->names = names_kept;
    uint32_t max_stack = profile_sampling_source(profile->sampling)->max_stack;
    const struct stacks_unwinder unwinder = unwinding_of(profile->unwinding);
    profile->stacks = stacks_new(profile->maps, profile->names, max_stack, &unwinder);
    if (!profile->stacks) {
        int rc = errno ? -errno : -ENOMEM;
        snprintf(run->reason, sizeof run->reason, "the thread that reads symbols cannot be started: %s", strerror(-rc));
        snprintf(run->fix, sizeof run->fix, "raise the limit of processes (ulimit -u) or of memory (ulimit -v)");
        return rc;
    }
    profile->marks.broken = stacks_name(profile->stacks, "[broken stack]", NAME_MARK, "");
    profile->marks.whole = stacks_name(profile->stacks, "[whole stack]", NAME_MARK, "");
    profile->raw = tree_builder_new(&profile_raw_tree, profile->names);
    profile->tree = tree_builder_new(&profile_tree, profile->names);
    return 0;
}

static void stacks_shut(struct profile *profile) {
    profile_code_forget(profile->code);
    addresses_clear(profile->addresses);
    space_maps_objects_forget(profile->maps);
    stacks_free(profile->stacks);
    tree_builder_free(profile->raw);
    tree_builder_free(profile->tree);
    profile->stacks = NULL;
    profile->raw = profile->tree = NULL;
}

static int profile_open(struct collector_run *run) {
    struct profile *profile = xcalloc(1, sizeof *profile);
    run->state = profile;
    profile->options = *run->options;
    profile->hz = run->options->profile.frequency_hz;
    profile->chains.settled = run->options->profile.call_graph != CALL_GRAPH_AUTO;
    profile->maps = space_maps_new("/proc", process_gone, profile);
    profile->unwinding = unwinding_new(profile->maps);
    profile->tally = tally_new();
    profile->symbols = table_builder_new(&profile_symbols_table);
    profile->objects = table_builder_new(&profile_objects_table);
    profile->processes = table_builder_new(&profile_processes_table);
    profile->address_rows = table_builder_new(&profile_addresses_table);
    profile->addresses = addresses_new();
    profile->code = profile_code_new();
    profile->recent = xcalloc(PROFILE_EVENTS_KEPT, sizeof *profile->recent);
    int rc = profile_sampling_open(&profile->sampling, run->options, profile->hz);
    if (rc) {
        perf_explain(rc, false, run->reason, sizeof run->reason, run->fix, sizeof run->fix);
        size_t length = strlen(run->fix);
        if (rc == -EACCES || rc == -EPERM)
            snprintf(run->fix + length, sizeof run->fix - length, "; or choose own processes: --pid PID");
        return rc;
    }
    rc = stacks_open(run, false);
    if (rc)
        return rc;
    run->poll_fd = profile_sampling_fd(profile->sampling);
    run->drain_ms = DRAIN_MS;
    return 0;
}

static void profile_close(struct collector_run *run) {
    struct profile *profile = run->state;
    run->state = NULL;
    if (!profile)
        return;
    profile_sampling_close(profile->sampling);
    stacks_shut(profile);
    unwinding_free(profile->unwinding);
    space_maps_free(profile->maps);
    tally_free(profile->tally);
    table_builder_free(profile->symbols);
    table_builder_free(profile->objects);
    table_builder_free(profile->processes);
    table_builder_free(profile->address_rows);
    addresses_free(profile->addresses);
    profile_code_free(profile->code);
    free(profile->recent);
    free(profile->pids);
    free(profile);
}

// ---- frames ----

static void symbols_wait(const struct profile *profile) {
    const struct timespec step = {.tv_nsec = 2000000};
    for (int ms = 0; ms < SYMBOLS_WAIT_MS && !symbols_idle(stacks_symbols(profile->stacks)); ms += 2)
        nanosleep(&step, NULL);
}

static void space_unjudge(void *context, struct space *space) {
    (void)context;
    space->known.judged = false;
}

static int profile_sample(struct collector_run *run, struct section *out) {
    struct profile *profile = run->state;
    profile_drain(run);
    profile->seconds = run->first ? 0 : (double)(run->end_ns - run->begin_ns) / 1e9;
    if (!run->first)
        symbols_wait(profile);
    section_set_state(out, SECTION_OK);
    profile_fill(profile, out);
    profile_notes(profile, out);
    profile->samples = profile->lost = profile->malformed = profile->throttled = profile->outside = 0;
    profile->chains.whole = profile_sampling_source(profile->sampling)->stack_bytes > 0;
    space_maps_prune(profile->maps, run->begin_ns);
    if (profile->options.profile.cgroup) // processes are moved
        space_maps_each(profile->maps, space_unjudge, NULL);
    stacks_refresh(profile->stacks);
    if (stacks_last_name(profile->stacks) > NAMES_MAX) {
        stacks_shut(profile);
        int rc = stacks_open(run, true);
        if (rc)
            return rc;
    }
    int rc = profile_sampling_follow(profile->sampling);
    if (rc)
        perf_explain(rc, false, run->reason, sizeof run->reason, run->fix, sizeof run->fix);
    return rc;
}

// ---- requests ----

static int frequency_set(struct collector_run *run, uint32_t hz, struct answer *answer) {
    struct profile *profile = run->state;
    uint32_t most = profile_sampling_hz_max();
    if (hz < 1 || hz > most) {
        snprintf(answer->sentence, sizeof answer->sentence,
                 "%u Hz: expected 1 to %u, the kernel's limit (kernel.perf_event_max_sample_rate)", hz, most);
        return -EINVAL;
    }
    uint32_t before = profile_sampling_source(profile->sampling)->hz;
    profile_drain(run);
    int rc = profile_sampling_set_hz(profile->sampling, hz);
    if (rc) {
        perf_explain(rc, false, answer->sentence, sizeof answer->sentence, run->fix, sizeof run->fix);
        profile_sampling_set_hz(profile->sampling, before);
        return rc;
    }
    profile->hz = hz;
    space_maps_lost(profile->maps); // records of the time between
    snprintf(answer->sentence, sizeof answer->sentence, "%u samples per second and CPU", hz);
    return 0;
}

static void pids_set(struct profile *profile, const struct request *request) {
    size_t n = request->pids.n;
    free(profile->pids);
    profile->pids = n ? xcalloc(n, sizeof *profile->pids) : NULL;
    if (n)
        memcpy(profile->pids, request->pids.list, n * sizeof *profile->pids);
    profile->options.pids = profile->pids;
    profile->options.n_pids = n;
    space_maps_each(profile->maps, space_unjudge, NULL);
}

static int profile_request(struct collector_run *run, const struct request *request, struct answer *answer) {
    if (request->kind == REQUEST_FREQUENCY)
        return frequency_set(run, request->hz, answer);
    if (request->kind == REQUEST_CODE) {
        profile_code_ask(run->state, &request->code);
        return 0;
    }
    const struct profile *profile = run->state;
    if (profile_sampling_source(profile->sampling)->own_only) {
        snprintf(answer->sentence, sizeof answer->sentence,
                 "only the processes of --pid are sampled: sampling others needs CAP_PERFMON");
        return -EPERM;
    }
    pids_set(run->state, request);
    return 0;
}

static void profile_check(struct check_report *report) {
    struct check check = {.capability = "CPU profile"};
    const struct profile_options options = {0};
    struct profile_source source;
    int rc = profile_sampling_try(&options, &source);
    check.works = !rc;
    if (rc)
        perf_explain(rc, false, check.detail, sizeof check.detail, check.fix, sizeof check.fix);
    else
        snprintf(check.detail, sizeof check.detail, "%s at %u Hz on every CPU, with %s callchains of up to %u frames%s",
                 source.event, source.hz, source.no_kernel ? "user" : "kernel and user", source.max_stack,
                 source.no_pmu ? "; no hardware PMU: code with interrupts off shows where they are enabled" : "");
    report->add(report, &check);
}

static const struct table_def *const tables[] = {&profile_symbols_table,   &profile_objects_table,
                                                 &profile_processes_table, &profile_addresses_table,
                                                 &profile_code_table,      NULL};
static const struct tree_def *const trees[] = {&profile_tree, NULL};
static const struct table_def *const streams[] = {&profile_samples_table, NULL};

const struct collector collector_profile = {
    .name = "profile",
    .help = "Samples of every CPU with their call paths, by perf_event_open: 99 per second and busy CPU by default.",
    .series = profile_series,
    .n_series = PROFILE_N_SERIES,
    .tables = tables,
    .streams = streams,
    .trees = trees,
    .open = profile_open,
    .drain = profile_drain,
    .requests = 1u << REQUEST_FREQUENCY | 1u << REQUEST_PIDS | 1u << REQUEST_CODE,
    .request = profile_request,
    .sample = profile_sample,
    .close = profile_close,
    .check = profile_check,
};
