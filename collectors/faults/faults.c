// The collector "faults": page faults by mapping, for the processes with most faults. Runs only while a pane shows it.
// Up to FAULTS_BUDGET per second and CPU every fault is recorded; above that they are sampled 1:n to bound the cost.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/collector.h"
#include "collectors/faults/owners.h"
#include "collectors/kernel/perf/perf.h"
#include "model/clock.h"
#include "model/columns.h"
#include "model/mem.h"

#define DRAIN_MS 100 // a process that exits within this time after its faults takes its mappings with it

enum { PID, MAPPING, KIND, COMM, MINOR, MAJOR, SHARE, KERNEL, CODE, SAMPLES, ERROR, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = HELP_PID),
    [MAPPING] =
        TEXT_COLUMN("mapping", "MAPPING", 32,
                    .help = "Mapping of the faulting address: a file, [heap], [stack], [anon], ...; [unmapped]: "
                            "unmapped before it was looked up; -: the process ended first, or has too many."),
    [KIND] = COLUMN_KIND(6, .help = "file, heap, stack, anon (unnamed memory), shared, device, kernel, gone."),
    [COMM] = COLUMN_COMM(.help = "Name of the process."),
    [MINOR] = COLUMN_MINOR_FAULTS_PER_S(.help = "Page faults without I/O, per second."),
    [MAJOR] = COLUMN_MAJOR_FAULTS_PER_S(.help = "Page faults that waited for I/O, per second."),
    [SHARE] = COLUMN_SHARE_PCT(.help = "Share of the faults of its process."),
    [KERNEL] = NUMBER_COLUMN("kernel_pct", "KERN%", UNIT_PCT, 5,
                             .help = "Share of these faults taken in the kernel, as by read(2) into new memory."),
    [CODE] = TEXT_COLUMN("code", "CODE", 24,
                         .help = "File of the instructions that caused most of these faults, or [kernel]."),
    [SAMPLES] = NUMBER_COLUMN("samples", "SAMPLES", UNIT_COUNT, 7, .merge = MERGE_SUM,
                              .help = "Faults sampled in this interval."),
    [ERROR] = NUMBER_COLUMN("error_pct", "ERR%", UNIT_PCT, 5,
                            .help = "Sampling error of the rates, in percent of them (95 % confidence); 0: every fault "
                                    "was recorded."),
};

static const struct table_def mappings_table = {
    .name = "fault_mappings",
    .help = "Page faults by mapping, of the processes with most faults; only while a pane shows it.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 3,
    .rows = ROWS_OF_INTERVAL,
};

struct state {
    struct faults_ring *ring;
    struct faults_owners *owners;
    struct table_builder *rows;
    double seconds;
    uint64_t seen, lost;
};

static void fault_take(void *context, const struct fault *fault) {
    struct state *state = context;
    state->seen++;
    faults_owners_add(state->owners, fault);
}

static void exec_take(void *context, pid_t pid, const char *comm, size_t length) {
    struct state *state = context;
    faults_owners_exec(state->owners, pid, comm, length);
}

static void faults_drain(struct collector_run *run) {
    struct state *state = run->state;
    struct faults_handler handler = {fault_take, exec_take, state};
    state->lost += faults_ring_drain(state->ring, now_ns(), &handler);
    faults_owners_settle(state->owners);
}

static int faults_open(struct collector_run *run) {
    struct state *state = xcalloc(1, sizeof(*state));
    run->state = state;
    state->rows = table_builder_new(&mappings_table);
    state->owners = faults_owners_new("/proc", run->options);
    if (!state->owners) {
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
    faults_owners_free(state->owners);
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
    // 95 % confidence: 1.96 standard deviations. Faults between two samples belong to this mapping only probably.
    table_builder_set_num(rows, slot, ERROR, 196 * sqrt(row->squares) / (double)all);
}

static int faults_sample(struct collector_run *run, struct section *out) {
    struct state *state = run->state;
    faults_drain(run);
    state->seconds = run->first ? 0 : (double)(run->end_ns - run->begin_ns) / 1e9;
    table_builder_clear(state->rows);
    faults_owners_take(state->owners, row_write, state);
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
    .help = "Page faults with addresses, sampled by perf_event_open, and /proc/PID/maps of the processes with most "
            "faults: at most 5,000 samples per second and CPU of each kind.",
    .tables = tables,
    .open = faults_open,
    .drain = faults_drain,
    .sample = faults_sample,
    .close = faults_close,
    .check = faults_check,
};
