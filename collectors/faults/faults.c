// The collector "faults": where the processes that fault most do it, by mapping. Runs only while a pane shows it. On a
// quiet machine it sees each fault; above FAULTS_BUDGET a second and CPU every n-th, so that its cost is bounded
// whatever the machine does.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/collector.h"
#include "collectors/faults/who.h"
#include "collectors/kernel/perf/perf.h"
#include "model/mem.h"

#define DRAIN_MS 100 // a process that ends sooner after its faults has no mappings any more

enum { PID, MAPPING, KIND, COMM, MINOR, MAJOR, SHARE, KERNEL, CODE, SAMPLES, ERROR, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = {.name = "pid", .title = "PID", .unit = UNIT_ID, .width = 7, .ascending = true, .help = "Process ID"},
    [MAPPING] =
        {.name = "mapping",
         .title = "MAPPING",
         .type = COLUMN_TEXT,
         .width = 32,
         .ascending = true,
         .help =
             "What the faulting address belongs to: a file, [heap], [stack], [anon], ...; [unmapped]: memory that was "
             "given back before it could be looked up; - when the process was gone by then, or has too many"},
    [KIND] = {.name = "kind",
              .title = "KIND",
              .type = COLUMN_TEXT,
              .width = 6,
              .ascending = true,
              .help = "file, heap, stack, anon (memory without a name), shared (memory of several processes), device, "
                      "kernel, gone"},
    [COMM] = {.name = "comm",
              .title = "COMM",
              .type = COLUMN_TEXT,
              .width = 15,
              .ascending = true,
              .help = "Name of the process"},
    [MINOR] = {.name = "minor_faults_per_s",
               .title = "MINF/s",
               .unit = UNIT_PER_S,
               .width = 7,
               .help = "Page faults there that needed no I/O, per second"},
    [MAJOR] = {.name = "major_faults_per_s",
               .title = "MAJF/s",
               .unit = UNIT_PER_S,
               .width = 7,
               .help = "Page faults there that had to wait for I/O, per second"},
    [SHARE] = {.name = "share_pct",
               .title = "SHARE%",
               .unit = UNIT_PCT,
               .width = 6,
               .help = "Share of the faults of its process"},
    [KERNEL] =
        {.name = "kernel_pct",
         .title = "KERN%",
         .unit = UNIT_PCT,
         .width = 5,
         .help = "Share of these faults that the kernel took on behalf of the process, as in read(2) into new memory"},
    [CODE] = {.name = "code",
              .title = "CODE",
              .type = COLUMN_TEXT,
              .width = 24,
              .ascending = true,
              .help = "Where the instructions are that caused most of them: a file, or [kernel]"},
    [SAMPLES] = {.name = "samples",
                 .title = "SEEN",
                 .unit = UNIT_COUNT,
                 .width = 6,
                 .help = "Faults that were looked at in this interval"},
    [ERROR] =
        {.name = "error_pct",
         .title = "ERR%",
         .unit = UNIT_PCT,
         .width = 5,
         .help =
             "How far the rates may be off by sampling, in percent of them (with 95 % confidence); 0 when each fault "
             "was looked at"},
};

static const struct table_def mappings_table = {
    .name = "fault_mappings",
    .help = "Page faults of the processes that fault most, by the mapping of the faulting address; measured while the "
            "pane is visible or pinned.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 3,
};

struct state {
    struct faults_ring *ring;
    struct faults_who *who;
    struct table_builder *rows;
    double seconds;
    uint64_t seen, lost;
};

static void fault_take(void *context, const struct fault *fault) {
    struct state *state = context;
    state->seen++;
    faults_who_add(state->who, fault);
}

static void exec_take(void *context, pid_t pid, const char *comm, size_t length) {
    struct state *state = context;
    faults_who_exec(state->who, pid, comm, length);
}

static void faults_drain(struct collector_run *run) {
    struct state *state = run->state;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct faults_handler handler = {fault_take, exec_take, state};
    state->lost +=
        faults_ring_drain(state->ring, (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec, &handler);
    faults_who_settle(state->who);
}

static int faults_open(struct collector_run *run) {
    struct state *state = xcalloc(1, sizeof(*state));
    run->state = state;
    state->rows = table_builder_new(&mappings_table);
    state->who = faults_who_new("/proc", run->options);
    if (!state->who) {
        snprintf(run->reason, sizeof(run->reason), "/proc cannot be read: %s", strerror(errno));
        snprintf(run->fix, sizeof(run->fix), "mount -t proc proc /proc");
        return -errno;
    }
    int rc = faults_ring_open(&state->ring);
    if (rc) {
        perf_explain(rc, false, run->reason, sizeof(run->reason), run->fix, sizeof(run->fix));
        return rc;
    }
    run->poll_fd = faults_ring_fd(state->ring);
    run->drain_ms = DRAIN_MS;
    return 0;
}

static void faults_close(struct collector_run *run) {
    struct state *state = run->state;
    run->state = NULL;
    if (!state)
        return;
    faults_ring_close(state->ring);
    faults_who_free(state->who);
    table_builder_free(state->rows);
    free(state);
}

static void row_write(void *context, const struct faults_row *row) {
    struct state *state = context;
    struct table_builder *rows = state->rows;
    uint64_t all = row->minor + row->major;
    if (!(state->seconds > 0))
        return;
    uint32_t slot = table_builder_add(rows);
    table_builder_set_num(rows, slot, PID, row->pid);
    table_builder_set_text(rows, slot, MAPPING, text_ref(row->mapping));
    table_builder_set_text(rows, slot, KIND, row->kind ? text_from(row->kind) : NULL);
    table_builder_set_text(rows, slot, COMM, text_ref(row->comm));
    table_builder_set_num(rows, slot, MINOR, (double)row->minor / state->seconds);
    table_builder_set_num(rows, slot, MAJOR, (double)row->major / state->seconds);
    table_builder_set_num(rows, slot, SHARE, 100 * (double)all / (double)row->whole);
    table_builder_set_num(rows, slot, KERNEL, 100 * (double)row->kernel / (double)all);
    table_builder_set_text(rows, slot, CODE, text_ref(row->code));
    table_builder_set_num(rows, slot, SAMPLES, (double)row->samples);
    // The faults between two samples fell here or there by chance: the standard deviation of the sum.
    table_builder_set_num(rows, slot, ERROR, 196 * sqrt(row->squares) / (double)all);
}

static int faults_sample(struct collector_run *run, struct section *out) {
    struct state *state = run->state;
    faults_drain(run);
    state->seconds = run->first ? 0 : (double)(run->end_ns - run->begin_ns) / 1e9;
    table_builder_clear(state->rows);
    faults_who_take(state->who, row_write, state);
    section_table(out, table_builder_seal(state->rows));
    section_events(out, state->seen, state->lost);
    section_set_state(out, SECTION_OK);
    state->seen = state->lost = 0;
    int rc = faults_ring_follow(state->ring);
    if (rc)
        perf_explain(rc, false, run->reason, sizeof(run->reason), run->fix, sizeof(run->fix));
    return rc;
}

static void faults_check(struct check_report *report) {
    struct check check = {.capability = "page faults by mapping"};
    int rc = faults_ring_try();
    check.works = !rc;
    if (rc)
        perf_explain(rc, false, check.detail, sizeof(check.detail), check.fix, sizeof(check.fix));
    else
        snprintf(check.detail, sizeof(check.detail),
                 "sampled with their addresses on every CPU, while a pane shows them");
    report->add(report, &check);
}

static const struct table_def *const tables[] = {&mappings_table, NULL};

const struct collector collector_faults = {
    .name = "faults",
    .help = "Page faults with their addresses, sampled by perf_event_open, and /proc/PID/maps of the processes that "
            "fault most: at most 5,000 samples per second and CPU of each kind.",
    .tables = tables,
    .open = faults_open,
    .drain = faults_drain,
    .sample = faults_sample,
    .close = faults_close,
    .check = faults_check,
};
