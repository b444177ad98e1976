// The collector "suspects": runs its parts, and hands each the last table of tasks.
#include "collectors/suspects/suspects.h"

#include <math.h>
#include <stdlib.h>

#include "model/clock.h"
#include "model/mem.h"

static const struct suspects_part *const parts[] = {
    &suspects_memory_part, &suspects_locks_part,      &suspects_servers_part, &suspects_stopped_part,
    &suspects_dirty_part,  &suspects_limits_part,     &suspects_files_part,   &suspects_tracing_part,
    &suspects_pinned_part, &suspects_busy_part,       &suspects_starved_part, &suspects_readers_part,
    &suspects_logs_part,   &suspects_page_tables_part};
#define DRAIN_FIRST_MS 100 // after a sample
#define PARTS (sizeof(parts) / sizeof(parts[0]))

struct suspects {
    void *states[PARTS];
    uint64_t sampled_ns;
};

static struct suspects_columns columns_of(const struct table *tasks) {
    const struct table_def *def = tasks ? table_def(tasks) : NULL;
#define AT(name) (def ? table_column(def, name) : -1)
    return (struct suspects_columns){
        .pid = AT("pid"),
        .tid = AT("tid"),
        .ppid = AT("ppid"),
        .comm = AT("comm"),
        .state = AT("state"),
        .cpu = AT("cpu_pct"),
        .threads = AT("threads"),
        .rss = AT("rss_kib"),
        .switches = AT("context_switches_per_s"),
        .write_bytes = AT("write_bytes_per_s"),
        .cgroup = AT("cgroup"),
        .ended = AT("ended_s"),
        .started = AT("started_s"),
        .run_queue = AT("run_queue_us"),
        .priority = AT("priority"),
        .on_cpu = AT("cpu"),
        .system = AT("system_pct"),
        .user = AT("user"),
    };
#undef AT
}

void suspects_each(struct suspects_sample *sample, void (*fn)(void *context, const union cell *row), void *context) {
    const struct suspects_columns *at = &sample->at;
    size_t cursor = 0;
    for (const union cell *row; sample->tasks && (row = table_next(sample->tasks, &cursor));)
        if (row[at->tid].num == row[at->pid].num && row[at->ended].num != row[at->ended].num) // NAN: has not ended
            fn(context, row);
}

static void system_take(struct suspects_sample *sample, const struct section *system) {
    const struct table *memory = system ? section_find_table(system, "memory") : NULL;
    size_t cursor = 0;
    const union cell *row = memory ? table_next(memory, &cursor) : NULL;
    sample->mem_total_kib = sample->page_tables_kib = NAN;
    if (row) {
        sample->mem_total_kib = row[table_column(table_def(memory), "total_kib")].num;
        sample->page_tables_kib = row[table_column(table_def(memory), "page_tables_kib")].num;
    }
}

static int suspects_open(struct collector_run *run) {
    struct suspects *suspects = xcalloc(1, sizeof(*suspects));
    run->state = suspects;
    for (size_t i = 0; i < PARTS; i++)
        suspects->states[i] = parts[i]->create();
    return 0;
}

static int suspects_sample(struct collector_run *run, struct section *out) {
    struct suspects *suspects = run->state;
    uint64_t now = now_ns();
    struct suspects_sample sample = {
        .out = out,
        .tasks = run->inputs[0] ? section_find_table(run->inputs[0], "tasks") : NULL,
        .now_ns = now,
        .seconds = suspects->sampled_ns ? (double)(now - suspects->sampled_ns) / 1e9 : 0,
    };
    sample.at = columns_of(sample.tasks);
    system_take(&sample, run->inputs[1]);
    suspects->sampled_ns = now;
    section_set_state(out, SECTION_OK);
    for (size_t i = 0; i < PARTS; i++)
        parts[i]->sample(suspects->states[i], &sample);
    run->drain_ms = DRAIN_FIRST_MS;
    return 0;
}

static void suspects_drain(struct collector_run *run) {
    struct suspects *suspects = run->state;
    run->drain_ms = 0;
    for (size_t i = 0; i < PARTS; i++) {
        uint32_t ms = parts[i]->drain ? parts[i]->drain(suspects->states[i], now_ns()) : 0;
        if (ms && (!run->drain_ms || ms < run->drain_ms))
            run->drain_ms = ms;
    }
}

static void suspects_close(struct collector_run *run) {
    struct suspects *suspects = run->state;
    run->state = NULL;
    for (size_t i = 0; suspects && i < PARTS; i++)
        parts[i]->destroy(suspects->states[i]);
    free(suspects);
}

static const struct table_def *const tables[] = {
    &suspects_memory_table,  &suspects_locks_table,       &suspects_servers_table,
    &suspects_stopped_table, &suspects_dirty_table,       &suspects_limits_table,
    &suspects_files_table,   &suspects_tracing_table,     &suspects_pinned_table,
    &suspects_starved_table, &suspects_busy_table,        &suspects_readers_table,
    &suspects_logs_table,    &suspects_page_tables_table, NULL};

const struct collector collector_suspects = {
    .name = "suspects",
    .help =
        "what findings need of suspicious processes: a few files of those, and of some tasks in rotation; less than "
        "0.5 % of a CPU.",
    .inputs = {"tasks", "system"},
    .always = true,
    .tables = tables,
    .open = suspects_open,
    .drain = suspects_drain,
    .sample = suspects_sample,
    .close = suspects_close,
};
