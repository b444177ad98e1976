// The syscalls collector: every system call of the machine, from the kernel's raw_syscalls events: counts, latencies,
// errors, by call and process, and calls in progress. It runs only while a pane needs it.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/proc/syscall.h"
#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/stream_collector.h"
#include "collectors/syscalls/fill.h"
#include "collectors/syscalls/single.h"
#include "collectors/task_identity.h"
#include "model/live.h"
#include "model/mem.h"

#define BY_HOST_PID "names of threads from before ktop, their calls in progress then, paths and files"
#define SCAN_THREADS 100 // per drain
#define ALIVE_FRAMES 5   // silent threads are checked once in this many frames

enum { E_ENTER, E_EXIT, E_NEWTASK, E_RENAME, E_ALL };
enum { F_ENTER_TID, F_ENTER_NR, F_ENTER_ARGS, F_ENTER_ALL };
enum { F_EXIT_TID, F_EXIT_NR, F_EXIT_RET, F_EXIT_ALL };
enum { F_NEW_TID, F_NEW_PID, F_NEW_FLAGS, F_NEW_ALL };
enum { F_RENAME_TID, F_RENAME_PID, F_RENAME_COMM, F_RENAME_ALL };

struct events {
    struct stream_event all[E_ALL];
    struct format_field enter[F_ENTER_ALL], exit[F_EXIT_ALL], newtask[F_NEW_ALL], rename[F_RENAME_ALL];
};

struct syscalls {
    struct events events;
    struct stream *stream;
    struct syscalls_pair *pair;
    struct syscalls_args *args;
    struct syscalls_procfs procfs;
    struct syscalls_kept *kept;
    struct thread_walk *walk; // finds threads that were in a call before the stream began
    uint64_t opened_ts;
    uint32_t frames;
};

static void events_wanted(struct events *events) {
    *events = (struct events){
        .enter = {{.name = "common_pid"}, {.name = "id"}, {.name = "args"}},
        .exit = {{.name = "common_pid"}, {.name = "id"}, {.name = "ret"}},
        .newtask = {{.name = "common_pid"}, {.name = "pid"}, {.name = "clone_flags"}},
        // Some kernels omit the pid: a thread nearly always renames itself.
        .rename = {{.name = "common_pid"}, {.name = "pid", .optional = true}, {.name = "newcomm"}},
    };
    events->all[E_ENTER] = (struct stream_event){
        .system = "raw_syscalls", .name = "sys_enter", .fields = events->enter, .n_fields = F_ENTER_ALL};
    events->all[E_EXIT] = (struct stream_event){
        .system = "raw_syscalls", .name = "sys_exit", .fields = events->exit, .n_fields = F_EXIT_ALL};
    events->all[E_NEWTASK] = (struct stream_event){.system = "task",
                                                   .name = "task_newtask",
                                                   .optional = true,
                                                   .with_self = true,
                                                   .fields = events->newtask,
                                                   .n_fields = F_NEW_ALL};
    events->all[E_RENAME] = (struct stream_event){
        .system = "task", .name = "task_rename", .optional = true, .fields = events->rename, .n_fields = F_RENAME_ALL};
}

static bool layout_of(const struct events *events, struct syscalls_layout *out) {
    const struct format_field *enter = events->enter, *exit = events->exit;
    const struct format_field *newtask = events->newtask, *rename = events->rename;
    *out = (struct syscalls_layout){
        .enter_id = events->all[E_ENTER].id,
        .exit_id = events->all[E_EXIT].id,
        .tid = enter[F_ENTER_TID].offset,
        .enter_nr = enter[F_ENTER_NR].offset,
        .enter_args = enter[F_ENTER_ARGS].offset,
        .exit_nr = exit[F_EXIT_NR].offset,
        .exit_ret = exit[F_EXIT_RET].offset,
        .enter_end = format_end(enter, F_ENTER_ALL),
        .exit_end = format_end(exit, F_EXIT_ALL),
    };
    if (events->all[E_NEWTASK].present && newtask[F_NEW_PID].size == 4 && newtask[F_NEW_FLAGS].size == 8) {
        out->newtask_id = events->all[E_NEWTASK].id;
        out->newtask_pid = newtask[F_NEW_PID].offset;
        out->newtask_flags = newtask[F_NEW_FLAGS].offset;
        out->newtask_end = format_end(newtask, F_NEW_ALL);
    }
    if (events->all[E_RENAME].present && rename[F_RENAME_COMM].size == SYSCALLS_COMM &&
        !rename[F_RENAME_COMM].is_dynamic) {
        out->rename_id = events->all[E_RENAME].id;
        out->rename_pid = rename[rename[F_RENAME_PID].size == 4 ? F_RENAME_PID : F_RENAME_TID].offset;
        out->rename_comm = rename[F_RENAME_COMM].offset;
        out->rename_end = format_end(rename, F_RENAME_ALL);
    }
    return enter[F_ENTER_NR].size == 8 && enter[F_ENTER_ARGS].size == 48 && exit[F_EXIT_RET].size == 8 &&
           exit[F_EXIT_NR].size == 8 && exit[F_EXIT_TID].offset == out->tid;
}

static uint64_t on_run(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit) {
    struct syscalls *syscalls = ctx;
    return syscalls_pair_run(syscalls->pair, cpu, page, limit);
}

static void on_gap(void *ctx, uint64_t until_ns) {
    struct syscalls *syscalls = ctx;
    (void)until_ns;
    syscalls_pair_gap(syscalls->pair, now_ns());
}

// None was seen before the pairing was made.
static void on_self(void *ctx, pid_t tid) {
    struct syscalls *syscalls = ctx;
    if (syscalls->pair)
        syscalls_pair_own(syscalls->pair, tid);
}

static struct stream_config config_of(struct syscalls *syscalls) {
    events_wanted(&syscalls->events);
    return (struct stream_config){
        .name = "syscalls",
        .what = "syscall events",
        .events = syscalls->events.all,
        .n_events = E_ALL,
        .budget_pct = STREAM_BUDGET_PCT,
        .high_rate = true,
        .on_run = on_run,
        .slack_ns = STREAM_THREAD_SLACK_NS,
        .on_gap = on_gap,
        .on_self = on_self,
        .ctx = syscalls,
    };
}

static int syscalls_open(struct collector_run *run) {
    struct syscalls *syscalls = run->state = xcalloc(1, sizeof(*syscalls));
    const struct stream_config config = config_of(syscalls);
    struct syscalls_layout layout;
    int error = stream_collector_open(&config, true, run, &syscalls->stream);
    if (error)
        return error;
    if (!layout_of(&syscalls->events, &layout)) {
        snprintf(run->reason, sizeof(run->reason), "unsupported syscall events: this kernel's longs are not 8 bytes");
        snprintf(run->fix, sizeof(run->fix), "use a 64-bit kernel");
        return -ENOTSUP;
    }
    const char *proc = ktop_in_child_pidns() ? NULL : "/proc"; // NULL: it has other IDs than the events
    syscalls->procfs = (struct syscalls_procfs){.proc = proc, .options = run->options};
    const struct syscalls_hooks hooks = {
        .identify = proc ? syscalls_process_identify : NULL,
        .abi = proc ? syscalls_process_abi : NULL,
        .ctx = &syscalls->procfs,
        .children = run->options && run->options->children,
        .filters = thread_filters(run->options),
    };
    syscalls->pair = syscalls_pair_new(&layout, &hooks, stream_cpus(syscalls->stream));
    syscalls->pair->clock = stream_clock(syscalls->stream);
    syscalls->args = syscalls_args_new(tracing_dir(NULL, NULL), proc);
    syscalls->kept = syscalls_kept_new();
    syscalls->walk = proc ? thread_walk_new(proc) : NULL;
    syscalls->opened_ts = now_ns();
    return 0;
}

static void syscalls_close(struct collector_run *run) {
    struct syscalls *syscalls = run->state;
    if (!syscalls)
        return;
    stream_close(syscalls->stream);
    syscalls_pair_free(syscalls->pair);
    syscalls_args_free(syscalls->args);
    syscalls_kept_free(syscalls->kept);
    thread_walk_free(syscalls->walk);
    free(syscalls);
    run->state = NULL;
}

// Threads that were in a call before the stream began: once, a few at a time.
static void find_earlier_calls(struct syscalls *syscalls) {
    struct proc_syscall call;
    for (int i = 0; syscalls->walk && i < SCAN_THREADS; i++) {
        int32_t pid, tid = thread_walk_next(syscalls->walk, &pid);
        if (!tid) {
            thread_walk_free(syscalls->walk);
            syscalls->walk = NULL;
        } else if (!proc_syscall_read(syscalls->procfs.proc, tid, &call) && call.nr >= 0) {
            syscalls_pair_before(syscalls->pair, tid, (int32_t)call.nr, call.args, syscalls->opened_ts);
        }
    }
}

static void syscalls_drain(struct collector_run *run) {
    struct syscalls *syscalls = run->state;
    stream_collector_drain(syscalls->stream, run, STREAM_BUSY_MS);
    syscalls_single_look(syscalls->pair, syscalls->args);
    if (!run->first)
        find_earlier_calls(syscalls);
}

static bool alive(void *ctx, int32_t tid) {
    const struct syscalls_procfs *procfs = ctx;
    return procfs->proc && (syscall(SYS_tkill, tid, 0) == 0 || errno != ESRCH);
}

static void put_series(const struct syscalls *syscalls, const struct syscalls_fill *fill,
                       const struct stream_frame *frame, struct section *out) {
    double per_s = fill->seconds > 0 ? fill->scale / fill->seconds : NAN;
    const double values[SYSCALLS_SERIES] = {
        [SYSCALLS_CALLS] = (double)fill->calls * per_s, [SYSCALLS_ERRORS] = (double)fill->errors * per_s,
        [SYSCALLS_IN_PROGRESS] = fill->in_progress,     [SYSCALLS_SAMPLED] = frame->ratio,
        [SYSCALLS_RECORDED] = 100 / frame->scale,       [SYSCALLS_UNPAIRED] = (double)syscalls->pair->unpaired,
        [SYSCALLS_LOST] = (double)frame->lost,
    };
    for (int i = 0; i < SYSCALLS_SERIES; i++)
        section_series(out, &syscalls_series[i], fill->seconds > 0 ? values[i] : NAN);
}

static void put_notes(const struct syscalls *syscalls, const struct stream_frame *frame, struct section *out) {
    char text[192];
    stream_collector_notes(syscalls->stream, frame, BY_HOST_PID, syscalls->procfs.options, out);
    if (frame->ratio > 1)
        section_note(out, SEVERITY_INFO, "avg_us",
                     "sampled: calls longer than a time slice (3 to 48 ms) are counted without a latency", NULL);
    if (syscalls->pair->left_out) {
        snprintf(text, sizeof(text), "%llu syscall events dropped: call table full",
                 (unsigned long long)syscalls->pair->left_out);
        section_note(out, SEVERITY_WARNING, "calls_per_s", text, NULL);
    }
}

static int syscalls_sample(struct collector_run *run, struct section *out) {
    struct syscalls *syscalls = run->state;
    struct stream_frame frame;
    stream_collector_drain(syscalls->stream, run, STREAM_BUSY_MS);
    stream_frame(syscalls->stream, &frame);
    struct syscalls_fill fill = {
        .pair = syscalls->pair,
        .args = syscalls->args,
        .procfs = &syscalls->procfs,
        .kept = syscalls->kept,
        .seconds = (double)(run->end_ns - run->begin_ns) / 1e9,
        .scale = frame.scale,
        .upto_ts = frame.upto_ns,
        .wall_offset_ns = wall_offset_ns(),
    };
    if (!run->first) { // calls before the first interval do not count
        syscalls_fill_section(&fill, out);
        put_series(syscalls, &fill, &frame, out);
        put_notes(syscalls, &frame, out);
        section_events(out, frame.events, frame.lost);
    }
    syscalls_pair_clear(syscalls->pair);
    syscalls_pair_tidy(syscalls->pair, ++syscalls->frames % ALIVE_FRAMES ? NULL : alive);
    return 0;
}

static void syscalls_check(struct check_report *report) {
    struct syscalls *syscalls = xcalloc(1, sizeof(*syscalls));
    const struct stream_config config = config_of(syscalls);
    stream_collector_check(&config, "syscall events", report);
    free(syscalls);
}

static const struct table_def *const tables[] = {&syscalls_table,        &syscalls_process_table,  &syscalls_both_table,
                                                 &syscalls_errors_table, &syscalls_progress_table, NULL};
static const struct hist_def *const hists[] = {&syscalls_latency_hist, NULL};
static const struct table_def *const streams[] = {&syscalls_slow_table, NULL};

const struct collector collector_syscalls = {
    .name = "syscalls",
    .help = "Every system call from the kernel's raw events: counts, errors, latencies, by call and process. Runs only "
            "while a pane needs it; an event costs the traced program about 40 ns, and ktop 20 ns.",
    .always = false,
    .series = syscalls_series,
    .n_series = SYSCALLS_SERIES,
    .tables = tables,
    .hists = hists,
    .streams = streams,
    .open = syscalls_open,
    .drain = syscalls_drain,
    .sample = syscalls_sample,
    .close = syscalls_close,
    .check = syscalls_check,
};
