// Processes with most page tables, while all page tables take much of the memory or grow. See VmPTE in proc(5).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define SHARE 0.04            // of the memory
#define GROWN_KIB 4096        // within a sample
#define HOLD_NS 5000000000ull // after it has grown
#define TOP 4
#define BUSY_MAX 32 // processes that run: one of them lets them grow
#define TURN_MAX 64 // others, in rotation

enum { PID, COMM, TABLES, RSS, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = "A process."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [TABLES] = {.name = "page_tables_kib",
                .title = "PGTABLE",
                .help = "Its page tables (VmPTE).",
                .unit = UNIT_KIB,
                .width = 7},
    [RSS] = COLUMN_RSS_KIB(.help = "Its memory (VmRSS), page tables left out."),
};

const struct table_def suspects_page_tables_table = {
    .name = "page_tables",
    .help = "Processes with most page tables, while all of them take much of the memory or grow.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct owner {
    int32_t pid;
    double kib, rss_kib;
};

struct page_tables {
    struct table_builder *builder;
    struct proc_buffer buffer;
    struct suspects_sample *sample;
    struct owner top[TOP];
    size_t n, busy, seen, looked, turn; // busy, seen, looked: in this sample
    double last_kib;                    // of all processes
    uint64_t grown_ns;                  // 0: never
};

// False: it has ended, or is a kernel thread.
static bool owner_read(struct page_tables *tables, int32_t pid, struct owner *out) {
    static const char *const names[] = {"VmPTE", "VmRSS"};
    char path[32];
    uint64_t values[2];
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    struct proc_file file = PROC_FILE(path);
    int error = proc_file_read(&file, &tables->buffer);
    proc_file_close(&file);
    if (error)
        return false;
    proc_pairs(&tables->buffer, names, 2, values);
    *out = (struct owner){pid, counter_value(values[0]), counter_value(values[1])};
    return values[0] != PROC_MISSING;
}

static void owner_take(struct page_tables *tables, int32_t pid) {
    struct owner owner;
    for (size_t i = 0; i < tables->n; i++)
        if (tables->top[i].pid == pid)
            return;
    if (!owner_read(tables, pid, &owner))
        return;
    bool full = tables->n == TOP;
    if (full && tables->top[TOP - 1].kib >= owner.kib)
        return;
    size_t at = full ? TOP - 1 : tables->n++;
    for (; at && tables->top[at - 1].kib < owner.kib; at--)
        tables->top[at] = tables->top[at - 1];
    tables->top[at] = owner;
}

static void process_look(void *context, const union cell *row) {
    struct page_tables *tables = context;
    const struct suspects_columns *at = &tables->sample->at;
    bool busy = row[at->cpu].num >= 1 && tables->busy < BUSY_MAX;
    bool turn = tables->seen++ >= tables->turn && tables->looked < TURN_MAX;
    tables->busy += busy;
    tables->looked += turn;
    if (busy || turn)
        owner_take(tables, (int32_t)row[at->pid].num);
}

// Those found before, as they are now.
static void top_update(struct page_tables *tables) {
    struct owner before[TOP];
    size_t n = tables->n;
    memcpy(before, tables->top, sizeof(before));
    tables->n = 0;
    for (size_t i = 0; i < n; i++)
        owner_take(tables, before[i].pid);
}

static bool is_likely(struct page_tables *tables, const struct suspects_sample *sample) {
    double kib = sample->page_tables_kib;
    if (kib > tables->last_kib + GROWN_KIB && tables->last_kib > 0)
        tables->grown_ns = sample->now_ns;
    tables->last_kib = kib;
    return kib >= sample->mem_total_kib * SHARE || (tables->grown_ns && sample->now_ns - tables->grown_ns < HOLD_NS);
}

static void *page_tables_create(void) {
    struct page_tables *tables = xcalloc(1, sizeof(*tables));
    tables->builder = table_builder_new(&suspects_page_tables_table);
    return tables;
}

static void page_tables_sample(void *state, struct suspects_sample *sample) {
    struct page_tables *tables = state;
    tables->sample = sample;
    tables->busy = tables->seen = tables->looked = 0;
    table_builder_clear(tables->builder);
    if (is_likely(tables, sample)) {
        top_update(tables);
        suspects_each(sample, process_look, tables);
        tables->turn = tables->turn + tables->looked >= tables->seen ? 0 : tables->turn + tables->looked;
    } else {
        tables->n = 0;
    }
    for (size_t i = 0; i < tables->n; i++) {
        char comm[32];
        if (proc_read_comm(tables->top[i].pid, comm, sizeof(comm)))
            continue;
        uint32_t slot = table_builder_add(tables->builder);
        table_builder_set_num(tables->builder, slot, PID, tables->top[i].pid);
        table_builder_set_text(tables->builder, slot, COMM, text_from(comm));
        table_builder_set_num(tables->builder, slot, TABLES, tables->top[i].kib);
        table_builder_set_num(tables->builder, slot, RSS, tables->top[i].rss_kib);
    }
    section_table(sample->out, table_builder_seal(tables->builder));
}

static void page_tables_destroy(void *state) {
    struct page_tables *tables = state;
    proc_buffer_free(&tables->buffer);
    table_builder_free(tables->builder);
    free(tables);
}

const struct suspects_part suspects_page_tables_part = {
    .create = page_tables_create, .sample = page_tables_sample, .destroy = page_tables_destroy};
