// Writers that the kernel holds back because too many pages are dirty: tasks asleep in balance_dirty_pages. They sleep
// for at most 200 ms at a time, so those seen once are looked at several times a second.
// Kernel document: Documentation/admin-guide/sysctl/vm.rst, dirty_ratio.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define WRITERS_MAX 8
#define BLOCKED_MAX 32 // tasks in state D that are looked at per sample
#define WINDOW 16      // looks that are averaged
#define FORGET_NS 3000000000ull
#define FULL_SHARE 0.4 // of the dirty threshold, from which on the heaviest writers are looked at

enum { PID, COMM, HELD, WRITES, LIMIT, DIRTY, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = HELP_PID),
    [COMM] = COLUMN_COMM(.help = "Name of the process."),
    [HELD] = {.name = "held_pct",
              .title = "HELD%",
              .help = "Share of the time in which it was held back (balance_dirty_pages).",
              .unit = UNIT_PCT,
              .width = 6},
    [WRITES] = COLUMN_WRITE_BYTES_PER_S(.help = "Bytes per second that it dirtied."),
    [LIMIT] = {.name = "limit_kib",
               .title = "LIMIT",
               .help = "Dirty memory at which writers stop (nr_dirty_threshold).",
               .unit = UNIT_KIB,
               .width = 7},
    [DIRTY] = {.name = "dirty_kib",
               .title = "DIRTY",
               .help = "Memory that is dirty or under writeback.",
               .unit = UNIT_KIB,
               .width = 7},
};

const struct table_def suspects_dirty_table = {
    .name = "dirty_waits",
    .help = "Writers that are held back because too much memory is dirty.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct writer {
    int32_t pid;             // 0: unused
    const struct text *comm; // a reference
    double writes;
    uint32_t looks, held; // bits of the last WINDOW looks
    uint64_t held_ns;     // the last look that found it held back
};

struct dirty {
    struct table_builder *builder;
    struct proc_file vmstat;
    struct proc_buffer buffer;
    struct writer writers[WRITERS_MAX];
    struct suspects_sample *sample;
    double dirty_kib, limit_kib;
    size_t blocked;
};

static bool is_held(int32_t pid) {
    char path[64], where[64];
    snprintf(path, sizeof(path), "/proc/%d/wchan", pid);
    return format_file(path, where, sizeof(where)) > 0 && strstr(where, "balance_dirty_pages");
}

static void writer_look(struct writer *writer, bool held, uint64_t now) {
    writer->held = (writer->held << 1 | held) & ((1u << WINDOW) - 1);
    writer->looks += writer->looks < WINDOW;
    if (held)
        writer->held_ns = now;
}

static struct writer *writer_get(struct dirty *dirty, int32_t pid, double writes) {
    struct writer *place = &dirty->writers[0];
    for (size_t i = 0; i < WRITERS_MAX; i++) {
        struct writer *writer = &dirty->writers[i];
        if (writer->pid == pid)
            return writer;
        if (place->pid && (!writer->pid || writer->writes < place->writes))
            place = writer;
    }
    if (place->pid && !(writes > place->writes))
        return NULL;
    text_unref(place->comm);
    *place = (struct writer){.pid = pid};
    return place;
}

static void task_take(void *context, const union cell *row) {
    struct dirty *dirty = context;
    const struct suspects_columns *at = &dirty->sample->at;
    const struct text *state = row[at->state].text;
    int32_t pid = (int32_t)row[at->pid].num;
    double writes = row[at->write_bytes].num;
    bool full = dirty->dirty_kib >= FULL_SHARE * dirty->limit_kib;
    bool held = state && text_bytes(state)[0] == 'D' && dirty->blocked++ < BLOCKED_MAX && is_held(pid);
    if (!held && !(full && writes > 0))
        return;
    struct writer *writer = writer_get(dirty, pid, writes > 0 ? writes : 0);
    if (!writer)
        return;
    if (!writer->comm)
        writer->comm = text_ref(row[at->comm].text);
    writer->writes = writes > 0 ? writes : 0;
    writer_look(writer, held || is_held(pid), dirty->sample->now_ns);
    if (!held && writer->held_ns == 0)
        writer->held_ns = dirty->sample->now_ns; // as a suspect
}

static void *dirty_create(void) {
    struct dirty *dirty = xcalloc(1, sizeof(*dirty));
    dirty->builder = table_builder_new(&suspects_dirty_table);
    dirty->vmstat = PROC_FILE("/proc/vmstat");
    return dirty;
}

static void writers_forget(struct dirty *dirty, uint64_t now) {
    for (size_t i = 0; i < WRITERS_MAX; i++)
        if (dirty->writers[i].pid && now > dirty->writers[i].held_ns + FORGET_NS) {
            text_unref(dirty->writers[i].comm);
            dirty->writers[i] = (struct writer){0};
        }
}

static void vmstat_read(struct dirty *dirty) {
    static const char *const names[] = {"nr_dirty", "nr_writeback", "nr_dirty_threshold"};
    uint64_t values[3] = {PROC_MISSING, PROC_MISSING, PROC_MISSING};
    if (proc_file_read(&dirty->vmstat, &dirty->buffer) == 0)
        proc_pairs(&dirty->buffer, names, 3, values);
    dirty->dirty_kib = (counter_value(values[0]) + counter_value(values[1])) * 4;
    dirty->limit_kib = counter_value(values[2]) * 4;
}

static void dirty_sample(void *state, struct suspects_sample *sample) {
    struct dirty *dirty = state;
    dirty->sample = sample;
    dirty->blocked = 0;
    vmstat_read(dirty);
    suspects_each(sample, task_take, dirty);
    writers_forget(dirty, sample->now_ns);
    table_builder_clear(dirty->builder);
    for (size_t i = 0; i < WRITERS_MAX; i++) {
        const struct writer *writer = &dirty->writers[i];
        if (!writer->pid || !writer->held)
            continue;
        uint32_t slot = table_builder_add(dirty->builder);
        table_builder_set_num(dirty->builder, slot, PID, writer->pid);
        table_builder_set_text(dirty->builder, slot, COMM, text_ref(writer->comm));
        table_builder_set_num(dirty->builder, slot, HELD, 100.0 * __builtin_popcount(writer->held) / writer->looks);
        table_builder_set_num(dirty->builder, slot, WRITES, writer->writes);
        table_builder_set_num(dirty->builder, slot, LIMIT, dirty->limit_kib);
        table_builder_set_num(dirty->builder, slot, DIRTY, dirty->dirty_kib);
    }
    section_table(sample->out, table_builder_seal(dirty->builder));
}

static uint32_t dirty_drain(void *state, uint64_t now) {
    struct dirty *dirty = state;
    bool follows = false;
    for (size_t i = 0; i < WRITERS_MAX; i++)
        if (dirty->writers[i].pid) {
            writer_look(&dirty->writers[i], is_held(dirty->writers[i].pid), now);
            follows = true;
        }
    return follows ? 100 : 0;
}

static void dirty_destroy(void *state) {
    struct dirty *dirty = state;
    for (size_t i = 0; i < WRITERS_MAX; i++)
        text_unref(dirty->writers[i].comm);
    proc_file_close(&dirty->vmstat);
    proc_buffer_free(&dirty->buffer);
    table_builder_free(dirty->builder);
    free(dirty);
}

const struct suspects_part suspects_dirty_part = {
    .create = dirty_create, .sample = dirty_sample, .drain = dirty_drain, .destroy = dirty_destroy};
