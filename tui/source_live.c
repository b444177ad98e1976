// Frames of this machine: the live model, the collectors' runner, and the recorder.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collectors/session.h"
#include "model/mem.h"
#include "tui/source.h"
#include "views/escape.h"
#include "views/part_findings.h"

#define STOP_MS 500
// As PID 1 of a container: the guard ends with ktop, and cannot remove what is left. Where kernel threads are starved,
// a single grace period takes seconds, and an instance needs several.
#define STOP_ALONE_MS 5000
#define STOP_IN_KERNEL_S 300 // while there are instances or probes
#define RECORD_STOP_MS 1000

static const struct origin *origin_here(void) {
    struct utsname machine = {0};
    char boot_id[64] = "";
    FILE *in = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (in && fgets(boot_id, sizeof boot_id, in))
        boot_id[strcspn(boot_id, "\n")] = '\0';
    if (in)
        fclose(in);
    uname(&machine);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return origin_new(
        &(struct origin){machine.nodename, boot_id, machine.release, KTOP_VERSION, cpus > 0 ? (uint32_t)cpus : 0});
}

static int live_source_start(struct source *source) {
    int error = live_start(source->live);
    return error ? error : runner_start(source->runner);
}

static const struct frame *live_source_latest(struct source *source) {
    return live_latest(source->live);
}

#define FIRST_LOOK_NS 300000000ull // long enough for 60 samples of a profile on two CPUs

static void live_source_want(struct source *source, const char *const *collectors) {
    if (runner_want(source->runner, collectors)) {
        live_tick_soon(source->live, FIRST_LOOK_NS);
        runner_wake(source->runner);
    }
}

static uint64_t live_source_delay(struct source *source) {
    return live_delay(source->live);
}

static void live_source_set_delay(struct source *source, uint64_t ns) {
    live_set_delay(source->live, ns);
    runner_wake(source->runner);
}

static void live_source_paused(struct source *source, bool paused) {
    (void)source, (void)paused;
}

static bool live_source_advance(struct source *source, uint64_t frames, struct timespec wall) {
    (void)source, (void)frames, (void)wall;
    return false;
}

static int live_source_stop(struct source *source) {
    bool alone = getpid() == 1;
    int hung = runner_stop(source->runner, alone ? STOP_ALONE_MS : STOP_MS);
    if (hung && alone && session_is_in_kernel())
        fprintf(stderr, "ktop: waits up to %d s until the kernel has removed ktop's trace buffers and probes\n",
                STOP_IN_KERNEL_S);
    for (int s = 0; hung && alone && session_is_in_kernel() && s < STOP_IN_KERNEL_S; s++)
        hung = runner_stop(source->runner, 1000);
    live_stop(source->live);
    return hung;
}

static void live_source_free(struct source *source) {
    runner_free(source->runner);
    live_free(source->live);
}

// Whether functions in findings are wanted, and can be had: samples of another event are no CPU time, and batch mode
// prints findings only in panes with such a part.
static bool samples_for_findings(const struct options *options) {
    bool shown = options->action != ACTION_BATCH || options->record;
    for (size_t i = 0; i < options->n_panes; i++)
        for (size_t k = 0; k < options->panes[i]->n_parts; k++)
            shown |= options->panes[i]->parts[k].kind == &part_findings;
    return shown && !options->no_profile && !options->profile_event;
}

void source_start_failed(int error) {
    char line[256];
    snprintf(line, sizeof(line), "ktop: cannot start its threads: %s: %s\n", strerror(-error), runner_start_fix(error));
    mem_end_reason(line); // threads that did start may run out of memory now
}

struct source *source_live(const struct options *options) {
    static const struct source_ops ops = {live_source_start,   live_source_latest,    live_source_want,
                                          live_source_delay,   live_source_set_delay, live_source_paused,
                                          live_source_advance, live_source_stop,      live_source_free};
    struct source *source = xcalloc(1, sizeof(*source));
    source->ops = &ops;
    source->options = options;
    source->origin = origin_here();
    source->live = live_new(options->delay_ns, options->history_bytes);
    if (!samples_for_findings(options))
        live_no_profile(source->live);
    source->history = live_history(source->live);
    source->fd = live_fd(source->live);
    live_set_origin(source->live, origin_ref(source->origin));
    source->runner = runner_new(source->live, &options->collect);
    return source;
}

void source_free(struct source *source) {
    if (!source)
        return;
    source->ops->free(source);
    origin_unref(source->origin);
    free(source);
}

// ---- recording ----

bool source_record(struct source *source, const char *path, char *why, size_t size) {
    int fd = recorder_file(path, why, size), error = 0;
    if (fd < 0)
        return false;
    source->recorder = recorder_start(fd, source->origin, source->options->iterations, &error);
    if (!source->recorder) {
        snprintf(why, size, "cannot start its thread: %s", strerror(-error));
        return false;
    }
    live_record(source->live, source->recorder);
    return true;
}

void source_record_stop(struct source *source, struct recorder_state *state) {
    live_record(source->live, NULL);
    recorder_stop(source->recorder, RECORD_STOP_MS);
    *state = recorder_state(source->recorder);
    recorder_free(source->recorder);
    source->recorder = NULL;
}

int source_record_line(const char *path, const struct recorder_state *state, char *line, size_t size) {
    char shown[100];
    escape_fit(path, 60, shown, sizeof shown);
    line[0] = '\0';
    if (state->error == EPIPE)
        return 0;
    if (state->error || !state->done) {
        snprintf(line, size, "--record %s: %s after %llu frames: %s", shown,
                 state->error == EINTR || !state->done ? "its reader is stalled" : strerror(state->error),
                 (unsigned long long)state->frames, recorder_fix(state->error));
        return 1;
    }
    if (state->left_out)
        snprintf(line, size, "--record %s: %llu frames were dropped: writing was too slow", shown,
                 (unsigned long long)state->left_out);
    return 0;
}
